//! Where a text falls into sentences. In doubt it does not: an unsplit text is only merged with
//! its equal.

use super::normalize::{is_prose, normalize_sentence, shape};

/// Words before a full stop that does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "approx", "apt", "avda", "ave", "bzw", "ca", "co", "corp", "dept", "dr", "dra", "e.g", "est",
    "etc", "ext", "fig", "fr", "gen", "hr", "i.e", "inc", "jr", "lt", "ltd", "min", "mr", "mrs",
    "ms", "mt", "no", "nr", "p", "pp", "prof", "rev", "sec", "sr", "sra", "st", "str", "tel",
    "usw", "vol", "vs", "z.b",
];

/// The sentences of a text in comparison form, in order; none for a blank text. A text that is not
/// prose is one sentence, as it stands.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    let shaped = shape(text);
    if !is_prose(&shaped) {
        return vec![shaped];
    }
    split(&shaped)
        .into_iter()
        .map(normalize_sentence)
        .filter(|s| !s.is_empty())
        .collect()
}

/// Splits shaped text after sentence ends. A line break alone ends no sentence: the next line may
/// go on with it.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !matches!(c, '.' | '!' | '?' | '。') {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some(&(i, next)) = chars.peek() {
            if !".!?。\"')]」』》".contains(next) {
                break;
            }
            end = i + next.len_utf8();
            chars.next();
        }
        if ends_sentence(c, &text[start..at], &text[end..]) {
            parts.push(&text[start..end]);
            start = end;
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Whether the mark `c` between `before` (from the sentence's start) and `after` ends a sentence.
fn ends_sentence(c: char, before: &str, after: &str) -> bool {
    let Some(next) = after.chars().next() else {
        return true;
    };
    match c {
        '。' => true,
        '!' | '?' => {
            next.is_whitespace() || is_cjk(next) || before.chars().next_back().is_some_and(is_cjk)
        }
        _ => {
            let word = before
                .rsplit(char::is_whitespace)
                .next()
                .unwrap_or_default();
            let word = word.trim_start_matches(['(', '"', '\'', '[']);
            let first = after.chars().find(|c| !c.is_whitespace());
            let abbreviated = ABBREVIATIONS.contains(&word.to_lowercase().as_str())
                || word.chars().count() == 1
                || (word.contains('.') && word.chars().all(|c| c.is_alphabetic() || c == '.'))
                || word.chars().all(|c| c.is_numeric());
            next == '\n'
                || (next.is_whitespace() && !abbreviated && first.is_some_and(|c| !c.is_numeric()))
        }
    }
}

/// Han, kana, or CJK punctuation.
pub(crate) fn is_cjk(c: char) -> bool {
    is_han(c) || is_kana(c) || ('\u{3001}'..='\u{303F}').contains(&c)
}

/// A Han character.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '々' | '〇' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Hiragana or katakana.
pub(crate) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_where_a_sentence_ends() {
        for (text, expected) in [
            (
                "Likes tea. Not any more.",
                &["likes tea", "not any more"][..],
            ),
            ("likes tea. hates it!", &["likes tea", "hates it!"]),
            (
                "喜欢茶。不喝酒！住在上海",
                &["喜欢茶", "不喝酒!", "住在上海"],
            ),
            (
                "Pays 3.50 at dr. Ott. Lives near St. Mary",
                &["pays 3.50 at dr. Ott", "lives near St. Mary"],
            ),
            (
                "Uses https://a.b/c.d?x for e.g. tea",
                &["uses https://a.b/c.d?x for e.g. tea"],
            ),
            ("Am 9. April. Um 8 Uhr", &["am 9. April", "Um 8 Uhr"]),
            ("Tea\nMilk", &["Tea\nMilk"]),
            ("Likes tea.\nHas milk", &["likes tea", "has milk"]),
            (
                "用户买汽车\n模型送给弟弟玩",
                &["用户买汽车\n模型送给弟弟玩"],
            ),
            ("Uses v2.3.1. Likes it", &["uses v2.3.1", "likes it"]),
            (
                "He said \"never.\" Then left",
                &["He said \"never.\" Then left"],
            ),
            (" \n ", &[]),
            ("...", &["..."]),
        ] {
            assert_eq!(sentences(text), expected, "{text:?}");
        }
    }
}
