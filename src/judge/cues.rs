//! Whether a sentence can stand beside another one without touching what that one says.
//!
//! A text contains another one losslessly only if its further sentences neither revoke nor
//! re-date nor re-address it: "Likes tea. Not any more." does not contain "Likes tea." This is a
//! test of harmlessness, so it says no in doubt and in every language that it does not know. A
//! further sentence must plainly say something about the user (it begins so: "User …", "Works …"),
//! and hold no word that may speak of what the other sentence says.

use unicode_segmentation::UnicodeSegmentation;

use super::facts::Facts;
use super::sentences::{is_han, is_kana};
use super::words::is_plain_verb;

/// Words that point back, revoke, re-date, doubt or attribute.
#[rustfmt::skip]
const TOUCHES: &[&str] = &[
    // pointing back
    "it", "its", "itself", "this", "that", "these", "those", "they", "them", "their", "there",
    "he", "she", "him", "his", "her", "hers", "former", "latter", "same", "other", "both", "such",
    "above", "below", "previous", "previously", "one", "ones", "here",
    // ended or changed
    "anymore", "used", "formerly", "former", "was", "were", "had", "been", "ago", "ended", "over",
    "gone", "changed", "switched", "moved", "became", "becomes", "replaced", "instead", "former",
    "past", "once", "until", "till", "anymore", "stopped", "quit", "old", "new", "now",
    "currently", "lately", "nowadays", "today", "since", "expired", "outdated", "obsolete", "died",
    "dead", "sold", "finished", "gave", "given", "left", "lost", "broke",
    // doubt
    "may", "might", "maybe", "perhaps", "could", "would", "should", "probably", "possibly",
    "supposedly", "allegedly", "apparently", "seems", "seem", "unsure", "uncertain", "doubt",
    "doubts", "plans", "wants", "hopes", "intends", "thinks", "wrong", "false", "untrue",
    "incorrect", "mistake", "mistaken", "joke", "joking", "kidding", "lie", "lied", "lies",
    "pretends", "correction", "actually", "ignore", "ignored", "disregard", "forget", "scratch",
    "sarcasm", "irony", "dream", "dreamed", "fiction", "novel", "hypothetically", "rumour",
    "rumor",
    // attribution and limits
    "said", "says", "claims", "claimed", "told", "according", "except", "only", "unless", "but",
    "however", "though", "although", "otherwise", "rarely", "seldom", "hardly", "sometimes",
    "occasionally", "fails", "failed", "hates", "dislikes", "loathes", "detests", "stand",
    "refuses", "retracts", "retracted", "withdraws", "withdrew", "withdrawn", "revokes", "revoked",
    "takes", "supersedes", "superseded", "cancels", "cancelled", "canceled", "deletes", "delete",
    "removed", "erased", "void", "invalid", "valid", "opposite", "contrary", "reverse", "reversed",
    "back", "invented", "invents", "imaginary", "imagines", "fictional", "pretend", "pretending",
    "play", "role", "character", "story", "game", "film", "test", "testing", "example", "sample",
    "if", "when", "whenever", "provided", "unless", "suppose", "assume", "statement", "sentence",
    "entry", "record", "memory", "memories", "claim", "retired", "divorced", "free", "ex",
];

/// English words without which a Latin text is not taken for English.
const ENGLISH: &[&str] = &[
    "the", "is", "are", "has", "have", "with", "of", "and", "for", "to", "from", "user", "on", "at",
];

/// Han phrases that point back, revoke, re-date, doubt or limit.
const TOUCHES_HAN: &[&str] = &[
    "这", "那", "它", "他", "她", "其", "此", "该", "但", "可是", "然而", "不", "没", "已", "曾",
    "过去", "以前", "之前", "原来", "现在", "目前", "如今", "后来", "改", "换", "变", "除", "只",
    "如果", "要是", "假如", "当", "可能", "也许", "或", "大概", "好像", "据", "说", "听", "打算",
    "想", "希望", "计划", "假", "错", "玩笑", "骗", "忽略", "无视", "同", "也", "都", "还", "又",
    "再", "停", "戒", "卖", "丢", "坏", "死", "结束", "过期", "分手", "离", "搬", "辞", "讨厌",
    "恨", "以上", "上述", "前述", "前提", "作废", "无效", "有效", "取消", "撤", "删", "虚构", "若",
    "仅", "限", "反对", "设定", "扮演", "截止", "小说", "游戏", "测试", "句", "条", "記", "记",
    "這", "該", "後來", "換", "變", "們", "们", "因为", "所以", "而", "了", "过", "時", "时",
];

/// Beginnings of Chinese sentences that plainly say something about the user.
const ABOUT_USER_HAN: &[&str] = &[
    "用户", "用戶", "喜欢", "喜歡", "爱", "愛", "住", "养", "養", "吃", "喝", "有",
];

/// Whether `sentence` (in comparison form) leaves every sentence before and after it as it is.
pub(crate) fn stands_alone(sentence: &str) -> bool {
    let facts = Facts::read(sentence);
    if !facts.dates.is_empty() || !facts.relative.is_empty() || !facts.negations.is_empty() {
        return false;
    }
    if sentence.contains([
        '?', '"', ':', '(', ')', '「', '『', '《', '<', '{', '[', '\t', '\n',
    ]) || sentence.starts_with(|c: char| !c.is_alphanumeric())
        || sentence.chars().any(is_kana)
    {
        return false;
    }
    if sentence.chars().any(is_han) {
        han_stands_alone(sentence)
    } else {
        english_stands_alone(sentence)
    }
}

fn english_stands_alone(sentence: &str) -> bool {
    let words: Vec<String> = sentence.unicode_words().map(str::to_lowercase).collect();
    words.len() >= 3
        && words.iter().any(|w| ENGLISH.contains(&w.as_str()))
        && !words.iter().any(|w| TOUCHES.contains(&w.as_str()))
        && about_user(&words)
}

/// Whether the words begin with the user or with what the user plainly does.
fn about_user(words: &[String]) -> bool {
    match words {
        [first, second, ..] => {
            first == "user" || (first == "the" && second == "user") || is_plain_verb(first)
        }
        _ => false,
    }
}

fn han_stands_alone(sentence: &str) -> bool {
    sentence.chars().filter(|c| is_han(*c)).count() >= 5
        && ABOUT_USER_HAN
            .iter()
            .any(|start| sentence.starts_with(start))
        && !TOUCHES_HAN.iter().any(|cue| sentence.contains(cue))
}

/// Whether a sentence names its subject, so that it means the same after any other sentence.
pub(crate) fn names_its_subject(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["user ", "the user ", "用户", "用戶"]
        .iter()
        .any(|subject| lower.starts_with(subject))
        && !lower.split(|c: char| !c.is_alphanumeric()).any(|w| {
            [
                "it", "this", "that", "these", "those", "they", "them", "there", "he", "she",
                "him", "so", "too", "also",
            ]
            .contains(&w)
        })
        && !["这", "那", "它", "他", "她", "此", "也", "还", "该"]
            .iter()
            .any(|cue| sentence.contains(cue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_sentences() {
        for text in [
            "user has a dog",
            "works at Brightleaf for Ana",
            "drinks coffee with oat milk",
            "用户养猫养狗",
            "住在上海浦东",
        ] {
            assert!(stands_alone(text), "{text}");
        }
    }

    #[test]
    fn sentences_that_may_touch_others() {
        for text in [
            "not any more",
            "that was in 2019",
            "until May",
            "just kidding",
            "in Rome",
            "when it rains",
            "the doctor forbade it",
            "or so he says",
            "formerly",
            "maybe",
            "as a child",
            "false",
            "used to, that is",
            "antes de la boda",
            "ignore the above",
            "Tom said \"no\"",
            "on Mondays",
            "他说的",
            "以前是这样",
            "现在不了",
            "只在周末",
            "听说的而已",
            "right?",
            "nur im Winter so",
            "Suppose the user is rich",
            "Example of a bad profile",
            "Story by the user",
            "valid for the summer",
            "applies to guests of the user",
            "retracted by the user",
            "the user retracted the line",
            "Everything is invented for fun",
            "user owns a house\nboat on the lake",
            "以上内容纯属虚构",
            "前提是用户有钱",
            "倘若用户发财",
            "仅限周围客人使用",
        ] {
            assert!(!stands_alone(text), "{text}");
        }
    }
}
