//! The carrying words of a sentence, gathered from left to right.

use std::mem::{replace, take};

use super::meaning::{add_form, class, is_agent};
use super::nouns::{is_apposed, is_user_as_owner, joins, makes_owner};
use super::piece::{Piece, phrase_at};
use super::verbs::{
    is_infinitive, is_of_past, is_past, is_past_at, is_perfect, is_verb_form, turns_passive,
};
use super::words::{BARE_PARTICIPLES, LIGHT, LIMITING, LOOSE, RELATIONS, STRICT};
use crate::judge::dates::DATE;
use crate::judge::form::Token;
use crate::judge::gist::lemma::lemma;
use crate::judge::gist::{Article, Gist, Link, Word};
use crate::judge::items::is_mark;

/// Collects the carrying words.
pub(super) fn gather(pieces: &[Piece<'_>], start: &Token, ordered: bool) -> Gist {
    let mut gathering = Gathering::new(pieces, start, ordered);
    let mut at = 0;
    while at < pieces.len() {
        at += gathering.step(at);
    }
    gathering.finish()
}

/// The words gathered so far.
struct Gathering<'a> {
    pieces: &'a [Piece<'a>],
    /// The first token of the sentence.
    start: &'a Token,
    /// Whether the sentence has a date: such a thing is no habit, and tells of a certain thing
    /// (`knee hurts today`).
    dated: bool,
    gist: Gist,
    ahead: Ahead,
}

/// What was read and belongs to the carrying word that comes next.
struct Ahead {
    link: Link,
    /// What limits it, as it is written in a key.
    limits: String,
    denied: bool,
    /// Whether a phrase may begin with it.
    free: bool,
    /// Whether it is a member of a list.
    joint: bool,
    /// Whether an auxiliary tells of the past.
    past: bool,
    /// Whether its owner was just named: `Ana's`.
    owned: bool,
    article: Article,
}

impl Ahead {
    /// The key of a word of this class, with what denies or limits it.
    fn key(&mut self, class: &str) -> String {
        let not = if take(&mut self.denied) { "not→" } else { "" };
        format!("{not}{}{class}", take(&mut self.limits))
    }

    /// The word of this class, with all that was ahead of it but its owner.
    fn word(&mut self, class: &str, past: bool) -> Word {
        let word = Word {
            key: self.key(class),
            link: self.link,
            past,
            free: self.free || self.link != Link::None,
            joint: self.joint,
            article: replace(&mut self.article, Article::None),
            ..Word::sign("")
        };
        self.link = Link::None;
        (self.free, self.joint, self.past) = (false, false, false);
        word
    }
}

impl<'a> Gathering<'a> {
    fn new(pieces: &'a [Piece<'a>], start: &'a Token, ordered: bool) -> Self {
        Self {
            pieces,
            start,
            dated: pieces
                .iter()
                .any(|p| matches!(p.token.unit(), Some(DATE | "anchored"))),
            gist: Gist {
                ordered,
                ..Gist::default()
            },
            ahead: Ahead {
                link: Link::None,
                limits: String::new(),
                denied: false,
                free: true,
                joint: false,
                past: false,
                owned: false,
                article: Article::None,
            },
        }
    }

    /// Reads what stands at `at` by the first rule that it falls under, and tells how many pieces
    /// that took.
    fn step(&mut self, at: usize) -> usize {
        if self.item(at) || self.sign(at) || self.conjunction(at) || self.denial(at) {
            return 1;
        }
        let known = phrase_at(&self.pieces[at..]);
        if let Some((class, size)) = known
            && size > 1
        {
            self.phrase(at, class, size);
            return size;
        }
        let (base, is_form) = lemma(self.text(at));
        let says_nothing = self.auxiliary(at) || self.is_light(at, &base);
        self.of(at);
        if says_nothing {
            self.light(at);
        } else if !(self.strict(at) || self.loose(at, known) || self.limit(at)) {
            self.word(at, &base, is_form);
        }
        1
    }

    fn text(&self, at: usize) -> &'a str {
        &self.pieces[at].text
    }

    fn before(&self, at: usize) -> Option<&'a Piece<'a>> {
        at.checked_sub(1).map(|before| &self.pieces[before])
    }

    /// A number, a date or a code stands for itself.
    fn item(&mut self, at: usize) -> bool {
        let token = self.pieces[at].token;
        if !token.is_item() {
            return false;
        }
        // `his rent is 900 euros` is not `rents 900 euros`.
        let counted = !matches!(token.unit(), Some(DATE | "time" | "part of day"));
        let is = |p: &Piece<'_>| p.is_any(&["'s", "are", "was", "were"]);
        if counted && self.before(at).is_some_and(is) {
            self.ahead.link = Link::Strict("is");
        }
        let limits = take(&mut self.ahead.limits);
        let unit = token.unit().unwrap_or_default();
        self.gist.words.push(Word {
            key: format!("#{limits}{}|{unit}", token.text),
            link: match replace(&mut self.ahead.link, Link::None) {
                Link::Strict(link) => Link::Strict(link),
                Link::Loose(_) | Link::None => Link::None,
            },
            joint: self.ahead.joint,
            item: true,
            ..Word::sign("")
        });
        self.ahead.article = Article::None;
        (self.ahead.free, self.ahead.joint) = (true, false);
        true
    }

    /// A sign of feeling says something, a comma does not; both part phrases.
    fn sign(&mut self, at: usize) -> bool {
        let text = self.text(at);
        if text.chars().any(char::is_alphanumeric) || text == "'s" {
            return false;
        }
        if !text.is_ascii() && !text.starts_with(is_mark) {
            self.gist.signs.push(text.to_owned());
        }
        if is_score(self.pieces, at) {
            self.ahead.link = Link::Strict("-");
        }
        self.ahead.free = true;
        self.ahead.joint |= text == "," && joins(self.pieces, at);
        true
    }

    /// `and` and `or` join the members of a list.
    fn conjunction(&mut self, at: usize) -> bool {
        let text = self.text(at);
        if !matches!(text, "and" | "or") {
            return false;
        }
        self.gist.either |= text == "or";
        (self.ahead.free, self.ahead.joint) = (true, true);
        true
    }

    /// `not`, `no` and their like deny what follows; `never` only where it begins the sentence.
    fn denial(&mut self, at: usize) -> bool {
        let denies = match self.text(at) {
            "not" | "no" | "without" => true,
            "never" => at == 0,
            _ => false,
        };
        if denies {
            (self.ahead.denied, self.ahead.free) = (true, true);
        }
        denies
    }

    /// Several words that the lists know as one.
    fn phrase(&mut self, at: usize, class: &str, size: usize) {
        let phrase = &self.pieces[at..at + size];
        let past = is_past(&phrase[0]) && is_past_at(self.pieces, at)
            || phrase.iter().any(|p| p.is_any(&["was", "were", "had"]));
        self.gist.past |= past;
        let past = past || self.ahead.past;
        self.gist.words.push(self.ahead.word(class, past));
    }

    /// `has` of `has eaten` and `has her reasons`, `got` of `got fired`. What tells of the past is noted,
    /// though it be no auxiliary: `was`.
    fn auxiliary(&mut self, at: usize) -> bool {
        let text = self.text(at);
        if matches!(text, "was" | "were" | "had" | "did") {
            self.ahead.past = true;
            self.gist.past = true;
        }
        let perfect = is_perfect(self.pieces, at);
        let passive = turns_passive(self.pieces, at);
        self.ahead.past |= perfect || passive && text == "got";
        let owner = |p: &Piece<'_>| p.is_any(&["her", "his", "their", "its", "my"]);
        let has = matches!(text, "has" | "have") && self.pieces.get(at + 1).is_some_and(owner);
        perfect || passive || has
    }

    /// Whether the word at `at` says nothing itself. `is done working` is not `is working`.
    fn is_light(&self, at: usize, base: &str) -> bool {
        LIGHT.contains(&base) && self.text(at) != "done" || is_user_as_owner(self.pieces, at)
    }

    /// `knows of Ana` is not `knows Ana`, `Ben's boss` not `boss Ben`.
    fn of(&mut self, at: usize) {
        let name = |p: &Piece<'_>| p.token.capital || p.is("user");
        if self.text(at) == "of"
            && let Some(before) = self.before(at)
            && (is_verb_form(before) || self.pieces.get(at + 1).is_some_and(name))
        {
            self.ahead.link = Link::Strict("of");
        }
    }

    /// An article, an owner or another word that says nothing itself, but of the noun ahead.
    fn light(&mut self, at: usize) {
        let text = self.text(at);
        let of_other = self.before(at).is_some_and(|p| !p.is("user"));
        let ahead = &mut self.ahead;
        ahead.article = match text {
            "the" => Article::The,
            "a" | "an" => Article::None,
            "my" | "his" | "her" | "their" | "its" | "our" | "your" | "'s" => Article::Known,
            _ => ahead.article,
        };
        ahead.owned = text == "'s" && of_other;
        if ahead.owned && makes_owner(self.pieces, at) {
            ahead.link = Link::Strict("'s");
        }
        // `a friend of Ben` is one chunk, `the bike` begins one.
        ahead.free |= text != "of";
    }

    /// A preposition that must stand before the same word in both texts. `to` of an infinitive ties nothing.
    fn strict(&mut self, at: usize) -> bool {
        let text = self.text(at);
        let Some(strict) = STRICT.iter().find(|word| **word == text) else {
            return false;
        };
        if !is_infinitive(self.pieces, at) {
            self.ahead.link = Link::Strict(strict);
        }
        self.ahead.free = true;
        true
    }

    /// A preposition whose phrase may stand elsewhere, unless the lists know it as another word (`known`).
    fn loose(&mut self, at: usize, known: Option<(&str, usize)>) -> bool {
        let text = self.text(at);
        let Some((_, group)) = LOOSE.iter().find(|(word, _)| *word == text) else {
            return false;
        };
        // `moves in with Ana`, `took Ana in`.
        let next = self.pieces.get(at + 1);
        let particle = next.is_none_or(|p| p.is_any(STRICT) || p.is_loose());
        let roughly = text == "about" && next.is_some_and(|p| p.token.is_item());
        if known.is_some_and(|(class, _)| class != text) || particle || roughly {
            return false;
        }
        self.ahead.link = Link::Loose(group);
        self.ahead.free = true;
        true
    }

    /// What limits the word ahead. `a few` are some, `few` are not many.
    fn limit(&mut self, at: usize) -> bool {
        let text = self.text(at);
        if !LIMITING.contains(&text) {
            return false;
        }
        let some = matches!(text, "few" | "little") && self.before(at).is_some_and(|p| p.is("a"));
        self.ahead.limits.push_str(match text {
            _ if some => "some",
            "each" => "every",
            _ => text,
        });
        self.ahead.limits.push('→');
        true
    }

    /// Any other word carries something of what is said.
    fn word(&mut self, at: usize, base: &str, is_form: bool) {
        let (pieces, piece) = (self.pieces, &self.pieces[at]);
        let agent = is_agent(pieces, at, base);
        let past = is_of_past(pieces, at, is_form);
        self.gist.agents += usize::from(agent);
        self.gist.past |= past;
        let first = std::ptr::eq(piece.token, self.start);
        let mut class = class(pieces, at, base, first, past);
        // `Ana's sister` is not `sister Ana`.
        if take(&mut self.ahead.owned) && RELATIONS.contains(&class.as_str()) {
            self.ahead.link = Link::Strict("'s");
        }
        add_form(&mut class, pieces, at, self.dated);
        let word = self.ahead.word(&class, past);
        let known = piece.token.capital || first && self.dated;
        let after_agent = self.gist.words.last().is_some_and(|word| word.agent);
        self.gist.words.push(Word {
            free: word.free || agent && !after_agent,
            agent,
            apposed: is_apposed(&pieces[..at]),
            article: if known { Article::Known } else { word.article },
            // `the knee hurt` is past where `hurts` is not.
            bare: first && at == 0 && base == piece.text || piece.is_any(BARE_PARTICIPLES),
            third: piece.text.ends_with('s') && base != piece.text,
            ..word
        });
    }

    fn finish(self) -> Gist {
        let Self {
            mut gist,
            mut ahead,
            ..
        } = self;
        // What denies or limits at the end belongs to what is before it.
        if ahead.denied || !ahead.limits.is_empty() {
            gist.words.push(Word::sign(&ahead.key("")));
        }
        // `no fish or meat` is neither.
        gist.either &= !gist.words.iter().any(|w| w.key.starts_with("not→"));
        gist.signs.sort_unstable();
        gist.close_lists();
        gist
    }
}

/// Whether the sign at `at` stands between two numbers: `3-1` is not `1-3`.
fn is_score(pieces: &[Piece<'_>], at: usize) -> bool {
    let is_item = |at: usize| pieces.get(at).is_some_and(|p| p.token.is_item());
    matches!(pieces[at].text.as_str(), "-" | ":" | "/")
        && is_item(at.wrapping_sub(1))
        && is_item(at + 1)
}
