//! What was done on each of the last days.

use std::collections::HashMap;
use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::Serialize;

use super::problem::Problem;
use crate::merge::Pipeline;
use crate::store::fleet::{RunEntry, runs};
use crate::store::{Counts, Entry, Event, StoreCounts, day_of, history, store_counts, store_name};
use crate::worker::user_hash;

/// Days that are looked at.
pub(super) const DAYS: usize = 30;
/// Entries that are looked at.
const ENTRIES_MOST: usize = 20_000;
const RUNS_MOST: usize = 1000;

/// One day, of UTC.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Day {
    pub(super) day: Date,
    /// Merges made.
    pub(super) merged: u64,
    /// Merges undone.
    pub(super) undone: u64,
    /// Memories that are fewer by the merges made, those undone since not counted back.
    pub(super) saved: u64,
    /// Runs that did something, and how many of them failed.
    pub(super) runs: u64,
    pub(super) failed: u64,
    pub(super) llm_calls: u64,
    pub(super) llm_tokens: u64,
    /// Users and memories at its end, from the first day on which a worker counted them.
    pub(super) users: Option<u64>,
    pub(super) memories: Option<u64>,
}

/// The last days, oldest first.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Trends {
    pub(super) days: Vec<Day>,
    /// The same days, counted from the epoch.
    #[serde(skip)]
    numbers: Range<i64>,
    /// Memories that each user has fewer, by the same days; by the user's id.
    #[serde(skip)]
    pub(super) saved_by_user: HashMap<String, Vec<u64>>,
}

impl Trends {
    pub(super) async fn read(pipeline: &Pipeline) -> Result<Self, Problem> {
        let mut conn = pipeline.conn.clone();
        let entries = history(&mut conn, None, ENTRIES_MOST).await?;
        let runs = runs(&mut conn, RUNS_MOST).await?;
        let store = store_name(pipeline.layout.name(), &pipeline.index.name);
        let counts = store_counts(&mut conn, &store).await?;
        Ok(Self::of(
            &entries,
            &runs,
            &counts,
            pipeline.stations.clock.now(),
        ))
    }

    fn of(entries: &[Entry], runs: &[RunEntry], counts: &StoreCounts, now: Timestamp) -> Self {
        let today = date(now);
        let first = today.saturating_sub((DAYS as i64 - 1).days());
        let numbers = numbers(now);
        let mut days: Vec<Day> = (0i32..)
            .zip(numbers.clone())
            .map(|(i, number)| Day {
                day: first.saturating_add(i64::from(i).days()),
                merged: 0,
                undone: 0,
                saved: 0,
                runs: 0,
                failed: 0,
                llm_calls: 0,
                llm_tokens: 0,
                users: counts.users.on(number),
                memories: counts.memories.on(number),
            })
            .collect();
        let place = |at_ms: i64| {
            let day = date(Timestamp::from_millisecond(at_ms).ok()?);
            let since = (day - first).get_days();
            usize::try_from(since).ok().filter(|i| *i < DAYS)
        };
        let mut saved_by_user: HashMap<String, Vec<u64>> = HashMap::new();
        for entry in entries {
            let Some(i) = place(entry.at_ms) else {
                continue;
            };
            match entry.event {
                Event::Merged => {
                    let saved = entry.retired.saturating_sub(1) as u64;
                    days[i].merged += 1;
                    days[i].saved += saved;
                    let of_user = saved_by_user.entry(user_hash(&entry.user));
                    of_user.or_insert_with(|| vec![0; DAYS])[i] += saved;
                }
                Event::Undone => days[i].undone += 1,
                Event::Vetoed => {}
            }
        }
        for run in runs {
            let Some(i) = place(run.at_ms) else {
                continue;
            };
            days[i].runs += 1;
            days[i].failed += u64::from(run.error.is_some());
            days[i].llm_calls += run.llm_calls;
            days[i].llm_tokens += run.llm_tokens;
        }
        Self {
            days,
            numbers,
            saved_by_user,
        }
    }

    /// A user's memories at the end of each day, as far as they were counted; today as they are now.
    pub(super) fn memories(&self, counts: &Counts, now: u64) -> Vec<Option<u64>> {
        let days = self.numbers.clone().map(|number| counts.on(number));
        let mut days: Vec<Option<u64>> = days.collect();
        if let Some(today) = days.last_mut() {
            *today = Some(now);
        }
        days
    }

    /// The sum of a figure over the days.
    pub(super) fn sum(&self, of: impl Fn(&Day) -> u64) -> u64 {
        self.days.iter().map(of).sum()
    }
}

/// The days up to now, counted from the epoch.
fn numbers(now: Timestamp) -> Range<i64> {
    let today = day_of(now.as_millisecond());
    today + 1 - DAYS as i64..today + 1
}

fn date(at: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(at).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_counts_on_its_day() {
        let now: Timestamp = "2026-03-01T00:30:00Z".parse().unwrap();
        let ms = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let entry = |event, at: &str, retired| Entry {
            merge_id: "01M".into(),
            event,
            user: "alice".into(),
            run_id: "01R".into(),
            at_ms: ms(at),
            retired,
            reason: None,
        };
        let entries = [
            entry(Event::Undone, "2026-03-01T00:10:00Z", 3),
            entry(Event::Merged, "2026-02-28T23:59:59Z", 3),
            entry(Event::Merged, "2026-01-31T00:00:00Z", 2),
            entry(Event::Merged, "2026-01-30T23:59:59Z", 9),
            entry(Event::Merged, "2026-03-02T00:00:00Z", 9),
        ];
        let run = RunEntry {
            at_ms: ms("2026-02-28T12:00:00Z"),
            llm_calls: 2,
            llm_tokens: 900,
            error: Some("x".into()),
            ..RunEntry::default()
        };
        let mut counts = StoreCounts::default();
        let day = |text: &str| day_of(ms(text));
        counts.users.note(day("2026-01-01T00:00:00Z"), 2);
        counts.memories.note(day("2026-02-28T12:00:00Z"), 61);
        let trends = Trends::of(&entries, &[run], &counts, now);
        assert_eq!(trends.days.len(), DAYS);
        assert_eq!(trends.days[0].day.to_string(), "2026-01-31");
        assert_eq!((trends.days[0].merged, trends.days[0].saved), (1, 1));
        let yesterday = &trends.days[DAYS - 2];
        assert_eq!((yesterday.merged, yesterday.saved), (1, 2));
        assert_eq!((yesterday.runs, yesterday.failed), (1, 1));
        assert_eq!((yesterday.llm_calls, yesterday.llm_tokens), (2, 900));
        assert_eq!(trends.days[DAYS - 1].undone, 1);
        assert_eq!(trends.sum(|day| day.merged), 2);
        assert_eq!(
            (trends.days[0].users, trends.days[0].memories),
            (Some(2), None)
        );
        assert_eq!(yesterday.memories, Some(61));
        assert_eq!(trends.days[DAYS - 1].memories, Some(61));
        let of_user = trends.memories(&counts.memories, 58);
        assert_eq!(of_user[DAYS - 3..], [None, Some(61), Some(58)]);
        assert_eq!(trends.saved_by_user[&user_hash("alice")][DAYS - 2], 2);
    }
}
