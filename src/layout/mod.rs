//! How a library lays memories out in Redis: one file a layout, all behind [`Layout`].
//!
//! A layout is pure: it reads a [`Record`] into a [`Reading`] and writes a merged one. It never
//! talks to Redis and never sees a clock. Nothing outside this module knows a library's names.

mod json;
mod metadata;
mod pyrepr;
pub mod redisvl;
mod timestamp;

use jiff::Timestamp;

use crate::memory::{Digest, Memory, Reason};

/// One stored record, exactly as the server returned it.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The text of `JSON.GET key`.
    Json(String),
    /// The fields of `HGETALL key`, in the server's order.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
}

/// What a layout reads from one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The memory. `expires_at_ms` is filled in by the snapshot.
    pub memory: Memory,
    /// The vector as f32, of the declared length and finite; not yet normalised.
    pub vector: Vec<f32>,
}

/// A full source of a merge, read again just before the result is built.
#[derive(Clone, Debug)]
pub struct Source {
    /// What the snapshot holds of it.
    pub memory: Memory,
    /// The record whose digest is `memory.digest`.
    pub record: Record,
}

/// The decisions that the written record must carry.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Id of the merge.
    pub merge_id: String,
    /// The text to write.
    pub text: String,
    /// What goes into the vector field.
    pub vector: ResultVector,
    /// When the merge was made.
    pub merged_at: Timestamp,
}

/// The vector of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultVector {
    /// Copy the stored vector of the source at this position, byte for byte.
    OfSource(usize),
    /// Write these numbers in the index's data type.
    Numbers(Vec<f32>),
}

/// Why a record was not read as a memory: the reason code and what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct NotRead {
    /// The reason code.
    pub reason: Reason,
    /// What was found, without memory text.
    pub detail: String,
    /// Whose record it is, where that could be read.
    pub user: Option<String>,
}

/// Why a merged record could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the record at {key} cannot take the result: {detail}")]
pub struct CannotWrite {
    /// The survivor's key.
    pub key: String,
    /// What is wrong, without memory text.
    pub detail: String,
}

/// A leaf of provenance: one original memory that went into a result.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Leaf {
    /// The leaf's own id (the layout's memory id), or its key where it has none.
    pub id: String,
    /// Its key when it was merged.
    pub key: String,
    /// Its digest when it was merged.
    pub digest: Digest,
    /// Its date, as far as known.
    pub created_at: Option<Timestamp>,
}

/// How one kind of store is read and written.
pub trait Layout: Send + Sync {
    /// The name used on the command line, such as `redisvl`.
    fn name(&self) -> &'static str;

    /// The index field that holds the user id, for the cheap listing by index.
    fn user_field(&self) -> &str;

    /// The index field that holds the vector.
    fn vector_field(&self) -> &str;

    /// Index fields that say when a memory was written or changed, for the cheap look whether a user
    /// has anything new; none where the index has no such field.
    fn time_fields(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Reads one record.
    ///
    /// # Errors
    /// [`NotRead`] with a reason code; never panics, whatever the bytes.
    fn read(&self, key: &str, record: &Record) -> Result<Reading, NotRead>;

    /// The originals that a record stands for: those of its provenance, or itself.
    fn leaves(&self, source: &Source) -> Vec<Leaf>;

    /// Builds the record that replaces the sources, on the record of `sources[survivor]`.
    ///
    /// # Errors
    /// [`CannotWrite`] if the survivor's record cannot take the result without loss.
    fn merge(
        &self,
        sources: &[Source],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Record, CannotWrite>;
}
