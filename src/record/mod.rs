//! What a store holds, as plain data: records, the indexes over them, vectors, and the digests that pin
//! records. Everything here is pure; [`crate::store`] talks to Redis, [`crate::layout`] knows what the
//! records of each library mean.

mod digest;
mod index;
mod numbers;
pub(crate) mod vector;
mod vector_field;

use crate::memory::Digest;

pub use digest::{group_digest, record_digest};
pub(crate) use index::list;
pub use index::{Field, FieldKind, IndexFacts, Storage, Unfit, VectorFacts};
pub use vector::{Dtype, VectorError};
pub use vector_field::{Metric, VectorField};

/// Prefix of every key that memfold writes for itself.
pub const NAMESPACE: &str = "memfold:";

/// One stored record, exactly as the server returned it.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The text of `JSON.GET key`.
    Json(String),
    /// The fields of `HGETALL key`, in the server's order.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
}

impl Record {
    /// How it is stored.
    pub fn storage(&self) -> Storage {
        match self {
            Self::Json(_) => Storage::Json,
            Self::Hash(_) => Storage::Hash,
        }
    }

    /// Whether a member or field of this name stands anywhere in it, also in JSON within text. Good
    /// enough to tell that a name is nowhere.
    pub fn mentions(&self, name: &str) -> bool {
        let names = [format!("{name}\""), format!("{name}\\\"")];
        match self {
            Self::Json(text) => names.iter().any(|name| text.contains(name)),
            Self::Hash(fields) => fields.iter().any(|(field, value)| {
                let text = std::str::from_utf8(value).unwrap_or_default();
                field == name.as_bytes() || names.iter().any(|name| text.contains(name))
            }),
        }
    }
}

/// All that is stored of one memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The record on its own key.
    pub record: Record,
    /// That on its other key ([`Layout::apart`](crate::layout::Layout::apart)), if it is there.
    pub others: Vec<Other>,
}

/// A further key of a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// The Redis key.
    pub key: String,
    /// What it holds.
    pub record: Record,
    /// Its absolute expiry in milliseconds since the epoch; `None` = kept for ever. A result's
    /// keys get that of the result, whatever stands here.
    pub expires_at_ms: Option<i64>,
}

impl Stored {
    /// The digest that pins the memory: of its record, or of those of all its keys.
    pub fn digest(&self) -> Digest {
        let own = record_digest(&self.record);
        if self.others.is_empty() {
            return own;
        }
        let others = self.others.iter();
        let others = others.map(|other| (other.key.as_str(), record_digest(&other.record)));
        let all: Vec<_> = [("", own)].into_iter().chain(others).collect();
        Digest(group_digest(all.iter().map(|(key, digest)| (*key, digest))))
    }
}

impl From<Record> for Stored {
    fn from(record: Record) -> Self {
        Self {
            record,
            others: Vec::new(),
        }
    }
}
