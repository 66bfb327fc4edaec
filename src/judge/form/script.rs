//! Traditional Chinese characters as simplified ones, for comparison only.
//!
//! The table `han_variants.txt` is derived from `TSCharacters.txt` and `STCharacters.txt` of OpenCC
//! (Apache-2.0). Its first line holds pairs whose simplified character is written in simplified
//! text only; its second line those whose simplified character is also a traditional one (後 → 后),
//! which may be two surnames (於, 于) or two words: they are folded only in a text that is
//! traditional by others of its characters. Japanese, which shares many of them, is left as it is.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::judge::sentences::{is_han, is_kana};

struct Table {
    /// To a character that only simplified text has.
    sure: HashMap<char, char>,
    /// To a character that traditional text has too.
    shared: HashMap<char, char>,
    /// Both sides of the shared ones.
    ambiguous: HashSet<char>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let pairs = |line: &str| -> HashMap<char, char> {
        let chars: Vec<char> = line.chars().collect();
        chars
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    };
    let mut lines = include_str!("han_variants.txt").lines().map(pairs);
    let sure = lines.next().unwrap_or_default();
    let shared: HashMap<char, char> = lines.next().unwrap_or_default();
    let ambiguous = shared.iter().flat_map(|(c, to)| [*c, *to]).collect();
    Table {
        sure,
        shared,
        ambiguous,
    }
});

/// Whether a text has a character that only traditional Chinese has.
fn is_traditional(text: &str) -> bool {
    let only = |c: char| is_han(c) && TABLE.sure.contains_key(&c);
    !text.is_ascii() && !text.chars().any(is_kana) && text.chars().any(only)
}

/// The text with simplified characters, if it is Chinese in traditional ones.
pub(crate) fn simplified(text: &str) -> Option<String> {
    if !is_traditional(text) {
        return None;
    }
    let table = &*TABLE;
    let fold = |c: char| {
        let known = table.sure.get(&c).or_else(|| table.shared.get(&c));
        known.copied().unwrap_or(c)
    };
    Some(text.chars().map(fold).collect())
}

/// Pairs of traditional characters that are two writings of one.
const VARIANTS: &[(char, char)] = &[('臺', '台'), ('裏', '裡'), ('週', '周'), ('佈', '布')];

/// Of a traditional text, the characters of which another traditional one may be simplified to the same: 餘 and 余 are
/// two surnames, and who writes one of them in traditional text means it. Ascending; none for other texts.
pub(crate) fn ambiguous(text: &str) -> Option<Vec<char>> {
    if !is_traditional(text) {
        return None;
    }
    let usual = |c: char| {
        let known = VARIANTS.iter().find(|(variant, _)| *variant == c);
        known.map_or(c, |(_, usual)| *usual)
    };
    let mut found: Vec<char> = text
        .chars()
        .filter(|c| TABLE.ambiguous.contains(c))
        .map(usual)
        .collect();
    found.sort_unstable();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traditional_text_is_folded() {
        for (text, expected) in [
            ("用戶喜歡看紀錄片", "用户喜欢看纪录片"),
            ("週末會去圖書館寫東西", "周末会去图书馆写东西"),
            ("頭髮後面很亂", "头发后面很乱"),
            ("2019年畢業於臺灣大學", "2019年毕业于台湾大学"),
        ] {
            assert_eq!(simplified(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn traditional_characters_that_are_not_one() {
        for (a, b, same) in [
            ("餘先生來過", "余先生來過", false),
            ("皇後來了", "皇后來了", false),
            ("用戶住在臺北", "用戶住在台北", true),
            ("她後天出發", "她後天出發", true),
        ] {
            assert_eq!(ambiguous(a) == ambiguous(b), same, "{a}");
        }
        assert_eq!(ambiguous("余先生来了"), None);
    }

    #[test]
    fn what_may_be_another_name_or_language_is_not() {
        for text in [
            "於先生",
            "范冰和範冰",
            "用户喜欢茶",
            "会議は録画してよい",
            "乾隆",
            "tea",
            "",
        ] {
            assert_eq!(simplified(text), None, "{text}");
        }
    }
}
