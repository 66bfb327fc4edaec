//! Everything that talks to Redis: connection, index facts, snapshot, commit, lease, ledger, undo.
//!
//! Keys that memfold itself writes all begin with [`NAMESPACE`]; they are strings and streams,
//! never HASH or JSON outside the undo store, so that no index can catch them.

mod error;

pub use error::StoreError;

/// How an index's documents are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// RedisJSON documents (`ON JSON`).
    Json,
    /// Hashes (`ON HASH`).
    Hash,
}

/// Prefix of every key that memfold writes for itself.
pub const NAMESPACE: &str = "memfold:";
