//! Dates as libraries store them: read in any form or in a given one, written back in the form they
//! had.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::tz::{Offset, TimeZone};
use serde_json::Value;

use super::body::Member;

/// Smaller numbers are counters or "unset", not dates.
const EARLIEST_SECONDS: i128 = 100_000_000; // March 1973

/// The seconds of the years 1 to 9999, beyond which Python has no dates.
pub(crate) const SECONDS: RangeInclusive<f64> = -62_135_596_800.0..=253_402_300_799.0;

/// How the dates of a store are written, where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// As each looks: text, or a number whose size tells its unit.
    #[default]
    Auto,
    /// `2026-11-29T18:31:13.950300` and its like.
    Iso,
    /// Seconds since the epoch, perhaps with a fraction.
    Seconds,
    /// Milliseconds since the epoch.
    Millis,
    /// Microseconds since the epoch.
    Micros,
    /// Nanoseconds since the epoch.
    Nanos,
}

impl TimeForm {
    /// Nanoseconds a unit, if its dates are numbers.
    fn unit(self) -> Option<i128> {
        match self {
            Self::Auto | Self::Iso => None,
            Self::Seconds => Some(1_000_000_000),
            Self::Millis => Some(1_000_000),
            Self::Micros => Some(1_000),
            Self::Nanos => Some(1),
        }
    }

    /// What its dates are, in words.
    pub(crate) fn of_what(self) -> &'static str {
        match self {
            Self::Auto => "any known form",
            Self::Iso => "the form of ISO 8601",
            Self::Seconds => "seconds since 1970",
            Self::Millis => "milliseconds since 1970",
            Self::Micros => "microseconds since 1970",
            Self::Nanos => "nanoseconds since 1970",
        }
    }

    /// Reads a date of this form; one without an offset is of `naive_zone`.
    pub(crate) fn parse(self, text: &str, naive_zone: &TimeZone) -> Option<Stamp> {
        match self {
            Self::Auto => Stamp::parse(text, naive_zone),
            Self::Iso => iso(text.trim(), naive_zone),
            numbers => number(text.trim(), |_| numbers.unit()),
        }
    }

    /// Reads a stored date of this form.
    pub(crate) fn read(self, value: &Value, naive_zone: &TimeZone) -> Option<Stamp> {
        match value {
            Value::String(text) => self.parse(text, naive_zone),
            Value::Number(number) => self.parse(&number.to_string(), naive_zone),
            _ => None,
        }
    }

    /// Reads a date of a record that is looked at.
    pub(crate) fn of(self, member: Member<'_>, naive_zone: &TimeZone) -> Option<Stamp> {
        match member {
            Member::Text(text) => self.parse(text, naive_zone),
            Member::Json(value) => self.read(value, naive_zone),
        }
    }

    /// The date that `values[survivor]` must be given so that it is the earliest of all: in its own
    /// form, or, where it has no date, as the earliest is written. `None` where it must stay.
    pub(crate) fn earliest(
        self,
        values: &[Option<&Value>],
        survivor: usize,
        naive_zone: &TimeZone,
    ) -> Option<Value> {
        let dates = values
            .iter()
            .filter_map(|value| Some((self.read((*value)?, naive_zone)?.at, *value)));
        let (earliest, holder) = dates.min_by_key(|(at, _)| *at)?;
        let held = values.get(survivor).copied().flatten();
        match (held.and_then(|held| self.read(held, naive_zone)), held) {
            (Some(stamp), _) if stamp.at <= earliest => None,
            (Some(stamp), Some(Value::Number(_))) => stamp
                .rewrite(earliest, naive_zone)
                .parse()
                .map(Value::Number)
                .ok(),
            (Some(stamp), _) => Some(stamp.rewrite(earliest, naive_zone).into()),
            (None, Some(unread)) if !unread.is_null() && *unread != "" => None,
            (None, _) => holder.cloned(),
        }
    }
}

/// A stored date: the moment, and how it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stamp {
    /// The moment.
    pub(crate) at: Timestamp,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// `2026-11-29`.
    Date,
    /// `2026-11-29T18:31:13.950300`, with or without an offset.
    Civil {
        separator: char,
        digits: usize,
        zone: Zone,
    },
    /// Units of `nanos` since the epoch, with or without a fraction.
    Number { nanos: i128, digits: usize },
}

#[derive(Clone, Debug, PartialEq)]
enum Zone {
    Naive,
    Zulu(char),
    Offset { offset: Offset, colon: bool },
}

impl Stamp {
    /// Reads a date; one without an offset is of `naive_zone`.
    pub(crate) fn parse(text: &str, naive_zone: &TimeZone) -> Option<Self> {
        let text = text.trim();
        number(text, unit_by_size).or_else(|| iso(text, naive_zone))
    }

    /// Writes another moment in this form. A form without a fraction gets one where the moment
    /// needs it; days and whole numbers are rounded down.
    pub(crate) fn rewrite(&self, at: Timestamp, naive_zone: &TimeZone) -> String {
        match &self.form {
            Form::Date => naive_zone.to_datetime(at).date().to_string(),
            Form::Civil {
                separator,
                digits,
                zone,
            } => {
                let civil = match zone {
                    Zone::Naive => naive_zone.to_datetime(at),
                    Zone::Zulu(_) => Offset::UTC.to_datetime(at),
                    Zone::Offset { offset, .. } => offset.to_datetime(at),
                };
                format!(
                    "{}{}",
                    civil_text(civil, *separator, *digits),
                    zone_text(zone)
                )
            }
            Form::Number { nanos, digits } => number_text(at.as_nanosecond(), *nanos, *digits),
        }
    }
}

/// The unit of a number since the epoch that is a date of our time.
fn unit_by_size(whole: i128) -> Option<i128> {
    match whole {
        EARLIEST_SECONDS..100_000_000_000 => Some(1_000_000_000),
        100_000_000_000..100_000_000_000_000 => Some(1_000_000),
        100_000_000_000_000..100_000_000_000_000_000 => Some(1_000),
        100_000_000_000_000_000.. => Some(1),
        _ => None,
    }
}

fn number(text: &str, unit_of: impl Fn(i128) -> Option<i128>) -> Option<Stamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 20 || fraction.len() > 9 {
        return None;
    }
    if !digits(whole) || !digits(fraction) || (text.contains('.') && fraction.is_empty()) {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let nanos = unit_of(whole)?;
    let part: i128 = format!("{fraction:0<9}").parse().ok()?;
    let at = Timestamp::from_nanosecond(whole * nanos + part * nanos / 1_000_000_000).ok()?;
    Some(Stamp {
        at,
        form: Form::Number {
            nanos,
            digits: fraction.len(),
        },
    })
}

fn number_text(at: i128, nanos: i128, digits: usize) -> String {
    let whole = at.div_euclid(nanos);
    if digits == 0 {
        return whole.to_string();
    }
    let part = at.rem_euclid(nanos) * 1_000_000_000 / nanos;
    let fraction = format!("{part:09}");
    let needed = fraction.trim_end_matches('0').len();
    format!("{whole}.{}", &fraction[..needed.max(digits).max(1)])
}

fn iso(text: &str, naive_zone: &TimeZone) -> Option<Stamp> {
    let pieces = Pieces::parse(text).ok()?;
    let moment = |civil: DateTime, zone: &Zone| match zone {
        Zone::Naive => naive_zone.to_timestamp(civil).ok(),
        Zone::Zulu(_) => Offset::UTC.to_timestamp(civil).ok(),
        Zone::Offset { offset, .. } => offset.to_timestamp(civil).ok(),
    };
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let Some(time) = pieces.time() else {
        let civil = pieces.date().to_datetime(Time::midnight());
        return Some(Stamp {
            at: moment(civil, &Zone::Naive)?,
            form: Form::Date,
        });
    };
    let zone = match pieces.offset() {
        None => Zone::Naive,
        Some(PiecesOffset::Zulu) => Zone::Zulu(text.chars().last()?),
        Some(offset) => {
            let offset = offset.to_numeric_offset();
            if offset.seconds() % 60 != 0 {
                return None;
            }
            let colon = text.rsplit(['+', '-']).next()?.contains(':');
            Zone::Offset { offset, colon }
        }
    };
    // Forms without dashes have another character there, and are written with dashes and a `T`.
    let separator = text
        .chars()
        .nth(10)
        .filter(|c| matches!(c, 'T' | 't' | ' '));
    let digits = text.split_once(['.', ',']).map_or(0, |(_, rest)| {
        rest.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len())
    });
    let at = moment(pieces.date().to_datetime(time), &zone)?;
    Some(Stamp {
        at,
        form: Form::Civil {
            separator: separator.unwrap_or('T'),
            digits,
            zone,
        },
    })
}

fn civil_text(civil: DateTime, separator: char, digits: usize) -> String {
    let fraction = format!("{:09}", civil.subsec_nanosecond());
    // Readers of ISO dates take 3, 6 or 9 digits; fewer than the moment needs would change it.
    let needed = match fraction.trim_end_matches('0').len() {
        0 => 0,
        1..=3 => 3,
        4..=6 => 6,
        _ => 9,
    };
    let seconds = civil.strftime("%H:%M:%S");
    let digits = digits.max(needed).min(9);
    let point = if digits > 0 { "." } else { "" };
    format!(
        "{}{separator}{seconds}{point}{}",
        civil.date(),
        &fraction[..digits]
    )
}

fn zone_text(zone: &Zone) -> String {
    match zone {
        Zone::Naive => String::new(),
        Zone::Zulu(letter) => letter.to_string(),
        Zone::Offset { offset, colon } => {
            let seconds = offset.seconds();
            let sign = if seconds < 0 { '-' } else { '+' };
            let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
            format!(
                "{sign}{hours:02}{}{minutes:02}",
                if *colon { ":" } else { "" }
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Option<Timestamp> {
        Stamp::parse(text, &TimeZone::UTC).map(|stamp| stamp.at)
    }

    #[test]
    fn every_form_is_the_same_moment() {
        let at: Timestamp = "2026-11-29T18:31:13.9503Z".parse().unwrap();
        for text in [
            "2026-11-29T18:31:13.950300",
            "2026-11-29 18:31:13.950300",
            "2026-11-29T18:31:13.9503Z",
            "2026-11-29T19:31:13.950300+01:00",
            "2026-11-29T13:31:13.950300-0500",
            " 2026-11-29T18:31:13.950300 ",
            "1795977073.9503",
            "1795977073950.3",
            "1795977073950300",
            "1795977073950300000",
        ] {
            assert_eq!(parse(text), Some(at), "{text}");
        }
    }

    #[test]
    fn no_date_is_no_date() {
        for text in [
            "",
            "0",
            "1",
            "now",
            "last tuesday",
            "2026-13-01",
            "2026-11-29T25:00:00",
            "inf",
            "-5",
            "1e9",
            "1.",
            ".5",
            "99999999999999999999999",
            "10:00",
            "2026-11-29T1",
            "٢٠٢٦",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_given_form_takes_no_other() {
        let at = |form: TimeForm, text| form.parse(text, &TimeZone::UTC).map(|stamp| stamp.at);
        let day: Timestamp = "1970-01-02T00:00:00Z".parse().unwrap();
        for (form, text) in [
            (TimeForm::Seconds, "86400"),
            (TimeForm::Seconds, "86400.0"),
            (TimeForm::Millis, "86400000"),
            (TimeForm::Micros, "86400000000"),
            (TimeForm::Nanos, "86400000000000"),
            (TimeForm::Iso, "1970-01-02"),
        ] {
            assert_eq!(at(form, text), Some(day), "{form:?}");
        }
        assert_eq!(at(TimeForm::Iso, "1795977073"), None);
        assert_eq!(at(TimeForm::Seconds, "2026-11-29"), None);
    }

    #[test]
    fn the_earliest_date_comes_in_the_survivors_form() {
        let earliest = |values: &[Value], form: TimeForm| {
            let values: Vec<Option<&Value>> = values.iter().map(Some).collect();
            form.earliest(&values, 0, &TimeZone::UTC)
        };
        let (early, late) = (json!("2026-01-02T03:04:05"), json!(1795977073));
        assert_eq!(
            earliest(&[late.clone(), early.clone()], TimeForm::Auto),
            Some(json!(1767323045))
        );
        assert_eq!(
            earliest(&[early.clone(), late.clone()], TimeForm::Auto),
            None
        );
        assert_eq!(
            earliest(&[Value::Null, late.clone()], TimeForm::Auto),
            Some(late.clone())
        );
        assert_eq!(
            earliest(&[json!("soon"), late.clone()], TimeForm::Auto),
            None
        );
        assert_eq!(earliest(&[late, early], TimeForm::Seconds), None);
    }

    #[test]
    fn a_naive_date_is_of_the_given_zone() {
        let zone = TimeZone::fixed(Offset::constant(2));
        let stamp = Stamp::parse("2026-03-01T10:00:00", &zone).unwrap();
        assert_eq!(stamp.at, "2026-03-01T08:00:00Z".parse().unwrap());
        let at = "2026-02-01T00:30:00.25Z".parse().unwrap();
        assert_eq!(stamp.rewrite(at, &zone), "2026-02-01T02:30:00.250");
    }

    #[test]
    fn another_moment_is_written_in_the_same_form() {
        let at = "2025-01-02T03:04:05.678Z".parse().unwrap();
        for (form, written) in [
            ("2026-11-29T18:31:13.950300", "2025-01-02T03:04:05.678000"),
            ("2026-11-29 18:31:13", "2025-01-02 03:04:05.678"),
            ("2026-11-29T18:31:13z", "2025-01-02T03:04:05.678z"),
            ("2026-11-29T19:31:13+01:30", "2025-01-02T04:34:05.678+01:30"),
            ("2026-11-29T13:31:13-0500", "2025-01-01T22:04:05.678-0500"),
            ("2026-11-29", "2025-01-02"),
            ("20261129T183113Z", "2025-01-02T03:04:05.678Z"),
            ("20261129 183113", "2025-01-02T03:04:05.678"),
            ("+002026-11-29T18:31:13", "2025-01-02T03:04:05.678"),
            ("1795977073", "1735787045"),
            ("1795977073.9503", "1735787045.6780"),
            ("1795977073950", "1735787045678"),
            ("1795977073950300", "1735787045678000"),
        ] {
            let stamp = Stamp::parse(form, &TimeZone::UTC).unwrap();
            assert_eq!(stamp.rewrite(at, &TimeZone::UTC), written, "{form}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            micros in 200_000_000_000_000i64..4_000_000_000_000_000,
            form in prop::sample::select(vec![
                "2026-11-29T18:31:13.950300", "2026-11-29T18:31:13", "2026-11-29T18:31:13.9Z",
                "2026-11-29 18:31:13+05:30", "20261129T183113Z", "1795977073.9503", "1795977073950300",
            ]),
        ) {
            let at = Timestamp::from_microsecond(micros).unwrap();
            let written = Stamp::parse(form, &TimeZone::UTC).unwrap().rewrite(at, &TimeZone::UTC);
            prop_assert_eq!(parse(&written), Some(at), "{}", written);
        }

        #[test]
        fn no_text_panics(text in "[0-9TZz:.,+\\- é]*") {
            if let Some(stamp) = Stamp::parse(&text, &TimeZone::UTC) {
                let _ = stamp.rewrite(Timestamp::UNIX_EPOCH, &TimeZone::UTC);
                let _ = stamp.rewrite(Timestamp::MAX, &TimeZone::UTC);
                let _ = stamp.rewrite(Timestamp::MIN, &TimeZone::UTC);
            }
        }
    }
}
