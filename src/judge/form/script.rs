//! Traditional Chinese characters as simplified ones, for comparison only.
//!
//! The table `han_variants.txt` is derived from `TSCharacters.txt` and `STCharacters.txt` of OpenCC
//! (Apache-2.0). Its first line holds pairs whose simplified character is written in simplified
//! text only; its second line those whose simplified character is also a traditional one (後 → 后),
//! which may be two surnames (於, 于) or two words: they are folded only in a text that is
//! traditional by others of its characters. Japanese, which shares many of them, is left as it is.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::judge::sentences::{is_han, is_kana};

struct Table {
    /// To a character that only simplified text has.
    sure: HashMap<char, char>,
    /// To a character that traditional text has too.
    shared: HashMap<char, char>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let pairs = |line: &str| {
        let chars: Vec<char> = line.chars().collect();
        chars
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    };
    let mut lines = include_str!("han_variants.txt").lines().map(pairs);
    Table {
        sure: lines.next().unwrap_or_default(),
        shared: lines.next().unwrap_or_default(),
    }
});

/// The text with simplified characters, if it is Chinese in traditional ones.
pub(crate) fn simplified(text: &str) -> Option<String> {
    let table = &*TABLE;
    if text.is_ascii()
        || text.chars().any(is_kana)
        || !text
            .chars()
            .any(|c| is_han(c) && table.sure.contains_key(&c))
    {
        return None;
    }
    let fold = |c: char| {
        let known = table.sure.get(&c).or_else(|| table.shared.get(&c));
        known.copied().unwrap_or(c)
    };
    Some(text.chars().map(fold).collect())
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
