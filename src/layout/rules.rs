//! How a field that memfold has no other use for is merged, where the user says so.

use std::cmp::Ordering;
use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Number, Value};

use super::timestamp::Stamp;

/// What becomes of the values of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The survivor's value, or the first where it has none. The rule of fields without a rule.
    Keep,
    /// The value of the memory that was said last.
    Latest,
    /// The smallest number or the earliest date.
    Min,
    /// The greatest number or the latest date.
    Max,
    /// The numbers added up.
    Sum,
    /// All items, each once: of JSON arrays, or of text that a separator divides.
    Union,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "keep",
            Self::Latest => "latest",
            Self::Min => "min",
            Self::Max => "max",
            Self::Sum => "sum",
            Self::Union => "union",
        })
    }
}

/// What one source has in a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<'a> {
    /// Its value; `None` = it has none.
    pub(crate) value: Option<&'a Value>,
    /// When the memory was said.
    pub(crate) said_at: Option<Timestamp>,
}

/// How values are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    /// What divides the items of a text.
    pub(crate) separator: char,
    /// The zone of dates that name none.
    pub(crate) naive_zone: &'a TimeZone,
}

/// The value of the result; `None` where no source has one. Sources come with the survivor first.
///
/// # Errors
/// What is wrong with the values, without showing them.
pub(crate) fn apply(
    rule: Rule,
    sources: &[Held<'_>],
    reading: Reading<'_>,
) -> Result<Option<Value>, String> {
    let present: Vec<(&Value, Option<Timestamp>)> = sources
        .iter()
        .filter_map(|held| Some((held.value.filter(|value| !value.is_null())?, held.said_at)))
        .collect();
    let Some((first, _)) = present.first() else {
        return Ok(None);
    };
    let values = || present.iter().map(|(value, _)| *value);
    let chosen = match rule {
        Rule::Keep => (*first).clone(),
        // The first of equals: the survivor, where it is among them.
        Rule::Latest => present
            .iter()
            .rev()
            .max_by_key(|(_, said_at)| *said_at)
            .map_or(*first, |(value, _)| *value)
            .clone(),
        Rule::Min => extreme(values(), Ordering::Less, reading.naive_zone)?.clone(),
        Rule::Max => extreme(values(), Ordering::Greater, reading.naive_zone)?.clone(),
        Rule::Sum => sum(values())?,
        Rule::Union => union(values(), reading.separator)?,
    };
    Ok(Some(chosen))
}

/// A value that can be ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Magnitude {
    Number(f64),
    Date(Timestamp),
}

fn extreme<'a>(
    values: impl Iterator<Item = &'a Value>,
    wanted: Ordering,
    naive_zone: &TimeZone,
) -> Result<&'a Value, String> {
    let mut best: Option<(&Value, Magnitude)> = None;
    for value in values {
        let magnitude = magnitude(value, naive_zone).ok_or("a value is no number and no date")?;
        let Some((standing, least)) = best else {
            best = Some((value, magnitude));
            continue;
        };
        if compare((value, magnitude), (standing, least))? == wanted {
            best = Some((value, magnitude));
        }
    }
    best.map(|(value, _)| value)
        .ok_or("there is no value".to_owned())
}

fn magnitude(value: &Value, naive_zone: &TimeZone) -> Option<Magnitude> {
    if let Some(number) = digits(value).and_then(|digits| digits.parse::<f64>().ok()) {
        return number.is_finite().then_some(Magnitude::Number(number));
    }
    Stamp::parse(value.as_str()?, naive_zone).map(|stamp| Magnitude::Date(stamp.at))
}

fn compare(a: (&Value, Magnitude), b: (&Value, Magnitude)) -> Result<Ordering, String> {
    match (a.1, b.1) {
        (Magnitude::Number(x), Magnitude::Number(y)) => Ok(match (whole(a.0), whole(b.0)) {
            (Some(x), Some(y)) => x.cmp(&y), // beyond 2^53 too
            _ => x.total_cmp(&y),
        }),
        (Magnitude::Date(x), Magnitude::Date(y)) => Ok(x.cmp(&y)),
        _ => Err("some values are numbers and some are dates".to_owned()),
    }
}

/// Adds up exactly as long as all are whole, else in 64-bit floating point; text stays text.
fn sum<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> Result<Value, String> {
    let whole: Option<i128> = values
        .clone()
        .try_fold(0i128, |sum, value| sum.checked_add(whole(value)?));
    let text = match whole {
        Some(sum) => sum.to_string(),
        None => {
            let mut sum = 0.0;
            for value in values.clone() {
                let number = digits(value).and_then(|digits| digits.parse::<f64>().ok());
                sum += number.ok_or("a value is no number")?;
            }
            Number::from_f64(sum)
                .ok_or("the sum is too large")?
                .to_string()
        }
    };
    if values.into_iter().any(Value::is_string) {
        return Ok(text.into());
    }
    text.parse()
        .map(Value::Number)
        .map_err(|_| "the sum is no number".to_owned())
}

fn whole(value: &Value) -> Option<i128> {
    digits(value)?.parse().ok()
}

/// The digits of a number, or of a text that is nothing but one.
fn digits(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => {
            let number: Number = text.trim().parse().ok()?;
            Some(number.to_string())
        }
        _ => None,
    }
}

fn union<'a>(
    values: impl Iterator<Item = &'a Value> + Clone,
    separator: char,
) -> Result<Value, String> {
    let arrays: Option<Vec<&Vec<Value>>> = values.clone().map(Value::as_array).collect();
    if let Some(arrays) = arrays {
        let mut items: Vec<Value> = Vec::new();
        for item in arrays.into_iter().flatten() {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        return Ok(items.into());
    }
    let texts: Option<Vec<&str>> = values.map(Value::as_str).collect();
    let texts = texts.ok_or("not all values are lists or all are text")?;
    let mut items: Vec<&str> = Vec::new();
    for item in texts.iter().flat_map(|text| text.split(separator)) {
        let item = item.trim();
        if !item.is_empty() && !items.contains(&item) {
            items.push(item);
        }
    }
    Ok(items.join(&separator.to_string()).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn merged(rule: Rule, values: &[Value]) -> Result<Option<Value>, String> {
        let said = |day: usize| Some(Timestamp::from_second(day as i64 * 86_400).unwrap());
        let held = |(day, value)| Held {
            value: Some(value),
            said_at: said(day),
        };
        let sources: Vec<Held<'_>> = values.iter().enumerate().map(held).collect();
        let reading = Reading {
            separator: ',',
            naive_zone: &TimeZone::UTC,
        };
        apply(rule, &sources, reading)
    }

    #[test]
    fn each_rule_does_what_it_says() {
        let (first, last) = ("2026-03-01T10:00:00", "2026-03-01T12:30:00+01:00");
        for (rule, values, result) in [
            (Rule::Keep, json!([null, 2, 3]), json!(2)),
            (Rule::Latest, json!([1, 2, null]), json!(2)),
            (Rule::Min, json!([2, 1.5, "3"]), json!(1.5)),
            (Rule::Max, json!([2, 10, "9"]), json!(10)),
            (Rule::Max, json!(["2", "10"]), json!("10")),
            (Rule::Min, json!([last, first]), json!(first)),
            (Rule::Max, json!([last, first]), json!(last)),
            (
                Rule::Max,
                json!([9007199254740993u64, 9007199254740992u64]),
                json!(9007199254740993u64),
            ),
            (Rule::Sum, json!([2, 3, null]), json!(5)),
            (Rule::Sum, json!(["2", "3"]), json!("5")),
            (Rule::Sum, json!([2, 0.5]), json!(2.5)),
            (
                Rule::Union,
                json!([["a", "b"], ["b", "c", 1]]),
                json!(["a", "b", "c", 1]),
            ),
            (Rule::Union, json!(["a, b", "b,c", ""]), json!("a,b,c")),
        ] {
            let values = values.as_array().unwrap();
            assert_eq!(
                merged(rule, values),
                Ok(Some(result)),
                "{rule:?} {values:?}"
            );
        }
        assert_eq!(merged(Rule::Sum, &[json!(null)]), Ok(None));
    }

    #[test]
    fn what_a_rule_cannot_do_is_an_error() {
        for (rule, values) in [
            (Rule::Min, json!(["soon", 1])),
            (Rule::Max, json!([1, "2026-03-01"])),
            (Rule::Max, json!([true])),
            (Rule::Sum, json!([1, "many"])),
            (Rule::Sum, json!(["NaN"])),
            (Rule::Union, json!([["a"], "b"])),
            (Rule::Union, json!([1])),
        ] {
            let values = values.as_array().unwrap();
            assert!(merged(rule, values).is_err(), "{rule:?} {values:?}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_sources_does_not_matter(numbers in prop::collection::vec(any::<i64>(), 1..6)) {
            let values: Vec<Value> = numbers.iter().map(|n| json!(n)).collect();
            let reversed: Vec<Value> = values.iter().rev().cloned().collect();
            for rule in [Rule::Min, Rule::Max, Rule::Sum] {
                prop_assert_eq!(merged(rule, &values), merged(rule, &reversed));
            }
            prop_assert_eq!(merged(Rule::Max, &values), Ok(numbers.iter().max().map(|n| json!(n))));
        }

        #[test]
        fn a_union_has_every_item_once(texts in prop::collection::vec("[a-c,]{0,5}", 1..5)) {
            let values: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
            let union = merged(Rule::Union, &values).unwrap().unwrap();
            let items: Vec<&str> = union.as_str().unwrap().split(',').filter(|i| !i.is_empty()).collect();
            for item in texts.iter().flat_map(|text| text.split(',')).filter(|i| !i.is_empty()) {
                prop_assert_eq!(items.iter().filter(|i| **i == item).count(), 1);
            }
        }
    }
}
