//! How a library lays memories out in Redis: one file a layout, all behind [`Layout`].
//!
//! A layout is pure: it says what a snapshot has to read, reads [`Stored`] records into a
//! [`Reading`] and writes merged ones. It never talks to Redis and never sees a clock. Nothing
//! outside this module knows a library's names. docs/layouts.md tells how to add one.

mod agent_memory_server;
mod body;
mod custom;
mod deleted;
mod hash;
#[cfg(test)]
mod hash_testing;
mod json;
mod key_shape;
mod langchain_redis;
mod langgraph;
mod mem0;
mod metadata;
mod propose;
mod pyrepr;
pub mod redisvl;
mod registry;
mod rules;
mod timestamp;

use jiff::Timestamp;

use crate::memory::{Digest, Memory, Reason};
use crate::record::{IndexFacts, Record, Stored};

pub use custom::CustomOptions;
pub(crate) use deleted::says_deleted;
pub use key_shape::KeyShape;
pub use langgraph::propose_namespace;
pub use propose::{Proposal, ROLES, propose};
pub use redisvl::MetadataForm;
pub use registry::{Kind, NAMES, Opened, Options, kind};
pub use rules::Rule;
pub use timestamp::TimeForm;

/// What a layout reads from one memory.
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
    /// What is stored of it; its digest is `memory.digest`.
    pub stored: Stored,
}

impl Source {
    /// The source itself as a leaf, known by `id`.
    pub(crate) fn leaf(&self, id: &str) -> Leaf {
        Leaf {
            id: id.to_owned(),
            key: self.memory.key.clone(),
            digest: self.memory.digest.clone(),
            created_at: self.memory.created_at,
        }
    }
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
    /// What the text replaced, oldest first.
    pub history: Vec<Past>,
}

/// An older value that the text of a result replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// Position of the source that says it.
    pub source: usize,
    /// Its text.
    pub text: String,
    /// When it was said.
    pub said_at: Option<Timestamp>,
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

impl CannotWrite {
    /// The result does not fit on the records of `sources[survivor]`.
    pub(crate) fn at(sources: &[Source], survivor: usize, detail: impl Into<String>) -> Self {
        let key = sources.get(survivor).map(|source| &source.memory.key);
        Self {
            key: key.cloned().unwrap_or_default(),
            detail: detail.into(),
        }
    }
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

/// How the keys of a user are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing<'a> {
    /// This TAG field of the index holds the user id: the index is asked for it where it can
    /// express the id, else every key is read. Who owns a record stands on the record.
    Tag(&'a str),
    /// The index is listed as a whole with the value of this field, by which
    /// [`Layout::owner`] tells whose a key is. Only keys that it says to be the user's are read.
    Value(&'a str),
}

impl<'a> Listing<'a> {
    /// The field of the index.
    pub fn field(self) -> &'a str {
        match self {
            Self::Tag(field) | Self::Value(field) => field,
        }
    }
}

/// Vectors on keys of their own, each of which is read, pinned, moved, written and restored together
/// with its memory. The own key of a memory and the other one end in the same.
#[derive(Clone, Copy, Debug)]
pub struct Apart<'a> {
    /// The index of the other keys. It has the field of the listing as well.
    pub index: &'a IndexFacts,
    /// What own keys begin with.
    pub own: &'a str,
    /// What the other keys begin with.
    pub other: &'a str,
}

impl Apart<'_> {
    /// The other key of the memory at `own`.
    pub fn other_key(&self, own: &str) -> Option<String> {
        Some(format!("{}{}", self.other, own.strip_prefix(self.own)?))
    }

    /// The own key of the memory that another key belongs to.
    pub fn own_key(&self, other: &str) -> Option<String> {
        Some(format!("{}{}", self.own, other.strip_prefix(self.other)?))
    }
}

/// Records beside the memories that name memories by their ids and must not name retired ones.
#[derive(Clone, Copy, Debug)]
pub struct Companions<'a> {
    /// The index that holds them.
    pub index: &'a IndexFacts,
    /// Its TAG field with the user id.
    pub user_field: &'a str,
}

/// Something on the server that speaks against merging now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// Whether nothing may be done; else it is a warning.
    pub refuses: bool,
    /// What was found.
    pub found: String,
    /// What to do.
    pub advice: String,
}

/// A field that a layout reads, as `doctor` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldUse {
    /// What it is to a memory, such as `text`: the name of the setting `fields.…` as well, where
    /// there is one.
    pub role: &'static str,
    /// Its name in the index or, where the index has none, in the record.
    pub name: String,
    /// Whether memories cannot be merged unless the index has it.
    pub needed: bool,
    /// Whether a merge changes it in the surviving record.
    pub rewritten: bool,
}

impl FieldUse {
    /// What `name` is to a memory.
    pub(crate) fn new(role: &'static str, name: &str, needed: bool, rewritten: bool) -> Self {
        Self {
            role,
            name: name.to_owned(),
            needed,
            rewritten,
        }
    }
}

/// How one kind of store is read and written.
pub trait Layout: Send + Sync {
    /// The name used on the command line, such as `redisvl`.
    fn name(&self) -> &'static str;

    /// How the keys of a user are found in the index of the memories' own keys.
    fn listing(&self) -> Listing<'_>;

    /// The user of the memories with this value in the listing's field, or without one; `None` where
    /// those are of no user, and no memories.
    fn owner(&self, value: Option<&str>) -> Option<String> {
        value.map(str::to_owned)
    }

    /// Whether `key`, which lies under a prefix of the index, can be a memory's own key. What is
    /// not is passed over without a word.
    fn is_own_key(&self, _key: &str) -> bool {
        true
    }

    /// Where the vectors are, if they are not in the records of the memories' own keys.
    fn apart(&self) -> Option<Apart<'_>> {
        None
    }

    /// The index that holds the vectors, if it is not that of the memories' own keys.
    fn vector_index(&self) -> Option<&IndexFacts> {
        self.apart().map(|apart| apart.index)
    }

    /// The index field that holds the vector.
    fn vector_field(&self) -> &str;

    /// Index fields that say when a memory was written or changed, for the cheap look whether a user
    /// has anything new; none where the index has no such field.
    fn time_fields(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The fields that are read, and which of them a merge rewrites.
    fn fields(&self) -> Vec<FieldUse>;

    /// What else its settings say of how memories are read and merged: another text where they say
    /// something else.
    fn rules(&self) -> String {
        String::new()
    }

    /// Reads one memory.
    ///
    /// # Errors
    /// [`NotRead`] with a reason code; never panics, whatever the bytes.
    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead>;

    /// The originals that a memory stands for: those of its provenance, or itself.
    fn leaves(&self, source: &Source) -> Vec<Leaf>;

    /// What agents know the memory by, where that is not its key: fields of the index and their
    /// values. No undo brings it back while another key has the same.
    fn identity(&self, _source: &Source) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Builds what replaces the sources, on the records of `sources[survivor]`: with exactly the
    /// keys that the survivor has.
    ///
    /// # Errors
    /// [`CannotWrite`] if the survivor's records cannot take the result without loss.
    fn merge(
        &self,
        sources: &[Source],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Stored, CannotWrite>;

    /// Where records are that name memories by their ids.
    fn companions(&self) -> Option<Companions<'_>> {
        None
    }

    /// The companion `record` at `key` after the merge of `sources` into `sources[survivor]`; `None`
    /// where it names none of those that retire.
    ///
    /// # Errors
    /// [`CannotWrite`] if it names one and cannot be rewritten; the merge is not made then.
    fn relink(
        &self,
        _key: &str,
        _record: &Record,
        _sources: &[Source],
        _survivor: usize,
    ) -> Result<Option<Record>, CannotWrite> {
        Ok(None)
    }

    /// Keys whose presence on the server matters to [`Layout::concerns`].
    fn watched_keys(&self) -> Vec<String> {
        Vec::new()
    }

    /// What speaks against merging now, by those of the watched keys that are present. That an
    /// index is being built is refused for every layout.
    fn concerns(&self, _present: &[String]) -> Vec<Concern> {
        Vec::new()
    }
}

fn not_read(reason: Reason, detail: impl Into<String>) -> NotRead {
    NotRead {
        reason,
        detail: detail.into(),
        user: None,
    }
}
