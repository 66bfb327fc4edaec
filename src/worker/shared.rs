//! What outlives a session: counts, the breaker, the batch, and what the worker tells of itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::Failure;
use super::Orders;
use super::breaker::Breaker;
use super::hold::Hold;
use super::limits::{Batch, Flood};
use super::metrics::{Metrics, Now};
use crate::store::fleet::{Heartbeat, Running};

/// The LLM is tried again so long after an outage at first …
const BREAKER_FIRST: Duration = Duration::from_secs(30);
/// … and so long at most.
const BREAKER_LONGEST: Duration = Duration::from_secs(600);
/// How often a pause looks whether it is over.
const TICK: Duration = Duration::from_millis(100);

/// What outlives a session of this process.
#[derive(Debug)]
pub struct Shared {
    beat: Mutex<Heartbeat>,
    running: Mutex<BTreeMap<String, Running>>,
    breaker: Mutex<Breaker>,
    batch: Mutex<Batch>,
    flood: Mutex<Flood>,
    hold: Mutex<Hold>,
    ready: AtomicBool,
    halted: AtomicBool,
    began: Instant,
    /// Its numbers.
    pub metrics: Metrics,
}

impl Shared {
    /// For a worker with this id.
    pub fn new(worker: &str) -> Self {
        let beat = Heartbeat {
            worker: worker.to_owned(),
            host: host(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_ms: now_ms(),
            ..Heartbeat::default()
        };
        Self {
            beat: Mutex::new(beat),
            running: Mutex::default(),
            breaker: Mutex::new(Breaker::new(BREAKER_FIRST, BREAKER_LONGEST)),
            batch: Mutex::default(),
            flood: Mutex::default(),
            hold: Mutex::default(),
            ready: AtomicBool::new(false),
            halted: AtomicBool::new(false),
            began: Instant::now(),
            metrics: Metrics::default(),
        }
    }

    /// With other waits after an outage of the LLM.
    #[must_use]
    pub fn with_breaker(self, breaker: Breaker) -> Self {
        Self {
            breaker: Mutex::new(breaker),
            ..self
        }
    }

    /// Time of this process in ms: a clock that nobody sets.
    pub(super) fn clock_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    /// An id for a worker of this process that no other has.
    pub fn fresh_id(unique: &str) -> String {
        let tail = unique
            .get(unique.len().saturating_sub(8)..)
            .unwrap_or(unique);
        format!("{}-{}-{}", host(), std::process::id(), tail)
    }

    /// Its id.
    pub fn worker(&self) -> String {
        lock(&self.beat).worker.clone()
    }

    /// What it tells of itself at this time.
    pub fn heartbeat(&self) -> Heartbeat {
        let mut beat = lock(&self.beat).clone();
        beat.at_ms = now_ms();
        beat.running = lock(&self.running).values().cloned().collect();
        beat.rss_bytes = rss_bytes();
        if beat.breaker.is_some() {
            beat.breaker = Some(self.breaker().state(self.clock_ms()).name().to_owned());
        }
        if let Some(why) = lock(&self.hold).why(Instant::now()) {
            beat.waiting_for = Some(why.to_owned());
        }
        beat
    }

    /// Its numbers in the text format of Prometheus.
    pub fn numbers(&self) -> String {
        self.metrics.text(&Now {
            beat: self.heartbeat(),
            ready: self.is_ready(),
            halted: self.is_halted(),
            trouble: lock(&self.hold).trouble(Instant::now()),
        })
    }

    /// Changes what it tells of itself.
    pub(super) fn tell(&self, change: impl FnOnce(&mut Heartbeat)) {
        change(&mut lock(&self.beat));
    }

    pub(super) fn failed(&self, error: &str) {
        self.tell(|beat| {
            beat.last_error = Some(error.to_owned());
            beat.last_error_ms = Some(now_ms());
        });
    }

    /// Takes note of a failure that work has to wait for; gives how long.
    pub(super) fn troubled(&self, failure: &Failure) -> Duration {
        let Failure { trouble, why } = failure;
        self.metrics.troubled(*trouble);
        self.failed(why);
        let wait = lock(&self.hold).begin(*trouble, why, Instant::now(), rand::random());
        let kind = trouble.map_or("other", |trouble| trouble.name());
        self.warn(kind, &format!("no work is taken ({kind}): {why}"));
        wait
    }

    /// Whether a wait for the store is in force.
    pub(super) fn is_held(&self) -> bool {
        lock(&self.hold).why(Instant::now()).is_some()
    }

    pub(super) fn began(&self, id: &str, running: Running) {
        lock(&self.running).insert(id.to_owned(), running);
    }

    pub(super) fn ended(&self, id: &str) {
        lock(&self.running).remove(id);
    }

    /// The ids of the requests that are being worked on.
    pub(super) fn in_hand(&self) -> Vec<String> {
        lock(&self.running).keys().cloned().collect()
    }

    pub(super) fn breaker(&self) -> MutexGuard<'_, Breaker> {
        lock(&self.breaker)
    }

    pub(super) fn batch(&self) -> MutexGuard<'_, Batch> {
        lock(&self.batch)
    }

    /// Whether it is connected and at work.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Why it is not at work; `None` if it is.
    pub fn not_ready(&self) -> Option<String> {
        let beat = lock(&self.beat);
        if !self.is_ready() {
            let error = beat.last_error.as_deref().unwrap_or("not connected yet");
            return Some(format!("the store cannot be used: {error}"));
        }
        let hold = lock(&self.hold);
        let why = hold.why(Instant::now()).or(beat.waiting_for.as_deref())?;
        Some(format!("no work is taken: {why}"))
    }

    pub(super) fn ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Relaxed);
    }

    /// Whether a guard has stopped all workers.
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    pub(super) fn set_halted(&self, halted: bool) {
        self.halted.store(halted, Ordering::Relaxed);
    }

    /// Logs a warning, each kind once a minute.
    pub(super) fn warn(&self, kind: &str, message: &str) {
        match lock(&self.flood).passes(kind, self.clock_ms()) {
            Some(0) => tracing::warn!("{message}"),
            Some(held) => tracing::warn!(held_back = held, "{message}"),
            None => tracing::debug!("{message}"),
        }
    }

    /// Waits; a stop or reload ends it.
    pub(super) async fn pause(&self, orders: &Orders, time: Duration) {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || orders.pending() {
                return;
            }
            tokio::time::sleep(left.min(TICK)).await;
        }
    }
}

impl Orders {
    /// Whether the session is to end.
    pub(super) fn pending(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.reload.load(Ordering::Relaxed)
    }

    /// Returns when the worker is to stop.
    pub async fn stopped(self) {
        while !self.stop.load(Ordering::Relaxed) {
            tokio::time::sleep(TICK).await;
        }
    }

    /// Returns when the session is to end.
    pub(super) async fn given(&self) {
        while !self.pending() {
            tokio::time::sleep(TICK).await;
        }
    }
}

/// This machine's clock; for what is shown alone.
pub(super) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn host() -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = named.or_else(|| std::env::var("HOSTNAME").ok());
    name.map_or_else(|| "host".to_owned(), |name| name.trim().to_owned())
}

/// Memory of this process, where the system tells it (Linux).
fn rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
