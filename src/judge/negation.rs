//! The negation guard: how often a text denies or ends something, and what.

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

use super::items::{Diff, Item};
use super::sentences::{is_han, is_kana};

/// Words that deny or end. Words of several languages share one list: a word that means nothing
/// in the language at hand stands in both texts or in neither.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    // English
    "not", "no", "never", "without", "none", "nobody", "nothing", "nowhere", "neither", "nor",
    "cannot", "cant", "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "wont",
    "wouldnt", "shouldnt", "couldnt", "hasnt", "havent", "hadnt", "non",
    // German, Dutch
    "nicht", "nichts", "nie", "niemals", "kein", "keine", "keinen", "keinem", "keiner", "keines",
    "ohne", "weder", "niemand", "geen", "niet", "nooit", "zonder",
    // Spanish, Portuguese, Italian, French; not `mai`, which is a month elsewhere
    "nunca", "jamás", "sin", "ningún", "ninguna", "ninguno", "nadie", "tampoco", "não",
    "sem", "senza", "pas", "jamais", "sans", "aucun", "aucune", "ne",
    // Russian, Ukrainian, Polish
    "не", "нет", "ни", "никогда", "без", "nie", "bez", "nigdy",
];

/// Verbs that deny or end. Unlike the words above they say more than "not".
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "stopped", "stops", "stop", "quit", "quits", "quitting", "ceased", "refuses", "refused",
    "avoid", "avoids", "avoiding", "lacks", "lacking", "unable", "except", "denies", "denied",
    "cancelled", "canceled", "verzichtet", "aufgehört", "dejó", "evita", "evitar",
];

static KNOWN_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.iter().copied().collect());

static KNOWN_VERBS: LazyLock<HashSet<&str>> = LazyLock::new(|| VERBS.iter().copied().collect());

/// Whether a word (lower case) does nothing but deny.
pub(crate) fn only_denies(word: &str) -> bool {
    KNOWN_WORDS.contains(word)
        || word.ends_with("n't")
        || (word.chars().count() == 1 && "不没沒未无無".contains(word))
}

/// Phrases that look like a denial and are none; they are skipped as a whole.
#[rustfmt::skip]
const NEUTRAL_HAN: &[&str] = &[
    "不过", "不過", "不错", "不錯", "不但", "不仅", "不僅", "不只", "不光", "不同", "不断", "不斷",
    "不得不", "差不多", "要不然", "对不起", "對不起", "不管", "不论", "不論", "无论", "無論",
    "没准", "别人", "別人", "别的", "別的", "分别", "分別", "特别", "特別", "级别", "級別", "性别",
    "性別", "区别", "區別", "别墅", "別墅", "告别", "告別", "个别", "個別", "识别", "識別", "鉴别",
    "类别", "類別", "別荘", "非常", "非洲", "除非", "非得", "无线", "無線", "无锡", "無錫", "无数",
    "無數", "未来", "未來", "未婚", "停车", "停車", "戒指", "了不起", "忍不住", "不久", "不少",
    "不由", "不得了", "不料", "不妨", "莫名", "莫斯科", "莫扎特", "莫言", "莫奈", "三不五时",
    "是不是", "会不会", "要不要", "能不能", "可不可以", "好不好", "有没有", "有沒有",
    // Japanese
    "かもしれない", "かもしれません", "間違いない", "違いない", "少ない", "危ない", "汚ない",
    "しかない", "なければならない", "なければなりません", "なくてはならない", "ないといけない",
    "なければいけない", "もったいない", "つまらない", "とんでもない",
];

/// Characters and phrases that deny or end, longest first where one begins another.
#[rustfmt::skip]
const HAN: &[&str] = &[
    "没有", "沒有", "不再", "停止", "放弃", "放棄", "禁止", "戒", "不", "没", "沒", "别", "別",
    "未", "无", "無", "非", "勿", "莫", "毋", "ありません", "ません", "いけない", "なかった",
    "ない", "なくなった", "やめ", "辞め",
];

/// Function words between a denial and what it denies.
#[rustfmt::skip]
const SKIP: &[&str] = &[
    "a", "an", "the", "any", "to", "be", "been", "being", "is", "are", "was", "were", "do", "does",
    "did", "have", "has", "had", "longer", "more", "very", "really", "so", "too", "that", "of",
    "in", "on", "at", "for", "with", "even", "ever", "yet", "also", "all", "always", "usually",
    "currently", "want", "wants", "like", "likes", "need", "needs", "it", "mehr",
];
const SKIP_HAN: &str = "再要会會能想太很是有可以得敢肯愿意去吃喝的了";

/// The denials of a text, in order. `value` is what is denied (lower case, as far as seen).
pub(crate) fn read(text: &str) -> Vec<Item> {
    let mut items = words(text);
    items.extend(han(text));
    items
}

fn words(text: &str) -> Vec<Item> {
    let tokens: Vec<(usize, String)> = text
        .unicode_word_indices()
        .map(|(at, word)| (at, word.to_lowercase()))
        .collect();
    let mut items = Vec::new();
    for (i, (at, word)) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1).map(|(_, w)| w.as_str());
        let denies =
            only_denies(word) && !word.chars().all(is_han) || KNOWN_VERBS.contains(word.as_str());
        // `not only`, `No. 5`, `no doubt`, `non-stop`, `no longer … any more` is one denial.
        let idiom = match word.as_str() {
            "not" => matches!(next, Some("only" | "just")),
            "no" => matches!(next, Some("doubt" | "matter")) || numbered(&text[*at..]),
            "stop" => {
                i > 0
                    && matches!(
                        tokens[i - 1].1.as_str(),
                        "bus" | "tram" | "non" | "pit" | "full"
                    )
            }
            _ => false,
        };
        // `neither … nor` is one denial, and so is `free of`.
        let second = word == "nor" && tokens[..i].iter().any(|(_, w)| w == "neither");
        let lacks = word == "free" && next == Some("of");
        if (denies || lacks) && !idiom && !second {
            let scope = tokens[i + 1..]
                .iter()
                .map(|(_, w)| w.as_str())
                .find(|w| !SKIP.contains(w))
                .unwrap_or_default();
            let end = at + word.len();
            items.push(Item::new(scope, "not", text.get(*at..end).unwrap_or(word)));
        }
    }
    items
}

/// Whether a text that begins with "no" begins with the sign of a number: `No. 5`, `No 5`.
fn numbered(text: &str) -> bool {
    let after = &text[2..];
    let rest = after.trim_start_matches(['.', ' ']);
    rest.starts_with(|c: char| c.is_ascii_digit())
        && (after.starts_with('.') || text.starts_with('N'))
}

fn han(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut rest = text;
    let mut previous = None;
    while let Some(c) = rest.chars().next() {
        if c.is_ascii() {
            // No phrase begins with it.
            previous = Some(c);
            rest = &rest[1..];
            continue;
        }
        let starts = |phrase: &&&str| rest.starts_with(**phrase);
        let mut step = c.len_utf8();
        if let Some(phrase) = NEUTRAL_HAN.iter().find(starts) {
            step = phrase.len();
        } else if let Some(cue) = HAN.iter().find(starts) {
            step = cue.len();
            let mut after = rest[step..].chars();
            // 喜不喜欢 asks, it does not deny.
            let asks = (*cue == "不" || *cue == "没")
                && previous.is_some()
                && after.clone().next() == previous;
            if !asks {
                let scope = after
                    .find(|c| !SKIP_HAN.contains(*c))
                    .filter(|c| is_han(*c) || is_kana(*c));
                items.push(Item::new(
                    scope.map_or(String::new(), String::from),
                    "not",
                    cue,
                ));
            }
        }
        previous = rest[..step].chars().next_back();
        rest = &rest[step..];
    }
    items
}

/// Compares the denials of two texts: by count, and by what is denied where one text denies a
/// word that the other affirms and the other way round.
pub(crate) fn diff(left: &[Item], right: &[Item], left_text: &str, right_text: &str) -> Diff {
    let words = |items: &[Item]| -> Vec<String> {
        items
            .iter()
            .map(|i| format!("{} {}", i.words, i.value).trim().to_owned())
            .collect()
    };
    let more = |items: &[Item], others: &[Item]| items.len() > others.len();
    if left.len() != right.len() {
        return Diff {
            left: words(left),
            right: words(right),
            left_more: more(left, right),
            right_more: more(right, left),
        };
    }
    // `tea, not coffee` against `coffee, not tea`.
    let crossed = |items: &[Item], others: &[Item], text: &str| {
        items.iter().any(|i| {
            !i.value.is_empty()
                && others.iter().all(|o| o.value != i.value)
                && contains_word(text, &i.value)
        })
    };
    if crossed(left, right, right_text) && crossed(right, left, left_text) {
        return Diff {
            left: words(left),
            right: words(right),
            left_more: true,
            right_more: true,
        };
    }
    Diff::default()
}

fn contains_word(text: &str, word: &str) -> bool {
    text.unicode_words().any(|w| w.to_lowercase() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_denials() {
        for (text, count) in [
            ("User is allergic to penicillin", 0),
            ("User is not allergic to penicillin", 1),
            ("doesn't, don't and cannot", 3),
            ("No longer eats bread", 1),
            ("Quit smoking", 1),
            ("Not only tea", 0),
            ("Flat No. 5 at the bus stop", 0),
            ("Has no licence and never drives without glasses", 3),
            ("用户不会游泳", 1),
            ("没有车", 1),
            ("再也不熬夜了,戒了酒", 2),
            ("别给绿萝浇水,特别重要", 1),
            ("非常喜欢,不但好吃而且不贵", 1),
            ("会不会游泳,喜不喜欢", 0),
            ("采购合同未签", 1),
            ("彼はお酒を飲まない", 1),
            ("録画してはいけない", 1),
            ("行くかもしれない", 0),
            ("Erlaubt keine Haustiere", 1),
            ("A Lucía no le gustan los gatos", 1),
            ("Не ест мясо", 1),
        ] {
            assert_eq!(read(text).len(), count, "{text}: {:?}", read(text));
        }
    }

    #[test]
    fn sees_what_is_denied() {
        let (a, b) = ("Drinks tea, not coffee", "Drinks coffee, not tea");
        assert!(!diff(&read(a), &read(b), a, b).is_empty());
        let (a, b) = ("Doesn't like tea", "Does not like tea");
        assert!(diff(&read(a), &read(b), a, b).is_empty());
        let (a, b) = ("不吃鱼,吃肉", "不吃肉,吃鱼");
        assert!(!diff(&read(a), &read(b), a, b).is_empty());
    }
}
