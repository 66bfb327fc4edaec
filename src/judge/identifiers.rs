//! The identifiers guard: addresses, codes, versions, phone numbers, file names. Compared exactly.

use std::sync::LazyLock;

use super::dates;
use super::items::{Item, Rest};
use super::pattern::{Pattern, pattern};
use super::units;

static LINK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r#"(?x)
        (?i:[a-z][a-z0-9+.-]*://)[^\s"'<>()\[\]{}，。、；]+
        | (?i:www\.)[^\s"'<>()\[\]{}，。、；]+
        | [\w.+\-&&[^\p{Han}\p{Hiragana}\p{Katakana}]]+@[\w\-&&[^\p{Han}\p{Hiragana}\p{Katakana}]]+(?:\.[\w\-&&[^\p{Han}\p{Hiragana}\p{Katakana}]]+)+
        | [@\#][\p{L}_][\w-]*
        | (?:~|(?-u:\b)[A-Za-z]:)?(?:[/\\][\w.+-]+){2,}/?
        | (?-u:\b)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.(?i:com|org|net|io|dev|app|ai|de|es|cn|jp|fr|uk|eu|edu|gov)(?:/[^\s]*)?(?-u:\b)
        | (?-u:\b)[\w./-]*[\w-]\.(?i:rs|py|md|txt|pdf|docx?|xlsx?|pptx?|csv|jsonl?|toml|ya?ml|jsx?|tsx?|html?|css|sh|png|jpe?g|gif|svg|zip|gz|tar|sql|log|ini|cfg|conf|lua|c|h|cpp|go|java|mp[34]|wav|exe|lock|env|onnx)(?-u:\b)
        "#,
    )
});

static CODE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)
        \+\d[\d\x20()-]{5,}\d
        | (?-u:\b)\d+(?:-\d+)+(?-u:\b)
        | (?-u:\b)\d{4}(?:\x20\d{4}){2,}(?-u:\b)
        | \#\d+
        | [A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*(?:_[A-Za-z0-9]+)*
        ",
    )
});

static QUANTITY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?ix)^ \d+(?:[.,]\d+)* (?: st|nd|rd|th|s|k|mn|bn|x|am|pm|fold|y|yo | {} )? $",
        units::latin_names()
    ))
});

static UPPER_CODE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^[A-Z]+[-/]\d+(?:[-/.]\d+)*$"));

/// Takes addresses, handles, paths and file names out of the text. Run before all other guards,
/// since they may hold numbers and dates.
pub(crate) fn take_links(rest: &mut Rest) -> Vec<Item> {
    rest.take(&LINK, |captures, _, _| {
        let words = captures.whole.as_str();
        let link = words.trim_end_matches(['.', ',', '!', '?', ';', ':']);
        // Of `Mon/Wed/Fri`.
        let days = link.trim_matches('/').split('/').all(dates::is_weekday);
        (!days).then(|| vec![Item::new(link, "", words)])
    })
}

/// Takes codes, versions, phone numbers and mixed-case words out of the text. Run after dates.
pub(crate) fn take_codes(rest: &mut Rest) -> Vec<Item> {
    rest.take(&CODE, |captures, _, _| {
        let words = captures.whole.as_str();
        // Card and phone numbers are written in groups; the groups say nothing.
        let numeric =
            !words.contains(['.', '#', '_']) && !words.contains(|c: char| c.is_alphabetic());
        let value = if numeric {
            words.replace(['-', ' ', '(', ')'], "")
        } else {
            words.to_owned()
        };
        is_code(words).then(|| vec![Item::new(value, "", words)])
    })
}

fn is_code(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    if word.starts_with(['+', '#']) || word.contains(' ') {
        return true;
    }
    if letters == 0 {
        return is_number_code(word, digits);
    }
    if digits == 0 {
        return is_mixed_case(word) || word.contains('_');
    }
    word.contains('_')
        || UPPER_CODE.is_match(word)
        || word
            .split(['-', '/', '.'])
            .any(|part| mixes(part) && !QUANTITY.is_match(part))
        || (word.starts_with(['v', 'V']) && word[1..].starts_with(|c: char| c.is_ascii_digit()))
}

/// A version (2.3.1) or a grouped number (555-0142), but not a range of years, a score, a decimal.
fn is_number_code(word: &str, digits: usize) -> bool {
    if word.matches('.').count() >= 2 {
        return true;
    }
    let groups: Vec<&str> = word.split('-').collect();
    let years = groups.len() == 2 && groups.iter().all(|g| g.len() == 4);
    groups.len() >= 2
        && digits >= 6
        && !years
        && groups.iter().all(|g| g.bytes().all(|b| b.is_ascii_digit()))
}

fn mixes(part: &str) -> bool {
    part.bytes().any(|b| b.is_ascii_digit()) && part.bytes().any(|b| b.is_ascii_alphabetic())
}

/// A capital after a lower-case letter inside a word: `PostgreSQL`, `getUserId`.
fn is_mixed_case(word: &str) -> bool {
    word.as_bytes()
        .windows(2)
        .any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut rest = Rest::new(text.to_owned());
        let mut items = take_links(&mut rest);
        items.extend(take_codes(&mut rest));
        items.into_iter().map(|i| i.value).collect()
    }

    #[test]
    fn finds_codes() {
        for (text, expected) in [
            ("Sensor module TR-4471 drifts", &["TR-4471"][..]),
            ("快递SF1047还没签收", &["SF1047"]),
            (
                "see https://a.example/x?y=1, ok",
                &["https://a.example/x?y=1"],
            ),
            ("write to a.b+c@example.org.", &["a.b+c@example.org"]),
            (
                "app version 2.3.1 and v2 and V1.5",
                &["2.3.1", "v2", "V1.5"],
            ),
            (
                "Order 7740-183 at +49 30 1234567",
                &["7740183", "+49301234567"],
            ),
            ("card 4111 1111 1111 1111", &["4111111111111111"]),
            ("call 555-0142", &["5550142"]),
            (
                "edit note.md and src/main.rs in Heron_5G",
                &["note.md", "src/main.rs", "Heron_5G"],
            ),
            ("Board QX1603 uses PostgreSQL", &["QX1603", "PostgreSQL"]),
            (
                "ping @mia about #release and #42",
                &["@mia", "#release", "#42"],
            ),
            ("stored in /var/lib/redis today", &["/var/lib/redis"]),
            ("gym on Mon/Wed/Fri", &[]),
            ("swims on Tue/Sat/Sun.", &[]),
            (
                "uses GPT-4 and B2 level, 192.168.0.1",
                &["GPT-4", "B2", "192.168.0.1"],
            ),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn leaves_quantities_and_words_alone() {
        for text in [
            "10km in 3h at 5pm, 2nd of 90s",
            "a 7-year-old, a 14-inch one, under-10 team, 2019-2024, 2-3 times, 130/85",
            "10.4 and 1,000 and 10k and 32GB",
            "Likes tea. Hates coffee e.g. at work and/or home, state-of-the-art",
        ] {
            assert_eq!(read(text), [] as [&str; 0], "{text}");
        }
    }
}
