//! The worker's numbers for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::breaker::BreakerState;
use crate::memory::Reason;
use crate::store::fleet::Heartbeat;
use crate::store::requests::Backlog;

/// Why a group was left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Left {
    reason: &'static str,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    outcome: &'static str,
}

/// Something that is in one of several states.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    state: &'static str,
}

/// A store by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStore {
    store: String,
}

type Ratio = Gauge<f64, AtomicU64>;

/// The numbers of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    runs: Family<Ended, Counter>,
    merged: Counter,
    retired: Counter,
    undone: Counter,
    left: Family<Left, Counter>,
    llm_calls: Counter,
    llm_tokens: Counter,
    run_seconds: Histogram,
    reaction_seconds: Histogram,
    read: AtomicU64,
    gone: AtomicU64,
    compression: Ratio,
    last_success: Family<OfStore, Ratio>,
    backlog: Family<InState, Gauge>,
    leases: Gauge,
    breaker: Family<InState, Gauge>,
    ready: Gauge,
    halted: Gauge,
    resident: Gauge,
    own: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("memfold");
        let metrics = Self {
            runs: Family::default(),
            merged: Counter::default(),
            retired: Counter::default(),
            undone: Counter::default(),
            left: Family::default(),
            llm_calls: Counter::default(),
            llm_tokens: Counter::default(),
            run_seconds: Histogram::new(exponential_buckets(0.005, 2.5, 12)),
            reaction_seconds: Histogram::new(exponential_buckets(0.05, 2.5, 12)),
            read: AtomicU64::new(0),
            gone: AtomicU64::new(0),
            compression: Ratio::default(),
            last_success: Family::default(),
            backlog: Family::default(),
            leases: Gauge::default(),
            breaker: Family::default(),
            ready: Gauge::default(),
            halted: Gauge::default(),
            resident: Gauge::default(),
            own: Gauge::default(),
            registry: Registry::default(),
        };
        let r = &mut registry;
        r.register(
            "runs",
            "Runs over a user, by how they ended",
            metrics.runs.clone(),
        );
        r.register("groups_merged", "Groups merged", metrics.merged.clone());
        r.register(
            "groups_left",
            "Groups left as they are, by reason",
            metrics.left.clone(),
        );
        r.register("retired", "Memories retired", metrics.retired.clone());
        r.register(
            "undone",
            "Merges undone, by whomever",
            metrics.undone.clone(),
        );
        r.register(
            "llm_calls",
            "Requests to the LLM",
            metrics.llm_calls.clone(),
        );
        r.register(
            "llm_tokens",
            "Tokens that the LLM reports",
            metrics.llm_tokens.clone(),
        );
        r.register_with_unit(
            "run_duration",
            "Time of a run over a user",
            Unit::Seconds,
            metrics.run_seconds.clone(),
        );
        r.register_with_unit(
            "reaction_duration",
            "Time from the trigger to the end of a run that merged",
            Unit::Seconds,
            metrics.reaction_seconds.clone(),
        );
        r.register(
            "compression_ratio",
            "Memories after the runs over those before",
            metrics.compression.clone(),
        );
        r.register_with_unit(
            "last_success_timestamp",
            "When a run last ended well, by store",
            Unit::Seconds,
            metrics.last_success.clone(),
        );
        r.register(
            "backlog",
            "Requests that wait or are in hand, of all workers",
            metrics.backlog.clone(),
        );
        r.register(
            "leases_held",
            "Users that this worker works on",
            metrics.leases.clone(),
        );
        r.register(
            "breaker",
            "State of the breaker before the LLM: 1 for the one in force",
            metrics.breaker.clone(),
        );
        r.register(
            "ready",
            "1 while connected and at work",
            metrics.ready.clone(),
        );
        r.register(
            "halted",
            "1 while a guard has stopped all workers",
            metrics.halted.clone(),
        );
        r.register_with_unit(
            "resident_memory",
            "Memory of this process",
            Unit::Bytes,
            metrics.resident.clone(),
        );
        r.register_with_unit(
            "own_keys",
            "What memfold's own keys take on the server, as last measured",
            Unit::Bytes,
            metrics.own.clone(),
        );
        Self {
            registry,
            ..metrics
        }
    }
}

impl Metrics {
    /// The numbers in the text format of Prometheus; empty if they cannot be written.
    pub fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(_) => String::new(),
        }
    }

    pub(super) fn run_failed(&self) {
        self.runs.get_or_create(&Ended { outcome: "failed" }).inc();
    }

    pub(super) fn run_ended(&self, unchanged: bool, took_ms: u64) {
        let outcome = if unchanged { "unchanged" } else { "done" };
        self.runs.get_or_create(&Ended { outcome }).inc();
        self.run_seconds.observe(took_ms as f64 / 1000.0);
    }

    /// A run merged `merged` groups of a user with `memories`; it was asked for `reaction_ms` ago.
    pub(super) fn merged(&self, merged: u64, retired: u64, memories: u64, reaction_ms: i64) {
        self.merged.inc_by(merged);
        self.retired.inc_by(retired);
        if merged > 0 {
            self.reaction_seconds
                .observe(reaction_ms.max(0) as f64 / 1000.0);
        }
        // The last reading of a run sees what it has left.
        let read = self.read.fetch_add(memories + retired, Ordering::Relaxed) + memories + retired;
        let gone = self.gone.fetch_add(retired, Ordering::Relaxed) + retired;
        if read > 0 {
            self.compression.set(1.0 - gone as f64 / read as f64);
        }
    }

    pub(super) fn left(&self, reason: Reason, groups: u64) {
        let reason = reason.code();
        self.left.get_or_create(&Left { reason }).inc_by(groups);
    }

    pub(super) fn llm(&self, calls: u64, tokens: u64) {
        self.llm_calls.inc_by(calls);
        self.llm_tokens.inc_by(tokens);
    }

    pub(super) fn undone(&self, merges: u64) {
        self.undone.inc_by(merges);
    }

    pub(super) fn own_bytes(&self, bytes: u64) {
        self.own.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// What a heartbeat tells.
    pub(super) fn beat(&self, beat: &Heartbeat, backlog: Backlog, ready: bool, halted: bool) {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.leases.set(number(beat.running.len() as u64));
        self.ready.set(i64::from(ready));
        self.halted.set(i64::from(halted));
        self.resident.set(number(beat.rss_bytes.unwrap_or(0)));
        for (state, count) in [("waiting", backlog.waiting), ("pending", backlog.pending)] {
            self.backlog
                .get_or_create(&InState { state })
                .set(number(count));
        }
        if let Some(at) = beat.last_success_ms {
            let store = beat.store.clone();
            self.last_success
                .get_or_create(&OfStore { store })
                .set(at as f64 / 1000.0);
        }
        let states = [
            BreakerState::Closed,
            BreakerState::HalfOpen,
            BreakerState::Open,
        ];
        for state in states.map(BreakerState::name) {
            let in_force = beat.breaker.as_deref() == Some(state);
            self.breaker
                .get_or_create(&InState { state })
                .set(i64::from(in_force));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_by_their_stable_names() {
        let metrics = Metrics::default();
        metrics.run_ended(false, 40);
        metrics.merged(2, 3, 7, 1500);
        metrics.left(Reason::LlmDeclined, 4);
        metrics.llm(5, 600);
        metrics.undone(1);
        metrics.own_bytes(77);
        let beat = Heartbeat {
            store: "redisvl:ix".to_owned(),
            breaker: Some("open".to_owned()),
            last_success_ms: Some(2000),
            ..Heartbeat::default()
        };
        metrics.beat(
            &beat,
            Backlog {
                waiting: 9,
                pending: 1,
            },
            true,
            false,
        );
        let text = metrics.text();
        for line in [
            "memfold_runs_total{outcome=\"done\"} 1",
            "memfold_groups_merged_total 2",
            "memfold_groups_left_total{reason=\"llm-declined\"} 4",
            "memfold_retired_total 3",
            "memfold_undone_total 1",
            "memfold_llm_tokens_total 600",
            "memfold_reaction_duration_seconds_count 1",
            "memfold_compression_ratio 0.7",
            "memfold_last_success_timestamp_seconds{store=\"redisvl:ix\"} 2.0",
            "memfold_backlog{state=\"waiting\"} 9",
            "memfold_breaker{state=\"open\"} 1",
            "memfold_breaker{state=\"closed\"} 0",
            "memfold_own_keys_bytes 77",
            "memfold_ready 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
