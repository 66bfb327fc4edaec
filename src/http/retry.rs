//! When to ask again, and for how long.

use std::time::{Duration, Instant};

use jiff::{Timestamp, fmt::rfc2822};

use super::HttpError;

/// The first wait is doubled at most this often, so that no single wait passes half a minute or so.
const MAX_DOUBLINGS: u32 = 6;

/// How long and how often one question is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Longest time for one attempt, from connecting to the last byte of the answer.
    pub(crate) timeout: Duration,
    /// Attempts at most, the first included.
    pub(crate) max_attempts: u32,
    /// Longest time for all attempts and waits together.
    pub(crate) total_time: Duration,
    /// The wait after the first failed attempt; it doubles with each further one.
    pub(crate) backoff: Duration,
    /// Draws a number of 0 … 1 that shortens a wait by up to half.
    pub(crate) jitter: fn() -> f64,
}

/// The attempts made for one question.
#[derive(Debug)]
pub(crate) struct Attempts {
    patience: Patience,
    started: Instant,
    made: u32,
}

impl Attempts {
    pub(crate) fn new(patience: Patience) -> Self {
        Self {
            patience,
            started: Instant::now(),
            made: 0,
        }
    }

    /// How long the next attempt may take.
    ///
    /// # Errors
    /// [`HttpError::Timeout`] if no time is left.
    pub(crate) fn timeout(&self) -> Result<Duration, HttpError> {
        match self.left() {
            Duration::ZERO => Err(HttpError::Timeout {
                after: self.patience.total_time,
            }),
            left => Ok(self.patience.timeout.min(left)),
        }
    }

    /// Waits until it is time for the next attempt; `asked` is the server's own wish.
    ///
    /// # Errors
    /// `error`, which ended the last attempt, if there is to be no other.
    pub(crate) async fn again(
        &mut self,
        error: HttpError,
        asked: Option<Duration>,
    ) -> Result<(), HttpError> {
        self.made += 1;
        let Patience {
            backoff, jitter, ..
        } = self.patience;
        let wait = wait(backoff, self.made, jitter(), asked);
        if self.made >= self.patience.max_attempts || wait >= self.left() {
            return Err(error);
        }
        tracing::debug!(%error, attempt = self.made, wait_ms = wait.as_millis(), "asking a server again");
        tokio::time::sleep(wait).await;
        Ok(())
    }

    fn left(&self) -> Duration {
        self.patience
            .total_time
            .saturating_sub(self.started.elapsed())
    }
}

/// How long to wait before the next attempt.
///
/// `base` doubles with every attempt made (`attempt` counts from 1), and `jitter` (0 … 1) takes away
/// up to half of it, so that many clients do not return together. A server's own wish (`asked`)
/// can only lengthen the wait.
fn wait(base: Duration, attempt: u32, jitter: f64, asked: Option<Duration>) -> Duration {
    let full = base.saturating_mul(1 << attempt.saturating_sub(1).min(MAX_DOUBLINGS));
    let own = full.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0);
    own.max(asked.unwrap_or_default())
}

/// Reads a `Retry-After` header: seconds, or an HTTP date (counted from `now`; a past one is 0).
pub(super) fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::DateTimeParser::new()
        .parse_timestamp(header)
        .ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(500);

    #[test]
    fn waits_double_and_jitter_only_shortens() {
        let waits: Vec<_> = (1..=4)
            .map(|n| wait(BASE, n, 0.0, None).as_millis())
            .collect();
        assert_eq!(waits, [500, 1000, 2000, 4000]);
        assert_eq!(wait(BASE, 1, 1.0, None).as_millis(), 250);
        assert_eq!(wait(BASE, 40, 0.0, None), wait(BASE, 7, 0.0, None));
    }

    #[test]
    fn the_server_can_only_lengthen_the_wait() {
        assert_eq!(
            wait(BASE, 1, 0.0, Some(Duration::from_secs(7))),
            Duration::from_secs(7)
        );
        assert_eq!(
            wait(BASE, 3, 0.0, Some(Duration::ZERO)),
            Duration::from_secs(2)
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
        let read = |header| retry_after(header, now);
        assert_eq!(read(" 2 "), Some(Duration::from_secs(2)));
        assert_eq!(
            read("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Duration::from_secs(7))
        );
        assert_eq!(read("Sun, 06 Nov 1994 08:49:00 GMT"), Some(Duration::ZERO));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
    }
}
