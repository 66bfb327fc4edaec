//! The form in which two texts are compared: only differences that carry no fact are removed.
//!
//! Two texts with the same form say the same. What is *not* folded matters as much as what is:
//!
//! | rule | why nothing is lost | what stays apart |
//! |---|---|---|
//! | NFC | canonical equivalence | NFKC would make 10² into 102 and ½ into 1⁄2 |
//! | full-width ASCII and half-width kana to the usual width | same characters, other advance width | circled, superscript, Roman numerals |
//! | ends trimmed; in prose, runs of blanks inside a line to one | layout only | line breaks (`milk⏎chocolate` is two items); every blank of a text that is not prose: tabs, indented lines, code, quotations |
//! | U+200B, U+2060, U+FEFF, U+00AD dropped where they join nothing | they show nothing | `10\u{200B}5`; ZWJ/ZWNJ |
//! | curly quotes, dashes and minus signs unified | typography | primes (5′), «», 「」, … |
//! | in prose, the final full stop of a sentence dropped after a letter, digit or bracket | it ends a sentence, no more | `...`, `?`, `!`, a stop after a sign or blank (`rm *.`, `cd .`) |
//! | first letter of a sentence to lower case if its word is one of the openers | grammar demands the capital there | every other first word: it may be a name (Jack, Penny, Turkey) |
//!
//! Simplified and traditional Chinese, emoji, diacritics and spaces between Han characters are not
//! folded.

use unicode_normalization::UnicodeNormalization;

use super::openers::is_opener;

/// The comparison form of a whole text: its sentences in comparison form, one a line.
///
/// Empty exactly for a text without visible characters.
pub fn normalize(text: &str) -> String {
    let mut form = String::new();
    for sentence in super::sentences::sentences(text) {
        if !form.is_empty() {
            // A line break alone ends no sentence.
            form.push_str(if form.ends_with(['.', '!', '?', '。']) {
                "\n"
            } else {
                ".\n"
            });
        }
        form.push_str(&sentence);
    }
    form
}

/// Characters and white space in their comparison form; case and full stops as they are.
pub(crate) fn shape(text: &str) -> String {
    let chars = characters(text);
    let blanks = if is_prose(&chars) {
        collapse_white_space(&chars)
    } else {
        trim(&chars)
    };
    // Dropped characters may have stood between a letter and its mark.
    composed(blanks)
}

/// The text in NFC.
fn composed(text: String) -> String {
    if text.is_ascii() {
        text
    } else {
        text.nfc().collect()
    }
}

/// Every character in its comparison form; white space as it is, but one kind of blank.
fn characters(text: &str) -> String {
    if text.is_ascii() {
        let lines = text.replace("\r\n", "\n");
        return lines.replace(['\r', '\u{B}', '\u{C}'], "\n");
    }
    let mut chars = String::with_capacity(text.len());
    let mut kana = String::new();
    for c in text.nfc() {
        if ('\u{FF61}'..='\u{FF9F}').contains(&c) {
            kana.push(c);
            continue;
        }
        flush_kana(&mut kana, &mut chars);
        chars.push(shape_char(c));
    }
    flush_kana(&mut kana, &mut chars);
    drop_invisible(&chars.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Drops invisible characters except between two letters or digits, where they may part words.
fn drop_invisible(text: &str) -> String {
    let is_invisible = |c: &char| matches!(c, '\u{200B}' | '\u{2060}' | '\u{FEFF}' | '\u{AD}');
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if !is_invisible(&c) {
            out.push(c);
            continue;
        }
        while rest.next_if(is_invisible).is_some() {}
        if joins(out.chars().next_back()) && joins(rest.peek().copied()) {
            out.push('\u{200B}');
        }
    }
    out
}

/// Half-width kana compose with their voicing marks, so a run is widened as a whole.
fn flush_kana(kana: &mut String, out: &mut String) {
    out.extend(kana.nfkc());
    kana.clear();
}

fn shape_char(c: char) -> char {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        '\u{FFE0}' => '¢',
        '\u{FFE1}' => '£',
        '\u{FFE5}' => '¥',
        '\u{FFE6}' => '₩',
        '‘' | '’' | '‛' | 'ʼ' => '\'',
        '“' | '”' | '„' | '‟' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        '\n' | '\r' | '\t' => c,
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

/// Whether blanks are mere layout in a text (with its characters in comparison form): no line is
/// indented, and it holds no tab, no quotation and none of the signs of code.
pub(crate) fn is_prose(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let indented = text.trim().contains("\n ")
        || text.trim().contains('\n') && first.is_some_and(|line| line.starts_with(' '));
    let statement = text.lines().any(|line| line.trim_end().ends_with(';'));
    let mut previous = None;
    !(indented || statement)
        && text.trim().chars().all(|c| {
            let in_word = previous.is_some_and(char::is_alphanumeric);
            previous = Some(c);
            match c {
                '\'' => in_word,
                '\t' | '"' | '`' | '{' | '}' | '[' | ']' | '<' | '>' | '\\' | '|' | '=' | '*'
                | '^' | '~' | '_' | '$' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』'
                | '《' | '》' => false,
                _ => true,
            }
        })
}

/// A run of white space becomes a line break if it holds one, else a space.
fn collapse_white_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pending: Option<char> = None;
    for c in text.trim().chars() {
        if c.is_whitespace() {
            let broken = c == '\n' || pending == Some('\n');
            pending = Some(if broken { '\n' } else { ' ' });
        } else {
            out.extend(pending.take());
            out.push(c);
        }
    }
    out
}

/// Trims the ends of a text, but not the indentation of its first line if there are others.
fn trim(text: &str) -> String {
    let text = text.trim_end();
    if !text.trim_start().contains('\n') {
        return text.trim_start().to_owned();
    }
    let first = text.len() - text.trim_start().len();
    let line = text[..first].rfind('\n').map_or(0, |at| at + 1);
    text[line..].to_owned()
}

/// A sentence of prose without its final full stop and its grammatical capital.
pub(crate) fn normalize_sentence(sentence: &str) -> String {
    lower_first(drop_full_stop(sentence.trim()))
}

/// Drops one full stop after a letter, digit or closing bracket. After a blank (`cd .`), a sign
/// (`a+.`) or another stop (`wait...`) it may be more than the end of a sentence.
fn drop_full_stop(text: &str) -> &str {
    let Some(rest) = text.strip_suffix(['.', '。']) else {
        return text;
    };
    let paired = text.matches('(').count() == text.matches(')').count();
    let ends = |c: char| c.is_alphanumeric() || c == ')' && paired;
    if rest.chars().next_back().is_some_and(ends) {
        rest
    } else {
        text
    }
}

/// Lowers the capital of a first word that is no name.
pub(crate) fn lower_first(text: &str) -> String {
    let end = text
        .find(|c: char| !(c.is_alphabetic() || c == '\''))
        .unwrap_or(text.len());
    let (word, tail) = text.split_at(end);
    // A word that goes on (`The-Bar`, `Uses_5G`, `Is.rs`) is a name or a code.
    let mut after = tail.chars();
    let goes_on = after.next().is_some_and(|c| {
        c.is_numeric()
            || ("-_.@/:'&+#".contains(c) && after.next().is_some_and(char::is_alphanumeric))
    });
    if goes_on || !is_opener(word) {
        return text.to_owned();
    }
    word.to_lowercase() + tail
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

/// The text as the guards read it: runs of white space as one, and decimal digits of any script
/// as ASCII digits.
pub(crate) fn plain(text: &str) -> String {
    let blanks = composed(collapse_white_space(&characters(text)));
    if blanks.is_ascii() {
        return blanks;
    }
    blanks.chars().map(ascii_digit).collect()
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
            ("Likes tea.\r\nHas cats.", "Likes tea. Has cats"),
            (
                " Users  like\u{A0}the users' house",
                "users like the users' house",
            ),
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
            ("Speaks Polish", "Speaks polish"),
            ("Likes tea?", "Likes tea"),
            ("Likes tea!", "Likes tea"),
            ("Likes tea...", "Likes tea"),
            ("cd .", "cd"),
            ("cd ..", "cd ."),
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
            // Names of people and places at the start.
            ("Jack is broken", "jack is broken"),
            ("Penny is lost", "penny is lost"),
            ("Hunter lives in Rome", "hunter lives in Rome"),
            ("Essen is cheap", "essen is cheap"),
            ("Robin sings", "robin sings"),
            ("Paris", "paris"),
            ("Will drinks tea", "will drinks tea"),
            // Indentation, code and quotations.
            ("if x:\n    a()\n    b()", "if x:\n    a()\nb()"),
            ("- Alice:\n  - tea\n- Bob", "- Alice:\n- tea\n- Bob"),
            ("- Alice.\n  - tea.\n- Bob", "- Alice.\n- tea.\n- Bob"),
            ("  a\n  b", "a\n  b"),
            ("a\n\tb", "a\n b"),
            ("pw is 'a  b'", "pw is 'a b'"),
            ("pw is “a  b”", "pw is “a b”"),
            ("x = a  b", "x = a b"),
            ("「a  b」", "「a b」"),
            // Full stops that say more, and hidden characters that part words.
            ("The command is rm *.", "The command is rm *"),
            ("Regex a+.", "Regex a+"),
            ("Regex \"a.\"", "Regex \"a\""),
            ("Ends in )).", "Ends in ))"),
            ("key: a  b;", "key: a b;"),
            ("张三\u{200B}李四", "张三李四"),
            ("10\u{200B}5", "105"),
            ("now\u{200B}here", "nowhere"),
            ("re\u{AD}sign", "resign"),
            // A line break ends no sentence.
            ("User owns a house\nboat", "User owns a house. boat"),
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
