//! A sentence that says all of another one and adds to it.
//!
//! Every word of the shorter one stands in the longer one in its order, and each addition is one of
//! a few that leave the rest as it is: a reason, a name, a place or company of what happened once or of
//! what somebody has or is, plain adjectives after an indefinite article. What a sentence may be added
//! to depends on what it tells (`ground`). What denies, limits, conditions, doubts or makes another noun
//! (`dog` → `dog allergy`) is none, and what is denied is never added to: `does not smoke at work`
//! says less than `does not smoke`.

use super::token::{TIMES, Token};
use super::{additions_han, ground};

/// Words that deny, limit, condition, doubt, compare or make up. An addition has none of them, and
/// a sentence that has one is only contained in its equal.
#[rustfmt::skip]
const LIMITS: &[&str] = &[
    "not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "without", "only", "just", "merely",
    "except", "unless", "if", "when", "whenever", "while", "until", "but", "however", "though", "although", "yet",
    "instead", "rather", "than", "formerly", "former", "previously", "once", "used", "ex", "anymore", "longer",
    "maybe", "perhaps", "might", "may", "could", "would", "should", "must", "can", "will", "shall", "probably", "possibly",
    "likely", "hopes", "hoped", "wants", "wanted", "plans", "planned", "intends", "tries", "tried", "wishes", "considers",
    "pretends", "pretended", "supposedly", "allegedly", "apparently", "reportedly", "imaginary", "fictional", "fake",
    "false", "joke", "dream", "dreams", "game", "games", "novel", "film", "movie", "play", "story", "theory", "paper",
    "rarely", "seldom", "hardly", "barely", "scarcely", "almost", "nearly", "sometimes", "occasionally", "never", "few",
    "little", "less", "more", "most", "least", "fewer", "half", "both", "all", "every", "each", "any", "always", "or", "?",
    "said", "says", "claims", "claimed", "thinks", "thought", "believes", "told", "according", "stopped", "stops", "quit",
    "avoids", "refuses", "lacks", "unable", "failed", "cancelled", "ended", "over", "gone", "anti", "against", "despite", "like", "unlike",
    "nicht", "kein", "keine", "nie", "ohne", "nur", "wenn", "falls", "aber", "sin", "nunca", "pero", "solo", "sólo", "si", "cuando",
    "vielleicht", "manchmal", "selten", "früher", "bis", "meistens", "kaum", "angeblich", "außer", "veces", "quizás", "quizá", "antes", "hasta", "salvo", "excepto", "casi", "menos", "apenas",
];

/// The same of Chinese and Japanese characters and phrases, looked for in the text of an addition.
#[rustfmt::skip]
const LIMITS_HAN: &[&str] = &[
    "不", "没", "沒", "别", "未", "无", "非", "勿", "但", "却", "可是", "只", "仅", "除", "如果", "若", "要是", "的话", "假", "仿", "想", "打算", "可能",
    "也许", "大概", "好像", "据", "说", "曾", "以前", "之前", "原来", "前", "已", "再", "才", "或", "都", "每", "改", "换", "停",
    "戒", "梦", "死", "玩具", "虚", "吗", "呢", "?", "怎", "什么", "为何", "哪", "谁", "多少", "几", "让", "被", "使", "比", "更", "最",
    "少", "半", "模型", "ない", "だけ", "しか", "たら", "なら", "元",
];

/// Words of a phrase without which its sentence says something else: `a doctor in training`, `a son in
/// law`, `lives there in summer`.
#[rustfmt::skip]
const DEFEATS: &[&str] = &[
    "training", "law", "name", "family", "sale", "rent", "loan", "fun", "paper", "theory", "series", "musical", "opera", "stage", "show", "canvas", "toy", "bottle",
    "wheels", "monopoly", "minecraft", "cosplay", "heart", "spirit", "eyes", "dolls", "sand", "weekend", "weekends", "spring", "summer", "summers", "autumn", "fall", "winter",
    "winters", "xmas", "christmas", "easter", "holiday", "holidays", "vacation", "party", "parties", "occasions", "emergency", "emergencies",
];

/// Nouns of which a colour makes another thing: `a green card`, `a blackbird`.
const COLOURED: &[&str] = &[
    "card", "bird", "board", "house", "belt", "box", "flag", "list", "market", "orange", "collar",
    "hat", "room", "paper", "wine", "tea",
];

/// Colours.
const COLOURS: &[&str] = &[
    "red", "blue", "green", "yellow", "brown", "black", "white", "grey", "silver", "golden",
    "orange", "purple", "pink",
];

/// Adjectives of size, age, colour and make, which make no other thing of what they stand before.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "new", "old", "young", "small", "big", "large", "tiny", "huge", "tall", "long", "red", "blue", "green", "yellow", "brown", "black",
    "white", "grey", "gray", "silver", "orange", "purple", "pink", "elder", "older", "younger", "little", "beautiful", "lovely", "friendly",
    "quiet", "noisy", "cheap", "expensive", "modern", "full-time", "second-hand", "handmade", "wooden", "electric", "spacious", "sunny", "cosy",
];

/// Endings of compounds that tell of what make or kind something is.
const COMPOUNDS: &[&str] = &[
    "-shift", "-old", "-inch", "-bedroom", "-room", "-door", "-seat", "-speed", "-storey",
    "-story", "-haired", "-eyed", "-sized",
];

/// Longest addition inside a sentence, and longest sentences that are looked at, in tokens.
const GAP: usize = 12;
const LONGEST: usize = 80;

/// Whether `long` is `short` with additions that neither limit nor deny it.
pub(super) fn contains(long: &[Token], short: &[Token]) -> bool {
    let han = short.iter().any(Token::is_han);
    let enough = if han { 4 } else { 3 };
    short.len() >= enough
        && short.len() < long.len()
        && long.len() <= LONGEST
        && !limits(short)
        && !long.iter().any(|t| t.is("?"))
        && (walk(long, 0, short, 0)
            || !han && time_last(long).is_some_and(|long| walk(&long, 0, short, 0)))
}

/// The sentence with its first phrase of time at the end of its first clause.
fn time_last(long: &[Token]) -> Option<Vec<Token>> {
    let start = usize::from(long.first()?.is_any(TIMES));
    let end = start + long[start..].iter().take_while(|t| t.is_item()).count();
    if end == start {
        return None;
    }
    let rest = &long[end..];
    let clause = rest.iter().position(|t| t.is(",")).unwrap_or(rest.len());
    Some([&rest[..clause], &long[..end], &rest[clause..]].concat())
}

/// Whether what is left of `long` from `at` says what is left of `short` from `done`.
fn walk(long: &[Token], at: usize, short: &[Token], done: usize) -> bool {
    if done == short.len() {
        return is_tail(&long[at..], short);
    }
    if long.get(at).is_some_and(|t| t.covers_at(short, done)) && walk(long, at + 1, short, done + 1)
    {
        return true;
    }
    // One addition at a place.
    let last = (at + GAP).min(long.len().saturating_sub(1));
    (at + 1..=last).any(|next| {
        long[next].covers_at(short, done)
            && is_gap(&long[..at], &long[at..next], &long[next..])
            && walk(long, next + 1, short, done + 1)
    })
}

pub(super) fn limits(tokens: &[Token]) -> bool {
    // 1只猫 counts cats, 只吃鱼 eats nothing else.
    let counts = |i: usize| tokens[i].is("只") && i > 0 && tokens[i - 1].is_item();
    let text: String = (0..tokens.len())
        .filter(|&i| !tokens[i].is_item() && !counts(i))
        .map(|i| tokens[i].text.as_str())
        .collect();
    tokens.iter().any(|t| t.is_any(LIMITS))
        || !text.is_ascii() && LIMITS_HAN.iter().any(|cue| text.contains(cue))
}

fn has_han(tokens: &[Token]) -> bool {
    tokens.iter().any(Token::is_han)
}

/// Whether `gap` may stand between what is before it and what is left.
fn is_gap(before: &[Token], gap: &[Token], after: &[Token]) -> bool {
    let (Some(first), Some(last), Some(next)) = (gap.first(), gap.last(), after.first()) else {
        return true;
    };
    // 小学3年生の息子
    if before.is_empty() && last.is("の") && gap.iter().any(Token::is_item) && !limits(gap) {
        return true;
    }
    if has_han(before) || has_han(gap) || next.is_han() {
        return additions_han::is_gap(before, gap, next);
    }
    if limits(gap) {
        return false;
    }
    let item = gap.iter().any(Token::is_item);
    let Some(previous) = before.last() else {
        // `In January bought a laptop`.
        return item
            && (first.is_any(&["in", "on", "at", "since"])
                || first.is_item() && last.is_any(&[","]))
            && ground::is_event(after);
    };
    let modifies = |t: &Token| {
        t.unit.as_deref() == Some("year-old")
            || t.is_any(PLAIN)
            || t.unit.is_none() && COMPOUNDS.iter().any(|end| t.text.ends_with(end))
            || t.is(",")
    };
    let other = next.is_any(COLOURED) && gap.iter().any(|t| t.is_any(COLOURS));
    let adjectives = gap.iter().all(modifies) && !next.is_item() && !next.capital && !other;
    // `Ana, [his sister,] lives …`
    let relative = |t: &Token| t.is_any(&["his", "her", "their", "my"]);
    let apposed = first.is(",")
        && last.is(",")
        && gap.len() >= 3
        && relative(&gap[1])
        && before.len() == 1
        && previous.text.starts_with(char::is_uppercase)
        && crate::judge::openers::is_verb(&next.text);
    adjectives && ground::bears_adjectives(before)
        // Two phrases in a row: `went to Japan [in 2019] with Elena`.
        || is_phrase(gap, before) && next.is_any(ground::BEGINS)
        || apposed
}

/// Phrases that may follow `before`, complete in themselves.
fn is_phrase(phrase: &[Token], before: &[Token]) -> bool {
    let closed = !phrase
        .last()
        .is_some_and(|t| t.is_any(ground::BEGINS) || t.is_any(ground::ARTICLES));
    closed && !defeats(phrase) && ground::bears(before, phrase, false)
}

fn defeats(phrase: &[Token]) -> bool {
    phrase
        .iter()
        .any(|t| !t.is_item() && DEFEATS.contains(&t.text.to_lowercase().as_str()))
}

/// What a bracket holds that is the rest of its sentence; after another sign the rest itself.
fn inside<'a>(sign: &Token, rest: &'a [Token]) -> &'a [Token] {
    match rest.split_last() {
        Some((last, inner)) if sign.is("(") && last.is(")") => inner,
        _ if sign.is("(") => &[],
        _ => rest,
    }
}

/// The sentence without an addition at its end, for each place where one may begin.
pub(crate) fn heads(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let begins = |at: usize| {
        let tail = &tokens[at..];
        [",", "-", ";", "("].iter().any(|sign| tail[0].is(sign)) && is_tail(tail, &tokens[..at])
    };
    // What is denied is denied for a reason as well: `eats no mushrooms because of their texture`.
    let reason = |tail: &[Token]| {
        let comma = tail[0].is(",");
        let tail = &tail[usize::from(comma)..];
        tail.len() > 1
            && (!limits(tail) && tail[0].is("because") && !has_han(tokens)
                || comma && additions_han::is_reason(tail))
    };
    let whole = !limits(tokens) && !tokens.iter().any(|t| t.is("?"));
    let asks = tokens.iter().any(|t| t.is("?"));
    (3..tokens.len())
        .filter(move |at| whole && begins(*at) || !asks && reason(&tokens[*at..]))
        .map(|at| &tokens[..at])
}

/// Whether `tail` may follow `short`.
fn is_tail(tail: &[Token], short: &[Token]) -> bool {
    let Some((first, rest)) = tail.split_first() else {
        return true;
    };
    if has_han(short) || has_han(tail) {
        let added = match rest {
            [inside @ .., last] if first.is("(") && last.is(")") => inside,
            rest if first.is_any(&[",", "-"]) => rest,
            _ => return false,
        };
        return additions_han::is_tail(added, short);
    }
    if limits(tail) {
        return false;
    }
    if first.is(",") || first.is("-") || first.is("(") {
        let rest = inside(first, rest);
        return !rest.is_empty() && !defeats(rest) && ground::bears(short, rest, true);
    }
    is_phrase(tail, short)
}
