//! Text made fit for a terminal: escaped, measured, shortened, coloured.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How to dress text for one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether to colour.
    pub(crate) color: bool,
    /// Columns to fill.
    pub(crate) width: usize,
    /// Whether to show everything: no shortening, every key.
    pub(crate) verbose: bool,
    /// Whether to show memory texts whole, over as many lines as they take.
    pub(crate) whole: bool,
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

    /// What goes away. With [`Self::stays`] a pair that people tell apart who cannot tell red from
    /// green; signs say the same without any colour.
    pub(crate) fn goes(self, text: &str) -> String {
        self.paint("35", text)
    }

    /// What is there afterwards.
    pub(crate) fn stays(self, text: &str) -> String {
        self.paint("36", text)
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

    /// Memory text that begins after `indent` columns and fills the line; with `whole` as many lines
    /// as it takes, all of them there.
    pub(crate) fn body(self, text: &str, indent: usize) -> Vec<String> {
        let room = self.width.saturating_sub(indent);
        if self.whole {
            wrap(&escape(text), room.max(20))
        } else {
            vec![self.fit(text, room)]
        }
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
pub(crate) fn escape_json(document: &str) -> Cow<'_, str> {
    let mut safe = String::new();
    let (mut kept, mut at) = (0, 0);
    loop {
        at += harmless(&document.as_bytes()[at..]);
        let Some(c) = document[at..].chars().next() else {
            break;
        };
        let end = at + c.len_utf8();
        if c.is_control() || reorders(c) {
            safe.push_str(&document[kept..at]);
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            kept = end;
        }
        at = end;
    }
    if kept == 0 {
        return Cow::Borrowed(document);
    }
    safe.push_str(&document[kept..]);
    Cow::Owned(safe)
}

/// How many characters from the start are of ASCII and neither control nor tab: what nearly all of
/// a document is, so it is looked at by many at once.
fn harmless(bytes: &[u8]) -> usize {
    const AT_ONCE: usize = 32;
    let one = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
    let (many, _) = bytes.as_chunks::<AT_ONCE>();
    let all = |chunk: &&[u8; AT_ONCE]| chunk.iter().fold(true, |all, byte| all & one(byte));
    let sure = AT_ONCE * many.iter().take_while(all).count();
    sure + bytes[sure..].iter().take_while(|byte| one(byte)).count()
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

/// Of a cluster as a whole, such as a family of joined emoji.
fn grapheme_columns(grapheme: &str) -> usize {
    grapheme.width()
}

/// Lines of at most `room` columns, broken after spaces where there are any, else between grapheme
/// clusters, as Chinese has none. A cluster that is wider is a line of its own.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_word_bounds() {
        let width = columns(word);
        let mut pieces = vec![(word, width)];
        if width > room {
            pieces = word.graphemes(true).map(|g| (g, columns(g))).collect();
        }
        for (piece, width) in pieces {
            if used + width > room && used > 0 {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
                used = 0;
                if piece == " " {
                    continue;
                }
            }
            line.push_str(piece);
            used += width;
        }
    }
    lines.push(line);
    lines
}

/// Fills up with spaces to `room` columns.
pub(crate) fn pad(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(columns(text))))
}

/// Keys of one group in short, so that they can still be told apart.
///
/// A ULID's end is its random part; keys that were counted up differ at another place.
pub(crate) fn short_keys(keys: &[&str]) -> Vec<String> {
    let keys: Vec<String> = keys.iter().map(|key| escape(key)).collect();
    let graphemes: Vec<Vec<&str>> = keys
        .iter()
        .map(|key| key.graphemes(true).collect())
        .collect();
    let common = common_prefix(&graphemes);
    let ends = graphemes
        .iter()
        .map(|key| window(key, key.len().saturating_sub(KEY)))
        .collect();
    let middles = graphemes.iter().map(|key| window(key, common)).collect();
    let distinct = |short: &Vec<String>| {
        let mut sorted: Vec<&String> = short.iter().collect();
        sorted.sort();
        sorted.dedup();
        sorted.len() == short.len()
    };
    [ends, middles].into_iter().find(distinct).unwrap_or(keys)
}

/// Graphemes shown of a key.
const KEY: usize = 9;

/// [`KEY`] graphemes from `start` on, with dots for what is left out; a short key as it is.
fn window(key: &[&str], start: usize) -> String {
    if key.len() <= KEY + 2 {
        return key.concat();
    }
    let start = start.min(key.len() - KEY);
    let end = start + KEY;
    let before = if start > 0 { "…" } else { "" };
    let after = if end < key.len() { "…" } else { "" };
    format!("{before}{}{after}", key[start..end].concat())
}

fn common_prefix(keys: &[Vec<&str>]) -> usize {
    let Some((first, others)) = keys.split_first() else {
        return 0;
    };
    let agree = |at: &usize| others.iter().all(|key| key.get(*at) == Some(&first[*at]));
    (0..first.len()).take_while(agree).count()
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
    fn what_is_harmless_is_not_copied() {
        let document = format!("{{\n  \"a\": \"{}\"\n}}", "用é~ ".repeat(40));
        assert!(matches!(escape_json(&document), Cow::Borrowed(same) if same == document));
    }

    #[test]
    fn every_harmful_character_is_escaped_wherever_it_stands() {
        let kinds = [
            '\t', '\u{1f}', '\u{7f}', '\u{80}', '\u{9b}', '\u{202e}', '\u{feff}',
        ];
        for (c, at) in kinds
            .into_iter()
            .flat_map(|c| (0..70).map(move |at| (c, at)))
        {
            let around = |middle: &str| format!("{}{middle}用{}", "a".repeat(at), "\n~".repeat(40));
            let escaped = around(&format!("\\u{:04x}", u32::from(c)));
            assert_eq!(
                escape_json(&around(&c.to_string())),
                escaped,
                "{c:?} at {at}"
            );
        }
    }

    #[test]
    fn json_stays_json() {
        let document = serde_json::json!({ "text": "\u{9b}31m \u{7f} \u{202e} 用 \n \u{1b}" });
        let text = format!("{document:#}");
        let safe = escape_json(&text);
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
    fn short_keys_can_be_told_apart() {
        let short = |keys: &[&str]| short_keys(keys).join(" ");
        assert_eq!(short(&["memory:1", "memory:2"]), "memory:1 memory:2");
        assert_eq!(
            short(&["memory:01K9ZZABCDEFGH", "memory:01K9ZZABCDXXXX"]),
            "…ZABCDEFGH …ZABCDXXXX"
        );
        assert_eq!(
            short(&["memory:01K9A00000000000", "memory:01K9B00000000000"]),
            "…A00000000… …B00000000…"
        );
        assert_eq!(
            short(&["m:aa000000000000", "m:ba000000000000", "m:bb000000000000"]),
            "…aa0000000… …ba0000000… …bb0000000…"
        );
        assert_eq!(short(&["only:one:000000001"]), "…000000001");
    }

    #[test]
    fn wrapped_text_keeps_its_words_and_breaks_chinese_anywhere() {
        assert_eq!(
            wrap("prefers window seats on flights", 14),
            ["prefers window", "seats on", "flights"]
        );
        assert_eq!(
            wrap("用户喜欢靠窗的座位", 8),
            ["用户喜欢", "靠窗的座", "位"]
        );
        assert_eq!(wrap("", 8), [""]);
        // A Han character with a mark that takes room: three columns, and one cluster.
        assert_eq!(wrap("𫠠𑧑a", 2), ["𫠠𑧑", "a"]);
    }

    proptest! {
        #[test]
        fn wrapped_text_is_all_there_and_fits(text in any::<String>(), room in 2usize..60) {
            let escaped = escape(&text);
            let lines = wrap(&escaped, room);
            let fits = |line: &String| columns(line) <= room || line.graphemes(true).count() == 1;
            prop_assert!(lines.iter().all(fits), "{lines:?}");
            let letters = |text: &str| -> String {
                text.chars().filter(|c| !c.is_whitespace()).collect()
            };
            prop_assert_eq!(letters(&lines.concat()), letters(&escaped));
        }

        #[test]
        fn shortened_text_fits_and_is_harmless(text in any::<String>(), room in 2usize..60) {
            let shown = shorten(&escape(&text), room);
            prop_assert!(columns(&shown) <= room);
            prop_assert!(!shown.chars().any(char::is_control));
        }
    }
}
