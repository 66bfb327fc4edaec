//! Whether a sentence can stand beside another one without touching what that one says.
//!
//! A text contains another one losslessly only if its further sentences neither frame nor revoke
//! nor condition it: "Likes tea. Withdrawn by the user." does not contain "Likes tea." What may
//! touch cannot be listed, so what may stand is: a further sentence says, with one of the plain
//! verbs of [`VERBS`] or [`VERBS_HAN`], one more thing of the user (`User owns a dog`, `Lives in
//! Rome`, 用户养猫养狗), without a time, a denial, a subordinate clause or a word that points back.

use unicode_segmentation::UnicodeSegmentation;

use super::facts::Facts;
use super::sentences::{is_han, is_kana};

/// Verbs that tell one more thing of the user and nothing of the sentence before.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "collects", "cooks", "drinks", "drives", "eats", "enjoys", "grows", "keeps", "likes", "lives",
    "loves", "owns", "prefers", "rents", "rides", "speaks", "teaches", "works",
];

/// What may follow `has`, which else makes a past (`has lied`).
const HAS: &[&str] = &["a", "an", "two", "three", "four", "five"];

/// The same in Chinese, simplified and traditional.
#[rustfmt::skip]
const VERBS_HAN: &[&str] = &[
    "喜欢", "喜歡", "喜爱", "喜愛", "爱吃", "爱喝", "愛吃", "愛喝", "偏爱", "热爱", "住在", "居住",
    "养猫", "养狗", "养了", "養貓", "養狗", "爱好", "擅长", "精通", "从事", "任职", "就职", "拥有",
    "会说", "會說", "经营",
];

/// Words that point back, revoke, re-date, doubt, attribute, condition or make up.
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
    "refuses",
    // conditions and clauses
    "if", "when", "whenever", "while", "because", "as", "where", "wherever", "who", "which",
    "whose", "what", "how", "why", "provided", "providing", "supposing", "assuming", "given",
    "case", "condition", "to", "than", "like", "so", "then", "too", "also", "for", "without",
    "after", "before", "during", "depending", "whether", "although", "yet", "again",
    // made up
    "fake", "fictional", "fictitious", "imaginary", "invented", "inventing", "imagining", "made",
    "making", "up", "pretend", "pretending", "lying", "exaggerating", "role", "roles", "character",
    "characters", "game", "games", "story", "stories", "tale", "tales", "script", "scripts",
    "quote", "quotes", "example", "examples", "sample", "dummy", "test", "tests", "testing",
    "parody", "satire", "persona", "alias", "jokes", "fantasy", "fantasies", "dreams", "play",
    "plays", "film", "movie", "sentence", "statement", "statements", "entry", "record", "memory",
    "memories", "profile", "text", "line", "words", "opposite", "contrary", "truth", "reverse",
    "update", "updates", "disclaimer", "note", "notice", "personality", "identity", "identities",
    "rumours", "rumors", "fibs", "riddles", "irony", "trolling", "pranks", "hoaxes", "undercover",
    "incognito", "habit", "tendency", "secret", "secrets", "legs", "out", "off", "bluffing",
    "void", "null", "theory", "principle", "name", "behalf", "mind", "hypothetical", "virtual",
];

/// Words that say nothing where two sentences share them.
const SHARED: &[&str] = &[
    "user", "the", "a", "an", "and", "in", "at", "on", "of", "with", "by", "from",
];

/// Han phrases that point back, revoke, re-date, doubt or limit.
const TOUCHES_HAN: &[&str] = &[
    "这", "那", "它", "他", "她", "其", "此", "该", "但", "可是", "然而", "不", "没", "已", "曾",
    "过去", "以前", "之前", "原来", "现在", "目前", "如今", "后来", "改", "换", "变", "除", "只",
    "如果", "要是", "假如", "当", "可能", "也许", "或", "大概", "好像", "据", "说", "听", "打算",
    "想", "希望", "计划", "假", "错", "玩笑", "骗", "忽略", "无视", "同", "也", "都", "还", "又",
    "再", "停", "戒", "卖", "丢", "坏", "死", "结束", "过期", "分手", "离", "搬", "辞", "讨厌",
    "恨", "這", "該", "後來", "換", "變", "們", "们", "因为", "所以", "而", "了", "过", "時", "时",
    "前", "后", "後", "作废", "失效", "撤", "虚", "构", "编", "装", "扮", "演", "角色", "仅", "僅",
    "限", "若", "倘", "设", "测", "例", "故事", "小说", "剧", "梦", "幻", "信息", "资料", "内容",
    "记", "话", "句", "反", "相", "样", "更", "最", "才", "就", "是", "本", "人设", "名义", "代",
    "替", "为", "給", "给", "被", "让", "对", "的话", "否", "非", "无", "未", "吹", "谣", "双重",
    "瞎", "扯", "胡", "谎", "乱", "戏", "秘", "谜", "逗",
];

/// Whether `sentence` (in comparison form) leaves every sentence before and after it as it is.
pub(crate) fn stands_alone(sentence: &str) -> bool {
    let facts = Facts::read(sentence);
    facts.dates.is_empty()
        && facts.relative.is_empty()
        && facts.negations.is_empty()
        && facts.floating.is_empty()
        && is_plain(sentence)
        && predicate(sentence).is_some_and(|predicate| match predicate {
            Predicate::English(words) => !words.iter().any(|w| {
                // An adverb tells how to take it: `ironically`.
                TOUCHES.contains(&w.as_str()) || w.ends_with("ly") && w != "family"
            }),
            Predicate::Han(rest) => !TOUCHES_HAN.iter().any(|cue| rest.contains(cue)),
        })
}

/// Whether two sentences speak of different things: they share no word but function words. What
/// shares one may restrict or replace the other (`Lives in Rome. Lives in Oslo.`).
pub(crate) fn are_apart(a: &str, b: &str) -> bool {
    let han = |text: &str| text.replace("用户", "").replace("用戶", "");
    let (a, b) = (han(a).to_lowercase(), han(b).to_lowercase());
    let words: Vec<&str> = b.unicode_words().collect();
    !a.unicode_words()
        .any(|w| !SHARED.contains(&w) && words.contains(&w))
}

/// A sentence of letters, digits, blanks and commas.
fn is_plain(sentence: &str) -> bool {
    sentence
        .chars()
        .all(|c| (c.is_alphanumeric() && !is_kana(c)) || " ,'-、/&.%+".contains(c))
        && sentence.starts_with(char::is_alphanumeric)
}

/// What a sentence says of the user, if it begins like that.
enum Predicate {
    /// The words from the verb on, in lower case; at least two.
    English(Vec<String>),
    /// The text from the verb on.
    Han(String),
}

fn predicate(sentence: &str) -> Option<Predicate> {
    if sentence.chars().any(is_han) {
        let rest = ["用户", "用戶"]
            .iter()
            .find_map(|subject| sentence.strip_prefix(subject))
            .unwrap_or(sentence);
        let starts = VERBS_HAN.iter().any(|verb| rest.starts_with(verb));
        return (starts && rest.chars().filter(|c| is_han(*c)).count() >= 3)
            .then(|| Predicate::Han(rest.to_owned()));
    }
    let words: Vec<String> = sentence.unicode_words().map(str::to_lowercase).collect();
    let subject = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["the", "user", ..] => 2,
        ["user", ..] => 1,
        _ => 0,
    };
    let rest = &words[subject..];
    let verb = rest.first()?.as_str();
    let object = rest.get(1)?.as_str();
    let plain = VERBS.contains(&verb) || verb == "has" && HAS.contains(&object);
    plain.then(|| Predicate::English(rest.to_vec()))
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
            "works at the bakery of Ana",
            "drinks coffee with oat milk",
            "The user owns a boat, a car and a bike",
            "用户养猫养狗",
            "住在上海浦东",
            "喜欢巴赫",
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
            // framing and revoking
            "suppose the user is rich",
            "imagine the user is rich",
            "Test data for the app",
            "Quote from the film",
            "Story by the user",
            "Scammers have the following script",
            "Opposite of the truth is",
            "Goal of the year is clear",
            "Retracted by the user",
            "Withdrawn by the user",
            "Superseded by the user",
            "Valid for the summer",
            "Delete the entry for the user",
            "Strike the sentence from the record",
            "everything is invented for testing",
            "Applies to guests of the user",
            "user has lied",
            "user is a character in a film",
            "user likes to pretend",
            "user plays a pirate",
            "user likes making things up",
            "owns a role in the film",
            "user speaks ironically",
            "user works undercover",
            "user has a disclaimer",
            "用户喜欢吹牛皮",
            "用户拥有双重身份",
            "用户经营谣言网站",
            "user works at 9",
            "likes tea in the morning",
            "以上内容纯属虚构",
            "前述内容作废处理",
            "仅限周围客人使用",
            "前提是用户有钱",
            "倘若用户有钱",
            "角色扮演正式开始",
            "用户喜欢编故事",
            "用户是虚构人物",
        ] {
            assert!(!stands_alone(text), "{text}");
        }
    }
}
