//! How long a worker waits for a store in trouble. Pure: the time is passed in, and it is that of a
//! clock that nobody sets.

use std::time::{Duration, Instant};

use crate::store::Trouble;

/// The wait in force: longer each time, each kind of trouble by its own measure.
#[derive(Debug, Default)]
pub struct Hold {
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    trouble: Option<Trouble>,
    why: String,
    times: u32,
    wait: Duration,
    until: Instant,
}

/// The first wait and the longest. `None` = something else that was to be opened, such as a model.
fn waits(trouble: Option<Trouble>) -> (Duration, Duration) {
    let (first_ms, longest_s) = match trouble {
        Some(Trouble::Connection | Trouble::Timeout | Trouble::ReadOnly) => (500, 30),
        // Both end soon, and nobody is disturbed by the question.
        Some(Trouble::Loading | Trouble::Indexing) => (1000, 10),
        Some(Trouble::OutOfMemory | Trouble::WritesRefused | Trouble::NoIndex) => (1000, 60),
        // Somebody has to do something.
        Some(Trouble::Credentials | Trouble::NoPermission | Trouble::Unfit) => (5000, 300),
        None => (1000, 60),
    };
    (
        Duration::from_millis(first_ms),
        Duration::from_secs(longest_s),
    )
}

impl Hold {
    /// Begins a wait at `now`, unless one for this kind of trouble is in force; gives what is left
    /// of it. `spread` of 0 … 1 shortens it by up to a half, so that workers do not come back all at
    /// once.
    pub fn begin(
        &mut self,
        trouble: Option<Trouble>,
        why: &str,
        now: Instant,
        spread: f64,
    ) -> Duration {
        let (first, longest) = waits(trouble);
        let times = match &self.last {
            // It went well for as long as the wait was.
            Some(last) if last.trouble != trouble || now > last.until + last.wait => 0,
            Some(last) if now < last.until => return last.until - now,
            Some(last) => last.times + 1,
            None => 0,
        };
        let wait = first.saturating_mul(1 << times.min(16)).min(longest);
        let wait = wait.mul_f64(1.0 - spread / 2.0);
        self.last = Some(Last {
            trouble,
            why: why.to_owned(),
            times,
            wait,
            until: now + wait,
        });
        wait
    }

    /// Why is waited at `now`; `None` = no wait is in force.
    pub fn why(&self, now: Instant) -> Option<&str> {
        self.in_force(now).map(|last| last.why.as_str())
    }

    /// The trouble that is waited for at `now`, if it is one of the store.
    pub fn trouble(&self, now: Instant) -> Option<Trouble> {
        self.in_force(now)?.trouble
    }

    fn in_force(&self, now: Instant) -> Option<&Last> {
        self.last.as_ref().filter(|last| now < last.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_waits_longer_each_time_by_its_own_measure() {
        let start = Instant::now();
        let waits = |trouble| {
            let (mut hold, mut now) = (Hold::default(), start);
            let mut waits = Vec::new();
            for _ in 0..9 {
                let wait = hold.begin(trouble, "x", now, 0.0);
                waits.push(wait.as_millis());
                now += wait;
            }
            waits
        };
        assert_eq!(
            waits(Some(Trouble::Connection)),
            [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]
        );
        assert_eq!(waits(Some(Trouble::Indexing))[5], 10_000);
        assert_eq!(waits(Some(Trouble::OutOfMemory))[8], 60_000);
        assert_eq!(waits(Some(Trouble::NoPermission))[8], 300_000);
        for trouble in Trouble::ALL {
            assert!(waits(Some(trouble)).is_sorted(), "{trouble:?}");
        }
    }

    #[test]
    fn runs_that_meet_the_same_trouble_count_once() {
        let (start, mut hold) = (Instant::now(), Hold::default());
        let oom = Some(Trouble::OutOfMemory);
        let wait = hold.begin(oom, "full", start, 0.0);
        let soon = start + wait / 4;
        assert_eq!(hold.begin(oom, "full", soon, 0.0), wait - wait / 4);
        assert_eq!(hold.why(soon), Some("full"));
        assert_eq!(hold.trouble(soon), oom);
        assert_eq!(hold.why(start + wait), None);
    }

    #[test]
    fn another_trouble_and_one_after_a_good_time_begin_anew() {
        let (start, mut hold) = (Instant::now(), Hold::default());
        let mut now = start;
        for _ in 0..5 {
            now += hold.begin(Some(Trouble::Connection), "x", now, 0.0);
        }
        let wait = hold.begin(Some(Trouble::Indexing), "x", now, 0.0);
        assert_eq!(wait, Duration::from_secs(1));
        let later = now + wait * 2 + Duration::from_millis(1);
        assert_eq!(hold.begin(Some(Trouble::Indexing), "x", later, 0.0), wait);
    }

    #[test]
    fn spread_shortens_by_half_at_most() {
        let mut hold = Hold::default();
        let wait = hold.begin(None, "x", Instant::now(), 1.0);
        assert_eq!(wait, Duration::from_millis(500));
    }
}
