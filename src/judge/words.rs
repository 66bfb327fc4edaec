//! The words of a text, for the comparison of a merged text with its sources.

use unicode_segmentation::UnicodeSegmentation;

use super::items::is_mark;
use super::negation;
use super::sentences::{is_han, is_kana};

/// Words that a merged text may add or drop freely: they join, point or fill.
#[rustfmt::skip]
const LIGHT: &[&str] = &[
    "a", "an", "the", "and", "or", "as", "at", "by", "for", "from", "in", "into", "of", "on",
    "onto", "to", "with", "that", "which", "who", "whose", "whom", "this", "these", "those", "is",
    "are", "be", "being", "am", "has", "have", "having", "do", "does", "doing", "it", "its", "he",
    "she", "they", "them", "their", "theirs", "his", "her", "hers", "him", "i", "me", "my", "mine",
    "we", "us", "our", "you", "your", "user", "users", "user's", "there", "also", "too", "both",
    "so", "well", "please", "basically", "yeah", "just", "then", "than", "when", "where", "while",
    "about", "called", "named", "who's", "it's", "he's", "she's", "that's", "they're", "der",
    "die", "das", "ein", "eine", "einen", "und", "el", "la", "los", "las", "un", "una", "y", "de",
    "en", "ist", "im", "am", "es",
];

/// Function characters of Chinese that a merged text may add or drop freely.
const LIGHT_HAN: &str = "的地得和与與及并且而是在他她它我你您们們这這那个個之其用户戶也就都把被给給对對于於以为為有啊吧呢呀哈嘛";

/// Marks of the past or of an end. Where every source has one the result needs one; where none
/// has one it must not appear.
#[rustfmt::skip]
const PAST: &[&str] = &[
    "was", "were", "had", "did", "been", "used", "formerly", "previously", "former", "ex", "ago",
    "once", "曾", "过去", "以前", "之前", "war", "hatte", "era", "fue",
];

/// Marks of what is planned, possible, or demanded.
const MODAL: &[&str] = &[
    "may", "might", "maybe", "perhaps", "could", "would", "should", "must", "will", "shall",
    "plans", "planning", "wants", "hopes", "intends", "probably", "possibly", "可能", "也许",
    "打算", "计划", "想", "希望", "必须", "应该", "会", "要",
];

/// First words of memories that are no names although they are capitalised.
#[rustfmt::skip]
const OPENERS: &[&str] = &[
    "user", "the", "a", "an", "is", "has", "was", "had", "does", "did", "can", "can't", "cannot",
    "will", "would", "should", "must", "may", "might", "likes", "loves", "prefers", "enjoys",
    "hates", "dislikes", "wants", "needs", "uses", "owns", "works", "lives", "plays", "drinks",
    "eats", "speaks", "goes", "gets", "takes", "makes", "keeps", "runs", "studies", "studied",
    "went", "bought", "moved", "started", "favourite", "favorite", "always", "never", "usually",
    "sometimes", "often", "every", "all", "some", "most", "no", "not", "please", "my", "his",
    "her", "their", "its", "our", "your", "in", "on", "at", "for", "from", "with", "by", "when",
    "if", "because", "since", "after", "before", "and", "but", "also", "it", "he", "she", "they",
    "we", "you", "i", "this", "that", "there", "these", "those", "one", "two", "three", "does",
    "doesn't", "don't", "isn't", "currently", "now", "recently", "well", "so", "by", "as",
];

/// Third persons that begin a memory about its user and are no names.
#[rustfmt::skip]
const PLAIN_VERBS: &[&str] = &[
    "is", "has", "likes", "loves", "prefers", "enjoys", "needs", "uses", "owns", "works", "lives",
    "plays", "drinks", "eats", "speaks", "goes", "gets", "takes", "makes", "keeps", "runs",
    "studies", "pays", "reads", "writes", "drives", "rides", "collects", "cooks", "bakes",
    "teaches", "learns", "wears", "sleeps", "swims", "sings", "paints", "listens", "walks",
    "commutes", "travels", "visits", "manages", "leads", "sells", "buys", "shares", "knows",
    "practises", "practices", "trains", "volunteers", "attends", "carries", "rents", "grows",
];

/// The content words of a text as stems, each once, in order: words of letters in lower case,
/// single characters of Han and kana. Numbers are left to their guard.
pub(crate) fn content(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for word in all(text) {
        if !is_light(&word) && words.iter().all(|w| w.stem != word.stem) {
            words.push(word);
        }
    }
    words
}

/// The content words and the marks of what the guards took, in order, each as often as it stands.
pub(crate) fn sequence(rest: &str) -> Vec<Word> {
    // A mark is no letter, so it is spelled out as a word of its own.
    all_with(rest, is_mark)
        .into_iter()
        .filter(|word| !is_light(word))
        .collect()
}

/// Whether a word (lower case) is one that memories often start with, and as such no name.
pub(crate) fn is_opener(lower: &str) -> bool {
    OPENERS.contains(&lower) || is_plain_verb(lower)
}

/// Whether a word (lower case) is a verb with which a memory plainly says what its user does.
pub(crate) fn is_plain_verb(lower: &str) -> bool {
    PLAIN_VERBS.contains(&lower)
}

/// All words and the marks of what the guards took, in order, each with whether it begins a
/// sentence.
pub(crate) fn all_marked(rest: &str) -> Vec<(Word, bool)> {
    let mut first = false;
    all_with(rest, |piece| ('\u{F0000}'..='\u{FFFFD}').contains(&piece))
        .into_iter()
        .map(|word| {
            let begins = word.first && first;
            first = true;
            (word, begins)
        })
        .collect()
}

fn is_light(word: &Word) -> bool {
    LIGHT.contains(&word.lower.as_str())
        || (word.lower.chars().count() == 1 && word.lower.chars().all(|c| LIGHT_HAN.contains(c)))
        || mark(&word.lower, PAST)
        || negation::only_denies(&word.lower)
        || word.lower.bytes().any(|b| b.is_ascii_digit())
}

/// A word as it stands, in lower case, and as a stem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// As in the text.
    pub(crate) text: String,
    lower: String,
    /// What is compared.
    pub(crate) stem: String,
    /// Begins a sentence.
    pub(crate) first: bool,
}

impl Word {
    /// In lower case.
    pub(crate) fn lower(&self) -> &str {
        &self.lower
    }

    /// Without a possessive ending.
    pub(crate) fn name(&self) -> &str {
        self.text.strip_suffix("'s").unwrap_or(&self.text)
    }
}

fn all(text: &str) -> Vec<Word> {
    all_with(text, |_| false)
}

/// All words, and as words all pieces that hold a character which `counts`.
fn all_with(text: &str, counts: impl Fn(char) -> bool) -> Vec<Word> {
    let mut first = true;
    text.split_word_bounds()
        .filter_map(|piece| {
            if !piece.chars().any(|c| c.is_alphanumeric() || counts(c)) {
                first |= piece.contains(['.', '!', '?', '。', '\n', ':', '"']);
                return None;
            }
            let lower = piece.to_lowercase();
            let word = Word {
                text: piece.to_owned(),
                stem: stem(&lower),
                lower,
                first,
            };
            first = false;
            Some(word)
        })
        .flat_map(|word| {
            // A run of katakana is one word of many characters; compare it character by character.
            let cjk =
                word.text.chars().all(|c| is_han(c) || is_kana(c)) && word.text.chars().count() > 1;
            if !cjk {
                return vec![word];
            }
            word.text
                .chars()
                .map(|c| Word {
                    text: c.into(),
                    lower: c.into(),
                    stem: c.into(),
                    first: false,
                })
                .collect()
        })
        .collect()
}

/// The words that are names by their writing: capitalised inside a sentence, or at its start
/// unless memories often start with that word.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in all(text) {
        let capital = word.text.chars().next().is_some_and(char::is_uppercase);
        let opener = word.first && is_opener(&word.lower);
        let name = word.name();
        if capital && !opener && name != "I" && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether the text has a mark of the past.
pub(crate) fn is_past(text: &str) -> bool {
    any(text, PAST)
}

/// Whether the text has a mark of plan, possibility or demand.
pub(crate) fn is_modal(text: &str) -> bool {
    any(text, MODAL)
}

fn any(text: &str, marks: &[&str]) -> bool {
    all(text).iter().any(|word| mark(&word.lower, marks))
        || marks
            .iter()
            .any(|m| m.chars().all(is_han) && text.contains(m))
}

fn mark(lower: &str, marks: &[&str]) -> bool {
    marks.contains(&lower)
}

/// A light stemmer for English: plural and third person `s`, possessive, `ing`. It keeps `ed`:
/// past and present are two facts.
pub(crate) fn stem(lower: &str) -> String {
    let word = lower.strip_suffix("'s").unwrap_or(lower);
    if !word.is_ascii() || word.len() <= 3 || word.ends_with("n't") {
        return word.to_owned();
    }
    let word = if let Some(base) = word.strip_suffix("ies").filter(|b| b.len() > 2) {
        format!("{base}y")
    } else if let Some(base) = ["sses", "xes", "ches", "shes", "zes", "uses"]
        .iter()
        .find(|end| word.ends_with(**end))
        .and_then(|_| word.strip_suffix("es"))
    {
        base.to_owned()
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word[..word.len() - 1].to_owned()
    } else if let Some(base) = word
        .strip_suffix("ing")
        .filter(|b| b.len() > 2 && b.contains(['a', 'e', 'i', 'o', 'u', 'y']))
    {
        let bytes = base.as_bytes();
        let doubled = bytes.len() > 3
            && bytes[bytes.len() - 1] == bytes[bytes.len() - 2]
            && !base.ends_with(['l', 's', 'z']);
        if doubled {
            base[..base.len() - 1].to_owned()
        } else {
            base.to_owned()
        }
    } else {
        word.to_owned()
    };
    match word.strip_suffix('e') {
        Some(base) if base.len() > 2 => base.to_owned(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems() {
        for (a, b) in [
            ("buses", "bus"),
            ("makes", "making"),
            ("parties", "party"),
            ("runs", "running"),
            ("reads", "reading"),
            ("user's", "user"),
            ("closes", "close"),
        ] {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
        for (a, b) in [
            ("plays", "played"),
            ("thing", "th"),
            ("bus", "bu"),
            ("isn't", "is"),
            ("bass", "bas"),
        ] {
            assert_ne!(stem(a), stem(b), "{a} {b}");
        }
    }

    #[test]
    fn names_by_writing() {
        assert_eq!(
            names("Mr. Ott met Erin's boss at TU Delft. Likes Rome"),
            ["Mr", "Ott", "Erin", "TU", "Delft", "Rome"]
        );
        assert_eq!(names("Yuki breaks out in hives"), ["Yuki"]);
        assert_eq!(names("她的英文名叫Alice"), ["Alice"]);
    }
}
