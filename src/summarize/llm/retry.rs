//! When to ask again: the waits between attempts, as pure functions of what is passed in.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};

/// The first wait is doubled at most this often, so that no single wait passes half a minute or so.
const MAX_DOUBLINGS: u32 = 6;

/// How long to wait before the next attempt.
///
/// `base` doubles with every attempt made (`attempt` counts from 1), and `jitter` (0 … 1) takes away
/// up to half of it, so that many clients do not return together. A server's own wish (`asked`)
/// can only lengthen the wait.
pub(super) fn wait(base: Duration, attempt: u32, jitter: f64, asked: Option<Duration>) -> Duration {
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
