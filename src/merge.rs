//! Provisional: the types of the pipeline that the command line is written against.
#![allow(missing_docs)]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::embed::EmbedError;
use crate::memory::{GroupLeft, Plan, Threshold};
use crate::store::StoreError;

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

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Cosine distance within which memories are looked at together.
    pub threshold: Option<Threshold>,
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
    /// Memories that an LLM's word may retire in one run; `None` = max(20, 30 % of the user's).
    pub max_retire: Option<usize>,
    /// How long a merge can be undone; zero = retired memories are deleted at once.
    pub undo_window: Duration,
    /// How long the record of a merge is kept.
    pub ledger_retention: Duration,
    /// How long a lease holds without renewal.
    pub lease_ttl: Duration,
    /// LLM calls under way at once.
    pub llm_concurrency: usize,
    /// The id of this run, a ULID.
    pub run_id: String,
    /// Set from outside to stop before the next group.
    pub stop: Arc<AtomicBool>,
}

/// What goes on, for a progress display.
pub trait Progress: Send + Sync {
    /// A new phase with `total` steps (0 = unknown).
    fn phase(&self, name: &str, total: usize);
    /// One step done.
    fn step(&self);
}

/// No display.
impl Progress for () {
    fn phase(&self, _name: &str, _total: usize) {}
    fn step(&self) {}
}

/// What a run did for one user.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Report {
    /// The run.
    pub run_id: String,
    /// The plan as far as it was made: merges decided, groups and memories left.
    pub plan: Plan,
    /// The merges that were committed.
    pub merged: Vec<Done>,
    /// Merges that were decided and could not be committed; their originals are untouched.
    pub not_committed: Vec<GroupLeft>,
    /// LLM calls and tokens of this run so far.
    pub llm: LlmUse,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
}

/// What the LLM was used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LlmUse {
    /// Calls made, retries of the transport not counted.
    pub calls: u64,
    /// Tokens as reported.
    pub tokens: u64,
    /// Groups whose answer was accepted at once.
    pub accepted: u64,
    /// Groups whose second answer was accepted.
    pub retried: u64,
    /// Groups whose originals stay because of the LLM or its answers.
    pub kept: u64,
}

/// Why a run stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// No embedder where one is needed.
    #[error(
        "no embedding model is configured, so it cannot be proven where the stored vectors come \
         from; set --onnxruntime and --model-dir, or trust the stored vectors with --distance stored"
    )]
    NoEmbedder,
    /// More memories than allowed would be retired by an LLM's word.
    #[error(
        "the LLM would be asked to retire up to {proposed} of {memories} memories, the limit is \
         {limit}; nothing was done, raise it with --max-retire {proposed}"
    )]
    RetirementCap {
        /// Memories that the proposed groups would retire.
        proposed: usize,
        /// The user's memories.
        memories: usize,
        /// The limit in force.
        limit: usize,
    },
    /// A plan that does not fit this store.
    #[error("this plan cannot be applied: {0}")]
    WrongPlan(String),
    /// A bug.
    #[error("internal error: {0}")]
    Internal(String),
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct Done {
    pub merge_id: String,
    pub result_key: String,
    pub retired: Vec<String>,
}

pub struct Pipeline {}

impl Pipeline {
    pub async fn plan(&self, _user: &str, _progress: &dyn Progress) -> Result<Plan, MergeError> {
        Err(MergeError::NoEmbedder)
    }
    pub async fn apply(&self, _plan: &Plan, _p: &dyn Progress) -> Result<Report, MergeError> {
        Err(MergeError::NoEmbedder)
    }
    pub async fn merge(&self, _user: &str, _p: &dyn Progress) -> Result<Report, MergeError> {
        Err(MergeError::NoEmbedder)
    }
}
