//! The settings of a run.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::memory::Threshold;
use crate::store::snapshot::Pace;

/// Which vectors the grouping compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Distance {
    /// The stored ones where they are proven to come from the configured model, else texts are
    /// embedded for grouping.
    #[default]
    Auto,
    /// The stored ones, whatever made them.
    Stored,
    /// The texts, embedded by the configured model.
    Onnx,
}

/// Where the vector of a text that no source has comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WriteVector {
    /// The configured model, if it is proven to match the index; else such groups stay.
    #[default]
    Auto,
    /// The normalised mean of the sources' vectors.
    Centroid,
}

/// How memories with an expiry meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TtlRule {
    /// Only memories that expire at about the same time are merged.
    #[default]
    KeepApart,
    /// The result expires with the first of its sources.
    Min,
    /// The result expires with the last of its sources; never, if one of them never does.
    Max,
}

/// What becomes of an old value and a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Conflicts {
    /// Both stay, and are listed.
    #[default]
    Keep,
    /// The newest one by the dates of the memories stays; the others become its history.
    Latest,
}

/// Who runs, and what that bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBy {
    /// Somebody by hand: too much to retire by the LLM's word refuses the run.
    Hand,
    /// A worker: what is too much waits for a later run.
    Worker {
        /// Groups that this run puts to the LLM at most.
        batch: usize,
        /// Memories of the user that were retired today.
        retired_today: usize,
    },
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Cosine distance within which memories are looked at together.
    pub threshold: Threshold,
    /// Which vectors the grouping compares.
    pub distance: Distance,
    /// Where new vectors come from.
    pub write_vector: WriteVector,
    /// Distinct texts of a group at most; larger groups are split.
    pub max_members: usize,
    /// Characters that one group may send to the LLM.
    pub max_group_chars: usize,
    /// How memories with an expiry meet.
    pub ttl: TtlRule,
    /// Bytes that planning for one user may take; `None` = as many as there are.
    pub max_memory: Option<u64>,
    /// How fast memories are read.
    pub pace: Pace,
    /// Threads for comparing and judging.
    pub threads: NonZero<usize>,
    /// What becomes of old and new values.
    pub conflicts: Conflicts,
    /// Memories that an LLM's word may retire in one run; `None` = max(20, 30 % of the user's).
    pub max_retire: Option<usize>,
    /// The same for a day, of all runs of workers; `None` = max(50, 50 % of the user's).
    pub max_retire_day: Option<usize>,
    /// How long a merge can be undone; zero = retired memories are deleted at once.
    pub undo_window: Duration,
    /// How long the record of a merge is kept.
    pub ledger_retention: Duration,
    /// How long a lease holds without renewal.
    pub lease_ttl: Duration,
    /// For servers that index in the background: look for the result after the commit.
    pub check_after: bool,
    /// LLM calls under way at once.
    pub llm_concurrency: usize,
    /// Who runs.
    pub run_by: RunBy,
    /// Ask the LLM also about groups that it decided before.
    pub ask_again: bool,
    /// The id of this run, a ULID.
    pub run_id: String,
    /// Set from outside to stop before the next group.
    pub stop: Arc<AtomicBool>,
}

impl MergeOptions {
    /// What decides which memories are merged. A setting that is added must be on one of the sides.
    pub(super) fn deciding(&self) -> String {
        let Self {
            threshold,
            distance,
            write_vector,
            max_members,
            max_group_chars,
            ttl,
            conflicts,
            // What they put off or refuse stays open, and is looked at again anyway.
            max_memory: _,
            max_retire: _,
            max_retire_day: _,
            run_by: _,
            ask_again: _,
            // How it is done, and how it is kept.
            pace: _,
            threads: _,
            undo_window: _,
            ledger_retention: _,
            lease_ttl: _,
            check_after: _,
            llm_concurrency: _,
            run_id: _,
            stop: _,
        } = self;
        let threshold = threshold.value;
        format!(
            "{threshold} {distance:?} {write_vector:?} {max_members} {max_group_chars} {ttl:?} \
             {conflicts:?}"
        )
    }
}
