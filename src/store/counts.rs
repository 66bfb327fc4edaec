//! How many memories there were, day by day: of a user within its state, of a store under a key of
//! its own. For people to look at; nothing depends on it.

use std::time::Duration;

use redis::aio::ConnectionLike;
use serde::{Deserialize, Serialize};

use super::commit::millis;
use super::{NAMESPACE, StoreError};

/// Points that are kept at most.
const POINTS_MOST: usize = 31;

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

/// A day of UTC, in days since the epoch.
pub fn day_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS)
}

/// A count over time: a point, its day and the count, only where the count became another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(Vec<(i64, u64)>);

impl Counts {
    /// Whether nothing was counted yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes the count of a day; the last one of a day stands. Nothing changes while the count does
    /// not.
    pub fn note(&mut self, day: i64, count: u64) {
        if self.0.last().is_some_and(|(_, last)| *last == count) {
            return;
        }
        // Also what a clock that ran ahead has left.
        self.0.retain(|(noted, _)| *noted < day);
        if self.0.last().is_none_or(|(_, last)| *last != count) {
            self.0.push((day, count));
        }
        let surplus = self.0.len().saturating_sub(POINTS_MOST);
        self.0.drain(..surplus);
    }

    /// The count at the end of a day; `None` before the first point.
    pub fn on(&self, day: i64) -> Option<u64> {
        let until = self.0.partition_point(|(noted, _)| *noted <= day);
        until.checked_sub(1).map(|at| self.0[at].1)
    }
}

/// The counts of a store: its users, and all their memories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreCounts {
    /// The users that the index names.
    pub users: Counts,
    /// Their memories.
    pub memories: Counts,
}

fn key(store: &str) -> String {
    format!("{NAMESPACE}counts:{store}")
}

/// The counts of a store, by its name (layout and index); none where they cannot be understood.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn store_counts(
    con: &mut impl ConnectionLike,
    store: &str,
) -> Result<StoreCounts, StoreError> {
    let mut get = redis::cmd("GET");
    let text: Option<String> = get.arg(key(store)).query_async(con).await?;
    let read = |text: String| serde_json::from_str(&text).ok();
    Ok(text.and_then(read).unwrap_or_default())
}

/// Notes how many users and memories a store has on a day, and keeps that for `keep`. By one worker
/// at a time.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn note_store_counts(
    con: &mut impl ConnectionLike,
    store: &str,
    day: i64,
    (users, memories): (u64, u64),
    keep: Duration,
) -> Result<(), StoreError> {
    let mut counts = store_counts(con, store).await?;
    counts.users.note(day, users);
    counts.memories.note(day, memories);
    let text = serde_json::to_string(&counts).map_err(StoreError::protocol)?;
    let mut set = redis::cmd("SET");
    set.arg(key(store)).arg(text);
    set.arg("PX").arg(millis(keep).max(1));
    Ok(set.exec_async(con).await?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_point_stands_where_the_count_became_another_one() {
        let mut counts = Counts::default();
        assert_eq!(counts.on(7), None);
        for (day, count) in [(3, 5), (4, 5), (6, 9), (6, 4), (9, 4)] {
            counts.note(day, count);
        }
        assert_eq!(counts, Counts(vec![(3, 5), (6, 4)]));
        let on: Vec<Option<u64>> = (2..8).map(|day| counts.on(day)).collect();
        assert_eq!(on, [None, Some(5), Some(5), Some(5), Some(4), Some(4)]);
        // Back on the same day to what it was the day before.
        counts.note(6, 5);
        assert_eq!(counts, Counts(vec![(3, 5)]));
        assert_eq!(serde_json::to_string(&counts).unwrap(), "[[3,5]]");
    }

    #[test]
    fn days_are_those_of_utc() {
        assert_eq!((day_of(0), day_of(DAY_MS - 1), day_of(DAY_MS)), (0, 0, 1));
        assert_eq!(day_of(-1), -1);
    }

    proptest! {
        #[test]
        fn counts_stay_small_and_in_order(noted in prop::collection::vec((0_i64..90, 0_u64..4), 0..300)) {
            let mut counts = Counts::default();
            for (day, count) in noted {
                counts.note(day, count);
                prop_assert!(counts.0.len() <= POINTS_MOST);
                prop_assert!(counts.0.is_sorted_by(|a, b| a.0 < b.0 && a.1 != b.1));
                prop_assert_eq!(counts.0.last().map(|(_, count)| *count), Some(count));
            }
        }
    }
}
