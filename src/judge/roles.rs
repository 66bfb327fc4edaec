//! The roles guard: `Ana lent Boris the drill` is not `Boris lent Ana the drill`.
//!
//! It sees two texts that are equal except that two of their parts changed places around words
//! that are not a mere list: `x q y` against `y q x`.

use unicode_segmentation::UnicodeSegmentation;

use super::items::Diff;

/// What joins the members of a list, whose order says nothing.
const CONNECTORS: &[&str] = &[
    "and", "or", "nor", "&", ",", "、", "/", "+", "和", "与", "與", "跟", "及", "或", "と", "や",
    "y", "e", "o", "u", "und", "oder", "et", "ou", "и", "или",
];

/// Longer stretches than this (in words) are not searched: the search is not linear, and two texts
/// whose difference is that long are told apart by other means or left alone.
const LONGEST: usize = 200;

/// Compares two texts (in lower case) by the order of their words.
pub(crate) fn diff(left: &str, right: &str) -> Diff {
    if letters(left) != letters(right) {
        return Diff::default();
    }
    let (left, right) = (tokens(left), tokens(right));
    let start = left.iter().zip(&right).take_while(|(l, r)| l == r).count();
    let end = left[start..]
        .iter()
        .rev()
        .zip(right[start..].iter().rev())
        .take_while(|(l, r)| l == r)
        .count();
    let (before, after) = (&left[..start], &left[left.len() - end..]);
    let right = &right[start..right.len() - end];
    match swapped(&left[start..left.len() - end], right) {
        Some([x, q, y]) if !is_joint(q, before, after) => {
            let words = |a: &[&str], b: &[&str]| vec![a.join(" "), b.join(" ")];
            Diff {
                left: words(x, y),
                right: words(y, x),
                left_more: true,
                right_more: true,
            }
        }
        _ => Diff::default(),
    }
}

/// Whether `q` only joins a list. What the list's members share may have been taken for its
/// surroundings: in 粤语和日语 they are 粤 and 日, `q` is 语和 and 语 stands after it.
fn is_joint(q: &[&str], before: &[&str], after: &[&str]) -> bool {
    let front = q.iter().zip(after).take_while(|(a, b)| a == b).count();
    let q = &q[front..];
    let back = q
        .iter()
        .rev()
        .zip(before.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let q = &q[..q.len() - back];
    [q.first(), q.last()]
        .into_iter()
        .flatten()
        .all(|t| CONNECTORS.contains(t))
}

/// A sum over the letters and digits that does not depend on their order: texts whose words changed
/// places have the same.
fn letters(text: &str) -> u64 {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters
        .map(|c| u64::from(c).pow(2))
        .fold(0, u64::wrapping_add)
}

/// Words, and commas as they separate lists.
fn tokens(text: &str) -> Vec<&str> {
    text.split_word_bounds()
        .filter(|t| t.chars().any(char::is_alphanumeric) || CONNECTORS.contains(t))
        .collect()
}

/// The `x`, `q` and `y` of `left = x q y`, `right = y q x`.
fn swapped<'a, 'b>(left: &'b [&'a str], right: &[&'a str]) -> Option<[&'b [&'a str]; 3]> {
    let size = left.len();
    if size != right.len() || !(3..=LONGEST).contains(&size) {
        return None;
    }
    for x in (1..size - 1).filter(|x| left[..*x] == right[size - x..]) {
        for y in (1..size - x).filter(|y| left[size - y..] == right[..*y]) {
            if left[x..size - y] == right[y..size - x] {
                return Some([&left[..x], &left[x..size - y], &left[size - y..]]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_swapped_roles() {
        for (a, b) in [
            ("ana lent boris the drill", "boris lent ana the drill"),
            (
                "the fabro quote is cheaper than the lindt quote",
                "the lindt quote is cheaper than the fabro quote",
            ),
            ("flew from rome to oslo", "flew from oslo to rome"),
            ("哥哥比弟弟高", "弟弟比哥哥高"),
            ("小周还欠用户两千块", "用户还欠小周两千块"),
        ] {
            assert!(!diff(a, b).is_empty(), "{a}");
        }
    }

    #[test]
    fn lists_and_moved_phrases_are_no_swap() {
        for (a, b) in [
            ("plays violin and cello", "plays cello and violin"),
            (
                "speaks dutch, italian and polish",
                "speaks polish, italian and dutch",
            ),
            (
                "on saturdays the user coaches",
                "the user coaches on saturdays",
            ),
            ("if it rains, call greta", "call greta if it rains"),
            ("会说粤语和日语", "会说日语和粤语"),
            ("kofi repaired the bike", "the bike was repaired by kofi"),
            ("likes tea", "likes tea"),
            ("", "tea"),
        ] {
            assert!(diff(a, b).is_empty(), "{a}");
        }
    }
}
