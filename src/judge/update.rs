//! Old value and new value: whether one text tells what became of what the other one says.
//!
//! Three signs, each of them closed: the newer text says that something changed (`no longer`,
//! `moved to`, 改成) and speaks of the same things; it tells as done what the older one only planned;
//! or both give a value of something that has one value at a time (`favourite drink is …`, `lives
//! in …`), or one denies what the other says, word by word. Everything else that differs is two
//! facts.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::form::{Form, Token};
use super::pattern::{Pattern, pattern};

/// What update detection needs of a text, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topic {
    /// Stems of the words that carry it, ascending, each once; Han characters one by one.
    stems: Vec<String>,
    /// Relations and possessors (`wife`, 弟弟) that it speaks of.
    people: Vec<String>,
    changes: Option<String>,
    intends: bool,
    han: bool,
}

/// Words that say that something changed, ended or was carried out.
static CHANGE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?-u:\b)(?: now(?:adays)? | no\x20longer | any\x20?more | not\x20any\x20longer | from\x20now\x20on | these\x20days | as\x20of | instead
        | (?:has\x20|have\x20|was\x20|were\x20|been\x20)?(?: moved | switched | changed | left | quit | stopped | dropped | gave\x20up | given\x20up | finished | ended | completed | cancelled | canceled | postponed
          | replaced | upgraded | downgraded | migrated | sold | divorced | renewed | raised | increased | reduced | lowered | cut | extended | shortened | rescheduled | renamed | closed | resigned | retired | expired | slipped | returned | repaid )
        | promoted | transferred | demoted | passed | booked | renewed | pushed\x20back | put\x20off | brought\x20forward | went\x20(?:up|down) | is\x20back | are\x20back | back\x20(?:on|to|in|from) | split\x20up | broke\x20up | paid\x20back | used\x20to | got\x20rid | became | turned\x20into
        | jetzt | nicht\x20mehr | mittlerweile | inzwischen | wurde | abgeschlossen | umgezogen | aufgehört | ahora | ya\x20no | dejó | cambió | maintenant | ne\x20\w+\x20plus )(?-u:\b)
        | 现在 | 如今 | 改[成到为用喝吃在] | 改.{0,4}了 | 换[成到了] | 搬[到去家走了] | 挪 | 不再 | 再也不 | 早就不 | 已经 | 已 | 离职 | 辞职 | 涨 | 降[到了] | 调[到整] | 升[到级] | 做完 | 考上 | 休完 | 结束了 | 取消 | 推迟 | 过了 | 通过了? | 升职 | 晋升 | 退了 | 提前到 | 卖了 | 分手 | 离婚 | 戒了 | 变成 | 换成 | 不.{1,4}了 | 还[清了] | 回来了
        | やめ | 今は | 最近は | 変え | 変わ | 引っ越 | もう",
    )
});

/// Words of what is only planned, wished or to be done.
static INTENTION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?-u:\b)(?: thinking\x20(?:about|of) | considering | considers | intends? | hopes? | might | plans? | planning | wants\x20to | would\x20like\x20to | todo | to-do | to\x20do | going\x20to | needs\x20to | must | looking\x20(?:for|to) | möchte | plant | quiere | piensa )(?-u:\b)
        | 打算 | 想[买养去学换做考] | 计划 | 准备 | 待办 | 考虑 | つもり | たい",
    )
});

/// Words that carry no topic.
#[rustfmt::skip]
const LIGHT: &[&str] = &[
    "user", "the", "a", "an", "and", "or", "of", "on", "in", "at", "to", "for", "with", "'s", "are", "am", "be", "been", "was", "were", "has", "have", "had",
    "will", "would", "not", "no", "can", "could", "do", "does", "did", "it", "its", "that", "this", "so", "as", "by", "from", "up", "out", "off", "into", "about", "than", "there",
    "his", "her", "their", "my", "he", "she", "they", "i", "we", "you", "but", "because", "since", "if", "when", "every", "each", "all", "any", "some", "one", "set", "get", "got", "go", "goes", "went", "take", "make",
    "trip", "trips", "travel", "flight", "flights", "tickets", "booked", "trying", "now", "nowadays", "longer", "anymore", "more", "new", "old", "back", "instead", "day", "days", "moved", "moving", "switched", "changed", "left", "quit", "stopped", "dropped", "finished", "finish", "ended", "completed", "raised", "pushed", "slipped",
    "thinking", "considering", "intends", "hopes", "hope", "might", "plans", "planned", "wants", "todo", "needs", "need", "again", "already", "just", "only", "also", "who", "which", "please", "very",
    "der", "die", "das", "ein", "eine", "und", "in", "auf", "mit", "wurde", "jetzt", "el", "la", "los", "las", "un", "una", "de", "en", "y", "que", "ahora",
];
const LIGHT_HAN: &str = "习惯用户的了在是和与把被给会不都也就到去有没从每现已经改换搬成为很又再还想打算要他她它我你这那个只说一下,、，了着过请吧啊呢嘛吗";

/// Relations: who a text is about besides the user.
#[rustfmt::skip]
const PEOPLE: &[&str] = &[
    "wife", "husband", "partner", "girlfriend", "boyfriend", "mother", "mum", "mom", "father", "dad", "parents", "son", "daughter", "child", "children", "kids", "brother", "sister", "twin", "twins", "uncle", "aunt",
    "cousin", "nephew", "niece", "grandmother", "grandma", "grandfather", "grandpa", "friend", "colleague", "boss", "manager", "neighbour", "neighbor", "landlord", "roommate", "flatmate", "teacher", "coach", "doctor", "dentist",
    "mother-in-law", "father-in-law", "client", "customer", "supplier", "studio", "garage", "guest", "guests",
];
#[rustfmt::skip]
const PEOPLE_HAN: &[&str] = &[
    "妻子", "老婆", "太太", "丈夫", "老公", "男友", "女友", "妈妈", "母亲", "爸爸", "父亲", "父母", "儿子", "女儿", "孩子", "哥哥", "弟弟", "姐姐", "妹妹", "叔叔", "阿姨", "岳父", "岳母", "公公", "婆婆", "爷爷", "奶奶", "外公", "外婆",
    "朋友", "同事", "老板", "经理", "邻居", "房东", "室友", "老师", "客户", "表弟", "表哥", "侄子", "外甥",
];

impl Topic {
    pub(crate) fn of(form: &Form, lower: &str) -> Self {
        let mut stems: Vec<String> = Vec::new();
        let mut han = false;
        for token in form.tokens() {
            if token.is_item() {
                continue;
            }
            if token.is_han() {
                han = true;
                if !LIGHT_HAN.contains(token.text.as_str()) {
                    stems.push(token.text.clone());
                }
            } else if token.text.chars().any(char::is_alphanumeric)
                && !KNOWN_LIGHT.contains(token.text.as_str())
            {
                stems.push(stem(&token.text));
            }
        }
        let mut people: Vec<String> = PEOPLE
            .iter()
            .filter(|p| form.tokens().any(|t| t.text.eq_ignore_ascii_case(p)))
            .chain(PEOPLE_HAN.iter().filter(|p| han && lower.contains(**p)))
            .map(|p| (*p).to_owned())
            .collect();
        people.sort_unstable();
        stems.sort_unstable();
        stems.dedup();
        Self {
            stems,
            people,
            changes: CHANGE.find(lower).map(|m| m.as_str().to_owned()),
            // `is back and wants to go again` tells first of what was done.
            intends: INTENTION.find(lower).is_some_and(|intends| {
                CHANGE
                    .find(lower)
                    .is_none_or(|change| change.start() > intends.start())
            }),
            han,
        }
    }

    /// Whether it is a short statement of one value: `Laptop is a ThinkPad`.
    pub(crate) fn is_about_one_thing(&self) -> bool {
        self.stems.len() <= if self.han { 12 } else { 5 }
    }

    /// Relations and possessors that it speaks of.
    pub(crate) fn people(&self) -> &[String] {
        &self.people
    }

    /// Whether both speak of the same: of the fewer words of the two, two thirds are shared.
    fn meets(&self, other: &Self) -> bool {
        let shared = self
            .stems
            .iter()
            .filter(|s| other.stems.binary_search(s).is_ok())
            .count();
        let fewer = self.stems.len().min(other.stems.len());
        let least = if self.han { 2 } else { 2.min(fewer.max(1)) };
        self.people == other.people && shared >= least && shared * 3 >= fewer * 2
    }
}

static KNOWN_LIGHT: LazyLock<HashSet<&str>> = LazyLock::new(|| LIGHT.iter().copied().collect());

/// Whether a text (in lower case) may be an old or a new value of something; most are not.
pub(crate) fn may_be_value(lower: &str) -> bool {
    CHANGE.is_match(lower)
        || INTENTION.is_match(lower)
        || VALUED.is_match(lower)
        || DENIES.is_match(lower)
}

/// Something that has one value at a time ([`has_one_value`] has the last word).
static VALUED: LazyLock<Pattern> = LazyLock::new(|| {
    let attributes = ATTRIBUTES.join("|");
    pattern(&format!(
        r"(?-u:\b)(?:lives in|works (?:at|for)|{attributes})(?-u:\b)|住在|最喜欢的|密码是|房租|月薪|体重"
    ))
});

static DENIES: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?-u:\b)(?:not|no|never)(?-u:\b)|n't(?-u:\b)|[不没未别]"));

/// A word without its commonest endings: `adopting` and `adopted` are one.
pub(crate) fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let long = |stem: &&str| stem.chars().count() >= 3;
    let cut = ["ing", "ed", "es", "s", "e"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(long))
        .unwrap_or(&word);
    cut.strip_suffix('e').unwrap_or(cut).to_owned()
}

/// What shows that `newer` tells what became of what `older` says, if something does.
pub(crate) fn sign(older: (&Topic, &Form), newer: (&Topic, &Form)) -> Option<String> {
    let meets = older.0.meets(newer.0);
    if meets && older.0.intends && !newer.0.intends {
        return Some("carried out".to_owned());
    }
    if meets && !newer.0.intends
        && let Some(change) = &newer.0.changes
        // Prices that went up twice are two rises.
        && older.0.changes.as_ref() != Some(change)
    {
        return Some(change.clone());
    }
    replaces(older.1, newer.1)
}

/// Whether both give a value of what has one at a time, or one denies the other word by word.
pub(crate) fn replaces(a: &Form, b: &Form) -> Option<String> {
    let (a, b) = (a.only_sentence()?, b.only_sentence()?);
    let denied = |t: &&Token| t.is_any(DENIALS);
    let plain = |tokens: &[Token]| -> Vec<Token> {
        tokens.iter().filter(|t| !denied(t)).cloned().collect()
    };
    let count = |tokens: &[Token]| tokens.iter().filter(denied).count();
    let equal =
        |a: &[Token], b: &[Token]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
    if count(a) + count(b) == 1 && equal(&plain(a), &plain(b)) && plain(a).len() >= 2 {
        return Some("denied".to_owned());
    }
    let start = a.iter().zip(b).take_while(|(a, b)| a.same(b)).count();
    let frame = &a[..start];
    let valued =
        a.len() > start && b.len() > start && a.len() - start <= VALUE && b.len() - start <= VALUE;
    // A place has a name: `lives in Oslo` and `lives in an old house` may both hold.
    let place = !frame.last().is_some_and(|t| t.is("in"))
        || a.get(start).is_some_and(|t| t.capital) && b.get(start).is_some_and(|t| t.capital);
    (valued && place && has_one_value(frame)).then(|| "another value".to_owned())
}

/// Longest value, in tokens.
const VALUE: usize = 6;

const DENIALS: &[&str] = &["not", "no", "do", "does", "不", "没", "别", "未"];

/// Nouns of what a person or thing has one of at a time.
#[rustfmt::skip]
const ATTRIBUTES: &[&str] = &[
    "favourite", "favorite", "fave", "preferred", "rent", "salary", "address", "number", "password", "weight", "height", "age", "timezone", "budget", "deadline", "nickname",
    "employer", "status", "capital", "size", "diet", "editor", "price", "fee",
];

/// Whether the words before a value are those of something that has one value at a time.
fn has_one_value(frame: &[Token]) -> bool {
    let text: String = frame.iter().map(|t| t.text.as_str()).collect();
    let ends = |words: &[&str]| {
        frame.len() >= words.len()
            && frame[frame.len() - words.len()..]
                .iter()
                .zip(words)
                .all(|(t, w)| t.is(w))
    };
    let user = frame.first().is_some_and(|t| t.is("user")) && frame.len() == 3;
    user && (ends(&["lives", "in"]) || ends(&["works", "at"]) || ends(&["works", "for"]))
        || frame.iter().any(|t| t.is_any(ATTRIBUTES)) && (ends(&["'s"]) || ends(&[":"]))
        || [
            "用户住在",
            "用户最喜欢的",
            "密码是",
            "房租每月",
            "月薪是",
            "体重是",
        ]
        .iter()
        .any(|f| text.ends_with(f))
        || text.contains("最喜欢的") && text.ends_with('是')
}
