//! An English sentence as the words that carry it, in an order that voice and word order leave.

use super::lemma::lemma;
use super::synonyms;
use super::{Article, Gist, Link, Person, Word};
use crate::judge::dates::DATE;
use crate::judge::form::{self, Token};
use crate::judge::items::is_mark;

/// Words that say nothing where everything else is the same.
#[rustfmt::skip]
const LIGHT: &[&str] = &[
    "a", "an", "the", "be", "'s", "do", "that", "which", "who", "there", "it", "so", "such", "my", "his", "her", "their", "its", "our", "your",
    "please", "kindly", "own", "really", "very", "of",
];

/// Words that must stand before the same word in both texts.
#[rustfmt::skip]
const STRICT: &[&str] = &[
    "from", "to", "before", "after", "until", "since", "without", "against", "than", "over", "under", "above", "below", "into", "by",
    "between", "behind", "towards", "toward", "via", "except", "instead", "as", "like", "unlike", "per", "through", "across",
];

/// Prepositions of phrases that may stand elsewhere; none stands for one of another group.
const LOOSE: &[(&str, &str)] = &[
    ("in", "in"),
    ("on", "on"),
    ("at", "at"),
    ("inside", "in"),
    ("within", "in"),
    ("during", "in"),
    ("with", "with"),
    ("for", "for"),
    ("about", "about"),
    ("because", "because"),
    ("due", "because"),
];

/// Words that limit what follows.
#[rustfmt::skip]
const LIMITING: &[&str] = &[
    "only", "just", "merely", "even", "all", "both", "each", "every", "any", "some", "most", "half", "almost", "nearly", "few", "several", "many", "much",
    "more", "less", "fewer", "least", "mostly", "mainly", "partly", "too", "so", "other", "another", "first", "last", "next", "same",
];

/// Words in whose presence no order is free.
#[rustfmt::skip]
const ORDERED: &[&str] = &[
    "than", "then", "first", "before", "after", "until", "while", "when", "if", "unless", "but", "instead", "from", "to", "over", "versus", "vs", "against",
    "respectively", "followed", "more", "less", "only", "who", "whose", "that", "says", "said", "told", "thinks", "asked", "lent", "owes", "taught",
];

/// Participles of verbs that no rule makes are known by their base.
const BY: &str = "by";

/// Forms of `be` and `get` before a participle: of now, and of then.
const NOW: &[&str] = &[
    "'s", "is", "are", "am", "be", "being", "get", "gets", "getting",
];
const THEN: &[&str] = &["was", "were", "been", "got", "had", "has", "have"];

/// Verbs after which `to do` is not `doing`: `stopped to smoke`, `stopped smoking`.
#[rustfmt::skip]
const ENDS_OR_AIMS: &[&str] = &[
    "stop", "quit", "remember", "forget", "try", "attempt", "regret", "go", "mean", "deserve", "pause", "stay", "come",
];

/// Forms of verbs that are participles too, though they look like the base.
const BARE_PARTICIPLES: &[&str] = &[
    "put", "cut", "hit", "set", "hurt", "let", "shut", "read", "run", "bet", "cast", "beat",
    "split", "spread",
];

/// Words that end the noun after `by`.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "in", "on", "at", "during", "for", "with", "from", "to", "because", "since", "before", "after", "until", "when", "while", "if", "as", "near", "last", "this",
    "yesterday", "today", ",", ";", "(", "-", "and", "every", "each", "without",
];

/// A token as it is rewritten.
#[derive(Clone)]
struct Piece<'a> {
    text: String,
    token: &'a Token,
    /// Whether it is a verb of the past whose auxiliary went.
    past: Option<bool>,
}

impl Piece<'_> {
    fn is(&self, text: &str) -> bool {
        !self.token.is_item() && self.text == text
    }

    fn is_any(&self, texts: &[&str]) -> bool {
        !self.token.is_item() && texts.contains(&self.text.as_str())
    }
}

/// The gist of a sentence; none where its words cannot be told.
pub(super) fn read(tokens: &[Token]) -> Option<Gist> {
    let plain =
        |t: &Token| t.is_item() || t.text.chars().all(|c| c.is_ascii() || !c.is_alphabetic());
    if tokens.is_empty()
        || tokens.len() > 40
        || !tokens.iter().all(plain)
        || tokens.iter().any(|t| t.is("?"))
    {
        return None;
    }
    let mut pieces: Vec<Piece<'_>> = tokens
        .iter()
        .map(|token| Piece {
            text: token.text.to_lowercase(),
            token,
            past: None,
        })
        .collect();
    name_user(&mut pieces, tokens);
    uncleave(&mut pieces);
    activate(&mut pieces);
    unite_denials(&mut pieces);
    let wish = wish(&mut pieces);
    to_compound(&mut pieces);
    let ordered = pieces
        .iter()
        .any(|p| p.is_any(ORDERED) || p.is_any(form::RANKED) && !p.is("not"));
    let mut gist = gather(&pieces, &tokens[0], ordered);
    gist.wish = wish;
    gist.he = pieces
        .iter()
        .any(|p| p.is_any(&["he", "his", "him", "himself"]));
    gist.she = pieces
        .iter()
        .any(|p| p.is_any(&["she", "her", "hers", "herself"]));
    gist.person = person(&pieces);
    gist.forget_contact(CONTACT);
    gist.name_relations(RELATIONS);
    Some(gist)
}

/// Of whom the pronouns speak. Where the user is named, they speak of the user.
fn person(pieces: &[Piece<'_>]) -> Option<Person> {
    if pieces.iter().any(|p| p.is("user")) {
        return None;
    }
    pieces.iter().find_map(|p| {
        Some(match p.text.as_str() {
            "i" | "me" | "my" | "mine" | "myself" => Person::Me,
            "we" | "us" | "our" | "ours" => Person::Us,
            "you" | "your" | "yours" => Person::You,
            "he" | "him" | "his" | "she" | "her" | "hers" => Person::One,
            "they" | "them" | "their" | "theirs" => Person::Them,
            _ => return None,
        })
    })
}

/// A sentence that begins with a verb of the third person is about the user.
fn name_user<'a>(pieces: &mut Vec<Piece<'a>>, tokens: &'a [Token]) {
    let [first, second, ..] = pieces.as_slice() else {
        return;
    };
    let verb = first.text.ends_with('s')
        && !first.token.is_item()
        && first.token.text == first.text
        && lemma(&first.text).0 != first.text
        && is_plain_verb(&lemma(&first.text).0);
    let governs = second.is_any(&["a", "an", "the", "her", "his", "their", "my"])
        || LOOSE.iter().any(|(word, _)| second.is(word))
        || second.token.capital;
    let other = |p: &Piece<'_>| {
        p.is(":") || p.is_any(&["should", "must"]) || crate::judge::openers::is_verb(&p.text)
    };
    if verb && governs && !pieces[1..].iter().any(other) {
        pieces.insert(
            0,
            Piece {
                text: "user".to_owned(),
                token: &tokens[0],
                past: None,
            },
        );
    }
}

/// `Tea is what the user drinks` is `the user drinks tea`.
fn uncleave(pieces: &mut Vec<Piece<'_>>) {
    let Some(at) = pieces.iter().position(|p| p.is("what")) else {
        return;
    };
    if at >= 2 && pieces[at - 1].is("'s") && pieces.get(at + 1).is_some_and(|p| p.is("user")) {
        let mut clause = pieces.split_off(at + 1);
        pieces.truncate(at - 1);
        let verb = 2.min(clause.len());
        clause.splice(verb..verb, pieces.drain(..));
        *pieces = clause;
    }
}

/// `The bike was repaired by Kofi` is `Kofi repaired the bike`.
fn activate(pieces: &mut Vec<Piece<'_>>) {
    let Some(by) = pieces.iter().position(|p| p.is(BY)) else {
        return;
    };
    let Some(aux) = pieces[..by]
        .iter()
        .rposition(|p| p.is_any(NOW) || p.is_any(THEN))
    else {
        return;
    };
    let after = &pieces[by + 1..];
    let [verb] = &pieces[aux + 1..by] else {
        return;
    };
    if phrase_at(&pieces[aux..]).is_some_and(|(_, size)| size > 2) {
        return;
    }
    let (_, participle) = lemma(&verb.text);
    let starts_noun = after
        .first()
        .is_some_and(|p| !p.token.is_item() && !p.text.ends_with("ing"));
    if !participle || !starts_noun || aux == 0 {
        return;
    }
    let length = after
        .iter()
        .position(|p| p.is_any(ENDS) || p.token.is_item())
        .unwrap_or(after.len());
    let mut first = aux;
    while first > 0 && pieces[first - 1].is_any(&["has", "have", "had", "be", "been", "get", "got"])
    {
        first -= 1;
    }
    let mut verb = verb.clone();
    verb.past = Some(pieces[first..=aux].iter().any(|p| p.is_any(THEN)));
    let agent = pieces[by + 1..by + 1 + length].to_vec();
    let rest = pieces[by + 1 + length..].to_vec();
    let patient = pieces[..first].to_vec();
    *pieces = [agent, vec![verb], patient, rest].concat();
}

/// `eats neither fish nor meat` is `not eats fish or meat`; `free of` is `no`.
fn unite_denials(pieces: &mut Vec<Piece<'_>>) {
    if let Some(at) = pieces.iter().position(|p| p.is("neither"))
        && at >= 1
    {
        let mut piece = pieces.remove(at);
        piece.text = "not".to_owned();
        pieces.insert(at - 1, piece);
        pieces
            .iter_mut()
            .filter(|p| p.is("nor"))
            .for_each(|p| p.text = "or".to_owned());
    }
    for at in 0..pieces.len().saturating_sub(1) {
        if pieces[at].is("free") && pieces[at + 1].is_any(&["of", "from"]) {
            pieces[at].text = "no".to_owned();
            pieces[at + 1].text = "of".to_owned();
        }
    }
    // An order: `never call`, `do not call`.
    if pieces.first().is_some_and(|p| p.is("never")) {
        pieces[0].text = "not".to_owned();
    }
}

/// Takes out what makes a wish of how something is to be done (`wants … as a table`, `… should
/// come as a table`, `please keep …`), and tells whether there was one; none where there is no verb.
fn wish(pieces: &mut Vec<Piece<'_>>) -> Option<bool> {
    const WISHES: &[&str] = &["wants", "want", "prefers", "prefer", "expects", "asks"];
    const DUTIES: &[&str] = &["should", "must", "has", "have", "needs", "need", "ought"];
    const COMES: &[&str] = &[
        "be",
        "come",
        "arrive",
        "get",
        "sent",
        "written",
        "delivered",
        "stay",
        "remain",
    ];
    let to = |piece: Option<&Piece<'_>>| piece.is_some_and(|p| p.is("to"));
    if pieces.first().is_some_and(|p| p.is("user"))
        && pieces.get(1).is_some_and(|p| p.is_any(WISHES))
    {
        let asks = pieces[1].is("asks");
        let other = pieces.get(2);
        if to(other) || asks && !other.is_some_and(|p| p.is("for")) {
            return Some(false);
        }
        pieces.drain(..2 + usize::from(asks));
        return Some(true);
    }
    if let Some(at) = pieces
        .iter()
        .position(|p| p.is_any(DUTIES))
        .filter(|at| *at > 0 && !pieces[0].is("user"))
    {
        let infinitive = to(pieces.get(at + 1));
        let duty = infinitive || pieces[at].is_any(&["should", "must"]);
        let from = at + 1 + usize::from(infinitive);
        let comes = pieces[from.min(pieces.len())..]
            .iter()
            .take_while(|p| p.is_any(COMES))
            .count();
        if duty && comes > 0 {
            pieces.drain(at..from + comes);
            return Some(true);
        }
    }
    let verb = |p: &Piece<'_>| {
        p.is_any(&["'s", "are", "was", "were"]) || crate::judge::openers::is_verb(&p.text)
    };
    let title = pieces.iter().any(|p| p.is(":")) && !pieces.iter().any(verb);
    (!title).then_some(false)
}

/// `messages to clients` are `client messages`.
fn to_compound(pieces: &mut [Piece<'_>]) {
    const SENT: &[&str] = &[
        "message", "msg", "msgs", "emails", "replies", "email", "letter", "reply", "mail", "call",
        "invoice", "report",
    ];
    for at in 0..pieces.len().saturating_sub(2) {
        if pieces[at + 1].is("to")
            && SENT.contains(&lemma(&pieces[at].text).0.as_str())
            && !pieces[at + 2].token.is_item()
        {
            pieces[at + 1].text = "of".to_owned();
            pieces[at + 2].text = lemma(&pieces[at + 2].text).0;
            pieces.swap(at, at + 2);
        }
    }
}

/// Words around an address or number at which somebody can be reached.
#[rustfmt::skip]
const CONTACT: &[&str] = &["email", "mail", "address", "phone", "smartphone", "tel", "nr", "cell", "number", "call", "contact", "reach", "can", "under", "answer", "use", "at"];

/// Relations, as the lists call them.
#[rustfmt::skip]
const RELATIONS: &[&str] = &[
    "sis", "bro", "mother", "father", "mum", "dad", "wife", "hubby", "husband", "son", "daughter", "cousin", "aunt", "uncle", "friend", "colleague", "boss", "manager", "neighbor", "landlord",
    "teacher", "doctor", "dr", "dentist", "lawyer", "niece", "nephew", "grandmother", "grandfather", "grandma", "grandpa", "partner", "girlfriend", "boyfriend", "fiance", "fiancee", "roommate", "coach", "therapist", "dog", "cat",
];

/// What one drinks, which may be taken or had.
#[rustfmt::skip]
const DRINKS: &[&str] = &["tea", "coffee", "milk", "water", "juice", "beer", "wine", "cocoa", "espresso", "cappuccino", "latte", "lemonade", "soda", "cola", "smoothie", "whisky", "whiskey", "matcha"];

/// Collects the carrying words.
fn gather(pieces: &[Piece<'_>], start: &Token, ordered: bool) -> Gist {
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
            let told = pieces[..at]
                .iter()
                .any(|p| crate::judge::openers::is_verb(&p.text) && !p.is("'s"));
            let name = at > 0 && {
                let before = pieces[at - 1].token;
                let word = pieces[at - 1].text.as_str();
                let relative = synonyms::class(word).is_some_and(|c| RELATIONS.contains(&c));
                let known = super::known::is_word(word) || form::is_short(word);
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
            .is_none_or(|p| p.is_any(STRICT) || LOOSE.iter().any(|(word, _)| p.is(word)));
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
                && !super::known::is_word(text)
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
                p.is("not")
                    || p.token.text == p.text
                        && super::known::is_word(&p.text)
                        && !crate::judge::openers::is_verb(&p.text)
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

fn key(denied: &mut bool, limits: &mut String, class: &str) -> String {
    let not = if std::mem::take(denied) { "not→" } else { "" };
    format!("{not}{}{class}", std::mem::take(limits))
}

/// The longest phrase that the lists know at the start of `pieces`, and its size.
fn phrase_at(pieces: &[Piece<'_>]) -> Option<(&'static str, usize)> {
    let mut lemmas = String::new();
    let mut found = None;
    for (size, piece) in pieces.iter().take(synonyms::LONGEST).enumerate() {
        if piece.token.is_item() {
            break;
        }
        if size > 0 {
            lemmas.push(' ');
        }
        lemmas.push_str(&lemma(&piece.text).0);
        if let Some(class) = synonyms::class(&lemmas) {
            found = Some((class, size + 1));
        }
    }
    found
}

/// Whether it is surely a form of a verb.
fn is_verb_form(piece: &Piece<'_>) -> bool {
    let irregular = super::base_of_irregular(&piece.text).is_some() && is_past(piece);
    !piece.token.is_item() && (crate::judge::openers::is_verb(&piece.text) || irregular)
}

fn is_past(piece: &Piece<'_>) -> bool {
    piece.past.unwrap_or_else(|| lemma(&piece.text).1)
}

/// Whether the form of the past at `at` tells of the past, and is no participle of now or adjective.
fn is_past_at(pieces: &[Piece<'_>], at: usize) -> bool {
    let before = pieces[..at]
        .iter()
        .rev()
        .find(|p| !p.text.ends_with("ly") && !p.is("not"));
    !before.is_some_and(|p| {
        p.is_any(NOW)
            || p.is_any(&[
                "a", "an", "the", "her", "his", "their", "my", "of", "with", "to", "more", "in",
            ])
    })
}

/// Whether the word at `at` is a participle of what is done to somebody, or of what they are.
fn is_passive(pieces: &[Piece<'_>], at: usize) -> bool {
    let piece = &pieces[at];
    let before = pieces[..at]
        .iter()
        .rev()
        .find(|p| !p.text.ends_with("ly") && !p.is_any(&["not", "never", "always", "often"]));
    (lemma(&piece.text).1 || piece.is_any(BARE_PARTICIPLES))
        && before.is_some_and(|p| {
            p.is_any(NOW)
                || p.is_any(&["was", "were", "been", "got", "become", "becomes", "became"])
        })
}

/// Whether the word at `at` names a doing: `fishing`, `to fish`, but no `is fishing`, `the painting`.
fn is_doing(pieces: &[Piece<'_>], at: usize) -> bool {
    let text = pieces[at].text.as_str();
    let mut before = pieces[..at].iter().rev();
    if before.clone().next().is_some_and(|p| p.is("to")) {
        // `needs to check` is no `needs checking`.
        let duty = at >= 2
            && pieces[at - 2].is_any(&["need", "needs", "needed", "have", "has", "had", "got"]);
        return is_plain_verb(text) && !duty;
    }
    let is_now = before
        .find(|p| !p.text.ends_with("ly") && !p.is_any(&["not", "always", "often", "now", "user"]));
    text.len() > 4
        && text.ends_with("ing")
        && !matches!(text, "morning" | "evening" | "during")
        && !is_now.is_some_and(|p| {
            p.is_any(NOW)
                || p.is_any(&[
                    "was", "were", "been", "a", "an", "the", "this", "her", "his", "their", "my",
                    "every", "each",
                ])
        })
}

/// What lasts, so that `is living` is hardly more of now than `lives`.
#[rustfmt::skip]
const LASTING: &[&str] = &[
    "live", "work", "study", "learn", "teach", "train", "date", "use", "plan", "suffer", "look", "wear", "hope", "hold", "save", "sit", "stand", "lie", "hang",
];

/// Whether the word at `at` tells of something that is going on: `is drinking coffee` is no habit.
fn is_going_on(pieces: &[Piece<'_>], at: usize) -> bool {
    let before = pieces[..at]
        .iter()
        .rev()
        .find(|p| !p.text.ends_with("ly") && !p.is_any(&["not", "always", "often", "now", "user"]));
    let text = pieces[at].text.as_str();
    text.len() > 4
        && text.ends_with("ing")
        && lemma(text).0 != text
        && before.is_some_and(|p| p.is_any(&["'s", "is", "are", "am", "be", "was", "were", "been"]))
}

/// Whether a bare noun follows, so that the participle before it may be an adjective: `has painted walls`.
fn is_noun_after_participle(rest: &[Piece<'_>]) -> bool {
    rest.first().is_some_and(|p| {
        !p.token.is_item()
            && p.token.text == p.text
            && p.text.chars().all(char::is_alphabetic)
            && !LIGHT.contains(&p.text.as_str())
            && !STRICT.contains(&p.text.as_str())
            && !LOOSE.iter().any(|(word, _)| p.is(word))
            && !LIMITING.contains(&p.text.as_str())
            && !p.text.ends_with("ly")
            && !p.text.ends_with("ing")
            && !lemma(&p.text).1
            && !p.is_any(&[
                "near", "and", "or", "but", "out", "up", "off", "down", "away", "back", "home",
                "abroad", "here", "there", "this", "that", "user", "him", "them", "me", "us",
                "you", "one", "well", "not", "never", "again",
            ])
    })
}

/// Classes of which a word may be one or many.
const UNCOUNTED: &[&str] = &["fiction", "sport", "medicine", "luggage", "train"];

/// Whether a comma at `at` joins two words of a list or phrase.
fn joins(pieces: &[Piece<'_>], at: usize) -> bool {
    let word = |p: &Piece<'_>| {
        let light = LIGHT.contains(&lemma(&p.text).0.as_str()) || p.is("user");
        !p.token.is_item() && p.text.chars().any(char::is_alphanumeric) && !light
    };
    let next = pieces.get(at + 1);
    // The second comma of `Tom, the user's brother, plays` ends what the first one began.
    let closes = (1..at)
        .any(|i| pieces[i].is_any(&[",", "("]) && (!word(&pieces[i + 1]) || !word(&pieces[i - 1])));
    !closes
        && at > 0
        && word(&pieces[at - 1])
        && next.is_some_and(|p| {
            word(p)
                && !p.is_any(STRICT)
                && !LOOSE.iter().any(|(w, _)| p.is(w))
                && !p.is_any(&["because", "so"])
        })
}

/// Whether what follows `take` or `have` is a drink: no `coffee machine`, and nothing that one keeps
/// (`has tea at home`) or carries (`takes coffee to work`).
fn is_drunk(rest: &[Piece<'_>], verb: &str) -> bool {
    let Some(at) = rest.iter().take(3).position(|p| p.is_any(DRINKS)) else {
        return false;
    };
    rest.get(at + 1).map_or(verb == "take", |p| {
        p.token.is_item()
            || p.is_any(&[
                "every", "each", "for", "with", "after", "before", "without", "daily",
            ])
    })
}

/// Whether the word at `at` is a noun that tells of several.
fn is_plural(pieces: &[Piece<'_>], at: usize) -> bool {
    let text = &pieces[at].text;
    let (base, past) = lemma(text);
    if past || base == *text || text.ends_with("ing") || text == "'s" {
        return false;
    }
    let verb =
        |p: &Piece<'_>| p.is_any(&["'s", "are"]) || is_verb_form(p) || p.text.ends_with("ing");
    let told = pieces[..at].iter().any(verb);
    let determined = at > 0 && {
        let before = &pieces[at - 1];
        before.token.is_item()
            || before.is_any(STRICT)
            || LOOSE.iter().any(|(w, _)| before.is(w))
            || before.is_any(&[
                "a", "the", "her", "his", "their", "my", "of", "some", "all", "many", "no", "'s",
            ])
    };
    let many = at == 0
        && pieces
            .get(1)
            .is_some_and(|p| p.is_any(&["are", "were", "have"]) || is_plain_verb(&p.text));
    told || determined || many || !is_plain_verb(&base)
}

/// Whether what is before a word makes it an apposition: a comma or bracket, and `the user's`.
fn is_apposed(before: &[Piece<'_>]) -> bool {
    let own = before
        .iter()
        .rev()
        .take_while(|p| p.is_any(&["'s", "user", "her", "his", "their", "my", "the"]))
        .count();
    own > 0
        && before[..before.len() - own]
            .last()
            .is_some_and(|p| p.is_any(&[",", "("]))
}

/// Whether the word is a verb as it stands after `to`.
fn is_plain_verb(text: &str) -> bool {
    // `thing` and `herring` are forms of no verb.
    if LIGHT.contains(&text) && !matches!(text, "be" | "do") {
        return false;
    }
    let (base, past) = lemma(text);
    base == text && !past && super::known::is_word(&format!("{}ing", text.trim_end_matches('e')))
        || super::known::is_word(&format!(
            "{text}{}ing",
            text.chars().next_back().unwrap_or_default()
        ))
        || text == "be"
}
