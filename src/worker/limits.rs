//! How much one run may do. Pure.

use std::time::Duration;

/// Groups that the first run puts to the LLM.
const FIRST_BATCH: usize = 20;
const LEAST_BATCH: usize = 5;
const LARGEST_BATCH: usize = 50;
/// Answers over which the error rate is taken.
const WINDOW: usize = 20;

/// How many groups a run puts to the LLM: fewer where many of its answers fail, more where none do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    size: usize,
    asked: usize,
    failed: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            size: FIRST_BATCH,
            asked: 0,
            failed: 0,
        }
    }
}

impl Batch {
    /// Groups that the next run may ask about.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Learns from a run that asked about `asked` groups, of which `failed` got no usable answer.
    pub fn ended(&mut self, asked: usize, failed: usize) {
        self.asked += asked;
        self.failed += failed.min(asked);
        if self.asked < WINDOW.min(self.size) {
            return;
        }
        let rate = self.failed as f64 / self.asked as f64;
        if rate > 0.1 {
            self.size = LEAST_BATCH.max(self.size / 2);
        } else if rate < 0.02 {
            self.size = LARGEST_BATCH.min(self.size + 5);
        }
        (self.asked, self.failed) = (0, 0);
    }
}

/// The guard against mass deletion: how many memories all workers together may retire in a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MassGuard {
    /// A share of all memories, in percent.
    pub percent: u8,
    /// Fewer than this never trip it.
    pub least: u64,
}

impl MassGuard {
    /// The number that trips it, for an index that held so many documents.
    pub fn limit(&self, documents: u64) -> u64 {
        self.least.max(
            documents / 100 * u64::from(self.percent)
                + documents % 100 * u64::from(self.percent) / 100,
        )
    }
}

/// Lets a line of a kind pass once a minute; the others are counted. One poison record would fill
/// the log otherwise.
#[derive(Debug, Default)]
pub struct Flood {
    kinds: std::collections::BTreeMap<String, (i64, u64)>,
}

impl Flood {
    const EVERY: Duration = Duration::from_secs(60);
    const KINDS: usize = 100;

    /// How many lines of this kind were held back since the last, if one may pass at `now_ms`.
    pub fn passes(&mut self, kind: &str, now_ms: i64) -> Option<u64> {
        let every = Self::EVERY.as_millis() as i64;
        if self.kinds.len() >= Self::KINDS {
            self.kinds.retain(|_, (at, _)| (now_ms - *at).abs() < every);
        }
        let full = self.kinds.len() >= Self::KINDS;
        match self.kinds.get_mut(kind) {
            Some((at, held)) if (now_ms - *at).abs() < every => {
                *held += 1;
                None
            }
            Some((at, held)) => {
                *at = now_ms;
                Some(std::mem::take(held))
            }
            None if full => None,
            None => {
                self.kinds.insert(kind.to_owned(), (now_ms, 0));
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_batch_halves_on_errors_and_grows_by_five() {
        let mut batch = Batch::default();
        assert_eq!(batch.size(), 20);
        batch.ended(20, 3);
        assert_eq!(batch.size(), 10);
        batch.ended(10, 10);
        assert_eq!(batch.size(), 5);
        batch.ended(5, 5);
        assert_eq!(batch.size(), 5);
        batch.ended(5, 0);
        assert_eq!(batch.size(), 10);
        // 0.05 is neither.
        batch.ended(20, 1);
        assert_eq!(batch.size(), 10);
    }

    #[test]
    fn few_answers_are_gathered_first() {
        let mut batch = Batch::default();
        for _ in 0..19 {
            batch.ended(1, 0);
            assert_eq!(batch.size(), 20);
        }
        batch.ended(1, 0);
        assert_eq!(batch.size(), 25);
    }

    proptest! {
        #[test]
        fn the_batch_stays_in_its_bounds(runs in prop::collection::vec((0usize..100, 0usize..100), 0..50)) {
            let mut batch = Batch::default();
            for (asked, failed) in runs {
                batch.ended(asked, failed);
                prop_assert!((LEAST_BATCH..=LARGEST_BATCH).contains(&batch.size()));
            }
        }
    }

    #[test]
    fn the_mass_guard_lets_small_stores_be() {
        let guard = MassGuard {
            percent: 50,
            least: 1000,
        };
        assert_eq!(guard.limit(0), 1000);
        assert_eq!(guard.limit(1_999), 1000);
        assert_eq!(guard.limit(4_001), 2000);
        assert_eq!(guard.limit(u64::MAX / 100), u64::MAX / 200);
    }

    #[test]
    fn a_kind_of_line_passes_once_a_minute() {
        let mut flood = Flood::default();
        assert_eq!(flood.passes("a", 0), Some(0));
        assert_eq!(flood.passes("a", 59_999), None);
        assert_eq!(flood.passes("b", 59_999), Some(0));
        assert_eq!(flood.passes("a", 60_000), Some(1));
        for i in 0..1000 {
            flood.passes(&i.to_string(), 60_000);
        }
        assert!(flood.kinds.len() <= Flood::KINDS);
    }
}
