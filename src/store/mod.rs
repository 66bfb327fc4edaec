//! Everything that talks to Redis: connection, index facts, snapshot, commit, lease, ledger, undo.
//!
//! Keys that memfold itself writes all begin with [`NAMESPACE`]; they are strings and streams,
//! never HASH or JSON outside the undo store, so that no index can catch them.

pub mod connect;
pub mod digest;
mod error;
pub mod index;
pub mod listing;
pub mod records;
mod reply;
pub mod snapshot;
pub mod vector;

pub use digest::record_digest;
pub use error::StoreError;
pub use index::Storage;

/// Prefix of every key that memfold writes for itself.
pub const NAMESPACE: &str = "memfold:";
