//! Text made fit for a terminal: escaped, measured, shortened, coloured.

use unicode_segmentation::UnicodeSegmentation;

/// How to dress text for one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether to colour.
    pub(crate) color: bool,
    /// Columns to fill.
    pub(crate) width: usize,
    /// Whether to show everything: no shortening, every key.
    pub(crate) verbose: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// Memory text in at most `room` columns; whole with `verbose`.
    pub(crate) fn fit(self, text: &str, room: usize) -> String {
        let text = escape(text);
        if self.verbose {
            text
        } else {
            shorten(&text, room.max(20))
        }
    }
}

/// Makes stored text harmless: control characters could move the cursor or change colours,
/// directional ones could reorder what is read.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.extend(c.escape_default()),
            c if c.is_control() || reorders(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// The same for a JSON document, where such characters are only ever inside strings.
pub(crate) fn escape_json(document: &str) -> String {
    let mut safe = String::with_capacity(document.len());
    for c in document.chars() {
        match c {
            c if c != '\n' && (c.is_control() || reorders(c)) => {
                safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Line and paragraph separators, directional marks and overrides, byte-order mark, tags.
fn reorders(c: char) -> bool {
    matches!(
        c,
        '\u{061c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
    )
}

/// Cuts between grapheme clusters so that the text with its `…` fits `room` columns.
pub(crate) fn shorten(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut used = 1;
    let mut short = String::new();
    for grapheme in text.graphemes(true) {
        used += grapheme_columns(grapheme);
        if used > room {
            break;
        }
        short.push_str(grapheme);
    }
    format!("{}…", short.trim_end())
}

/// Columns that a text takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.graphemes(true).map(grapheme_columns).sum()
}

/// Two for East Asian wide characters and emoji, else one: what terminals agree on.
fn grapheme_columns(grapheme: &str) -> usize {
    let wide = grapheme.chars().any(|c| {
        matches!(u32::from(c),
            0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0xa4cf | 0xac00..=0xd7a3
            | 0xf900..=0xfaff | 0xfe0f | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6
            | 0x1f000..=0x1faff | 0x20000..=0x3fffd)
    });
    if wide { 2 } else { 1 }
}

/// Fills up with spaces to `room` columns.
pub(crate) fn pad(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(columns(text))))
}

/// The end of a key, which is what tells keys apart.
pub(crate) fn short_key(key: &str) -> String {
    let key = escape(key);
    let graphemes: Vec<&str> = key.graphemes(true).collect();
    match graphemes.len().checked_sub(10) {
        Some(cut) if cut > 1 => format!("…{}", graphemes[cut + 1..].concat()),
        _ => key,
    }
}

/// `1 memory`, `2 memories`.
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            escape("a\x1b[31mred\x07\r\n"),
            "a\\u{1b}[31mred\\u{7}\\r\\n"
        );
        assert_eq!(escape("\u{9b}31m \u{202e}evil"), "\\u{9b}31m \\u{202e}evil");
        assert_eq!(escape("用户 👩‍👩‍👧 é"), "用户 👩‍👩‍👧 é");
    }

    #[test]
    fn json_stays_json() {
        let document = serde_json::json!({ "text": "\u{9b}31m \u{7f} \u{202e} 用 \n \u{1b}" });
        let safe = escape_json(&format!("{document:#}"));
        assert!(
            !safe.contains(['\u{9b}', '\u{7f}', '\u{202e}', '\u{1b}']),
            "{safe}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).unwrap(),
            document
        );
    }

    #[test]
    fn cuts_fall_between_graphemes() {
        assert_eq!(shorten("用户喜欢靠窗", 7), "用户喜…");
        assert_eq!(shorten("ab👩‍👩‍👧cd", 4), "ab…");
        assert_eq!(shorten("ab👩‍👩‍👧cd", 5), "ab👩‍👩‍👧…");
        assert_eq!(shorten("short", 5), "short");
    }

    #[test]
    fn keys_keep_their_end() {
        assert_eq!(short_key("memory:01K9ZZABCDEFGH"), "…ZABCDEFGH");
        assert_eq!(short_key("memory:1"), "memory:1");
    }

    proptest! {
        #[test]
        fn shortened_text_fits_and_is_harmless(text in any::<String>(), room in 2usize..60) {
            let shown = shorten(&escape(&text), room);
            prop_assert!(columns(&shown) <= room);
            prop_assert!(!shown.chars().any(char::is_control));
        }
    }
}
