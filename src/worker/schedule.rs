//! When a user is due. Pure: the time is passed in, and what is random is drawn from the user's own
//! name, so that all workers come to the same answer.

use std::cmp::Ordering;
use std::time::Duration;

use croner::errors::CronError;
use croner::{CivilDate, CivilDateTime, CivilTime, Cron, CronDateTime, Resolution, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use sha1::{Digest as _, Sha1};

use crate::store::{Probe, UserState};

/// A time of the future in a record means that the clock was set back; up to this much it is what
/// clocks differ by.
const SKEW_MS: i64 = 60_000;

/// How often users are looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Least time between two runs over a user that is written to.
    pub period: Duration,
    /// Longest time between two full readings of a user: the cheap probe cannot see an edit that
    /// keeps the count, the keys and their times.
    pub full_every: Duration,
    /// So many new memories make a user due before its period is over.
    pub after_new: Option<u64>,
    /// The wait after a first failure; it doubles with each further one.
    pub backoff: Duration,
    /// The longest wait after failures.
    pub backoff_most: Duration,
}

/// Why a user is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// It was never looked at.
    New,
    /// It was written to.
    Changed,
    /// Many memories are new.
    Count,
    /// Its memories are to be read in full again.
    Full,
    /// The last run failed, or left something for a later one.
    Retry,
    /// Somebody asked for it.
    Request,
    /// Its agent has failed several times in a row.
    Failures,
}

impl Cause {
    /// The stable name, such as `request`.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Count => "count",
            Self::Full => "full",
            Self::Retry => "retry",
            Self::Request => "request",
            Self::Failures => "failures",
        }
    }

    /// The cause of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        [
            Self::New,
            Self::Changed,
            Self::Count,
            Self::Full,
            Self::Retry,
            Self::Request,
            Self::Failures,
        ]
        .into_iter()
        .find(|cause| cause.name() == name)
    }
}

impl Rules {
    /// Why `user` is due at `now_ms`, if it is: `state` is what the last run left, `probe` what the
    /// index says of it now.
    pub fn due(
        &self,
        user: &str,
        state: Option<&UserState>,
        probe: &Probe,
        now_ms: i64,
    ) -> Option<Cause> {
        let Some(state) = state else {
            return Some(Cause::New);
        };
        if self.backs_off(state, now_ms) {
            return None;
        }
        if state.open {
            return Some(Cause::Retry);
        }
        if state.probe.as_ref() != Some(probe) {
            let known = state.probe.as_ref().map_or(0, |probe| probe.count);
            let new = probe.count.saturating_sub(known);
            if self.after_new.is_some_and(|least| new >= least) {
                return Some(Cause::Count);
            }
            if passed(state.run_at_ms, jittered(self.period, user, 0.1), now_ms) {
                return Some(Cause::Changed);
            }
        }
        let full = jittered(self.full_every, user, 0.1);
        passed(state.full_at_ms, full, now_ms).then_some(Cause::Full)
    }

    /// Why `user`, who was written to a moment ago, is due at `now_ms`, if it is.
    pub fn written(&self, user: &str, state: Option<&UserState>, now_ms: i64) -> Option<Cause> {
        let Some(state) = state else {
            return Some(Cause::New);
        };
        let due = passed(state.run_at_ms, jittered(self.period, user, 0.1), now_ms);
        (due && !self.backs_off(state, now_ms)).then_some(Cause::Changed)
    }

    /// Whether somebody has looked at the user since `asked_ms`. A time of the future in the record
    /// says nothing: the clock was set back, and requests keep the times from before.
    pub fn came_by(&self, state: &UserState, asked_ms: i64, now_ms: i64) -> bool {
        state.run_at_ms >= asked_ms && state.run_at_ms <= now_ms.saturating_add(SKEW_MS)
    }

    /// Whether the wait after a failure is not over.
    pub fn backs_off(&self, state: &UserState, now_ms: i64) -> bool {
        let longest = now_ms.saturating_add(millis(self.backoff_most).saturating_mul(2));
        state.not_before_ms > now_ms && state.not_before_ms <= longest
    }

    /// The earliest time of the next try after `failures` in a row.
    pub fn not_before(&self, user: &str, failures: u32, now_ms: i64) -> i64 {
        let doubled = self
            .backoff
            .saturating_mul(1 << failures.saturating_sub(1).min(16));
        now_ms.saturating_add(millis(jittered(doubled.min(self.backoff_most), user, 0.2)))
    }
}

/// Whether `span` has passed since `at_ms`; so also if that lies in the future.
fn passed(at_ms: i64, span: Duration, now_ms: i64) -> bool {
    at_ms > now_ms.saturating_add(SKEW_MS) || now_ms.saturating_sub(at_ms) >= millis(span)
}

/// `span`, shortened or prolonged by up to `share` of it, always the same for a user: users that
/// began together spread.
fn jittered(span: Duration, user: &str, share: f64) -> Duration {
    span.mul_f64(1.0 + share * (2.0 * fraction(user) - 1.0))
}

/// A number of 0 … 1 from a name.
fn fraction(name: &str) -> f64 {
    let hash = Sha1::digest(name.as_bytes());
    f64::from(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])) / f64::from(u32::MAX)
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The times at which scheduled work may be done: the minutes that a cron expression matches.
#[derive(Clone, Debug)]
pub struct OffPeak {
    text: String,
    cron: Cron,
    zone: TimeZone,
}

impl OffPeak {
    /// Reads `MINUTE HOUR DAY MONTH WEEKDAY [ZONE]`; without a zone, UTC.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = |why: String| {
            format!(
                "{why}; expected MINUTE HOUR DAY MONTH WEEKDAY [ZONE], such as `* 1-5 * * * Europe/Berlin`"
            )
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (fields, zone) = match words.as_slice() {
            fields @ [_, _, _, _, _] => (fields, TimeZone::UTC),
            [fields @ .., zone] if fields.len() == 5 => {
                let zone = TimeZone::get(zone).map_err(|error| expected(error.to_string()))?;
                (fields, zone)
            }
            _ => return Err(expected(format!("{} fields", words.len()))),
        };
        let cron = fields
            .join(" ")
            .parse()
            .map_err(|error: CronError| expected(error.to_string()))?;
        Ok(Self {
            text: words.join(" "),
            cron,
            zone,
        })
    }

    /// Whether scheduled work may be done at `now`.
    pub fn contains(&self, now: Timestamp) -> bool {
        let wall = Wall(self.zone.to_datetime(now));
        self.cron.is_time_matching(&wall).unwrap_or(false)
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What the clock on the wall shows, to the minute: croner's view of it. Nothing is searched for, so
/// the steps between zones are of no account.
#[derive(Clone)]
struct Wall(civil::DateTime);

impl CronDateTime for Wall {
    fn to_civil(&self) -> CivilDateTime {
        let number = |part: i8| part.unsigned_abs().into();
        let at = self.0;
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(at.year().into(), number(at.month()), number(at.day())),
            CivilTime::from_parts_unchecked(number(at.hour()), number(at.minute()), 0),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        let day = self.0.weekday().to_sunday_zero_offset();
        Weekday::from_days_from_sunday(day.unsigned_abs().into())
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let wall = civil == self.to_civil();
        Ok(if wall {
            Resolution::Single(self.clone())
        } else {
            Resolution::Gap
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        let span = jiff::SignedDuration::from_secs(seconds);
        self.0.checked_add(span).ok().map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = 60_000;
    const NOW: i64 = 1_800_000_000_000;

    fn rules() -> Rules {
        Rules {
            period: Duration::from_secs(600),
            full_every: Duration::from_secs(86_400),
            after_new: Some(20),
            backoff: Duration::from_secs(60),
            backoff_most: Duration::from_secs(3600),
        }
    }

    fn probe(count: u64) -> Probe {
        Probe {
            count,
            digest: 2026,
        }
    }

    /// A user that was read a minute ago.
    fn quiet() -> UserState {
        UserState {
            probe: Some(probe(5)),
            run_at_ms: NOW - MINUTE,
            full_at_ms: NOW - MINUTE,
            ..UserState::default()
        }
    }

    fn due(state: &UserState, probe: &Probe, now: i64) -> Option<Cause> {
        rules().due("alice", Some(state), probe, now)
    }

    #[test]
    fn an_unknown_user_is_due_and_a_quiet_one_is_not() {
        assert_eq!(rules().due("alice", None, &probe(1), NOW), Some(Cause::New));
        assert_eq!(due(&quiet(), &probe(5), NOW), None);
        assert_eq!(due(&quiet(), &probe(5), NOW + 700 * MINUTE), None);
    }

    #[test]
    fn a_user_that_is_written_to_waits_for_its_period_unless_much_is_new() {
        assert_eq!(due(&quiet(), &probe(6), NOW), None);
        assert_eq!(due(&quiet(), &probe(6), NOW + 8 * MINUTE), None);
        assert_eq!(
            due(&quiet(), &probe(6), NOW + 11 * MINUTE),
            Some(Cause::Changed)
        );
        assert_eq!(due(&quiet(), &probe(24), NOW), None);
        assert_eq!(due(&quiet(), &probe(25), NOW), Some(Cause::Count));
        // Fewer memories are a change too, but nothing new.
        assert_eq!(due(&quiet(), &probe(4), NOW), None);
    }

    #[test]
    fn a_write_that_is_told_of_counts_once_the_period_is_over() {
        let written = |state: Option<&UserState>, now| rules().written("alice", state, now);
        assert_eq!(written(None, NOW), Some(Cause::New));
        assert_eq!(written(Some(&quiet()), NOW), None);
        let later = NOW + 11 * MINUTE;
        assert_eq!(written(Some(&quiet()), later), Some(Cause::Changed));
        let failed = UserState {
            not_before_ms: later + MINUTE,
            ..quiet()
        };
        assert_eq!(written(Some(&failed), later), None);
    }

    #[test]
    fn what_the_probe_cannot_see_is_read_in_full_once_a_day() {
        let day = 24 * 60 * MINUTE;
        assert_eq!(due(&quiet(), &probe(5), NOW + day * 8 / 10), None);
        assert_eq!(
            due(&quiet(), &probe(5), NOW + day * 12 / 10),
            Some(Cause::Full)
        );
    }

    #[test]
    fn failures_wait_longer_each_time_and_an_hour_at_most() {
        let waits: Vec<i64> = (1..=12)
            .map(|failures| rules().not_before("alice", failures, NOW) - NOW)
            .collect();
        assert!(waits.is_sorted(), "{waits:?}");
        assert!((48_000..=72_000).contains(&waits[0]), "{waits:?}");
        assert!(waits[11] <= 72 * MINUTE, "{waits:?}");
        let failed = UserState {
            open: true,
            failures: 2,
            not_before_ms: NOW + MINUTE,
            ..quiet()
        };
        // Not even if it is written to meanwhile.
        assert_eq!(due(&failed, &probe(50), NOW), None);
        assert_eq!(due(&failed, &probe(5), NOW + MINUTE), Some(Cause::Retry));
    }

    #[test]
    fn a_clock_that_was_set_back_holds_up_nobody() {
        let ahead = UserState {
            run_at_ms: NOW + 365 * 24 * 60 * MINUTE,
            full_at_ms: NOW + 365 * 24 * 60 * MINUTE,
            ..quiet()
        };
        assert_eq!(due(&ahead, &probe(6), NOW), Some(Cause::Changed));
        // What is asked for afterwards still has the time from before.
        assert!(!rules().came_by(&ahead, ahead.run_at_ms - 1, NOW));
        assert!(rules().came_by(&quiet(), NOW - 2 * MINUTE, NOW));
        assert!(!rules().came_by(&quiet(), NOW, NOW));
        let failed = UserState {
            open: true,
            not_before_ms: NOW + 365 * 24 * 60 * MINUTE,
            ..quiet()
        };
        assert_eq!(due(&failed, &probe(5), NOW), Some(Cause::Retry));
    }

    #[test]
    fn off_peak_is_by_the_zones_own_clock() {
        let night = OffPeak::parse("* 1-5 * * * Europe/Berlin").unwrap();
        let at = |text: &str| night.contains(text.parse().unwrap());
        assert!(at("2026-01-10T00:00:30Z") && at("2026-01-10T04:59:59Z"));
        assert!(!at("2026-01-10T05:00:00Z") && !at("2026-01-09T23:59:59Z"));
        // Summer time.
        assert!(at("2026-07-09T23:00:00Z") && !at("2026-07-10T04:00:00Z"));
        // The hour that is there twice.
        assert!(at("2026-10-25T00:30:00Z") && at("2026-10-25T01:30:00Z"));
        let weekend = OffPeak::parse("* * * * SAT,SUN").unwrap();
        assert!(weekend.contains("2026-01-10T12:00:00Z".parse().unwrap()));
        assert!(!weekend.contains("2026-01-12T12:00:00Z".parse().unwrap()));
        for wrong in ["", "* 1-5 * *", "* 25 * * *", "* * * * * Mars/Olympus"] {
            assert!(OffPeak::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn causes_are_known_by_their_names() {
        for name in [
            "new", "changed", "count", "full", "retry", "request", "failures",
        ] {
            assert_eq!(Cause::of_name(name).map(Cause::name), Some(name));
        }
        assert_eq!(Cause::of_name("whim"), None);
    }

    proptest! {
        /// Whatever a record says, a user is looked at again within a day and a tenth, or within
        /// the longest back-off.
        #[test]
        fn nobody_is_forgotten(
            run_at in any::<i64>(), full_at in any::<i64>(), not_before in any::<i64>(),
            open: bool, count in 0u64..50, user in ".{0,8}",
        ) {
            let state = UserState {
                run_at_ms: run_at, full_at_ms: full_at, not_before_ms: not_before, open, ..quiet()
            };
            let ever = (0..=50i64).any(|hour| {
                rules().due(&user, Some(&state), &probe(count), NOW + hour * 60 * MINUTE).is_some()
            });
            prop_assert!(ever);
        }
    }
}
