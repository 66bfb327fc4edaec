//! Orders that say nothing: the members of a list, a phrase of time before or after its clause.

use super::order_han;
use super::token::{TIMES, Token};
use crate::judge::dates::{DATE, WEEKDAY};
use crate::judge::relative::ANCHORED;
use crate::judge::sentences::is_kana;

/// What joins the members of a list.
const JOINTS: &[&str] = &[
    ",", "and", "or", "nor", "und", "oder", "y", "e", "o", "u", "et", "ou", "和", "与", "及", "或",
    "と", "や", "跟",
];

/// Words of a sentence in which the order of a list says something.
#[rustfmt::skip]
pub(crate) const RANKED: &[&str] = &[
    "respectively", "first", "then", "next", "finally", "last", "lastly", "order", "orders", "rank", "ranks",
    "ranking", "ranked", "top", "sequence", "route", "itinerary", "steps", "step", "agenda", "priority",
    "priorities", "followed", "over", "than", "before", "after", "rather", "instead", "not", "podium",
    "line-up", "lineup", "standings", "via", "versus", "vs", "against", "against", "beat", "beats", "minus", "divided",
    "from", "to", "into", "becomes", "became", "turned", "between", "while", "whereas", "but", ";", ":", "→", ">", "<", "?", "(", ")", "\"",
    "先", "后", "再", "然", "依", "顺", "序", "分", "路", "步", "第", "排", "名", "不", "没", "别", "未", "比", "从", "到", "改", "换", "变", "而", "但", "借", "欠", "教", "嫁", "娶", "给",
    "から", "より", "ではなく",
];

/// Longest phrase that may be a member of a list, in tokens.
const MEMBER: usize = 6;

/// Whether two sentences of the same words differ only by an order that says nothing.
pub(super) fn is_reordered(a: &[Token], b: &[Token]) -> bool {
    a.len() == b.len()
        && a.len() <= 60
        && is_permutation(a, b)
        && (is_other_list(a, b)
            || if is_chinese(a) {
                order_han::is_time_behind_subject(a, b)
                    || order_han::is_time_behind_subject(b, a)
                    || han_clauses(a, b)
                    || han_clauses(b, a)
            } else {
                is_fronted(a, b) || is_fronted(b, a) || has_moved_time(a, b)
            })
}

/// Whether a sentence has Han characters and no kana.
fn is_chinese(tokens: &[Token]) -> bool {
    let kana = |t: &Token| t.text.chars().any(is_kana);
    tokens.iter().any(Token::is_han) && !tokens.iter().any(kana)
}

fn is_permutation(a: &[Token], b: &[Token]) -> bool {
    let mut rest: Vec<&Token> = b.iter().collect();
    a.iter().all(|t| {
        let found = rest.iter().position(|o| t.same(o));
        found.map(|at| rest.swap_remove(at)).is_some()
    })
}

fn equal(a: &[Token], b: &[Token]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
}

/// Whether the sentences are equal but for the order of the members of one list.
fn is_other_list(a: &[Token], b: &[Token]) -> bool {
    // `allergic to nuts and eggs` goes from nothing to nothing.
    let ranks = |at: usize| {
        let of_all = at > 0 && a[at].is("to") && a[at - 1].is_any(&["allergic", "listens"]);
        a[at].is_any(RANKED) && !of_all
    };
    if (0..a.len()).any(ranks) {
        return false;
    }
    let start = a.iter().zip(b).take_while(|(a, b)| a.same(b)).count();
    let end = a[start..]
        .iter()
        .rev()
        .zip(b[start..].iter().rev())
        .take_while(|(a, b)| a.same(b))
        .count();
    // The first and the last member may share words with what stands around the list.
    (0..=start.min(MEMBER)).any(|left| {
        (0..=end.min(MEMBER)).any(|right| {
            let (from, to) = (start - left, a.len() - end + right);
            is_list_of(&a[from..to], &b[from..to], &a[..from], &a[to..])
        })
    })
}

fn is_list_of(a: &[Token], b: &[Token], before: &[Token], after: &[Token]) -> bool {
    let joint = |t: &Token| t.is_any(JOINTS);
    // A second list would be read beside the first: `Ana and Ben live in Rome and Oslo`.
    if before.iter().chain(after).any(joint) || !a.iter().any(joint) {
        return false;
    }
    let members = |tokens: &[Token]| -> Option<Vec<Vec<Token>>> {
        let members: Vec<Vec<Token>> = tokens
            .split(joint)
            .filter(|m| !m.is_empty())
            .map(<[Token]>::to_vec)
            .collect();
        let fits = members.len() >= 2 && members.iter().all(|m| m.len() <= MEMBER);
        fits.then_some(members)
    };
    let (Some(left), Some(right)) = (members(a), members(b)) else {
        return false;
    };
    if left.len() != right.len() || !ends_list(&left, after) {
        return false;
    }
    let joined = |tokens: &[Token]| tokens.iter().any(|t| joint(t) && !t.is(","));
    if is_chinese(a)
        && !(order_han::lists_things(&left, joined(a), before)
            && order_han::lists_things(&right, joined(b), before))
    {
        return false;
    }
    let mut rest: Vec<&Vec<Token>> = right.iter().collect();
    left.iter().all(|m| {
        let found = rest.iter().position(|o| equal(m, o));
        found.map(|at| rest.remove(at)).is_some()
    })
}

/// Words after a Chinese or Japanese list of which all members are meant.
const OF_ALL: &[&str] = &[
    "都", "一", "两", "三", "共", "同", ",", "が", "を", "は", "も", "に", "で",
];

/// Whether the list is over where it seems so. In Chinese a list may go on without a sign: 小王和小李的妈妈
/// are two people or one.
fn ends_list(members: &[Vec<Token>], after: &[Token]) -> bool {
    let han = members.iter().flatten().any(Token::is_han);
    !han || after.first().is_none_or(|t| t.is_any(OF_ALL))
}

/// Words that begin a phrase which may stand before or after its clause.
#[rustfmt::skip]
const FRONTS: &[&str] = &[
    "on", "in", "at", "during", "after", "before", "when", "if", "because", "since", "until", "every", "each", "whenever", "as", "for", "with", "without", "despite",
    "am", "im", "seit", "wenn", "weil", "jeden", "los", "en", "cuando", "si", "porque",
];

/// Words that make a second clause, to which a moved phrase may belong.
#[rustfmt::skip]
const CLAUSES: &[&str] = &[
    "that", "who", "which", "whose", "whom", "said", "says", "say", "told", "tells", "asked", "asks", "thinks", "thought", "believes", "hopes",
    "wants", "plans", "promised", "agreed", "decided", "intends", "expects", "claims", "knows", "heard", "saw", "and", "or", "but", "not", "only", "never", "no",
    "dass", "que", "quien", "if", "when", "because", "while", "although", "unless", "until", "before", "after", "since", "whether", "how", "why", "what", "where",
];

/// Whether `b` is `a` with its first phrase last: `On Saturdays the user sings`.
fn is_fronted(a: &[Token], b: &[Token]) -> bool {
    let Some(first) = a.first() else { return false };
    let timed = first.is_item();
    if !(timed || first.is_any(FRONTS)) {
        return false;
    }
    (1..a.len()).any(|cut| {
        let (phrase, clause) = a.split_at(cut);
        let clause = if clause[0].is(",") {
            &clause[1..]
        } else {
            clause
        };
        clause.len() >= 2
            && (timed || phrase.len() >= 2)
            && phrase.len() <= 12
            && !phrase
                .iter()
                .any(|t| t.is_any(&["to", "that", "said", "not", "only"]))
            && is_simple(clause)
            && b.len() >= clause.len()
            && equal(clause, &b[..clause.len()])
            && {
                let tail = &b[clause.len()..];
                let tail = if tail.first().is_some_and(|t| t.is(",")) {
                    &tail[1..]
                } else {
                    tail
                };
                equal(phrase, tail)
            }
    })
}

/// Whether a clause holds no other one.
fn is_simple(clause: &[Token]) -> bool {
    !clause.iter().enumerate().any(|(i, t)| {
        let infinitive = t.is("to")
            && clause.get(i + 1).is_some_and(|n| {
                !n.is_item()
                    && !n.capital
                    && !n.is_any(&[
                        "the", "a", "an", "his", "her", "their", "my", "work", "school", "church",
                        "bed",
                    ])
            });
        let participle = t.unit.is_none()
            && t.text.len() > 5
            && t.text.ends_with("ing")
            && !t.is_any(&[
                "morning", "evening", "meeting", "training", "parking", "building", "wedding",
            ]);
        infinitive || (participle && i > 0) || t.is_any(CLAUSES) || t.is(",")
    })
}

/// Whether two Chinese clauses changed places, one of which gives the reason: 因为腰不好,她不搬重物.
fn han_clauses(a: &[Token], b: &[Token]) -> bool {
    let comma = |t: &Token| t.is(",");
    let (Some(x), Some(y)) = (a.iter().position(comma), b.iter().position(comma)) else {
        return false;
    };
    let reason = |t: &[Token]| t.len() > 2 && t[0].is("因") && t[1].is("为");
    a.iter().filter(|t| comma(t)).count() == 1
        && reason(&a[..x])
        && equal(&a[..x], &b[y + 1..])
        && equal(&a[x + 1..], &b[..y])
}

/// Whether one date or time changed its place in a clause that holds no other one.
fn has_moved_time(a: &[Token], b: &[Token]) -> bool {
    let (Some((phrase, rest)), Some((other, others))) = (without_time(a), without_time(b)) else {
        return false;
    };
    equal(phrase, other)
        && rest.len() >= 3
        && equal(&rest, &others)
        && is_simple(&rest)
        && !rest.iter().any(|t| t.is_any(HAN_CLAUSES))
}

/// Characters of Japanese clauses in which the place of a time may say something.
const HAN_CLAUSES: &[&str] = &[
    "説", "想", "要", "知", "答", "告", "只", "不", "未", "前", "後",
];

/// The only phrase of time of a sentence, and the words without it and without its commas.
fn without_time(tokens: &[Token]) -> Option<(&[Token], Vec<Token>)> {
    let start = tokens.iter().position(is_time)?;
    let end = start + tokens[start..].iter().take_while(|t| is_time(t)).count();
    if tokens[end..].iter().any(is_time) {
        return None;
    }
    let from = start - usize::from(start > 0 && tokens[start - 1].is_any(TIMES));
    let mut rest = tokens[..from].to_vec();
    if rest.last().is_some_and(|t| t.is(",")) {
        rest.pop();
    }
    rest.extend(tokens[end..].iter().skip_while(|t| t.is(",")).cloned());
    Some((&tokens[from..end], rest))
}

/// Whether a token is a date, a time, a weekday.
pub(crate) fn is_time(token: &Token) -> bool {
    token
        .unit
        .as_deref()
        .is_some_and(|unit| TIME_UNITS.contains(&unit))
        || token.is_item() && token.text.starts_with(WEEKDAY)
}

const TIME_UNITS: &[&str] = &[DATE, "time", "part of day", ANCHORED];
