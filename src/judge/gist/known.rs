//! English words, for slips of the pen and for endings.
//!
//! `words.txt` and `names.txt` are derived from SCOWL (size 70, American and British spelling,
//! Copyright 2000-2019 Kevin Atkinson; see the notice in `LICENSE-SCOWL.txt`): words of letters
//! alone, each once, ascending by bytes; `names.txt` holds those that are only written with a capital.

const WORDS: &str = include_str!("words.txt");
const NAMES: &str = include_str!("names.txt");

/// Whether this is an English word (in lower case) that is no name.
pub(crate) fn is_word(word: &str) -> bool {
    holds(WORDS, word)
}

/// Whether this is an English word or a name that is known (in lower case).
pub(crate) fn is_known(word: &str) -> bool {
    is_word(word) || holds(NAMES, word)
}

/// Whether this is a name that is known, or no English word (in lower case).
pub(super) fn is_name(word: &str) -> bool {
    holds(NAMES, word) || !is_word(word)
}

/// Binary search over lines, which need no index in memory.
fn holds(lines: &str, word: &str) -> bool {
    let bytes = lines.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = memchr::memrchr(b'\n', &bytes[low..middle]).map_or(low, |at| low + at + 1);
        let end = memchr::memchr(b'\n', &bytes[middle..high]).map_or(high, |at| middle + at);
        match bytes[start..end].cmp(word.as_bytes()) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => low = end + 1,
            std::cmp::Ordering::Greater => high = start,
        }
    }
    false
}

/// Whether `slip` is `word` with one slip of the pen: two letters changed places, one is missing,
/// one is too many, or a vowel is another one. The first letter is never wrong.
pub(crate) fn is_slip_of(slip: &str, word: &str) -> bool {
    let letters = |text: &str| text.bytes().all(|c| c.is_ascii_lowercase());
    let (s, w) = (slip.as_bytes(), word.as_bytes());
    if !letters(slip)
        || !letters(word)
        || s.first() != w.first()
        || is_known(slip)
        || !is_word(word)
    {
        return false;
    }
    let start = s.iter().zip(w).take_while(|(a, b)| a == b).count();
    let (s, w) = (&s[start..], &w[start..]);
    let vowel = |c: u8| b"aeiou".contains(&c);
    let long = word.len() >= 5;
    match s.len() as i64 - w.len() as i64 {
        0 if s.len() >= 2 && s[0] == w[1] && s[1] == w[0] && s[2..] == w[2..] => word.len() >= 4,
        0 => !s.is_empty() && vowel(s[0]) && vowel(w[0]) && s[1..] == w[1..] && word.len() >= 6,
        1 => long && s[1..] == *w,
        -1 => long && w[1..] == *s,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_are_found() {
        for word in ["aardvark", "zucchini", "folder", "colour", "color", "zoos"] {
            assert!(is_word(word), "{word}");
        }
        for word in ["", "a\n", "wndow", "priya", "\n"] {
            assert!(!is_word(word), "{word}");
        }
        assert!(is_known("ghent") && !is_word("ghent"));
    }

    #[test]
    fn slips_of_the_pen() {
        for (slip, word) in [
            ("recieve", "receive"),
            ("gardne", "garden"),
            ("accomodation", "accommodation"),
            ("definately", "definitely"),
            ("swiming", "swimming"),
            ("tomatos", "tomatoes"),
            ("cofee", "coffee"),
            ("abotu", "about"),
        ] {
            assert!(is_slip_of(slip, word), "{slip}");
            assert!(!is_slip_of(word, slip), "{word}");
        }
    }

    #[test]
    fn other_words_and_names_are_no_slips() {
        for (a, b) in [
            // both are words
            ("window", "widow"),
            ("kitten", "mitten"),
            ("violet", "violent"),
            // unknown words near a known one: products, names, codes
            ("figma", "sigma"),
            ("numpy", "lumpy"),
            ("priya", "prima"),
            ("ghent", "agent"),
            ("dana", "data"),
            ("redis", "reds"),
            ("sql", "sq"),
            ("c3po", "capo"),
        ] {
            assert!(!is_slip_of(a, b) && !is_slip_of(b, a), "{a} {b}");
        }
    }
}
