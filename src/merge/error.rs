//! Why a run stopped.

use crate::embed::EmbedError;
use crate::store::{CommitError, LeaseError, StoreError};

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
    /// Another process works on this user, or took over.
    #[error("another memfold works on this user: {0}")]
    Lease(#[source] LeaseError),
    /// No embedder where one is needed.
    #[error(
        "no embedding model is configured, so it cannot be proven where the stored vectors come \
         from; set --onnxruntime and --model-dir, or --embed-url and --embed-model, or trust the stored \
         vectors with --distance stored"
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
    /// The store is not in a state in which anything may be merged.
    #[error("{found}; {advice}")]
    NotNow {
        /// What was found.
        found: String,
        /// What to do.
        advice: String,
    },
    /// A commit failed in a way that must not be repeated.
    #[error(transparent)]
    Commit(CommitError),
    /// A plan that does not fit this store.
    #[error("this plan cannot be applied: {0}")]
    WrongPlan(String),
    /// The run ended after some merges.
    #[error("{error}; what was merged before stands (merges: {merges}), see `memfold history`")]
    Midway {
        /// Merges that stand.
        merges: usize,
        /// Memories that they retired.
        retired: usize,
        /// What ended the run.
        error: Box<MergeError>,
    },
    /// A bug.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<LeaseError> for MergeError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Store(error) => Self::Store(error),
            error => Self::Lease(error),
        }
    }
}
