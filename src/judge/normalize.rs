//! The form in which two texts are compared: only differences that carry no fact are removed.
//!
//! Two texts with the same form say the same. What is *not* folded matters as much as what is:
//!
//! | rule | why nothing is lost | what stays apart |
//! |---|---|---|
//! | NFC | canonical equivalence | NFKC would make 10² into 102 and ½ into 1⁄2 |
//! | full-width ASCII and half-width kana to the usual width | same characters, other advance width | circled, superscript, Roman numerals |
//! | space runs to one space, ends trimmed, U+200B, U+2060, U+FEFF, U+00AD dropped | layout only | a line break, the indentation after it and a tab stay: `milk⏎chocolate` is two items, code and nested lists live by indentation; ZWJ/ZWNJ stay |
//! | curly quotes, dashes and minus signs unified | typography | primes (5′), «», 「」, … |
//! | one final full stop of a sentence dropped | it ends a sentence, no more | `...`, `?`, `!`, a stop after a blank or a sign (`cd .`, `rm *.`) |
//! | first letter of a sentence to lower case where that word is never a name ([`is_opener`](super::words::is_opener)) | grammar demands the capital there | any other case (US/us, AISLE/aisle, Jack/jack), openers that are also names ([`CAPITONYMS`]) |
//!
//! Simplified and traditional Chinese, emoji, diacritics and spaces between Han characters are not
//! folded.

use unicode_normalization::UnicodeNormalization;

use super::words::is_opener;

/// Words that memories often start with and that are also names.
const CAPITONYMS: &[&str] = &["a", "may", "most", "will"];

/// The comparison form of a whole text: its sentences in comparison form, one a line.
///
/// Empty exactly for a text without visible characters.
pub fn normalize(text: &str) -> String {
    let mut out = String::new();
    for sentence in super::sentences::sentences(text) {
        if !out.is_empty() {
            // A line break alone would not part the sentences.
            out.push_str(if out.ends_with(['.', '!', '?', '。']) {
                "\n"
            } else {
                ".\n"
            });
        }
        out.push_str(&sentence);
    }
    out
}

/// Characters and white space in their comparison form; case and full stops as they are.
pub(crate) fn shape(text: &str) -> String {
    let mut chars = String::with_capacity(text.len());
    let mut kana = String::new();
    for c in text.nfc() {
        if ('\u{FF61}'..='\u{FF9F}').contains(&c) {
            kana.push(c);
            continue;
        }
        flush_kana(&mut kana, &mut chars);
        chars.extend(shape_char(c));
    }
    flush_kana(&mut kana, &mut chars);
    // Dropped characters may have stood between a letter and its mark.
    collapse_white_space(&chars).nfc().collect()
}

/// Half-width kana compose with their voicing marks, so a run is widened as a whole.
fn flush_kana(kana: &mut String, out: &mut String) {
    out.extend(kana.nfkc());
    kana.clear();
}

fn shape_char(c: char) -> Option<char> {
    Some(match c {
        '\u{200B}' | '\u{2060}' | '\u{FEFF}' | '\u{AD}' => return None,
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        '\u{FFE0}' => '¢',
        '\u{FFE1}' => '£',
        '\u{FFE5}' => '¥',
        '\u{FFE6}' => '₩',
        '‘' | '’' | '‛' | 'ʼ' => '\'',
        '“' | '”' | '„' | '‟' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        '\n' | '\t' => c,
        c if c.is_whitespace() => ' ',
        c => c,
    })
}

/// A run of white space becomes its strongest member: line break, tab or space. After a line break
/// the indentation stays.
fn collapse_white_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pending = String::new();
    for c in text.trim().chars() {
        if c == '\n' {
            pending = "\n".to_owned();
        } else if c.is_whitespace() {
            match pending.chars().next() {
                Some('\n') => pending.push(c),
                Some('\t') => {}
                _ => pending = c.to_string(),
            }
        } else {
            out.push_str(&pending);
            pending.clear();
            out.push(c);
        }
    }
    out
}

/// A sentence, already shaped, without its final full stop and its grammatical capital.
pub(crate) fn normalize_sentence(sentence: &str) -> String {
    lower_first(drop_full_stop(sentence.trim()))
}

/// Drops one full stop after a letter, digit, closing mark or emoji. A stop after a blank
/// (`cd .`), another sign (`rm *.`) or stop (`wait...`) is kept: there it is not the end of a sentence.
fn drop_full_stop(text: &str) -> &str {
    let Some(rest) = text.strip_suffix(['.', '。']) else {
        return text;
    };
    let ends = |c: char| {
        c.is_alphanumeric()
            || "\"')]%°".contains(c)
            || !(c.is_ascii() || c.is_whitespace() || "。…".contains(c))
    };
    if rest.chars().next_back().is_some_and(ends) {
        rest
    } else {
        text
    }
}

fn lower_first(text: &str) -> String {
    let end = text
        .find(|c: char| !(c.is_alphabetic() || c == '\''))
        .unwrap_or(text.len());
    let (word, tail) = text.split_at(end);
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return text.to_owned();
    };
    let rest = chars.as_str();
    let plain =
        rest.chars().all(|c| c.is_lowercase() || c == '\'') && (!rest.is_empty() || word == "I");
    // A word that goes on (`Wi-Fi`, `Heron_5G`, `Main.rs`) is a name or a code.
    let mut after = tail.chars();
    let goes_on = after.next().is_some_and(|c| {
        c.is_numeric()
            || ("-_.@/:'&+#".contains(c) && after.next().is_some_and(char::is_alphanumeric))
    });
    let mut lower = first.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(l), None) if l != first && plain && !goes_on => {
            let word = format!("{l}{rest}");
            if is_opener(&word) && !CAPITONYMS.contains(&word.as_str()) {
                word + tail
            } else {
                text.to_owned()
            }
        }
        _ => text.to_owned(),
    }
}

/// Zero digits of the decimal digit blocks of Unicode (general category Nd), ASCII left out.
const ZEROS: &[u32] = &[
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6,
    0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50,
    0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650,
    0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16A60, 0x16AC0,
    0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E950,
    0x1FBF0,
];

/// The text as the guards read it: shaped, and decimal digits of any script as ASCII digits.
pub(crate) fn plain(text: &str) -> String {
    shape(text).chars().map(ascii_digit).collect()
}

fn ascii_digit(c: char) -> char {
    let code = c as u32;
    if code < 0x660 {
        return c;
    }
    match ZEROS.partition_point(|zero| *zero <= code) {
        0 => c,
        n => char::from_digit(code - ZEROS[n - 1], 10).unwrap_or(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_that_are_equal() {
        for (a, b) in [
            ("Likes tea.", "likes tea"),
            ("Likes  tea ", "Likes tea"),
            ("User’s cat", "User's cat"),
            ("Cafe\u{301} Löwe", "Café Löwe"),
            (
                "\u{FEFF}Keeps bees\u{200B} on the roof",
                "Keeps bees on the roof",
            ),
            ("Wi‑Fi — at home", "Wi-Fi - at home"),
            ("房间号是１２０８", "房间号是1208"),
            ("不吃辣，不喝酒。", "不吃辣,不喝酒."),
            ("ﾒｰﾙで連絡、ｶﾞﾑ", "メールで連絡、ガム"),
            ("用户　喜欢茶", "用户 喜欢茶"),
            ("The room is 5.", "the room is 5"),
            ("Runs v1.", "Runs v1"),
            ("Likes tea. Hates coffee.", "likes tea. hates coffee"),
            ("Is tall (1.90 m).", "Is tall (1.90 m)"),
        ] {
            assert_eq!(normalize(a), normalize(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn forms_that_differ() {
        for (a, b) in [
            ("10²", "102"),
            ("½ cup", "1/2 cup"),
            ("Likes Turkey", "Likes turkey"),
            ("Turkey is what she likes", "turkey is what she likes"),
            ("US first", "us first"),
            ("IT rules", "it rules"),
            ("Jack is broken", "jack is broken"),
            ("Cook wants the rent", "cook wants the rent"),
            (
                "Likes tea. Hunter is at home",
                "Likes tea. hunter is at home",
            ),
            ("A failed the test", "a failed the test"),
            ("Speaks Polish", "Speaks polish"),
            ("Likes tea?", "Likes tea"),
            ("Likes tea!", "Likes tea"),
            ("Likes tea...", "Likes tea"),
            ("cd .", "cd"),
            ("cd ..", "cd ."),
            ("Runs rm *.", "Runs rm *"),
            ("The pattern is a+.", "The pattern is a+"),
            ("if x:\n    a()\n    b()", "if x:\n    a()\nb()"),
            ("- Ana:\n  - tea\n- Boris", "- Ana:\n- tea\n- Boris"),
            (
                "Owns a house\nboat on the lake",
                "Owns a house. Boat on the lake",
            ),
            ("milk\nchocolate", "milk chocolate"),
            ("milk\tchocolate", "milk chocolate"),
            ("5.5", "55"),
            ("the new sofa 👍", "the new sofa 👎"),
            ("用户", "用戶"),
            ("张三 李四", "张三李四"),
            ("resume", "résumé"),
            ("Main.rs is long", "main.rs is long"),
            ("C is a language", "c is a language"),
            ("🎉🎉", "🚒"),
            ("Привет", "Пока"),
        ] {
            assert_ne!(normalize(a), normalize(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn digits_of_any_script_become_ascii() {
        assert_eq!(plain("٣٤ ४५ ๑๒ １２ 𝟙𝟚 ² 二"), "34 45 12 12 12 ² 二");
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "\\PC*|[A-Za-z .!?\n'。，１-]{0,40}") {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once.clone());
            prop_assert_eq!(shape(&shape(&text)), shape(&text));
        }
    }
}
