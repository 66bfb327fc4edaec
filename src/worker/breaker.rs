//! The circuit breaker before the LLM: after an outage nobody asks it for a while, then one run
//! tries. Pure: the time is passed in, in ms on any clock.

use std::time::Duration;

/// What the breaker says of the LLM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerState {
    /// It answers.
    Closed,
    /// One run tries whether it answers again.
    HalfOpen,
    /// It is not asked.
    Open,
}

impl BreakerState {
    /// The stable name, such as `half-open`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half-open",
            Self::Open => "open",
        }
    }
}

/// Whether a run may ask the LLM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// As much as it needs.
    Free,
    /// A little, to find out.
    Trial,
    /// Not before this time (ms).
    Closed {
        /// When to try again.
        until_ms: i64,
    },
}

/// How a run got on with the LLM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It answered.
    Answered,
    /// It could not be used any more.
    Outage,
    /// It gave no answer to the last question, which may be that question's fault.
    Silent,
    /// It was not asked, or the run's own budget ended.
    Unknown,
}

/// So many runs in a row whose last question got no answer are an outage.
const SILENT_RUNS: u32 = 3;

/// The breaker of one process. Outages are for the LLM as a whole: single failed calls are the
/// business of the client.
#[derive(Clone, Debug)]
pub struct Breaker {
    first: Duration,
    longest: Duration,
    outages: u32,
    until_ms: i64,
    silent: u32,
    /// When the trial under way began.
    trial: Option<i64>,
}

impl Breaker {
    /// A closed breaker that opens for `first` after an outage, for twice that after the next, and
    /// for `longest` at most.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            outages: 0,
            until_ms: 0,
            silent: 0,
            trial: None,
        }
    }

    /// Asks for a run that begins at `now_ms`; each permit but a closed one is followed by
    /// [`Breaker::ended`].
    pub fn permit(&mut self, now_ms: i64) -> Permit {
        if self.outages == 0 {
            return Permit::Free;
        }
        // After a jump of the clock the wait would not end.
        let longest = now_ms.saturating_add(millis(self.longest));
        self.until_ms = self.until_ms.min(longest);
        // One that never ended was abandoned with its session.
        let age = |began: i64| now_ms.saturating_sub(began).abs();
        let trial = self
            .trial
            .is_some_and(|began| age(began) < millis(self.longest));
        if now_ms < self.until_ms || trial {
            let until_ms = self.until_ms.max(now_ms.saturating_add(millis(self.first)));
            return Permit::Closed { until_ms };
        }
        self.trial = Some(now_ms);
        Permit::Trial
    }

    /// Tells how the run with `permit` ended.
    pub fn ended(&mut self, permit: Permit, outcome: Outcome, now_ms: i64) {
        if permit == Permit::Trial {
            self.trial = None;
        }
        self.silent = match outcome {
            Outcome::Answered => 0,
            Outcome::Silent => self.silent + 1,
            Outcome::Outage | Outcome::Unknown => self.silent,
        };
        let outcome = match outcome {
            Outcome::Silent if permit == Permit::Trial || self.silent >= SILENT_RUNS => {
                Outcome::Outage
            }
            outcome => outcome,
        };
        match outcome {
            // A run from before the outage proves nothing.
            Outcome::Answered if self.outages == 0 || permit == Permit::Trial => self.outages = 0,
            // Runs that were under way when it broke down count as one outage.
            Outcome::Outage if permit == Permit::Trial || self.outages == 0 => {
                let open = self.first.saturating_mul(1 << self.outages.min(16));
                self.outages += 1;
                self.until_ms = now_ms.saturating_add(millis(open.min(self.longest)));
            }
            _ => {}
        }
    }

    /// Its state at `now_ms`.
    pub fn state(&self, now_ms: i64) -> BreakerState {
        match self.outages {
            0 => BreakerState::Closed,
            _ if self.trial.is_some() || now_ms >= self.until_ms => BreakerState::HalfOpen,
            _ => BreakerState::Open,
        }
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1000;

    fn breaker() -> Breaker {
        Breaker::new(Duration::from_secs(30), Duration::from_secs(600))
    }

    #[test]
    fn an_outage_opens_it_and_one_good_trial_closes_it() {
        let mut breaker = breaker();
        let permit = breaker.permit(0);
        assert_eq!(permit, Permit::Free);
        breaker.ended(permit, Outcome::Outage, 0);
        assert_eq!(breaker.state(0), BreakerState::Open);
        assert!(matches!(breaker.permit(29 * SECOND), Permit::Closed { .. }));
        assert_eq!(breaker.permit(30 * SECOND), Permit::Trial);
        assert_eq!(breaker.state(30 * SECOND), BreakerState::HalfOpen);
        // One at a time.
        assert!(matches!(breaker.permit(31 * SECOND), Permit::Closed { .. }));
        breaker.ended(Permit::Trial, Outcome::Answered, 32 * SECOND);
        assert_eq!(breaker.permit(32 * SECOND), Permit::Free);
    }

    #[test]
    fn failed_trials_wait_longer_up_to_a_bound() {
        let mut breaker = breaker();
        breaker.ended(Permit::Free, Outcome::Outage, 0);
        let (mut now, mut waits) = (0, Vec::new());
        for _ in 0..8 {
            let began = now;
            while breaker.permit(now) != Permit::Trial {
                now += SECOND;
            }
            waits.push((now - began) / SECOND);
            breaker.ended(Permit::Trial, Outcome::Outage, now);
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600, 600]);
    }

    #[test]
    fn runs_that_were_under_way_count_once_and_prove_nothing() {
        let mut breaker = breaker();
        for _ in 0..3 {
            breaker.ended(Permit::Free, Outcome::Outage, 0);
        }
        breaker.ended(Permit::Free, Outcome::Answered, SECOND);
        assert_eq!(breaker.state(SECOND), BreakerState::Open);
        assert_eq!(breaker.permit(30 * SECOND), Permit::Trial);
        // A trial that asked nothing leaves the next one to try.
        breaker.ended(Permit::Trial, Outcome::Unknown, 30 * SECOND);
        assert_eq!(breaker.permit(30 * SECOND), Permit::Trial);
    }

    #[test]
    fn a_server_that_says_nothing_run_after_run_is_away() {
        let mut breaker = breaker();
        breaker.ended(Permit::Free, Outcome::Silent, 0);
        breaker.ended(Permit::Free, Outcome::Silent, 0);
        // One answer, and it was those questions' fault.
        breaker.ended(Permit::Free, Outcome::Answered, 0);
        breaker.ended(Permit::Free, Outcome::Silent, 0);
        breaker.ended(Permit::Free, Outcome::Silent, 0);
        assert_eq!(breaker.state(0), BreakerState::Closed);
        breaker.ended(Permit::Free, Outcome::Silent, 0);
        assert_eq!(breaker.state(0), BreakerState::Open);
        assert_eq!(breaker.permit(30 * SECOND), Permit::Trial);
        breaker.ended(Permit::Trial, Outcome::Silent, 30 * SECOND);
        assert_eq!(breaker.state(31 * SECOND), BreakerState::Open);
    }

    #[test]
    fn a_trial_that_never_ends_is_forgotten() {
        let mut breaker = breaker();
        breaker.ended(Permit::Free, Outcome::Outage, 0);
        assert_eq!(breaker.permit(30 * SECOND), Permit::Trial);
        assert!(matches!(
            breaker.permit(600 * SECOND),
            Permit::Closed { .. }
        ));
        assert_eq!(breaker.permit(630 * SECOND), Permit::Trial);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_keep_it_open() {
        let mut breaker = breaker();
        let later = 1_000_000 * SECOND;
        breaker.ended(Permit::Free, Outcome::Outage, later);
        assert!(matches!(breaker.permit(0), Permit::Closed { .. }));
        assert_eq!(breaker.permit(600 * SECOND), Permit::Trial);
    }
}
