//! The carrying words of a sentence, gathered from left to right.

use super::nouns::{is_apposed, is_drunk, is_plural, joins};
use super::piece::{Piece, phrase_at};
use super::verbs::{
    is_doing, is_going_on, is_noun_after_participle, is_passive, is_past, is_past_at,
    is_plain_verb, is_verb_form,
};
use super::words::{
    BARE_PARTICIPLES, ENDS_OR_AIMS, LASTING, LIGHT, LIMITING, LOOSE, RELATIONS, STRICT, UNCOUNTED,
};
use crate::judge::dates::DATE;
use crate::judge::form::{self, Token};
use crate::judge::gist::known::is_word;
use crate::judge::gist::lemma::lemma;
use crate::judge::gist::{Article, Gist, Link, Word, synonyms};
use crate::judge::items::is_mark;
use crate::judge::openers::is_verb;

/// Collects the carrying words.
pub(super) fn gather(pieces: &[Piece<'_>], start: &Token, ordered: bool) -> Gist {
    let mut gist = Gist {
        ordered,
        ..Gist::default()
    };
    let (mut link, mut limits, mut denied) = (Link::None, String::new(), false);
    let (mut free, mut joint, mut past, mut owner) = (true, false, false, false);
    let mut article = Article::None;
    // What has a date is no habit, and tells of a certain thing: `knee hurts today`.
    let dated = pieces
        .iter()
        .any(|p| matches!(p.token.unit(), Some(DATE | "anchored")));
    let mut at = 0;
    while at < pieces.len() {
        let piece = &pieces[at];
        let text = piece.text.as_str();
        if piece.token.is_item() {
            let key = format!(
                "{}|{}",
                piece.token.text,
                piece.token.unit().unwrap_or_default()
            );
            // `his rent is 900 euros` is not `rents 900 euros`.
            let counted = !matches!(piece.token.unit(), Some(DATE | "time" | "part of day"));
            if counted && at > 0 && pieces[at - 1].is_any(&["'s", "are", "was", "were"]) {
                link = Link::Strict("is");
            }
            let strict = matches!(link, Link::Strict(_));
            article = Article::None;
            gist.words.push(Word {
                key: format!("#{limits}{key}"),
                link: if strict { link } else { Link::None },
                joint,
                item: true,
                ..Word::sign("")
            });
            (link, limits, free, joint) = (Link::None, String::new(), true, false);
            at += 1;
            continue;
        }
        if !text.chars().any(char::is_alphanumeric) && text != "'s" {
            // A sign of feeling says something, a comma does not.
            if !text.is_ascii() && !text.starts_with(is_mark) {
                gist.signs.push(text.to_owned());
            }
            // `3-1` is not `1-3`.
            let scored = matches!(text, "-" | ":" | "/")
                && [at.wrapping_sub(1), at + 1]
                    .iter()
                    .all(|i| pieces.get(*i).is_some_and(|p| p.token.is_item()));
            if scored {
                link = Link::Strict("-");
            }
            (free, joint) = (true, joint || text == "," && joins(pieces, at));
            at += 1;
            continue;
        }
        if matches!(text, "and" | "or") {
            gist.either |= text == "or";
            (free, joint) = (true, true);
            at += 1;
            continue;
        }
        if matches!(text, "not" | "no" | "never" | "without") && !matches!(text, "never" if at > 0)
        {
            denied = true;
            free = true;
            at += 1;
            continue;
        }
        let found = phrase_at(&pieces[at..]);
        if let Some((class, size)) = found.as_ref().filter(|(_, size)| *size > 1) {
            let tense = is_past(piece) && is_past_at(pieces, at)
                || pieces[at..at + size]
                    .iter()
                    .any(|p| p.is_any(&["was", "were", "had"]));
            gist.past |= tense;
            gist.words.push(Word {
                key: key(&mut denied, &mut limits, class),
                link,
                past: tense || past,
                free: free || link != Link::None,
                joint,
                article: std::mem::replace(&mut article, Article::None),
                ..Word::sign("")
            });
            (link, free, joint, past) = (Link::None, false, false, false);
            at += size;
            continue;
        }
        // `the user's tea`, but not `the user is drinking tea`.
        let form = |p: &Piece<'_>| {
            p.text.ends_with("ing")
                || lemma(&p.text).1
                || p.is_any(STRICT)
                || p.is_any(&["a", "an", "the", "in", "on", "at", "not"])
        };
        let user_of = text == "user"
            && pieces.get(at + 1).is_some_and(|p| p.is("'s"))
            && !pieces.get(at + 2).is_some_and(form);
        if matches!(text, "was" | "were" | "had" | "did") {
            past = true;
            gist.past = true;
        }
        let (base, is_form) = lemma(text);
        let aux = matches!(text, "has" | "have" | "had")
            && pieces.get(at + 1).is_some_and(|p| {
                lemma(&p.text).1
                    || p.is_any(&["been", "become", "run", "come", "put", "set", "cut"])
            })
            && !is_noun_after_participle(&pieces[at + 2..]);
        if aux {
            past = true;
        }
        let aux = aux
            || matches!(text, "has" | "have")
                && pieces
                    .get(at + 1)
                    .is_some_and(|p| p.is_any(&["her", "his", "their", "its", "my"]));
        let participle = pieces.get(at + 1).is_some_and(|p| lemma(&p.text).1);
        let aux = aux || matches!(text, "get" | "gets" | "getting" | "got") && participle;
        past |= text == "got" && aux;
        // `knows of Ana` is not `knows Ana`, `is done working` not `is working`.
        // `Ben's boss` is not `boss Ben`.
        let of_name = |p: &Piece<'_>| p.token.capital || p.is("user");
        if text == "of"
            && at > 0
            && (is_verb_form(&pieces[at - 1]) || pieces.get(at + 1).is_some_and(of_name))
        {
            link = Link::Strict("of");
        }
        let light = LIGHT.contains(&base.as_str()) && text != "done" || user_of || aux;
        if light {
            article = match text {
                "the" => Article::The,
                "a" | "an" => Article::None,
                "my" | "his" | "her" | "their" | "its" | "our" | "your" | "'s" => Article::Known,
                _ => article,
            };
            // `his wife's bike` is one chunk, `the bike` begins one.
            owner = text == "'s" && at > 0 && !pieces[at - 1].is("user");
            // After a verb it is no verb: `likes her mother's cooking`.
            let told = pieces[..at].iter().any(|p| is_verb(&p.text) && !p.is("'s"));
            let name = at > 0 && {
                let before = pieces[at - 1].token;
                let word = pieces[at - 1].text.as_str();
                let relative = synonyms::class(word).is_some_and(|c| RELATIONS.contains(&c));
                let known = is_word(word) || form::is_short(word);
                !relative && !before.is_item() && (before.capital || !known)
            };
            let possessed = pieces
                .get(at + 1)
                .is_some_and(|p| !p.token.is_item() && !form(p));
            if owner && (told || name && possessed) {
                link = Link::Strict("'s");
            }
            free |= text != "of";
            at += 1;
            continue;
        }
        let infinitive = text == "to"
            && pieces.get(at + 1).is_some_and(|p| is_plain_verb(&p.text))
            && !(at > 0 && ENDS_OR_AIMS.contains(&lemma(&pieces[at - 1].text).0.as_str()));
        if let Some(strict) = STRICT.iter().find(|s| **s == text) {
            if !infinitive {
                link = Link::Strict(strict);
            }
            free = true;
            at += 1;
            continue;
        }
        // `moves in with Ana`, `took Ana in`.
        let particle = pieces
            .get(at + 1)
            .is_none_or(|p| p.is_any(STRICT) || p.is_loose());
        if let Some((_, group)) = LOOSE.iter().find(|(word, _)| *word == text)
            && found.is_none_or(|(class, _)| class == text)
            && !particle
            && !(text == "about" && pieces.get(at + 1).is_some_and(|p| p.token.is_item()))
        {
            link = Link::Loose(group);
            free = true;
            at += 1;
            continue;
        }
        if LIMITING.contains(&text) {
            let some = matches!(text, "few" | "little") && at > 0 && pieces[at - 1].is("a");
            limits.push_str(match text {
                _ if some => "some",
                "each" => "every",
                _ => text,
            });
            limits.push('→');
            at += 1;
            continue;
        }
        let agent = piece.token.capital
            || matches!(
                text,
                "he" | "she" | "they" | "him" | "them" | "i" | "me" | "we" | "us" | "you"
            )
            || at == 0 && piece.token.text.starts_with(char::is_uppercase)
            || at == 0
                && !is_word(text)
                && text != "user"
                && synonyms::class(&base).is_none()
                && !form::is_short(text);
        gist.agents += usize::from(agent);
        let of_past = piece
            .past
            .unwrap_or_else(|| is_form && is_past_at(pieces, at));
        // `the user quit`: in the present it is `quits`.
        let of_past = of_past
            || at == 1
                && pieces[0].is("user")
                && (piece.is("quit") || piece.is_any(BARE_PARTICIPLES));
        gist.past |= of_past;
        let drink = matches!(base.as_str(), "take" | "have") && is_drunk(&pieces[at + 1..], &base);
        // At the start of a sentence all words have a capital: `Black tea`, `Will not fly`.
        let first = std::ptr::eq(piece.token, start);
        let plain = first
            && !piece.token.text.chars().skip(1).any(char::is_uppercase)
            && pieces.get(at + 1).is_some_and(|p| {
                p.is("not") || p.token.text == p.text && is_word(&p.text) && !is_verb(&p.text)
            });
        let mut class = match synonyms::class(&base) {
            _ if drink => "drink".to_owned(),
            // `a little money` is not `little money`.
            _ if text == "little" && at > 0 && pieces[at - 1].is("a") => "some".to_owned(),
            _ if text == "used" && !of_past => "second-hand".to_owned(),
            // `Turkey`, `IT` and `Rose` are no turkey, it and rose.
            _ if piece.token.text.contains(char::is_uppercase) && !plain => {
                piece.token.text.clone()
            }
            Some(class) => class.to_owned(),
            None => base,
        };
        // `Ana's sister` is not `sister Ana`.
        if std::mem::take(&mut owner) && RELATIONS.contains(&class.as_str()) {
            link = Link::Strict("'s");
        }
        // Two cats are not one.
        if is_plural(pieces, at) && !UNCOUNTED.contains(&class.as_str()) {
            class.push_str("+s");
        }
        // `was paid` is not `paid`, `likes fish` not `likes fishing`, `his work is` not `works`.
        if piece.past.is_none() && is_passive(pieces, at) {
            class.push_str("+ed");
        } else if !dated && is_going_on(pieces, at) && !LASTING.contains(&class.as_str()) {
            class.push_str("+now");
        } else if is_doing(pieces, at) {
            class.push_str("+ing");
        } else if at == 2 && pieces[0].is("user") && pieces[1].is("'s") && is_plain_verb(text) {
            class.push_str("+n");
        }
        gist.words.push(Word {
            key: key(&mut denied, &mut limits, &class),
            link,
            past: of_past,
            free: free
                || link != Link::None
                || agent && !gist.words.last().is_some_and(|w| w.agent),
            joint,
            agent,
            apposed: is_apposed(&pieces[..at]),
            article: match std::mem::replace(&mut article, Article::None) {
                _ if piece.token.capital || first && dated => Article::Known,
                article => article,
            },
            // `the knee hurt` is past where `hurts` is not.
            bare: first && at == 0 && lemma(text).0 == text || piece.is_any(BARE_PARTICIPLES),
            third: text.ends_with('s') && lemma(text).0 != text,
            ..Word::sign("")
        });
        (link, free, joint, past) = (Link::None, false, false, false);
        at += 1;
    }
    // What denies or limits at the end belongs to what is before it.
    if denied || !limits.is_empty() {
        let class = key(&mut denied, &mut limits, "");
        gist.words.push(Word::sign(&class));
    }
    // `no fish or meat` is neither.
    gist.either &= !gist.words.iter().any(|w| w.key.starts_with("not→"));
    gist.signs.sort_unstable();
    gist.close_lists();
    gist
}

pub(super) fn key(denied: &mut bool, limits: &mut String, class: &str) -> String {
    let not = if std::mem::take(denied) { "not→" } else { "" };
    format!("{not}{}{class}", std::mem::take(limits))
}
