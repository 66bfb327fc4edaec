//! The relative-time guard: `today` said on two days is two facts.
//!
//! *Anchored* words (`today`, `last week`, 刚才) mean another time on another day, so two texts
//! that hold them are one fact only if they were said on the same UTC day. Vague words (`recently`)
//! never object; like all other times that float ([`super::timeish`]) they only keep the pair from
//! being called the same.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::dates::DATE;
use super::facts::Facts;
use super::items::{Item, Rest};
use super::pattern::{Pattern, pattern};

/// Unit of words that mean another time on another day.
pub(crate) const ANCHORED: &str = "anchored";
/// Unit of words that mean some time near the day they were said.
const VAGUE: &str = "vague";

static ANCHOR: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)
        \b(?: today | tonight | yesterday | tomorrow | the\x20day\x20(?:before|after) | just\x20now | right\x20now
        | this\x20(?:morning|afternoon|evening|week|weekend|month|year|quarter|summer|winter|spring|autumn|fall|time|minute|semester|season|coming\x20\w+|past\x20\w+
            |monday|tuesday|wednesday|thursday|friday|saturday|sunday)
        | over\x20the\x20weekend | at\x20the\x20moment
        | (?:last|next|past|coming|previous|following)\x20(?:night|week|weekend|month|year|quarter|summer|winter|spring|autumn|fall|time|semester|season|few\x20\w+|couple\x20of\x20\w+
            |monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|\d+\x20\w+)
        | (?:\d+|a|an|some|several|few|couple\x20of)\x20\w+\x20(?:ago|from\x20now|earlier|later) | ago
        | in\x20(?:\d+|a|an|some|several|a\x20few)\x20(?:second|minute|hour|day|week|month|year)s? | so\x20far | by\x20now | as\x20of\x20now
        | oggi | ieri | domani | hoje | ontem | vandaag | gisteren
        | (?:letzte|nächste|diese|kommende|vorige)[nrsm]?\x20\w+ | vor\x20\w+\x20(?:tagen|wochen|monaten|jahren|woche|monat|jahr|stunden?)
        | (?:la|el)\x20\w+\x20(?:pasad[oa]|próxim[oa]|que\x20viene) | est[ae]\x20(?:semana|mes|año|mañana|tarde|noche) | hace\x20\w+\x20\w+
        | heute | gestern | morgen | vorgestern | übermorgen | hoy | ayer | mañana | anoche | aujourd'hui | hier\x20soir | demain )\b
        | 今天 | 昨天 | 前天 | 大前天 | 明天 | 后天 | 後天 | 大后天 | 今日 | 昨日 | 明日 | 今晚 | 昨晚 | 明晚 | 今早 | 明早 | 今夜 | 昨夜 | 今晨
        | [上下这這本][个個]?(?:周|週|星期|礼拜|禮拜|月|季度|学期|學期|周末)(?:[一二三四五六日天末])?
        | 今年 | 去年 | 前年 | 明年 | 后年 | 後年 | 来年 | 今夏 | 今冬 | 刚才 | 剛才 | 刚刚 | 剛剛 | 方才 | 当天 | 这几天 | 这两天 | 前些天 | 前几天 | 前两天 | 过几天 | 过两天
        | (?:\d+|几|半)[个個]?(?:秒|分钟|小时|钟头|天|周|星期|月|年)(?:前|后|後|以前|以后|之前|之后)
        | 今朝 | 先週 | 来週 | 今週 | 先月 | 来月 | 今月 | 昨年 | さっき | 先ほど | 明後日 | 一昨日 | 今夜 | 今晩 | 昨夜 | 오늘 | 어제 | 내일 | сегодня | вчера | завтра
        ",
    )
});

static VAGUE_WORD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:recently|lately|these days|nowadays|soon|shortly|just|the other day|earlier|later)\b|刚|剛|最近|近日|近来|不久|早些时候|neulich|kürzlich|recientemente|この前|この間",
    )
});

/// Takes relative words out of the text. Run before the dates guard.
pub(crate) fn take(rest: &mut Rest) -> Vec<Item> {
    let mut items = Vec::new();
    for (pattern, unit) in [(&ANCHOR, ANCHORED), (&VAGUE_WORD, VAGUE)] {
        items.extend(rest.take(pattern, |captures, before, _| {
            let words = captures.whole.as_str();
            // 晚上周日 is "Sunday evening", not "last week".
            if words.starts_with(['上', '下'])
                && before.ends_with(|c| "晚早路网線线楼樓地天手身以加马午".contains(c))
            {
                return None;
            }
            Some(vec![Item::new(words.to_lowercase(), unit, words)])
        }));
    }
    items
}

/// Whether both texts hold anchored words but were not surely said on the same day.
pub(crate) fn other_day(left: &[Item], right: &[Item], said: [Option<Timestamp>; 2]) -> bool {
    let anchored = |items: &[Item]| items.iter().any(|item| item.unit == ANCHORED);
    anchored(left) && anchored(right) && !on_one_day(said)
}

/// Whether both were surely said on the same UTC day.
pub(crate) fn on_one_day(said: [Option<Timestamp>; 2]) -> bool {
    let day = |at: Timestamp| at.as_second().div_euclid(86_400);
    matches!(said, [Some(a), Some(b)] if day(a) == day(b))
}

/// Whether the only times that float in two texts are dates without a year, and both mean the same
/// days: `before 1 March`, said in January and again in February.
pub(crate) fn on_one_date(facts: [&Facts; 2], said: [Option<Timestamp>; 2]) -> bool {
    let [Some(a), Some(b)] = said else {
        return false;
    };
    let days = |facts: &Facts, said: Timestamp| -> Option<Vec<Date>> {
        let dated = |words: &String| {
            facts
                .dates
                .iter()
                .find(|item| item.words == *words && item.unit == DATE)
        };
        let dates = facts
            .floating
            .iter()
            .map(|words| nearest(&dated(words)?.value, said));
        let mut dates = dates.collect::<Option<Vec<Date>>>()?;
        dates.sort_unstable();
        Some(dates)
    };
    let [left, right] = facts;
    days(left, a).is_some_and(|days_of| !days_of.is_empty() && Some(days_of) == days(right, b))
}

/// The day near a time that a date without a year (`????-03-01`) means, if that is beyond doubt.
fn nearest(date: &str, said: Timestamp) -> Option<Date> {
    const SURE: i32 = 150;
    let (month, day) = date.strip_prefix("????-")?.split_once('-')?;
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    let said = TimeZone::UTC.to_datetime(said).date();
    let years = [said.year() - 1, said.year(), said.year() + 1];
    let days = years
        .into_iter()
        .filter_map(|year| Date::new(year, month, day).ok());
    days.filter(|date| {
        said.until(*date)
            .is_ok_and(|span| span.get_days().abs() <= SURE)
    })
    .min_by_key(|date| {
        said.until(*date)
            .map_or(i32::MAX, |span| span.get_days().abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::facts::Facts;

    fn at(text: &str) -> Option<Timestamp> {
        (!text.is_empty()).then(|| text.parse().unwrap())
    }

    #[test]
    fn finds_relative_words() {
        for (text, expected) in [
            ("Had a migraine today", &["today"][..]),
            (
                "Moved two weeks ago, again last Friday",
                &["2 weeks ago", "last friday"],
            ),
            (
                "今天头疼,上周也是,下个月去复查",
                &["今天", "上周", "下个月"],
            ),
            ("三天前刚才说的", &["3天前", "刚才"]),
            ("晚上周日都有课", &[]),
            ("Always eats early, toddy", &[]),
        ] {
            let found: Vec<String> = Facts::read(text)
                .relative
                .into_iter()
                .map(|i| i.value)
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_same_words_on_another_day() {
        for (text, a, b, other) in [
            (
                "Had a migraine today",
                "2024-05-01T08:00:00Z",
                "2024-05-01T20:00:00Z",
                false,
            ),
            (
                "Had a migraine today",
                "2024-05-01T08:00:00Z",
                "2024-05-02T08:00:00Z",
                true,
            ),
            ("Had a migraine today", "2024-05-01T08:00:00Z", "", true),
            ("Had a migraine today", "", "", true),
            (
                "Has a migraine",
                "2024-05-01T08:00:00Z",
                "2025-05-01T08:00:00Z",
                false,
            ),
        ] {
            let items = Facts::read(text).relative;
            assert_eq!(
                other_day(&items, &items, [at(a), at(b)]),
                other,
                "{text} {a} {b}"
            );
        }
    }
}
