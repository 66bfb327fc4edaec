//! The numbers guard: counts, measures, money, percentages.

use std::sync::LazyLock;

use super::items::{Item, Rest};
use super::pattern::{Pattern, pattern};
use super::units;

static NUMBER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?x)
        (?: (?P<currency> (?i:US|HK|NT|AU|CA)?\$ | € | £ | ¥ | ₹ | ₩ | ₽ ) \x20? )?
        (?P<sign> -)?
        (?P<percent> 百分之)?
        (?P<number> \d+ (?: [.,] \d+ )* )
        (?P<odd> [\p{{No}}\p{{Nl}}--〇]* )
        (?: \x20? (?P<multiple> (?: k | K | (?i:thousand|million|mn|billion|bn|hundred) ) (?-u:\b) | 百万 | 千万 | [百千万萬亿億] ) )?
        (?: (?P<ordinal> (?i:st|nd|rd|th) ) (?-u:\b) )?
        (?: [\x20-]? (?: (?P<latin> (?i:{latin}) ) (?-u:\b) | (?P<sign_or_han> {other} ) ) )?
        ",
        latin = units::latin_names(),
        other = units::other_names(),
    ))
});

/// Number characters outside the decimal digits: ½, ², ③, Ⅳ.
static ODD: LazyLock<Pattern> = LazyLock::new(|| pattern(r"[\p{No}\p{Nl}--〇]+"));

/// Takes all numbers out of the text. Spelled ones must have become digits before.
pub(crate) fn take(rest: &mut Rest) -> Vec<Item> {
    let mut items = rest.take(&NUMBER, |captures, before, _| {
        let get = |name| captures.name(name).map_or("", |m| m.as_str());
        let unit_name = ["latin", "sign_or_han"].map(get).concat();
        // `7-year-old`: a hyphen is no minus unless something else than a word stands before it.
        let minus = !get("sign").is_empty()
            && (!get("currency").is_empty()
                || before
                    .chars()
                    .next_back()
                    .is_none_or(|c| c.is_whitespace() || c == '('));
        let (unit, factor) = if !get("currency").is_empty() {
            (units::currency(get("currency")), (1, 0))
        } else if !get("percent").is_empty() {
            ("%", (1, 0))
        } else {
            units::lookup(&unit_name).unwrap_or(("", (1, 0)))
        };
        // `$1.2m` are millions.
        let millions = !get("currency").is_empty() && unit_name.eq_ignore_ascii_case("m");
        let multiple = if millions { "million" } else { get("multiple") };
        let mut value = canonical(get("number"), multiple, unit, factor);
        if minus {
            value.insert(0, '-');
        }
        value.push_str(get("odd"));
        let unit = if get("ordinal").is_empty() {
            unit
        } else {
            "ordinal"
        };
        Some(vec![Item::new(value, unit, captures.whole.as_str())])
    });
    items.extend(rest.take(&ODD, |captures, _, _| {
        let words = captures.whole.as_str();
        Some(vec![Item::new(words, "", words)])
    }));
    items
}

/// The canonical value. A bare number keeps its digits (3.10 is not 3.1, 007 is not 7); with a
/// unit or a multiplier it is a quantity, so its zeros carry nothing.
fn canonical(number: &str, multiple: &str, unit: &str, factor: (i128, u32)) -> String {
    let plain = without_grouping(number);
    let power = match multiple.to_lowercase().as_str() {
        "百" | "hundred" => 2,
        "千" | "k" | "thousand" => 3,
        "万" | "萬" => 4,
        "百万" | "million" | "mn" => 6,
        "千万" => 7,
        "亿" | "億" => 8,
        "billion" | "bn" => 9,
        _ => 0,
    };
    if power == 0 && unit.is_empty() {
        return plain;
    }
    quantity(&plain, power, factor).unwrap_or(plain)
}

/// `1,200` → `1200`, `3,5` → `3.5`; other mixtures stay as they are.
fn without_grouping(number: &str) -> String {
    let mut parts = number.split(',');
    let head = parts.next().unwrap_or_default();
    let tail: Vec<&str> = parts.collect();
    let Some((last, middle)) = tail.split_last() else {
        return number.to_owned();
    };
    let three = |part: &str| part.len() == 3 && part.bytes().all(|b| b.is_ascii_digit());
    let last_whole = last.split('.').next().unwrap_or_default();
    if (1..=3).contains(&head.len())
        && !head.contains('.')
        && head != "0"
        && middle.iter().all(|part| three(part))
        && three(last_whole)
        && last.matches('.').count() <= 1
    {
        number.replace(',', "")
    } else if middle.is_empty() && !number.contains('.') && last.len() <= 2 {
        format!("{head}.{last}")
    } else {
        number.to_owned()
    }
}

/// `plain × 10^power × factor` as the shortest decimal; none if it is no plain decimal or too big.
fn quantity(plain: &str, power: u32, factor: (i128, u32)) -> Option<String> {
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    if fraction.contains('.') || plain.contains(',') || plain.len() > 24 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let mantissa = digits
        .checked_mul(10_i128.checked_pow(power)?)?
        .checked_mul(factor.0)?;
    let scale = fraction.len() + factor.1 as usize;
    let digits = format!("{mantissa:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{normalize::plain, numerals::to_digits};

    fn read(text: &str) -> Vec<String> {
        let mut rest = Rest::new(to_digits(&plain(text)));
        take(&mut rest)
            .iter()
            .map(|i| format!("{} {}", i.value, i.unit).trim().to_owned())
            .collect()
    }

    #[test]
    fn one_value_in_many_forms() {
        for (forms, expected) in [
            (
                &[
                    "1,000 EUR",
                    "1000 euros",
                    "1k EUR",
                    "€1,000",
                    "1千欧元",
                    "one thousand euros",
                ][..],
                "1000 EUR",
            ),
            (
                &["12万元", "120,000元", "十二万元", "¥120000", "12万块"],
                "120000 CNY",
            ),
            (
                &["$1.2m", "$1.2M", "$1,200,000", "1.2 million dollars"],
                "1200000 USD",
            ),
            (&["0.50 %", "0.5%", "0.5 percent", "百分之0.5"], "0.5 %"),
            (
                &[
                    "10 km",
                    "10 kilometres",
                    "10公里",
                    "１０ km",
                    "十公里",
                    "10,000 m",
                ],
                "10000 m",
            ),
            (&["2 hours", "120 minutes", "两小时", "2 h"], "120 min"),
            (&["23 kg", "23公斤", "23千克", "46斤"], "23 kg"),
            (&["50 mcg", "50微克"], "0.00000005 kg"),
            (
                &["18°C", "18 degrees Celsius", "18 ℃", "18度"][..3],
                "18 °C",
            ),
            (&["3", "three", "３", "٣"], "3"),
            (&["2nd", "second"], "2 ordinal"),
            (&["-5°C"], "-5 °C"),
        ] {
            for form in forms {
                assert_eq!(read(form), [expected], "{form}");
            }
        }
    }

    #[test]
    fn values_that_must_stay_apart() {
        for (a, b) in [
            ("3 miles", "3 kilometres"),
            ("230 °C", "230 °F"),
            ("两斤", "两公斤"),
            ("Python 3.10", "Python 3.1"),
            ("10.4", "10.14"),
            ("room 007", "room 7"),
            ("10²", "102"),
            ("2½", "2"),
            ("5 °C", "-5 °C"),
            ("40 EUR", "40 USD"),
            ("1,2,3", "123"),
        ] {
            assert_ne!(read(a), read(b), "{a} {b}");
        }
    }

    #[test]
    fn more_than_one() {
        assert_eq!(read("130/85 and 2-3 times"), ["130", "85", "2", "3 times"]);
        assert_eq!(read("a 14-inch one with 32 GB"), ["14 in", "32 GB"]);
        assert_eq!(read("no number here"), [] as [&str; 0]);
    }
}
