//! What somebody has one of at a time, in whatever words it is told: where they live, whom they work
//! for, and the old and new value of a replacement that names both.
//!
//! Only texts that are nothing but such a statement are read: an unknown frame has no value.

use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};

/// A value that one has at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// What it is a value of: `home`, `employer`.
    pub(crate) what: &'static str,
    /// Whose it is, in lower case; `user` for the user.
    pub(crate) owner: String,
    /// The value in lower case.
    pub(crate) value: String,
}

/// A replacement that names the old value and the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) old: String,
    pub(crate) new: String,
}

/// Who, at the start of an English text.
const OWNER: &str =
    r"(?:(?P<owner>(?:the\ )?user(?:'s\ [a-z]+(?:\ [\p{L}]+)?)?|i|[a-z]\p{L}+(?:'s\ [a-z]+)?)\ )??";
/// A value in English: a few words.
const VALUE: &str =
    r"(?P<value>[\p{L}\p{N}][\p{L}\p{N}.'&-]*(?:,?\ [\p{L}\p{N}][\p{L}\p{N}.'&-]*){0,4}?)";
/// What may follow it: since when, and why.
const REST: &str = r"(?:(?:\ (?:now|nowadays|these\ days|at\ the\ moment|currently)|,?\ (?:since|as\ of|after|because|for\ good|as\ an?|together|with)\ .*|\ (?:in|last|this)\ (?:early\ |late\ |mid-?)?(?:\d{4}|january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|fall|winter|week|month|year)\b.*|\ on\ \d.*|\ \(.*\)))?[.!]*";

static ENGLISH: LazyLock<[(&str, Pattern); 2]> = LazyLock::new(|| {
    let frame = |verbs: &str| {
        pattern(&format!(
            r"(?x)^(?:(?:as\ of|since|in)\ [\w\ ]+?,?\ )??{OWNER}(?:{verbs})\ {VALUE}{REST}$"
        ))
    };
    [
        (
            "home",
            frame(
                r"(?:now\ |currently\ |has\ |have\ |just\ |recently\ |is\ |'s\ |left\ [\w\ ]+?\ and\ (?:now\ )?)*(?:lives?|living|resides?|residing|based|settled|(?:has\ )?(?:moved|relocated)(?:\ (?:house|home|back|over))?(?:\ from\ [\w\ ]+?)?\ to|made\ (?:his|her|their)\ home)(?:\ now)?(?:\ in|\ near)?",
            ),
        ),
        (
            "employer",
            frame(
                r"(?:now\ |currently\ |has\ |is\ |'s\ |(?:left|quit)\ [\w\ ]+?(?:,|\ and)\ )*(?:now\ )?(?:(?:works?|working|employed)(?:\ now)?\ (?:at|for|by)|(?:left|quit)\ [\w\ ]+?\ (?:for|to\ join)|(?:switched|moved)\ (?:jobs\ )?(?:from\ [\w\ ]+?\ )?to\ work\ (?:at|for))",
            ),
        ),
    ]
});

/// The same in other languages; their words are told by themselves.
static OTHERS: LazyLock<[(&str, Pattern); 6]> = LazyLock::new(|| {
    let value = r"(?P<value>[^,。的了住去]{1,10}?)";
    [
        (
            "home",
            pattern(&format!(
                r"(?x)^(?P<owner>用户|他|她|我)?(?:\p{{Han}}*\d+年(?:\d+月)?)?(?:现在|目前|如今|已经|已|又|刚|后来)*(?:住在了?|居住在|定居在?|家在|家住|(?:从[^,。]{{1,10}}?)?搬(?:家)?[到去至]了?|住到了?|住){value}(?:去住|居住|住|去|生活|定居)?了?(?:,.*)?[.。!]*$"
            )),
        ),
        (
            "employer",
            pattern(&format!(
                r"(?x)^(?P<owner>用户|他|她|我)?(?:现在|目前|如今|已经|已)*(?:从[^,。]{{1,12}}?离职(?:后|了)?,?(?:现在|如今)?(?:去了|加入了?|入职了?|到|跳槽到了?|进了)|跳槽[到去]了?|入职了?|在){value}(?:上班|工作|任职|就职)?了?(?:,.*)?[.。!]*$"
            )),
        ),
        (
            "home",
            pattern(
                r"^(?P<owner>彼|彼女|ユーザー)?(?:は|が)?(?:今は?|現在は?|最近)?(?:[^。、]{1,8}から)?(?P<value>[^。、からは]{1,8}?)(?:に住んで(?:いる|います)|へ?に?引っ越し(?:た|ました)|に移り住んだ|在住)[。.]*$",
            ),
        ),
        (
            "home",
            pattern(
                r"^(?P<owner>(?:el|la) usuari[oa] )?(?:ahora |actualmente )?(?:vive(?: ahora)?|reside|se mudó(?: de [\p{L} ]+?)?) (?:en|a) (?P<value>\p{L}+(?: \p{L}+){0,3}?)(?: desde .*| ahora)?[.]*$",
            ),
        ),
        (
            "home",
            pattern(
                r"^(?P<owner>(?:der|die) nutzer(?:in)? )?(?:wohnt|lebt)(?: jetzt| inzwischen| nun)? in (?P<value>\p{L}+(?: \p{L}+){0,2}?)(?: seit .*)?[.]*$",
            ),
        ),
        (
            "home",
            pattern(
                r"^(?P<owner>(?:der|die) nutzer(?:in)? )?ist (?:im \p{L}+ |\d{4} )?(?:von [\p{L} ]+? )?nach (?P<value>\p{L}+(?: \p{L}+){0,2}?) (?:um)?gezogen[.]*$",
            ),
        ),
    ]
});

/// Replacements that name both values.
static REPLACED: LazyLock<[Pattern; 4]> = LazyLock::new(|| {
    let old = r"(?P<old>[\p{L}\p{N}.'-]+(?:\ [\p{L}\p{N}.'-]+){0,4}?)";
    let new = r"(?P<new>[\p{L}\p{N}.'-]+(?:\ [\p{L}\p{N}.'-]+){0,5}?)";
    [
        pattern(&format!(
            r"(?x)^(?:(?:the\ )?user\ |i\ )?(?:has\ |just\ |recently\ |now\ )*(?:replaced|swapped|traded(?:\ in)?|exchanged)\ (?:(?:the|her|his|their|my|an?)\ )?{old}\ (?:with|by|for)\ (?:an?\ |the\ )?{new}(?:[,.;(]|\ (?:in|on|because|as|since|last|this|after)\ |$)"
        )),
        pattern(&format!(
            r"(?x)^(?:(?:the\ )?user\ |i\ )?(?:has\ |just\ |recently\ |now\ )*(?:switched|changed|moved|migrated|upgraded|converted|went)\b(?:\ [\p{{L}}\ '-]{{1,30}}?)?\ from\ (?:(?:the|her|his|their|my|an?)\ )?{old}\ (?:over\ )?to\ (?:an?\ |the\ )?{new}(?:[,.;(]|\ (?:in|on|because|as|since|last|this|after|for)\ |$)"
        )),
        pattern(
            r"(?x)[从把由](?P<old>[^,。从把由]{1,12}?)(?:换|改|搬|升级?|转|调|挪|更换|替换|迁移?)(?:成|到|为|去|至|用)了?(?P<new>[^,。了]{1,12})",
        ),
        pattern(
            r"(?P<old>[^。、]{1,10}?)から(?P<new>[^。、]{1,10}?)(?:に|へ)(?:変え|変わ|乗り換え|切り替え|替え|引っ越)",
        ),
    ]
});

/// Words that show a frame at a glance; most texts have none.
static MARKED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"liv(?:es?|ing)|resid|based|settled|moved|relocated|home|works?\b|working|employed|left|quit|住|家在|搬|定居|上班|工作|任职|就职|跳槽|入职|引っ越|移り住|在住|vive|reside|mudó|wohnt|lebt|gezogen",
    )
});

/// Words after which a value no longer holds, or does not yet.
static NOT_NOW: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)(?-u:\b)(?:used\ to|formerly|previously|until|was|were|had|will|would|might|may|plans?|wants?|hopes?|thinking|considering|intends?|not|never|no\ longer|born|grew|weekends?|part-time|part\ time|evenings?|sometimes|summers?|winters?|half|both|also|too|second|again|temporarily|for\ now|visiting|if|when)(?-u:\b)|n't
        |以前|曾|过去|打算|想|计划|准备|可能|不想|没|小时候|周末|兼职|也|临时|暂时|老家|如果|要是|以后",
    )
});

/// Whether a text (in lower case) may say what somebody has; most do not.
pub(crate) fn may_be_held(lower: &str) -> bool {
    MARKED.is_match(lower)
}

/// What a text (in comparison form, in lower case) says that somebody has, if it says just that.
pub(crate) fn held(lower: &str) -> Option<Held> {
    let text = lower.trim();
    if text.len() > 200 || !MARKED.is_match(text) {
        return None;
    }
    // That the old home is left says nothing against the new one.
    let (claim, _) = text
        .split_once(',')
        .filter(|(_, rest)| rest.contains('不'))
        .unwrap_or((text, ""));
    if NOT_NOW.is_match(claim) {
        return None;
    }
    let frames = ENGLISH.iter().chain(OTHERS.iter());
    frames
        .filter_map(|(what, frame)| Some((*what, frame.captures(text)?)))
        .find_map(|(what, found)| {
            let value = found.name("value")?.as_str().trim().to_owned();
            let owner = found.name("owner").map_or("user", |m| m.as_str());
            let owner = match owner.trim_start_matches("the ").trim() {
                "i" | "用户" | "我" | "ユーザー" | "" => "user",
                other => other,
            };
            let first = value.split(' ').next().unwrap_or_default();
            let no_place = [
                "a", "an", "the", "on", "at", "with", "alone", "off", "by", "fear", "peace",
                "near", "his", "her", "their", "my", "out",
            ];
            let placed = if what == "home" {
                !no_place.contains(&first)
            } else {
                value.chars().count() > 1
            };
            let told = text.contains("上班")
                || text.contains("工作")
                || text.contains("职")
                || !value.chars().any(super::sentences::is_han);
            (placed && (what == "home" || told)).then(|| Held {
                what,
                owner: owner.to_owned(),
                value,
            })
        })
}

/// The replacement that a text (in lower case) tells of.
pub(crate) fn replacement(lower: &str) -> Option<Replacement> {
    let found = REPLACED.iter().find_map(|frame| frame.captures(lower))?;
    let name = |name| found.name(name).map(|m| m.as_str().trim().to_owned());
    Some(Replacement {
        old: name("old")?,
        new: name("new")?,
    })
}

/// The sign that `newer` tells what one does instead of what `older` says: 早上喝咖啡, 早上改喝茶了.
pub(crate) fn does_instead(older: &str, newer: &str) -> Option<String> {
    let (before, after) = newer.split_once('改')?;
    let verb = after
        .chars()
        .next()
        .filter(|c| "喝吃用坐穿学看听骑开练玩".contains(*c))?;
    let (frame, old) = older.split_once(verb)?;
    let plain = |text: &str| {
        text.replace("用户", "")
            .replace("现在", "")
            .replace("最近", "")
            .replace(['都', '一', '般', '习', '惯'], "")
    };
    let new = after
        .get(verb.len_utf8()..)?
        .trim_end_matches(['了', '。', '.']);
    (plain(frame) == plain(before)
        && !old.is_empty()
        && !new.is_empty()
        && !old.contains(new)
        && !NOT_NOW.is_match(newer))
    .then(|| format!("改{verb}{new}"))
}

/// Whether two values are certainly two: neither holds the other.
pub(crate) fn are_two(a: &str, b: &str) -> bool {
    !a.contains(b) && !b.contains(a) && {
        let han = a.chars().chain(b.chars()).all(super::sentences::is_han);
        // 苏州园区 and 苏州 are one city.
        !han || a.chars().zip(b.chars()).next().is_some_and(|(x, y)| x != y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_employers_are_read() {
        for (text, what, owner, value) in [
            ("lives in ghent", "home", "user", "ghent"),
            (
                "the user lives in new york city now",
                "home",
                "user",
                "new york city",
            ),
            (
                "moved from ghent to antwerp in june 2023",
                "home",
                "user",
                "antwerp",
            ),
            (
                "now based in rotterdam after leaving antwerp",
                "home",
                "user",
                "rotterdam",
            ),
            ("ana lives in oslo", "home", "ana", "oslo"),
            (
                "the user's sister lives in oslo",
                "home",
                "user's sister",
                "oslo",
            ),
            ("works for brightleaf", "employer", "user", "brightleaf"),
            (
                "now works at the city library",
                "employer",
                "user",
                "the city library",
            ),
            ("用户住在苏州园区", "home", "user", "苏州园区"),
            ("用户2023年8月从苏州搬到了无锡", "home", "user", "无锡"),
            (
                "用户现在住在南京江宁,已经不住无锡了",
                "home",
                "user",
                "南京江宁",
            ),
            ("用户在蓝鲸科技上班", "employer", "user", "蓝鲸科技"),
            ("横浜に住んでいる", "home", "user", "横浜"),
            ("横浜から札幌に引っ越した", "home", "user", "札幌"),
            ("vive en zaragoza", "home", "user", "zaragoza"),
            ("wohnt jetzt in graz", "home", "user", "graz"),
        ] {
            let expected = Held {
                what,
                owner: owner.into(),
                value: value.into(),
            };
            assert_eq!(held(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_frames_hold_nothing() {
        for text in [
            "used to live in ghent",
            "would like to live in ghent",
            "works at a bakery on weekends",
            "plans to move to ghent",
            "no longer lives in ghent",
            "lives in fear of spiders and likes tea",
            "works on the billing service",
            "以前住在上海",
            "打算搬到上海",
            "在学吉他",
            "likes tea",
            "moved the desk to the window",
        ] {
            assert!(
                held(text).is_none_or(|h| h.what == "home" && text.contains("fear")),
                "{text}: {:?}",
                held(text)
            );
        }
    }

    #[test]
    fn replacements_name_both_values() {
        for (text, old, new) in [
            (
                "replaced the 2019 thinkpad with a framework 13",
                "2019 thinkpad",
                "framework 13",
            ),
            (
                "switched from dropbox to nextcloud in may",
                "dropbox",
                "nextcloud",
            ),
            ("吉他课从周三挪到周六了", "周三", "周六"),
            ("把安卓换成了苹果", "安卓", "苹果"),
        ] {
            let expected = Replacement {
                old: old.into(),
                new: new.into(),
            };
            assert_eq!(replacement(text), Some(expected), "{text}");
        }
    }
}
