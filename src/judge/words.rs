//! Which texts may say the same by their words alone, whatever their vectors are.
//!
//! Only a proposal, and a coarse one: it looks at the words that carry a text and takes no notice
//! of numbers, units, dates, function words, fillers and of all that has several spellings. The
//! judge decides.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

use super::sentences::is_cjk;
use super::update::stem;
use super::{form, gist, numerals, units};

/// Texts that share their rarest word with more others than this are not compared: a word so common
/// says little, and the number of pairs must not grow with the square of the memories.
pub(crate) const COMMON: usize = 32;

/// Reads the words that carry texts. What was found of a word is kept: a few words make up most of every text.
#[derive(Debug, Default)]
pub(crate) struct CarryingWords {
    /// By the word as it stands in a text; `None` if it carries nothing.
    known: HashMap<String, Option<u64>>,
}

impl CarryingWords {
    /// The carrying words of a text, hashed, ascending, each once.
    pub(crate) fn words_of(&mut self, text: &str) -> Vec<u64> {
        let simplified = form::simplified(text);
        let text = simplified.as_deref().unwrap_or(text);
        let folded = text.contains(is_cjk).then(|| gist::han::folded(text));
        let text = folded.as_deref().unwrap_or(text);
        let mut words: Vec<u64> = text
            .unicode_words()
            .filter(|word| !word.contains(|c: char| c.is_numeric()))
            .flat_map(|word| word.split(['\'', '’', '-']))
            .filter_map(|word| self.word(word))
            .collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    fn word(&mut self, word: &str) -> Option<u64> {
        if let Some(known) = self.known.get(word) {
            return *known;
        }
        let lower = word.to_lowercase();
        let carries = !carries_nothing(&lower);
        let hash = carries.then(|| hash(&meaning(&lower.replace('ß', "ss"))));
        self.known.insert(word.to_owned(), hash);
        hash
    }
}

/// What words of one meaning, and slips of one word, have in common.
fn meaning(word: &str) -> String {
    let stem = stem(gist::base_of_irregular(word).unwrap_or(word));
    match CLASSES.get(stem.as_str()) {
        Some(class) => (*class).to_owned(),
        None => skeleton(&stem),
    }
}

/// The first letter and the consonants of a longer word, each once: `reciept` and `receipt` have
/// one skeleton. Words that share it are only proposed.
fn skeleton(stem: &str) -> String {
    if stem.len() < 4 || !stem.bytes().all(|c| c.is_ascii_lowercase()) {
        return stem.to_owned();
    }
    let mut consonants: Vec<u8> = stem
        .bytes()
        .skip(1)
        .filter(|c| !b"aeiouhwy".contains(c))
        .collect();
    consonants.sort_unstable();
    consonants.dedup();
    let first = stem.bytes().next().into_iter();
    first.chain(consonants).map(char::from).collect()
}

/// By the stem of a word that has others of its meaning: the first of them.
static CLASSES: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
    let mut classes = HashMap::new();
    for (word, class) in gist::synonyms::words() {
        classes.entry(stem(word)).or_insert(class);
    }
    classes
});

fn carries_nothing(word: &str) -> bool {
    if word.starts_with(is_cjk) {
        return word.chars().all(|c| LIGHT_HAN.contains(&c));
    }
    word.chars().nth(1).is_none() || LIGHT.contains(word)
}

fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

/// Words that texts of one meaning need not share.
static LIGHT: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let words = form::variable_words().chain(numerals::words());
    let words = words.chain(units::latin_words()).map(str::to_lowercase);
    words
        .chain(LIGHT_WORDS.iter().map(|w| (*w).to_owned()))
        .collect()
});

/// The same of Han characters.
static LIGHT_HAN: LazyLock<HashSet<char>> = LazyLock::new(|| {
    let fixed = "零〇一二两三四五六七八九十百千万亿半成的地得了在是和与跟及或个只点分钟时小上下午早晚中周星期礼拜年月日号天今明昨每元块钱毛公里斤克千米厘毫升平方度岁次回用户那这其实吧啊呀哈呢嘛哦啦嗯呃对说再一遍下请记住因为顺便话就";
    form::variable_han().chain(fixed.chars()).collect()
});

/// Function words, fillers, and words of dates and times.
#[rustfmt::skip]
const LIGHT_WORDS: &[&str] = &[
    "user", "users", "the", "an", "and", "or", "of", "on", "in", "at", "to", "for", "with", "is", "are", "am", "be", "been",
    "has", "have", "had", "will", "would", "not", "can", "do", "does", "did", "it", "that", "this", "so", "as", "by", "from",
    "half", "quarter", "past", "noon", "midnight", "am", "pm", "morning", "mornings", "afternoon", "afternoons", "evening",
    "evenings", "night", "nights", "clock", "oclock", "january", "february", "march", "april", "may", "june", "july", "august",
    "september", "october", "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct",
    "nov", "dec", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mondays", "tuesdays",
    "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "mon", "tue", "wed", "thu", "fri", "sat", "sun",
    "well", "basically", "actually", "just", "please", "note", "noted", "mind", "keep", "kept", "bear", "should", "remember",
    "record", "again", "once", "more", "down", "yeah", "ok", "okay", "oh", "um", "uh", "you", "know", "see", "mean", "way",
    "fyi", "btw", "lol", "thanks", "thank", "also", "mentioned", "said", "say", "mention", "repeat", "percent", "ve", "re",
    "ll", "let", "me", "want", "like", "add", "worth", "noting", "every", "each", "per", "lmao", "haha", "anyway", "honestly",
];

/// Pairs of texts that share carrying words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proposals {
    /// The shorter first: one may say all that the other says.
    pub(crate) containing: Vec<(usize, usize)>,
    /// The earlier first: half of the fewer words are shared, so they may be about one thing.
    pub(crate) meeting: Vec<(usize, usize)>,
}

/// The pairs of texts that are worth judging, by the [`CarryingWords`] of each, in the order of
/// the texts. A word that more than [`COMMON`] texts have proposes none.
pub(crate) fn propose(words: &[Vec<u64>]) -> Proposals {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (text, words) in words.iter().enumerate() {
        for word in words {
            places.entry(*word).or_default().push(text);
        }
    }
    let mut proposals = Proposals::default();
    for (text, own) in words.iter().enumerate() {
        let rare = own
            .iter()
            .map(|word| &places[word])
            .filter(|texts| texts.len() <= COMMON);
        let mut others: Vec<usize> = rare
            .flatten()
            .copied()
            .filter(|other| *other > text)
            .collect();
        others.sort_unstable();
        others.dedup();
        for other in others {
            let shared = own
                .iter()
                .filter(|w| words[other].binary_search(w).is_ok())
                .count();
            let (here, there) = (own.len(), words[other].len());
            if shared == here.min(there) {
                let shorter_first = if there < here {
                    (other, text)
                } else {
                    (text, other)
                };
                proposals.containing.push(shorter_first);
            }
            if shared * 2 >= here.min(there) {
                proposals.meeting.push((text, other));
            }
        }
    }
    proposals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carrying(text: &str) -> Vec<u64> {
        CarryingWords::default().words_of(text)
    }

    #[test]
    fn one_meaning_in_other_words_is_proposed() {
        for (a, b) in [
            ("Runs 10 km on Sundays", "runs ten kilometres on Sunday"),
            (
                "Works in HR at a hospital",
                "Works in human resources at a hospital",
            ),
            ("Well, basically, the user prefers tea", "User prefers tea"),
            ("They've moved the retro", "They have moved the retro"),
            ("Has a dog", "Has a dog, a beagle named Waffles"),
            ("用戶喜歡看紀錄片", "用户喜欢看纪录片"),
            ("下午三点的航班", "15:00的航班"),
            ("Café Löwe", "CAFÉ LÖWE"),
            ("Bought a couch", "Purchased a sofa"),
            (
                "Keeps the reciepts in a foldr",
                "Keeps the receipts in a folder",
            ),
            ("母亲是大夫", "妈妈是医生"),
        ] {
            let words = [carrying(a), carrying(b)];
            assert_eq!(propose(&words).containing.len(), 1, "{a} {b} {words:?}");
        }
    }

    /// Whatever was read before.
    #[test]
    fn a_text_has_the_same_words_each_time() {
        let texts = [
            "They've moved the Café",
            "they have moved the CAFÉ",
            "Straße 5, strasse",
            "A reciept, a receipt",
            "用戶喜歡看紀錄片",
            "用户喜欢看纪录片",
            "",
        ];
        let mut read = CarryingWords::default();
        for text in texts.iter().chain(texts.iter().rev()) {
            assert_eq!(read.words_of(text), carrying(text), "{text}");
        }
    }

    #[test]
    fn other_words_are_not() {
        for (a, b) in [
            ("Has a dog", "Has a cat"),
            ("", ""),
            ("养了一只狗", "养了一只猫"),
        ] {
            assert_eq!(propose(&[carrying(a), carrying(b)]).containing, []);
        }
    }

    #[test]
    fn common_words_propose_nothing() {
        let texts = vec![carrying("Likes green tea"); COMMON + 1];
        assert_eq!(propose(&texts), Proposals::default());
    }
}
