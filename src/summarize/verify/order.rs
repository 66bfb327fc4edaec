//! Whether the sentences of a merged text are those of its sources.
//!
//! - Every sentence of the text is a sentence of a source, word by word, or joins several that differ
//!   in one place by a list in that place: `likes tea with honey, ginger`.
//!   A member is one word (or name), or a phrase with its own preposition, so that nothing said of
//!   one member can be read of another.
//! - Every sentence of every source stands in a sentence of the text: its words in their order, from
//!   the first on. What comes between or after them must not limit them (`if`, `only`, `former`)
//!   nor, between them, change who does what to whom.

use super::words::{Token, Word};

/// Whether the sentence `text` is one of `sources` or joins some of them by a list.
pub(super) fn is_built(text: &[Token], sources: &[&[Token]]) -> bool {
    sources.iter().any(|source| same(text, source))
        || listed(text, |wanted, head, foot| {
            is_shared(head)
                && wanted.iter().all(|member| {
                    let has = |list: Vec<&[Token]>| list.iter().any(|known| same(known, member));
                    sources
                        .iter()
                        .any(|s| members(s, head, foot).is_some_and(has))
                })
        })
}

/// Whether all that the sentence `source` says is said in the sentence `text`.
pub(super) fn covers(text: &[Token], source: &[Token]) -> bool {
    in_order(text, source)
        || listed(text, |known, head, foot| {
            // In their order: a list may rank.
            let mut known = known.into_iter();
            members(source, head, foot)
                .is_some_and(|wanted| wanted.iter().all(|m| known.any(|k| same(k, m))))
        })
}

/// Whether `text` can be read as a list between a head and a foot so that `holds` of the three.
fn listed<'a>(
    text: &'a [Token],
    holds: impl Fn(Vec<&'a [Token]>, &'a [Token], &'a [Token]) -> bool,
) -> bool {
    (1..text.len()).any(|start| {
        (start + 1..=text.len()).any(|end| {
            let (head, foot) = (&text[..start], &text[end..]);
            members(text, head, foot).is_some_and(|members| holds(members, head, foot))
        })
    })
}

/// The members of the list between `head` and `foot`, if the sentence is those and a list. What
/// the foot says must be said of the list as a whole: 加蜂蜜、生姜的绿茶.
fn members<'a>(sentence: &'a [Token], head: &[Token], foot: &[Token]) -> Option<Vec<&'a [Token]>> {
    let end = sentence.len().checked_sub(foot.len())?;
    let opens = |t: &Token| {
        t.word()
            .is_some_and(|w| w.text == "的" || w.is_preposition())
    };
    let fits = head.len() < end
        && same(&sentence[..head.len()], head)
        && same(&sentence[end..], foot)
        && foot.first().is_none_or(opens);
    fits.then(|| list(&sentence[head.len()..end])).flatten()
}

/// Whether the words of `source` stand in `text` in their order.
fn in_order(text: &[Token], source: &[Token]) -> bool {
    // `reached[at]`: the words of the source so far end with the word before `at`.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for (i, token) in source.iter().enumerate() {
        let mut next = vec![false; text.len() + 1];
        for (at, _) in text.iter().enumerate().filter(|(_, t)| t.covers(token)) {
            next[at + 1] = (0..=at).any(|from| {
                reached[from] && (from == at || i > 0 && may_come_between(&text[from..at]))
            });
        }
        reached = next;
    }
    (0..=text.len()).any(|at| reached[at] && may_follow(&text[at..]))
}

fn same(a: &[Token], b: &[Token]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.covers(b) && b.covers(a))
}

/// What several sentences begin with: it says something, and does not say it of one thing only.
fn is_shared(head: &[Token]) -> bool {
    let words = || head.iter().filter_map(Token::word);
    words().any(Word::is_content)
        && !words().any(|w| {
            ["only", "just", "exclusively", "solely", "只", "仅", "僅"].contains(&w.text.as_str())
        })
}

/// The members of a list that is the whole of `tokens`: all one word, or all one phrase. What
/// qualifies a member may stand in the last one only: 热茶和牛奶 may mean hot milk.
fn list(tokens: &[Token]) -> Option<Vec<&[Token]>> {
    let members: Vec<&[Token]> = tokens.split(|t| *t == Token::Joint).collect();
    let (last, others) = members.split_last()?;
    let terms = is_term(last) && others.iter().all(|m| is_term(m) && !is_qualified(m));
    (terms || members.iter().all(|m| is_phrase(m))).then_some(members)
}

/// One word of content, a name of several, or a short word of Han characters.
fn is_term(member: &[Token]) -> bool {
    let words: Vec<&Word> = member.iter().filter_map(Token::word).collect();
    let short = words.len() <= 2 && words.iter().all(|w| w.is_han());
    let one = words.len() == 1 || short || words.iter().all(|w| w.is_capitalised());
    one && !words.is_empty() && words.iter().all(|w| w.is_content())
}

fn is_qualified(member: &[Token]) -> bool {
    member.len() > 1 && member[0].word().is_some_and(Word::qualifies)
}

/// A preposition and words of content: `with raw honey`.
fn is_phrase(member: &[Token]) -> bool {
    let mut words = member.iter().filter_map(Token::word);
    words.next().is_some_and(Word::is_preposition)
        && member.len() > 1
        && words.all(|w| w.is_content() && !w.is_han())
}

/// Whether words may come between those of a source: they describe or measure.
fn may_come_between(tokens: &[Token]) -> bool {
    let describes = |t: &Token| {
        t.word().is_some_and(|w| {
            w.describes() && !w.is_han() && !(w.item.is_none() && w.is_capitalised())
        })
    };
    match tokens {
        // 2 spoons of
        [Token::Word(count), thing, Token::Word(of)] if of.text == "of" => {
            count.item.is_some() && describes(thing)
        }
        _ => tokens.iter().all(describes),
    }
}

/// Whether words may follow those of a source: neither limit them nor make another noun of their
/// last one. What begins anew after a joint may deny.
fn may_follow(tokens: &[Token]) -> bool {
    let joint = tokens.iter().position(|t| *t == Token::Joint);
    let (close, _) = tokens.split_at(joint.unwrap_or(tokens.len()));
    let mut words = close.iter().filter_map(Token::word);
    words.clone().next().is_none_or(Word::goes_on)
        && !words.any(Word::denies)
        && !tokens.iter().filter_map(Token::word).any(Word::limits)
}
