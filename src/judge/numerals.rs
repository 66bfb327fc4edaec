//! Numbers in words as digits: `twenty-three` → `23`, `二十三` → `23`, `second` → `2nd`.
//!
//! Only what is surely a number is rewritten; 一 in 一起 or `one` in `no one` stays.

use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};

#[rustfmt::skip]
const SMALL: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
];
const TENS: &[&str] = &[
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];
const ORDINALS: &[&str] = &[
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
];

static ENGLISH: LazyLock<Pattern> = LazyLock::new(|| {
    let word = format!(
        "(?:{}|{}|hundred|thousand|million|billion|dozen)",
        SMALL.join("|"),
        TENS.join("|")
    );
    pattern(&format!(
        r"(?i)(?-u:\b)(?:(?P<number>{word}(?:(?: and |[ -]){word})*)|(?P<ordinal>{})|(?P<times>twice|thrice))(?-u:\b)",
        ORDINALS.join("|")
    ))
});

/// English words for numbers.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    let scales = [
        "hundred", "thousand", "million", "billion", "dozen", "twice", "thrice",
    ];
    SMALL
        .iter()
        .chain(TENS)
        .chain(ORDINALS)
        .copied()
        .chain(scales)
}

/// Rewrites spelled numbers of English and Chinese as ASCII digits.
pub(crate) fn to_digits(text: &str) -> String {
    chinese_to_digits(&english_to_digits(&halves(&continental(text))))
}

/// `half past six`, `quarter to 7`.
static PAST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)(?-u:\b)(?P<part>half past|(?:a )?quarter past|(?:a )?quarter to)[ ](?P<hour>1[0-2]|[1-9]|{})(?-u:\b)",
        SMALL[1..13].join("|")
    ))
});

/// `half an hour`, `an hour and a half`, `two and a half`, 半小时, 两个半小时, 三成.
static HALF: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?ix)(?-u:\b)(?:
          half\x20an?\x20(?P<half>hour|kilo|kilogram|litre|liter|pound|mile|cup|pint|gallon|dozen|million|billion)
        | (?P<one>an?\x20(?P<unit>hour|minute|kilo|litre|liter|mile|pound|day|week|month|year)\x20and\x20a\x20half)
        | (?P<more>\d+|{})\x20and\x20a\x20half
        )(?-u:\b)
        | (?P<han>半)个?(?P<han_unit>小时|小時|钟头|公斤|斤|公里)
        | (?P<count>[一二两三四五六七八九十]|\d+)个半(?P<count_unit>小时|小時|钟头|月)
        | (?P<tenths>[一二两三四五六七八九])成(?P<after>[的以左,，。；;]|$)",
        SMALL[1..].join("|")
    ))
});

/// Halves and quarters as decimals, so that they can be compared.
fn halves(text: &str) -> String {
    let small = |word: &str| {
        let lower = word.to_lowercase();
        let known = SMALL.iter().position(|w| *w == lower);
        known.or_else(|| lower.parse().ok())
    };
    let text = PAST.replace_all(text, |captures| {
        let all = captures.whole.as_str().to_owned();
        let Some(hour) = small(&captures["hour"]) else {
            return all;
        };
        match captures["part"].to_lowercase().as_str() {
            "half past" => format!("{hour}:30"),
            part if part.ends_with("past") => format!("{hour}:15"),
            _ => format!("{}:45", (hour + 10) % 12 + 1),
        }
    });
    let text = HALF.replace_all(&text, |captures| {
        let get = |name: &str| &captures[name];
        let digit = |c: &str| {
            let value = "一二三四五六七八九十"
                .chars()
                .position(|d| c.starts_with(d));
            value.map(|n| n + 1).or(c.starts_with('两').then_some(2))
        };
        if !get("half").is_empty() {
            format!("0.5 {}", get("half"))
        } else if !get("one").is_empty() {
            format!("1.5 {}s", get("unit"))
        } else if !get("more").is_empty() {
            small(get("more")).map_or_else(|| get("more").to_owned(), |n| format!("{n}.5"))
        } else if !get("han").is_empty() {
            format!("0.5{}", get("han_unit"))
        } else if !get("count").is_empty() {
            let count = get("count");
            let n = count
                .parse()
                .ok()
                .or_else(|| digit(count))
                .unwrap_or_default();
            format!(
                "{n}.5{}{}",
                if get("count_unit") == "月" {
                    "个"
                } else {
                    ""
                },
                get("count_unit")
            )
        } else {
            format!(
                "{}0%{}",
                digit(get("tenths")).unwrap_or_default(),
                get("after")
            )
        }
    });
    text.into_owned()
}

/// Thousands as the continent writes them: `1.200`.
static THOUSANDS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?-u:\b)\d{1,3}(?:\.\d{3})+(?:,\d{1,2})?(?-u:\b)"));

/// Words that tell that a text is German, Spanish, Italian, Dutch or Portuguese.
static CONTINENTAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:der|das|und|ist|für|mit|eine[nrm]?|nicht|beträgt|kostet|liegt|verdient|zahlt|hat|von|vom|zum|beim|el|los|las|del|una|cuesta|gana|paga|tiene|para|por|es|il|che|della|sono|het|een|voor|uma|não|são)\b",
    )
});
static ENGLISH_WORD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:the|is|are|was|and|of|to|at|for|with|has|costs|pays|runs|on|version)\b")
});

/// `1.200 Euro` in a text of a language that writes thousands so.
fn continental(text: &str) -> std::borrow::Cow<'_, str> {
    if !THOUSANDS.is_match(text) || !CONTINENTAL.is_match(text) || ENGLISH_WORD.is_match(text) {
        return text.into();
    }
    THOUSANDS.replace_all(text, |captures| {
        captures.whole.as_str().replace('.', "").replace(',', ".")
    })
}

fn english_to_digits(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for captures in ENGLISH.captures_iter(text) {
        let all = captures.whole;
        let (before, after) = (&text[..all.start()], &text[all.end()..]);
        let replacement = if let Some(number) = captures.name("number") {
            english_number(number.as_str(), before, after)
        } else if let Some(ordinal) = captures.name("ordinal") {
            english_ordinal(ordinal.as_str(), after)
        } else if all.as_str().eq_ignore_ascii_case("twice") {
            Some("2 times".to_owned())
        } else {
            Some("3 times".to_owned())
        };
        if let Some(replacement) = replacement {
            out.push_str(&text[done..all.start()]);
            out.push_str(&replacement);
            done = all.end();
        }
    }
    out.push_str(&text[done..]);
    out
}

fn english_number(words: &str, before: &str, after: &str) -> Option<String> {
    let lower = words.to_lowercase();
    // "10 thousand" is the number guard's; "no one", "this one", "one day" count nothing.
    if before.trim_end().ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if lower == "one" {
        let previous = before
            .trim_end()
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let vague = ["no", "any", "some", "every", "this", "that", "which", "the"];
        // A pronoun stands at the end or before a function word: "a red one with a bell".
        let next = after
            .trim_start()
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let pronoun = [
            "", "another", "day", "with", "who", "that", "which", "is", "was", "in", "on", "at",
            "for", "from", "and", "or", "to", "as", "by", "but", "called", "named",
        ];
        if vague.contains(&previous.to_lowercase().as_str()) || pronoun.contains(&next) {
            return None;
        }
    }
    let mut total: u64 = 0;
    let mut group: u64 = 0;
    let mut last = u64::MAX;
    for word in lower.split([' ', '-']).filter(|w| *w != "and") {
        let value = if let Some(n) = SMALL.iter().position(|w| *w == word) {
            n as u64
        } else if let Some(n) = TENS.iter().position(|w| *w == word) {
            (n as u64 + 2) * 10
        } else {
            let factor = match word {
                "dozen" => 12,
                "hundred" => 100,
                "thousand" => 1000,
                "million" => 1_000_000,
                _ => 1_000_000_000,
            };
            group = group.max(1).checked_mul(factor)?;
            if factor >= 1000 {
                total = total.checked_add(group)?;
                group = 0;
            }
            last = u64::MAX;
            continue;
        };
        // "twenty three" is one number, "three four" and "ten twenty" are not.
        if last != u64::MAX && !(last >= 20 && last % 10 == 0 && (1..10).contains(&value)) {
            return None;
        }
        group = group.checked_add(value)?;
        last = value;
    }
    Some((total.checked_add(group)?).to_string())
}

fn english_ordinal(word: &str, after: &str) -> Option<String> {
    let n = ORDINALS.iter().position(|w| word.eq_ignore_ascii_case(w))? + 1;
    if n == 2 && (after.starts_with("-hand") || after.starts_with(" hand")) {
        return None;
    }
    Some(format!(
        "{n}{}",
        ["th", "st", "nd", "rd"].get(n).unwrap_or(&"th")
    ))
}

const HAN_DIGITS: &str = "零一二三四五六七八九";

/// What a single Han numeral may count: measure words and units.
const MEASURES: &str = "个個只隻条條辆輛台本次年天日号號月周週星礼小时時分秒元块塊毛角岁歲口人位名斤公千米厘克吨噸升瓶杯碗盒包箱间間层層楼樓栋棟座张張把件套双雙对對家所门門节節课課期届屆遍趟回顿頓份页頁篇章首句段场場集盆棵朵头頭匹点點刻成倍折路桌桶袋盘盤根支枝片颗顆粒滴股组組批项項款种種级級度居室票等班號番匙匹丁つ時";

/// Runs of numeral characters that are words.
const HAN_WORDS: &[&str] = &[
    "万一",
    "千万",
    "千萬",
    "十分",
    "三七",
    "一一",
    "二百五",
    "五四",
    "九九",
];

fn chinese_to_digits(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let run = chars[at..].iter().take_while(|c| is_numeral(**c)).count();
        if run == 0 {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        let word: String = chars[at..at + run].iter().collect();
        let before = at.checked_sub(1).map(|i| chars[i]);
        let after = chars.get(at + run).copied();
        match han_value(&word).filter(|_| counts(&word, before, after)) {
            Some(digits) => out.push_str(&digits),
            None => out.push_str(&word),
        }
        at += run;
    }
    out
}

fn is_numeral(c: char) -> bool {
    "零〇一二两兩三四五六七八九十百千万萬亿億廿".contains(c)
}

/// Whether a numeral run between two characters is a number and not part of a word.
fn counts(run: &str, before: Option<char>, after: Option<char>) -> bool {
    // 周三, 星期三, 礼拜三 are weekdays; 12万 is read with its digits.
    if before.is_some_and(|c| "周週期拜".contains(c) || c.is_ascii_digit() || c == '.') {
        return false;
    }
    if HAN_WORDS.contains(&run) {
        return false;
    }
    let single = run.chars().count() == 1;
    let ordered = before.is_some_and(|c| "第初".contains(c));
    if !single || ordered {
        return true;
    }
    if "百千万萬亿億".contains(run) {
        return false;
    }
    match after {
        // 一点 is "a bit" unless a part of the day stands before it.
        Some('点' | '點') if run == "一" => before.is_some_and(|c| "午晨上晚夜".contains(c)),
        Some('样' | '樣' | '起' | '直' | '定' | '般' | '些' | '下') => false,
        Some(c) => MEASURES.contains(c),
        None => false,
    }
}

/// The value of a numeral run: positional (二〇二四) or with 十百千万亿 (三千五 = 3500).
fn han_value(run: &str) -> Option<String> {
    let digit = |c: char| match c {
        '〇' => Some(0),
        '两' | '兩' => Some(2),
        _ => HAN_DIGITS.chars().position(|d| d == c).map(|n| n as u64),
    };
    if let Some(digits) = run.chars().map(digit).collect::<Option<Vec<_>>>() {
        // 三四个 is three or four, 三五个 a few.
        if matches!(digits[..], [a, b] if a > 0 && (a + 1 == b || (a, b) == (3, 5))) {
            return None;
        }
        return Some(digits.iter().map(u64::to_string).collect());
    }
    let (mut total, mut section, mut number) = (0_u64, 0_u64, None);
    let (mut last_factor, mut zero) = (1_u64, false);
    for c in run.chars() {
        if let Some(d) = digit(c) {
            if d == 0 {
                zero = true;
            } else if number.replace(d).is_some() {
                return None;
            }
            continue;
        }
        let factor = match c {
            '十' => 10,
            '百' => 100,
            '千' => 1000,
            '万' | '萬' => 10_000,
            '亿' | '億' => 100_000_000,
            '廿' => {
                section = section.checked_add(20)?;
                last_factor = 10;
                continue;
            }
            _ => return None,
        };
        if factor >= 10_000 {
            section = section.checked_add(number.take().unwrap_or(0))?.max(1);
            total = total.checked_add(section.checked_mul(factor)?)?;
            section = 0;
        } else {
            section = section.checked_add(number.take().unwrap_or(1) * factor)?;
        }
        last_factor = factor;
        zero = false;
    }
    // The short last digit: 三千五 is 3500, 三千零五 is 3005, 二十五 is 25.
    let scale = if zero || last_factor <= 10 {
        1
    } else {
        last_factor / 10
    };
    let rest = number.unwrap_or(0).checked_mul(scale)?;
    Some(total.checked_add(section)?.checked_add(rest)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_become_digits() {
        for (text, expected) in [
            ("Has three nephews", "Has 3 nephews"),
            ("twenty-three or forty two", "23 or 42"),
            ("two hundred and five people", "205 people"),
            ("a thousand three hundred", "a 1300"),
            (
                "Finished second, bought second-hand",
                "Finished 2nd, bought second-hand",
            ),
            ("twice a week", "2 times a week"),
            (
                "no one saw this one; one of them did",
                "no one saw this one; 1 of them did",
            ),
            ("one two three", "one two three"),
            ("someone stone often", "someone stone often"),
            ("两只猫", "2只猫"),
            ("一千二百元", "1200元"),
            ("三千五", "3500"),
            ("三千零五", "3005"),
            ("十二万", "120000"),
            ("二十", "20"),
            ("二〇二四年五月五日", "2024年5月5日"),
            ("五点四十", "5点40"),
            ("每周三在一起", "每周三在一起"),
            ("吃一点,万一下雨", "吃一点,万一下雨"),
            ("下午一点", "下午1点"),
            ("养了一只狗", "养了1只狗"),
            ("第三次", "第3次"),
            ("三四个朋友,三五天", "三四个朋友,三五天"),
            ("十三四岁", "十三四岁"),
            ("12万", "12万"),
        ] {
            assert_eq!(to_digits(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_run_of_numerals_is_read_without_a_panic(
            run in "[零〇一二两三四五六七八九十百千万亿廿]{0,30}",
            words in "((one|ten|twenty|hundred|million|billion|dozen) ){0,12}",
        ) {
            let _ = to_digits(&run);
            let _ = to_digits(&words);
        }
    }
}
