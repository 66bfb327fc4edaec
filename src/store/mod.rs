//! Everything that talks to Redis: connection, index facts, snapshot, commit, lease, ledger, undo.
//!
//! Keys that memfold itself writes all begin with [`NAMESPACE`]; they are strings and streams,
//! never HASH or JSON outside the undo store, so that no index can catch them.

mod error;

pub use error::StoreError;

/// Prefix of every key that memfold writes for itself.
pub const NAMESPACE: &str = "memfold:";
