//! Everything that talks to Redis: connection, index facts, snapshot, commit, lease, ledger, undo.
//!
//! Keys that memfold itself writes all begin with [`NAMESPACE`]; they are strings and streams,
//! never HASH or JSON outside the undo store, so that no index can catch them.

pub mod connect;
pub mod index;
pub mod listing;
pub mod records;
pub mod snapshot;
pub mod survey;

mod aggregate;
mod commit;
mod concerns;
mod cost;
mod counts;
pub mod direct;
mod error;
pub mod events;
pub(crate) mod expiry;
pub mod fleet;
mod functions;
mod keys;
mod lease;
mod ledger;
mod neighbours;
mod probe;
mod query;
mod reply;
pub mod requests;
mod scan;
mod spent;
mod state;
mod status;
mod trouble;
mod undo;
pub mod vetoes;
mod visible;
mod wire;
mod writes;

use crate::record::NAMESPACE;

pub use commit::{Commit, CommitError, Committed, commit};
pub use concerns::concerns;
pub use cost::{Cost, cost};
pub use counts::{Counts, StoreCounts, day_of, note_store_counts, store_counts};
pub use error::StoreError;
pub use functions::{Functions, LIBRARY, Wrapper};
pub use keys::{LEDGER, beside, partition_name, store_name};
pub use lease::{Lease, LeaseError};
pub use ledger::{
    Entry, Event, KeyRecord, MergeRecord, RECORD_VERSION, Retire, SourceRecord, State,
    StoredRecord, history, merged_again_by, merges_of_run, original_texts, originals, parents,
    show, trim_ledger, undone_since,
};
pub use neighbours::Neighbours;
pub use probe::{probe, probes};
pub use spent::{Counter, Spent};
pub use state::{Probe, UserState, compared, remember, remember_compared, state, states};
pub use status::{Status, status};
pub use trouble::Trouble;
pub use undo::{UndoError, UndoOptions, Undone, undo};
