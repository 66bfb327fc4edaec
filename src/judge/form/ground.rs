//! What a sentence is about, and with it what may be added to it without taking anything away.
//!
//! A phrase that is added to a habit, a taste, a wish or an ability limits it (`drinks coffee` and
//! `drinks coffee with Ana`), so nothing is added to those but a reason. What happened once, what
//! somebody has or is, and where they live or work bears more: `met Tom` is said by `met Tom in
//! Rome`, `has a dog` by `has a dog named Max`. Both the sentences and the phrases are closed lists;
//! what is on none of them is not judged.

use super::token::Token;
use crate::judge::cues;
use crate::judge::dates::{DATE, WEEKDAY};
use crate::judge::openers::is_verb;

/// What a sentence tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// What happened once, or is going on just now.
    Event,
    /// That somebody has a thing or a relative.
    Has,
    /// What somebody is.
    Is,
    /// That somebody drives, rents … a thing.
    Uses,
    /// Where somebody lives.
    Lives,
    /// What somebody works as, or where.
    Works,
    /// What somebody plays or sings.
    Plays,
    /// That somebody plays or sings in a choir, a team.
    Member,
    /// What is done at a fixed time.
    Series,
    /// Any other.
    Other,
}

/// Verbs of what happens once, in the past.
#[rustfmt::skip]
const EVENTS: &[&str] = &[
    "adopted", "attended", "booked", "bought", "built", "celebrated", "finished", "fixed", "flew", "founded", "graduated",
    "hired", "hosted", "installed", "joined", "lost", "married", "met", "moved", "opened", "ordered", "paid", "painted", "planted", "published",
    "received", "repaired", "signed", "sold", "started", "stayed", "travelled", "traveled", "visited", "went", "won", "wrote",
];

/// The same, where they are not said of what somebody is left or found as: `left Ana in the lurch`,
/// but `found a flat`.
const MAKING: &[&str] = &[
    "broke", "found", "gave", "got", "left", "made", "saw", "sent", "took",
];

/// Verbs of having, and the articles that begin what is had.
#[rustfmt::skip]
const HAS: &[&str] = &["has", "have", "had", "owns", "owned", "hat", "hatte", "besitzt", "tiene", "tenía"];
const IS: &[&str] = &["'s", "am", "was", "ist", "es"];
const USES: &[&str] = &["drives", "rides", "rents", "keeps"];
const INDEFINITE: &[&str] = &["a", "an", "un", "una", "ein", "eine", "einen"];
const OWN: &[&str] = &["his", "her", "their", "my", "our"];

/// Words that end a noun with its adjectives.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    ",", ";", "(", ")", "-", ":", "and", "or", "to", "of", "with", "at", "in", "on", "for", "from", "near", "by", "during", "through", "around", "behind", "under", "since",
    "next", "because", "together", "along", "about", "as", "who", "whose", "which", "that", "named", "called", "including",
    "mit", "bei", "aus", "seit", "namens", "weil", "con", "en", "desde", "que", "porque", "llamado", "llamada", "de",
];

/// Words that begin a phrase of an addition.
#[rustfmt::skip]
pub(super) const BEGINS: &[&str] = &[
    "with", "at", "in", "on", "for", "from", "near", "by", "since", "next", "because", "together", "along", "as", "to", "about", "during", "through", "around", "behind", "under",
    "who", "whose", "which", "that", "named", "called", "including", "throughout", "within", "after", "before", "outside", "inside", "via", "per", "among", "amid", "upon", "towards",
    "mit", "bei", "aus", "seit", "namens", "weil", "con", "en", "desde", "que", "porque", "llamado", "llamada",
];

/// Words before a name.
const NAMED: &[&str] = &["named", "called", "namens", "llamado", "llamada"];

/// Units of what is no time, besides money.
const MEASURES: &[&str] = &["", "year-old", "in", "m", "kg", "l", "GB", "MB", "TB"];

fn is_time(unit: &str) -> bool {
    let money = unit.len() == 3 && unit.bytes().all(|c| c.is_ascii_uppercase());
    !money && !MEASURES.contains(&unit)
}

/// Numbers that are not read as such.
const NUMERALS: &[&str] = &[
    "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce",
];

/// Words after which a noun must come.
pub(super) const ARTICLES: &[&str] = &[
    "a", "an", "the", "his", "her", "their", "my", "un", "una", "ein", "eine", "einen",
];

/// Nouns of groups in which one plays or sings.
#[rustfmt::skip]
const GROUPS: &[&str] = &["orchestra", "band", "choir", "team", "club", "league", "quartet", "trio", "duo", "ensemble", "chorus"];

/// What has window seats: who likes such a seat likes it there, said or not.
#[rustfmt::skip]
const JOURNEYS: &[&str] = &["flight", "flights", "plane", "planes", "train", "trains", "bus", "buses", "coach", "coaches", "trip", "trips"];

/// People who live somewhere of their own.
#[rustfmt::skip]
const RELATIVES: &[&str] = &["sis", "sister", "bro", "brother", "son", "daughter", "cousin", "aunt", "uncle", "niece", "nephew", "friend", "grandmother", "grandfather", "grandma", "grandpa"];

/// Words of times that come again, of spans, and of what is not so in earnest: with one of them a
/// phrase says when something holds, or that it does not.
#[rustfmt::skip]
const TIMES: &[&str] = &[
    "second", "minute", "hour", "day", "night", "week", "month", "season", "semester", "term", "year", "while", "time", "times", "moment", "morning", "evening", "afternoon", "noon", "lunch", "breakfast", "dinner",
    "seconds", "minutes", "hours", "days", "nights", "weeks", "months", "seasons", "semesters", "terms", "years", "mornings", "evenings", "afternoons", "weekdays", "workdays",
    "weekend", "weekends", "spring", "summer", "summers", "autumn", "fall", "winter", "winters", "xmas", "christmas", "easter", "holiday", "holidays", "vacation", "lent", "ramadan", "pandemic",
    "party", "parties", "occasion", "occasions", "emergency", "emergencies", "moments", "beginning", "start", "end", "exchange", "return", "case", "cases",
];

/// Whether `addition` (without the sign that begins it) may follow `before`; `apart`: after a comma,
/// dash or bracket.
pub(super) fn bears(before: &[Token], addition: &[Token], apart: bool) -> bool {
    let Some(first) = addition.first() else {
        return false;
    };
    // A reason, a start, examples or a need leave all as it is.
    if is_reason(addition) || apart && first.is_any(&["including", "needs"]) && addition.len() > 1 {
        return true;
    }
    let ground = ground(before);
    if ground == Ground::Event && addition.iter().all(|t| t.is_item()) {
        return true;
    }
    // `lives in Oslo [and works at Equinor]`
    if first.is("and") {
        return !apart
            && before.first().is_some_and(|t| t.is("user"))
            && is_further(&addition[1..]);
    }
    // `a daughter, [Lily]`
    if apart && ground == Ground::Has && addition.len() <= 2 && addition.iter().all(|t| t.capital) {
        return true;
    }
    // `a dog, [a beagle named Max]`, but no `likes Java, [the island]`.
    let apposed = apart
        && (first.is_any(INDEFINITE) || first.unit() == Some("year-old"))
        && matches!(
            ground,
            Ground::Has | Ground::Is | Ground::Uses | Ground::Event
        )
        && before.iter().any(|t| t.is_any(INDEFINITE))
        && before.last().is_some_and(|t| !t.capital);
    let addition = match addition
        .windows(2)
        .position(|w| w[0].is("and") && w[1].is_any(EVENTS))
    {
        // `went to Japan with Elena [and stayed in Nara for a week]` goes on with another event.
        Some(at) if ground == Ground::Event && at > 0 => &addition[..at],
        _ => addition,
    };
    let mut phrases = phrases(addition);
    if apposed {
        let head = phrases.remove(0);
        // `a plush one` may be no dog.
        let told = addition.iter().any(|t| t.is_item() || t.is_any(NAMED));
        let plain = head.iter().all(|t| t.is_item() || !t.is_any(TIMES));
        return told
            && plain
            && head.len() > 1
            && phrases.iter().all(|p| is_borne(Ground::Has, before, p));
    }
    phrases
        .iter()
        .all(|phrase| is_borne(ground, before, phrase) || is_reason(phrase))
}

/// Whether `gap` may stand between an article at the end of `before` and its noun.
pub(super) fn bears_adjectives(before: &[Token]) -> bool {
    let Some((article, rest)) = before.split_last() else {
        return false;
    };
    let after = |words: &[&str]| rest.last().is_some_and(|t| t.is_any(words));
    let bears = match ground(before) {
        Ground::Event => true,
        Ground::Has => after(HAS),
        Ground::Is => after(IS),
        Ground::Uses => after(USES),
        Ground::Lives => after(&["in"]),
        Ground::Works => after(&["as"]),
        Ground::Plays | Ground::Member | Ground::Series | Ground::Other => false,
    };
    article.is_any(INDEFINITE) && bears
}

/// Whether a phrase of time may stand before a sentence that has none.
pub(super) fn is_event(sentence: &[Token]) -> bool {
    ground(sentence) == Ground::Event
}

/// Whether a second clause says one more thing of the user, as a sentence of its own might.
fn is_further(clause: &[Token]) -> bool {
    let words: Vec<&str> = clause.iter().map(|t| t.text.as_str()).collect();
    !clause.iter().any(Token::is_item) && cues::stands_alone(&words.join(" "))
}

fn is_reason(phrase: &[Token]) -> bool {
    phrase.len() > 1 && phrase[0].is_any(&["because", "since", "seit", "desde", "weil", "porque"])
}

/// Divides an addition before each word that begins a phrase.
fn phrases(addition: &[Token]) -> Vec<&[Token]> {
    let mut starts = vec![0];
    for at in 1..addition.len() {
        let goes_on = addition[at - 1].is_any(&["together", "along", "next"])
            // `named after`, `which is in`, `who lives in`: one phrase.
            || starts.last().is_some_and(|s| addition[*s].is_any(&["who", "whose", "which", "que"]));
        if addition[at].is_any(BEGINS) && !goes_on {
            starts.push(at);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([addition.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&s, e)| &addition[s..e])
        .collect()
}

/// What `before` tells.
fn ground(before: &[Token]) -> Ground {
    let own = |t: &Token| t.is_any(HAS) || t.is_any(IS) || t.is_any(USES);
    let past = |t: &Token| t.is_any(EVENTS) || t.is_any(MAKING);
    let verb = |t: &Token| !t.is_item() && (is_verb(&t.text) || past(t) || own(t));
    let Some(at) = before.iter().position(verb).filter(|at| *at <= 4) else {
        return if before.iter().any(is_fixed) {
            Ground::Series
        } else {
            Ground::Other
        };
    };
    let (verb, rest) = (&before[at], &before[at + 1..]);
    let next = rest.first();
    let next_is = |words: &[&str]| next.is_some_and(|t| t.is_any(words));
    let counted = next_is(INDEFINITE) || next.is_some_and(Token::is_item);
    if verb.is_any(EVENTS) || verb.is_any(MAKING) && counted {
        return Ground::Event;
    }
    if verb.is_any(&["has", "have", "had", "'s", "was", "were"]) && next_is(EVENTS) {
        return Ground::Event;
    }
    if verb.is_any(&["was", "were"]) && next_is(&["born"]) {
        return Ground::Event;
    }
    let doing = next.is_some_and(|t| !t.is_item() && t.text.len() > 5 && t.text.ends_with("ing"));
    if verb.is_any(&["'s", "am", "are"]) && doing {
        return Ground::Event;
    }
    if verb.is("lives") && next_is(&["in", "at", "near", "with"]) {
        return Ground::Lives;
    }
    if verb.is("works") && next_is(&["as", "at", "for"]) {
        return Ground::Works;
    }
    if before.iter().any(is_fixed) {
        return Ground::Series;
    }
    if verb.is_any(&["plays", "sings"]) {
        let member = next_is(&["in"]) && rest.last().is_some_and(|t| t.is_any(GROUPS));
        return if member {
            Ground::Member
        } else {
            Ground::Plays
        };
    }
    let noun = rest.len() >= 2 && rest.len() <= 6 || rest.len() == 1 && verb.is_any(USES);
    let one = !rest
        .iter()
        .skip(1)
        .any(|t| t.is_any(ENDS) && !t.is_any(&["named", "called"]));
    match () {
        // Before its noun an article stands at the end.
        () if !counted || !(noun || rest.len() == 1) || !one => Ground::Other,
        () if verb.is_any(HAS) => Ground::Has,
        () if verb.is_any(IS) => Ground::Is,
        () if verb.is_any(USES) => Ground::Uses,
        () => Ground::Other,
    }
}

/// Whether a word tells the day or hour at which something is done.
fn is_fixed(token: &Token) -> bool {
    let time = [DATE, "time", "part of day"];
    token.unit().is_some_and(|u| time.contains(&u))
        || token.is_item() && token.text.starts_with(WEEKDAY)
}

/// Whether one phrase may be added to a sentence of this ground.
fn is_borne(ground: Ground, before: &[Token], phrase: &[Token]) -> bool {
    let [first, rest @ ..] = phrase else {
        return false;
    };
    let (first, rest) = match rest {
        [with, rest @ ..] if first.is_any(&["together", "along"]) => (with, rest),
        [to, rest @ ..] if first.is("next") && to.is("to") => (first, rest),
        _ => (first, rest),
    };
    let Some(second) = rest.first() else {
        return false;
    };
    let timed = rest
        .iter()
        .any(|t| t.is_any(TIMES) || t.unit().is_some_and(is_time));
    let of_relative = before.last().is_some_and(|t| t.is_any(RELATIVES));
    let certain = second.is("the");
    let own = second.is_any(OWN);
    let a = second.is_any(INDEFINITE);
    let named = second.capital;
    let is = |words: &[&str]| first.is_any(words);
    // `likes window seats [on long flights] [with Delta]`
    let journey = is(&["on"]) && rest.last().is_some_and(|t| t.is_any(JOURNEYS));
    let carrier = is(&["with"]) && rest.iter().all(|t| t.capital);
    if before.last().is_some_and(|t| t.is("seats")) && (journey || carrier) {
        return true;
    }
    // `a dog called Max`, `una hija llamada Ana`.
    if is(NAMED) {
        return ground != Ground::Other && rest.iter().all(|t| t.capital);
    }
    match ground {
        Ground::Event => {
            // `planted a tree [in the app]`, `won the race [at the simulator]`.
            is(&["at", "in", "from"]) && (named || second.is_item())
                || is(&["with", "by"]) && (own || a || named || second.is_item() && !timed)
                || is(&["for"]) && second.is_item() && !timed
        }
        Ground::Has => {
            is(&["with", "con", "mit"]) && (a && rest.len() == 2 || second.is_item()) && !timed
                || is(&["from", "near", "next"]) && (certain || named) && !timed
                || is(&["in"]) && named && !timed && of_relative
                || is(&["de"]) && is_age(rest)
                || is(&["who", "which", "que", "whose"]) && is_plain_clause(rest)
        }
        Ground::Is => {
            is(&["at"]) && named && !timed || is(&["who", "which"]) && is_plain_clause(rest)
        }
        // `plays tennis on Fridays [with Jonas]`
        Ground::Series => is(&["with"]) && rest.iter().all(|t| t.capital),
        Ground::Uses | Ground::Other => false,
        _ if timed => false,
        Ground::Member => is(&["in", "at"]) && named || is(&["with"]) && (named || own),
        Ground::Lives => {
            is(&["in"]) && named
                || is(&["at", "near", "next"]) && (certain || own || named)
                || is(&["with"]) && (named || own)
        }
        Ground::Works => {
            is(&["in"]) && named
                || is(&["at", "for"]) && (certain || a || named)
                || is(&["as"]) && a
        }
        Ground::Plays => {
            let group = rest.last().is_some_and(|t| t.is_any(GROUPS));
            let team = certain && rest.get(1).is_some_and(|t| t.capital);
            is(&["in", "with", "for"]) && group || is(&["for"]) && team
        }
    }
}

/// `[de] ocho años`.
fn is_age(words: &[Token]) -> bool {
    words.len() <= 2
        && words
            .first()
            .is_some_and(|t| t.is_item() || t.is_any(NUMERALS))
}

/// Whether a clause after `who` or `which` tells one more thing and takes nothing back: `is five`,
/// `lives in Rome`.
fn is_plain_clause(clause: &[Token]) -> bool {
    let [first, second, ..] = clause else {
        return false;
    };
    first.is_any(&["'s", "are"])
        && (second.is_item()
            || second.is_any(INDEFINITE)
            || second.is("called")
            || second.is("named"))
        || first.is_any(&[
            "lives", "works", "studies", "plays", "likes", "speaks", "has",
        ])
        || first.is("se") && second.is("llama")
        || first.is("name") && second.is("'s")
}
