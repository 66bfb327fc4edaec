//! Time and fresh ids, passed in so that the pipeline can be run twice with the same outcome.

use jiff::Timestamp;

/// Where the pipeline takes the time and new ids from.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// A new ULID, never given before.
    fn id(&self) -> String;
}

/// The machine's clock and random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn id(&self) -> String {
        ulid::Ulid::generate().to_string()
    }
}
