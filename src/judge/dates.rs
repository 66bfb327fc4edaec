//! The dates guard: calendar dates, weekdays, months, years, times of day.

use std::sync::LazyLock;

use super::items::{Item, Rest};
use super::pattern::{Captures, Pattern, pattern};
use super::times;

/// Unit of an item that is a calendar date: value `YYYY-MM-DD` with `?` for what is not said.
pub(crate) const DATE: &str = "date";
/// What a weekday's value begins with; `0` (Monday) … `6` follows. Its unit is empty if it is said
/// of one day.
pub(crate) const WEEKDAY: &str = "weekday ";
/// Unit of a weekday that is said of every week.
pub(crate) const WEEKLY: &str = "every week";

const MONTHS: &[&[&str]] = &[
    &["january", "jan", "januar", "enero"],
    &["february", "feb", "februar", "febrero"],
    &["march", "mar", "märz", "marzo"],
    &["april", "apr", "abril"],
    &["may", "mai", "mayo"],
    &["june", "jun", "juni", "junio"],
    &["july", "jul", "juli", "julio"],
    &["august", "aug", "agosto"],
    &["september", "sept", "sep", "septiembre"],
    &["october", "oct", "oktober", "okt", "octubre"],
    &["november", "nov", "noviembre"],
    &["december", "dec", "dezember", "dez", "diciembre"],
];

const WEEKDAYS: &[&[&str]] = &[
    &["monday", "mon", "montag", "lunes"],
    &["tuesday", "tues", "tue", "dienstag", "martes"],
    &["wednesday", "wed", "mittwoch", "miércoles"],
    &["thursday", "thurs", "thur", "thu", "donnerstag", "jueves"],
    &["friday", "fri", "freitag", "viernes"],
    &["saturday", "samstag", "sonnabend", "sábado"],
    &["sunday", "sonntag", "domingo"],
];

fn names(table: &[&[&str]]) -> String {
    let mut names: Vec<&str> = table.iter().flat_map(|row| row.iter().copied()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.join("|")
}

fn index(table: &[&[&str]], name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    table.iter().position(|row| row.contains(&name.as_str()))
}

/// Whether a word is a day of the week, as a whole or shortened.
pub(crate) fn is_weekday(word: &str) -> bool {
    // These two are words of their own, and no days but among others.
    ["Sat", "Sun"].contains(&word) || index(WEEKDAYS, word).is_some()
}

/// `2024-05-14`, `2024-05-14T10:00`, `2024/5/14`, `2024年5月14日`.
static YEAR_FIRST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)(?P<y>\d{4})(?:-(?P<m>\d{1,2})-(?P<d>\d{1,2})|/(?P<m2>\d{1,2})/(?P<d2>\d{1,2}))(?-u:\b)
        | (?P<y3>\d{2,4})年(?:的)?(?:(?P<m3>\d{1,2})月(?:份)?(?:(?P<d3>\d{1,2})[日号號]?)?)?",
    )
});

/// `5月14日`, `三月` (as `3月`), `14号`.
static HAN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?P<lunar>农历|農曆|阴历)?(?P<m>正|腊|\d{1,2})月(?:份)?(?:初?(?P<d>\d{1,2})[日号號]?)?",
    )
});

/// `14/05/2024`, `14.5.2024`: which is the day is not known, so the digits are compared.
static NUMERIC: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?-u:\b)(?P<a>\d{1,2})(?:/(?P<b>\d{1,2})/|\.(?P<c>\d{1,2})\.)(?P<y>\d{4}|\d{2})(?-u:\b)",
    )
});

/// `14 May 2024`, `3rd of March`, `9. April 1941`, `14 de mayo`.
static DAY_MONTH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?ix)(?-u:\b)(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\x20?(?:of\x20|de\x20)?(?P<m>{})\b\.?(?:,?\x20(?:de\x20)?(?P<y>\d{{4}})(?-u:\b))?",
        names(MONTHS)
    ))
});

/// `May 14, 2024`, `March 3rd`.
static MONTH_DAY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?ix)\b(?P<m>{})\.?\x20(?:the\x20)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?-u:\b)(?:,?\x20(?P<y>\d{{4}})(?-u:\b))?",
        names(MONTHS)
    ))
});

/// `May 2024`, `in March`; a month alone must be written as a name.
static MONTH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?ix)\b(?P<m>{})\b\.?(?:,?\x20(?:of\x20|de\x20)?(?P<y>\d{{4}})(?-u:\b))?",
        names(MONTHS)
    ))
});

static WEEKDAY_NAME: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?ix)(?P<every>(?:every|each|jeden|cada|todos\x20los|los)\x20(?:other\x20)?)?\b(?:(?P<w>{})(?P<plural>s|n)?)\b(?:\x20(?P<nights>(?:morning|afternoon|evening|night)s))?
        | (?P<every_zh>每[个到逢]?|毎)?(?:周|週|星期|礼拜|禮拜|每)(?P<wz>[一二三四五六日天1-7])(?:曜)?
        | (?P<wj>[月火水木金土日])曜",
        names(WEEKDAYS)
    ))
});

/// `on the 3rd`, `3号`, `the 3rd of each month`.
static DAY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)\b(?:on|by|until|from|since|before|after)\x20the\x20(?P<d>\d{1,2})(?:st|nd|rd|th)(?-u:\b)|(?P<dz>\d{1,2})[号號](?P<not>[楼樓线線门門馆館院店路])?",
    )
});

/// A year that stands alone.
static YEAR: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?-u:\b)(?P<y>(?:19|20)\d{2})(?-u:\b)"));

/// Takes dates and times out of the text; spelled numbers must have become digits before.
pub(crate) fn take(rest: &mut Rest) -> Vec<Item> {
    let mut items = rest.take(&YEAR_FIRST, |captures, before, _| {
        let year = number(captures, &["y", "y3"])?;
        let month = number(captures, &["m", "m2", "m3"]);
        let day = number(captures, &["d", "d2", "d3"]);
        let inside = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        (!inside && (year >= 1000 || captures.name("y3").is_some()))
            .then(|| date(Some(year), month, day, captures))?
    });
    items.extend(rest.take(&NUMERIC, |captures, _, _| {
        let words = captures.whole.as_str();
        Some(vec![Item::new(
            words.replace('.', "/"),
            "numeric date",
            words,
        )])
    }));
    items.extend(times::take(rest));
    for pattern in [&DAY_MONTH, &MONTH_DAY] {
        items.extend(rest.take(pattern, |captures, _, _| {
            let month = index(MONTHS, captures.name("m")?.as_str())? as u32 + 1;
            date(
                number(captures, &["y"]),
                Some(month),
                number(captures, &["d"]),
                captures,
            )
        }));
    }
    items.extend(rest.take(&MONTH, |captures, before, _| {
        let name = captures.name("m")?.as_str();
        let month = index(MONTHS, name)? as u32 + 1;
        let year = number(captures, &["y"]);
        (year.is_some() || is_month_alone(name, before))
            .then(|| date(year, Some(month), None, captures))?
    }));
    items.extend(rest.take(&HAN, |captures, _, _| {
        let month = match captures.name("m")?.as_str() {
            "正" => 1,
            "腊" => 12,
            digits => digits.parse().ok()?,
        };
        let mut items = date(None, Some(month), number(captures, &["d"]), captures)?;
        if captures.name("lunar").is_some() {
            items[0].unit = "lunar date".to_owned();
        }
        Some(items)
    }));
    items.extend(rest.take(&WEEKDAY_NAME, read_weekday));
    items.extend(rest.take(&DAY, |captures, _, _| {
        if captures.name("not").is_some() {
            return None;
        }
        date(None, None, number(captures, &["d", "dz"]), captures)
    }));
    items.extend(rest.take(&YEAR, |captures, before, after| {
        let money = before
            .trim_end()
            .ends_with(['$', '€', '£', '¥', '-', ',', '.', '/'])
            && !before.ends_with("- ");
        let counted =
            after.starts_with([',', '.']) && after[1..].starts_with(|c: char| c.is_ascii_digit());
        (!money && !counted).then(|| date(number(captures, &["y"]), None, None, captures))?
    }));
    items
}

fn read_weekday(captures: &Captures<'_>, before: &str, _: &str) -> Option<Vec<Item>> {
    let words = captures.whole.as_str();
    let every = ["every", "every_zh", "plural", "nights"]
        .iter()
        .any(|n| captures.name(n).is_some());
    let day = if let Some(name) = captures.name("w") {
        // `mon` and `fri` as words of other languages; weekday abbreviations are capitalised.
        if name.as_str().len() <= 5
            && name.as_str().starts_with(char::is_lowercase)
            && !name.as_str().ends_with("es")
        {
            return None;
        }
        index(WEEKDAYS, name.as_str())?
    } else if let Some(han) = captures.name("wz") {
        // 一周一次 and 两周五次 count weeks.
        if before.ends_with(|c: char| "一二两三四五六七八九十几".contains(c) || c.is_ascii_digit())
        {
            return None;
        }
        let digit = "一二三四五六日"
            .chars()
            .position(|c| han.as_str().starts_with(c));
        digit
            .or_else(|| han.as_str().parse::<usize>().ok().map(|n| n - 1))
            .unwrap_or(6)
    } else {
        "月火水木金土日".chars().position(|c| {
            captures
                .name("wj")
                .is_some_and(|w| w.as_str().starts_with(c))
        })?
    };
    Some(vec![Item::new(
        format!("{WEEKDAY}{day}"),
        if every { WEEKLY } else { "" },
        words,
    )])
}

/// `may`, `march`, `mar`, `dec` alone are months only where the writing or a preposition says so.
fn is_month_alone(name: &str, before: &str) -> bool {
    let ambiguous = matches!(
        name.to_lowercase().as_str(),
        "may" | "march" | "mar" | "august" | "sep" | "jan" | "mai" | "dez"
    );
    let previous = before
        .trim_end()
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let preposition = [
        "in", "since", "until", "till", "by", "from", "of", "last", "next", "this", "every",
        "during", "for", "im", "en", "before", "after", "early", "late", "mid",
    ]
    .contains(&previous.as_str());
    preposition
        || (!ambiguous && name.len() > 3 && name.starts_with(char::is_uppercase))
        || (!ambiguous && name.len() > 3 && !name.is_ascii())
        || (!ambiguous && name.len() > 4)
}

fn number(captures: &Captures<'_>, names: &[&str]) -> Option<u32> {
    names
        .iter()
        .find_map(|name| captures.name(name))
        .and_then(|m| m.as_str().parse().ok())
}

fn date(
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    captures: &Captures<'_>,
) -> Option<Vec<Item>> {
    if month.is_some_and(|m| !(1..=12).contains(&m)) || day.is_some_and(|d| !(1..=31).contains(&d))
    {
        return None;
    }
    let part = |value: Option<u32>, width: usize| {
        value.map_or_else(|| "?".repeat(width), |v| format!("{v:0width$}"))
    };
    let value = format!("{}-{}-{}", part(year, 4), part(month, 2), part(day, 2));
    Some(vec![Item::new(value, DATE, captures.whole.as_str())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{normalize::plain, numerals::to_digits};

    fn read(text: &str) -> Vec<String> {
        let mut rest = Rest::new(to_digits(&plain(text)));
        let mut items = take(&mut rest);
        items.extend(times::take_parts(&mut rest));
        items
            .into_iter()
            .map(|i| format!("{} {}", i.value, i.unit))
            .collect()
    }

    #[test]
    fn one_date_in_many_forms() {
        for (forms, expected) in [
            (
                &[
                    "on 2021-07-01",
                    "on July 1st, 2021",
                    "1 July 2021",
                    "2021年7月1日",
                    "二〇二一年七月一日",
                    "2021/7/1",
                    "1st of July 2021",
                    "Jul 1 2021",
                ][..],
                "2021-07-01 date",
            ),
            (
                &[
                    "5 May",
                    "May 5",
                    "5月5日",
                    "五月五日",
                    "May 5th",
                    "5 de mayo",
                ],
                "????-05-05 date",
            ),
            (&["in May", "五月份", "5月"], "????-05-?? date"),
            (&["in May 2024", "2024年5月"], "2024-05-?? date"),
            (&["in 2019", "2019年"], "2019-??-?? date"),
            (
                &["on Friday", "周五", "星期五", "金曜日", "Fri"],
                "weekday 4 ",
            ),
            (
                &[
                    "on Fridays",
                    "every Friday",
                    "每周五",
                    "freitags",
                    "each Friday",
                ],
                "weekday 4 every week",
            ),
            (
                &[
                    "at 3 pm",
                    "15:00",
                    "3 p.m.",
                    "3pm",
                    "下午三点",
                    "three in the afternoon",
                ],
                "15:00 time",
            ),
            (
                &["10 pm", "ten at night", "晚上十点", "22:00"],
                "22:00 time",
            ),
            (&["5:30 pm", "下午五点半", "17:30"], "17:30 time"),
            (&["noon", "12 pm", "中午12点", "12:00"], "12:00 time"),
            (&["on the 3rd", "3号"], "????-??-03 date"),
            (&["农历三月初九", "農曆三月初九"], "????-03-09 lunar date"),
            (&["mornings", "早上"], "morning part of day"),
        ] {
            for form in forms {
                assert_eq!(read(form), [expected], "{form}");
            }
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "may bring a guest",
            "march on",
            "一周一次",
            "3号楼",
            "2.3.1",
            "costs $2019",
            "房间号是1208",
            "吃一点",
            "sun and mon frère",
        ] {
            assert_eq!(read(text), [] as [&str; 0], "{text}");
        }
    }
}
