//! What guards find in a text, and how the finds of two texts compare.

use std::ops::RangeInclusive;

use super::pattern::{Captures, Pattern};

/// What stands in the text where the guards took something out: the `n`th thing taken is the `n`th of these
/// private-use characters. No guard matches it.
pub(crate) const MARKS: RangeInclusive<char> = '\u{F0000}'..='\u{FFFFD}';

/// The mark of the `n`th thing taken; things beyond the block share its last character.
fn mark(n: u32) -> char {
    let nth = char::from_u32(u32::from(*MARKS.start()).saturating_add(n));
    nth.map_or(*MARKS.end(), |nth| nth.min(*MARKS.end()))
}

/// Whether a character is the mark of something taken.
pub(crate) fn is_mark(c: char) -> bool {
    MARKS.contains(&c)
}

/// One thing a guard found: a number, a date, a code, a negation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// The canonical value. In dates and times `?` stands for a part that is not said.
    pub(crate) value: String,
    /// The canonical unit or other attribute; empty where none is said.
    pub(crate) unit: String,
    /// The words of the text.
    pub(crate) words: String,
    /// What stands in its place in the text without what the guards took.
    pub(crate) mark: char,
}

impl Item {
    pub(crate) fn new(value: impl Into<String>, unit: impl Into<String>, words: &str) -> Self {
        Self {
            value: value.into(),
            unit: unit.into(),
            words: words.trim().to_owned(),
            mark: '\u{FFFC}',
        }
    }

    fn same(&self, other: &Self) -> bool {
        self.value == other.value && self.unit == other.unit
    }

    /// Whether this item says all that the other says, such as `5 May 2024` of `5 May`.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        (other.unit.is_empty() || other.unit == self.unit)
            && (self.value == other.value
                || (self.value.len() == other.value.len()
                    && self
                        .value
                        .bytes()
                        .zip(other.value.bytes())
                        .all(|(s, o)| s == o || o == b'?')))
    }
}

/// The multiset difference of two item lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Diff {
    /// Words of the left text that are not matched exactly.
    pub(crate) left: Vec<String>,
    /// Words of the right text that are not matched exactly.
    pub(crate) right: Vec<String>,
    /// The left text says something that the right one does not.
    pub(crate) left_more: bool,
    /// The right text says something that the left one does not.
    pub(crate) right_more: bool,
}

impl Diff {
    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty() && self.right.is_empty()
    }
}

/// Compares two lists as multisets: equal items first, then items of which one covers the other.
pub(crate) fn diff(left: &[Item], right: &[Item]) -> Diff {
    let mut right_rest: Vec<&Item> = right.iter().collect();
    let left_rest: Vec<&Item> = left
        .iter()
        .filter(|l| take(&mut right_rest, |r| l.same(r)).is_none())
        .collect();
    let mut out = Diff::default();
    for l in left_rest {
        out.left.push(l.words.clone());
        if let Some(r) = take(&mut right_rest, |r| l.covers(r)) {
            out.right.push(r.words.clone());
            out.left_more = true;
        } else if let Some(r) = take(&mut right_rest, |r| r.covers(l)) {
            out.right.push(r.words.clone());
            out.right_more = true;
        } else {
            out.left_more = true;
        }
    }
    out.right_more |= !right_rest.is_empty();
    out.right
        .extend(right_rest.into_iter().map(|r| r.words.clone()));
    out
}

fn take<'a>(rest: &mut Vec<&'a Item>, matches: impl Fn(&Item) -> bool) -> Option<&'a Item> {
    let at = rest.iter().position(|item| matches(item))?;
    Some(rest.remove(at))
}

/// The part of a text that no guard has claimed yet.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub(crate) text: String,
    taken: u32,
}

impl Rest {
    pub(crate) fn new(text: String) -> Self {
        Self { text, taken: 0 }
    }

    /// Lets `read` turn each match into items; what it reads is taken out of the text.
    ///
    /// `read` also gets the text before and after the match, since matches cannot look around.
    pub(crate) fn take(
        &mut self,
        pattern: &Pattern,
        mut read: impl FnMut(&Captures<'_>, &str, &str) -> Option<Vec<Item>>,
    ) -> Vec<Item> {
        let mut items = Vec::new();
        let mut matches = pattern.captures_iter(&self.text).peekable();
        if matches.peek().is_none() {
            return items;
        }
        let mut rest = String::with_capacity(self.text.len());
        let mut done = 0;
        for captures in matches {
            let all = captures.whole;
            let (before, after) = (&self.text[..all.start()], &self.text[all.end()..]);
            if let Some(found) = read(&captures, before, after) {
                let mark = mark(self.taken);
                self.taken += 1;
                items.extend(found.into_iter().map(|item| Item { mark, ..item }));
                rest.push_str(&self.text[done..all.start()]);
                rest.push(mark);
                done = all.end();
            }
        }
        rest.push_str(&self.text[done..]);
        self.text = rest;
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(values: &[(&str, &str)]) -> Vec<Item> {
        values.iter().map(|(v, u)| Item::new(*v, *u, v)).collect()
    }

    #[test]
    fn diff_knows_which_side_says_more() {
        type Side = [(&'static str, &'static str)];
        let cases: &[(&Side, &Side, bool, bool)] = &[
            (
                &[("1", ""), ("2", "")],
                &[("2", ""), ("1", "")],
                false,
                false,
            ),
            (&[("1", "")], &[], true, false),
            (&[("1", "")], &[("2", "")], true, true),
            (&[("5", "km")], &[("5", "")], true, false),
            (&[("5", "km")], &[("5", "mi")], true, true),
            (&[("????-05-05", "")], &[("2024-05-05", "")], false, true),
            (&[("1", ""), ("1", "")], &[("1", "")], true, false),
        ];
        for (left, right, left_more, right_more) in cases {
            let diff = diff(&items(left), &items(right));
            assert_eq!(
                (diff.left_more, diff.right_more),
                (*left_more, *right_more),
                "{left:?} {right:?}"
            );
        }
    }
}
