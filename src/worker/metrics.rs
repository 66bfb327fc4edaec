//! The worker's numbers for Prometheus.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry, Unit};

use super::breaker::BreakerState;
use crate::merge::{Quality, Tended};
use crate::store::Trouble;
use crate::store::fleet::Heartbeat;
use crate::store::requests::Backlog;
use crate::summarize::llm::Usage;
use crate::summarize::verify::Entities;

/// One label: its name and its value.
type Label = [(&'static str, String); 1];
type Counts = Family<Label, Counter>;
type Gauges = Family<Label, Gauge>;
type Number = Gauge<f64, AtomicU64>;
type Sum = Counter<f64, AtomicU64>;

/// What the store's errors without a [`Trouble`] are counted as.
const OTHER: &str = "other";

/// The numbers of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    runs: Counts,
    found: Counter,
    merged: Counter,
    left: Counts,
    retired: Counter,
    characters: Counts,
    entities: Counts,
    undone: Counter,
    llm_calls: Counter,
    llm_tokens: Counts,
    llm_cost: Sum,
    run_seconds: Histogram,
    reaction_seconds: Histogram,
    read: AtomicU64,
    gone: AtomicU64,
    compression: Number,
    entity_recall: Number,
    entity_sums: Mutex<Entities>,
    last_success: Family<Label, Number>,
    backlog: Gauges,
    lag: Number,
    leases: Gauge,
    breaker: Gauges,
    errors: Counts,
    trouble: Gauges,
    ready: Gauge,
    halted: Gauge,
    resident: Gauge,
    own: Gauge,
}

/// Registers a metric and gives it back.
fn register<M: Metric + Clone + Debug>(to: &mut Registry, name: &str, help: &str, metric: M) -> M {
    to.register(name, help, metric.clone());
    metric
}

/// The same for a metric whose name ends in its unit.
fn measure<M: Metric + Clone + Debug>(
    to: &mut Registry,
    (name, unit): (&str, Unit),
    help: &str,
    metric: M,
) -> M {
    to.register_with_unit(name, help, unit, metric.clone());
    metric
}

fn counter<M: Metric + Clone + Debug + Default>(to: &mut Registry, name: &str, help: &str) -> M {
    register(to, name, help, M::default())
}

use counter as gauge;

#[rustfmt::skip] // One line a metric.
impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("memfold");
        let r = &mut registry;
        let (seconds, bytes) = (|name| (name, Unit::Seconds), |name| (name, Unit::Bytes));
        Self {
            runs: counter(r, "runs", "Runs over a user, by how they ended"),
            found: counter(r, "groups_found", "Groups of memories that lie near each other, in runs that read something new"),
            merged: counter(r, "groups_merged", "Groups merged"),
            left: counter(r, "groups_left", "Groups left as they are, by reason"),
            retired: counter(r, "retired", "Memories retired"),
            characters: counter(r, "merged_characters", "Characters of merged memories, before and after"),
            entities: counter(r, "entities", "Names, numbers, dates and identifiers in merged memories, by where they are now: text, history, or lost"),
            undone: counter(r, "undone", "Merges undone, by whomever"),
            llm_calls: counter(r, "llm_calls", "Requests to the LLM"),
            llm_tokens: counter(r, "llm_tokens", "Tokens that the LLM reports, by direction"),
            llm_cost: counter(r, "llm_cost", "Their price by --llm-input-price and --llm-output-price"),
            run_seconds: measure(r, seconds("run_duration"), "Time of a run over a user", Histogram::new(exponential_buckets(0.005, 2.5, 12))),
            reaction_seconds: measure(r, seconds("reaction_duration"), "Time from the trigger to each commit", Histogram::new(exponential_buckets(0.05, 2.5, 12))),
            read: AtomicU64::new(0),
            gone: AtomicU64::new(0),
            compression: gauge(r, "compression_ratio", "Memories after the runs over those before"),
            entity_recall: gauge(r, "entity_recall", "Share of the names, numbers, dates and identifiers in merged memories that results or their histories have"),
            entity_sums: Mutex::default(),
            last_success: measure(r, seconds("last_success_timestamp"), "When a run last ended well, by store", Family::default()),
            backlog: gauge(r, "backlog", "Requests that wait or are in hand, of all workers"),
            lag: measure(r, seconds("lag"), "Age of the oldest request that is not done", Number::default()),
            leases: gauge(r, "leases_held", "Users that this worker works on"),
            breaker: gauge(r, "breaker", "State of the breaker before the LLM: 1 for the one in force"),
            errors: counter(r, "store_errors", "Errors of the store that work had to wait for, by kind"),
            trouble: gauge(r, "store_trouble", "1 for the kind of trouble with the store that is waited for"),
            ready: gauge(r, "ready", "1 while connected and at work"),
            halted: gauge(r, "halted", "1 while a guard has stopped all workers"),
            resident: measure(r, bytes("resident_memory"), "Memory of this process", Gauge::default()),
            own: measure(r, bytes("own_keys"), "What memfold's own keys take on the server, as last measured", Gauge::default()),
            registry,
        }
    }
}

/// What a worker is like at the moment.
#[derive(Clone, Debug)]
pub(super) struct Now {
    pub(super) beat: Heartbeat,
    pub(super) ready: bool,
    pub(super) halted: bool,
    pub(super) trouble: Option<Trouble>,
}

impl Metrics {
    /// The numbers in the text format of Prometheus, with the worker as it is now; empty if they
    /// cannot be written.
    pub(super) fn text(&self, now: &Now) -> String {
        self.set(now);
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(_) => String::new(),
        }
    }

    fn set(&self, now: &Now) {
        let beat = &now.beat;
        self.leases.set(number(beat.running.len() as u64));
        self.ready.set(i64::from(now.ready));
        self.halted.set(i64::from(now.halted));
        self.resident.set(number(beat.rss_bytes.unwrap_or(0)));
        if let Some(at) = beat.last_success_ms {
            let store = [("store", beat.store.clone())];
            self.last_success
                .get_or_create(&store)
                .set(at as f64 / 1000.0);
        }
        let states = [
            BreakerState::Closed,
            BreakerState::HalfOpen,
            BreakerState::Open,
        ];
        for state in states.map(BreakerState::name) {
            let in_force = beat.breaker.as_deref() == Some(state);
            let label = [("state", state.to_owned())];
            self.breaker.get_or_create(&label).set(i64::from(in_force));
        }
        for kind in Trouble::ALL {
            let in_force = now.trouble == Some(kind);
            let label = [("kind", kind.name().to_owned())];
            self.trouble.get_or_create(&label).set(i64::from(in_force));
        }
    }

    pub(super) fn run_failed(&self) {
        self.count_run("failed");
    }

    fn count_run(&self, outcome: &str) {
        let label = [("outcome", outcome.to_owned())];
        self.runs.get_or_create(&label).inc();
    }

    /// A run over a user that was asked for at `asked_ms`, by the clock of its merges.
    pub(super) fn run_ended(&self, tended: &Tended, took_ms: u64, asked_ms: i64) {
        self.count_run(if tended.unchanged {
            "unchanged"
        } else {
            "done"
        });
        self.run_seconds.observe(took_ms as f64 / 1000.0);
        let retired: usize = tended.merged.iter().map(|done| done.retired.len()).sum();
        let (merged, retired) = (tended.merged.len() as u64, retired as u64);
        self.merged(merged, retired);
        self.kept(&tended.quality);
        for done in &tended.merged {
            let reaction_ms = done.at_ms.saturating_sub(asked_ms).max(0);
            self.reaction_seconds.observe(reaction_ms as f64 / 1000.0);
        }
        for (&reason, &groups) in &tended.left {
            let label = [("reason", reason.code().to_owned())];
            self.left.get_or_create(&label).inc_by(groups as u64);
        }
        let left: usize = tended.left.values().sum();
        self.found.inc_by(merged + left as u64);
        // The last reading of a run sees what it has left.
        let before = tended.memories as u64 + retired;
        let read = self.read.fetch_add(before, Ordering::Relaxed) + before;
        let gone = self.gone.fetch_add(retired, Ordering::Relaxed) + retired;
        if read > 0 {
            self.compression.set(1.0 - gone as f64 / read as f64);
        }
    }

    /// What merges kept of what their memories named, and how long they are.
    fn kept(&self, quality: &Quality) {
        let found = quality.entities;
        let lost = found.named - found.in_text - found.in_history;
        for (now, count) in [
            ("text", found.in_text),
            ("history", found.in_history),
            ("lost", lost),
        ] {
            let label = [("now", now.to_owned())];
            self.entities.get_or_create(&label).inc_by(count as u64);
        }
        for (when, count) in ["before", "after"].into_iter().zip(quality.characters) {
            let label = [("when", when.to_owned())];
            self.characters.get_or_create(&label).inc_by(count as u64);
        }
        let mut sums = self
            .entity_sums
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        sums.add(found);
        if let Some(recall) = sums.recall() {
            self.entity_recall.set(recall);
        }
    }

    /// Merges that stand, and the memories that they retired.
    pub(super) fn merged(&self, merges: u64, retired: u64) {
        self.merged.inc_by(merges);
        self.retired.inc_by(retired);
    }

    /// What the LLM was used for, and what that cost.
    pub(super) fn llm(&self, calls: u64, usage: Usage, cost: f64) {
        self.llm_calls.inc_by(calls);
        let (read, written) = (usage.prompt_tokens, usage.completion_tokens);
        for (direction, tokens) in [("input", read), ("output", written)] {
            let label = [("direction", direction.to_owned())];
            self.llm_tokens.get_or_create(&label).inc_by(tokens);
        }
        self.llm_cost.inc_by(cost);
    }

    pub(super) fn undone(&self, merges: u64) {
        self.undone.inc_by(merges);
    }

    /// The store had an error that work has to wait for.
    pub(super) fn troubled(&self, trouble: Option<Trouble>) {
        let kind = trouble.map_or(OTHER, Trouble::name);
        let label = [("kind", kind.to_owned())];
        self.errors.get_or_create(&label).inc();
    }

    pub(super) fn own_bytes(&self, bytes: u64) {
        self.own.set(number(bytes));
    }

    /// What waits at `now_ms`, by the server's clock.
    pub(super) fn backlog(&self, backlog: Backlog, now_ms: i64) {
        for (state, count) in [("waiting", backlog.waiting), ("pending", backlog.pending)] {
            let label = [("state", state.to_owned())];
            self.backlog.get_or_create(&label).set(number(count));
        }
        let age_ms = backlog.oldest_ms.map_or(0, |at| (now_ms - at).max(0));
        self.lag.set(age_ms as f64 / 1000.0);
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Reason;
    use crate::merge::Done;

    #[test]
    fn numbers_are_told_by_their_stable_names() {
        let metrics = Metrics::default();
        let done = |retired: &[&str], at_ms| Done {
            merge_id: "m".to_owned(),
            result_key: "k".to_owned(),
            retired: retired.iter().map(|&key| key.to_owned()).collect(),
            at_ms,
        };
        let tended = Tended {
            memories: 7,
            merged: vec![done(&["a", "b"], 2500), done(&["c"], 4000)],
            left: [(Reason::LlmDeclined, 4)].into(),
            quality: Quality {
                memories: [5, 2],
                characters: [120, 80],
                entities: Entities {
                    named: 8,
                    in_text: 5,
                    in_history: 1,
                },
            },
            ..Tended::default()
        };
        metrics.run_ended(&tended, 40, 1000);
        let usage = Usage {
            prompt_tokens: 600,
            completion_tokens: 30,
        };
        metrics.llm(5, usage, 0.75);
        metrics.undone(1);
        metrics.own_bytes(77);
        metrics.troubled(Some(Trouble::OutOfMemory));
        metrics.troubled(None);
        let backlog = Backlog {
            waiting: 9,
            pending: 1,
            oldest_ms: Some(5000),
        };
        metrics.backlog(backlog, 6500);
        let now = Now {
            beat: Heartbeat {
                store: "redisvl:ix".to_owned(),
                breaker: Some("open".to_owned()),
                last_success_ms: Some(2000),
                ..Heartbeat::default()
            },
            ready: true,
            halted: false,
            trouble: Some(Trouble::Indexing),
        };
        let text = metrics.text(&now);
        for line in [
            "memfold_runs_total{outcome=\"done\"} 1",
            "memfold_groups_found_total 6",
            "memfold_groups_merged_total 2",
            "memfold_groups_left_total{reason=\"llm-declined\"} 4",
            "memfold_retired_total 3",
            "memfold_undone_total 1",
            "memfold_llm_tokens_total{direction=\"input\"} 600",
            "memfold_llm_tokens_total{direction=\"output\"} 30",
            "memfold_llm_cost_total 0.75",
            "memfold_reaction_duration_seconds_sum 4.5",
            "memfold_reaction_duration_seconds_count 2",
            "memfold_compression_ratio 0.7",
            "memfold_entity_recall 0.75",
            "memfold_entities_total{now=\"text\"} 5",
            "memfold_entities_total{now=\"history\"} 1",
            "memfold_entities_total{now=\"lost\"} 2",
            "memfold_merged_characters_total{when=\"before\"} 120",
            "memfold_merged_characters_total{when=\"after\"} 80",
            "memfold_last_success_timestamp_seconds{store=\"redisvl:ix\"} 2.0",
            "memfold_backlog{state=\"waiting\"} 9",
            "memfold_lag_seconds 1.5",
            "memfold_breaker{state=\"open\"} 1",
            "memfold_breaker{state=\"closed\"} 0",
            "memfold_store_errors_total{kind=\"out-of-memory\"} 1",
            "memfold_store_errors_total{kind=\"other\"} 1",
            "memfold_store_trouble{kind=\"indexing\"} 1",
            "memfold_store_trouble{kind=\"connection\"} 0",
            "memfold_own_keys_bytes 77",
            "memfold_ready 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
