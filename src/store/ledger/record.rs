//! The record of a merge.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::memory::{Author, Digest, Finding, Partition, VectorOrigin};
use crate::record::Storage;
use crate::store::StoreError;

/// Version of [`MergeRecord`]; readers refuse a higher one.
pub const RECORD_VERSION: u32 = 1;

/// What becomes of the sources of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Retire {
    /// They are renamed into the undo store, for the undo window.
    Rename,
    /// Their `DUMP` payloads are kept for the undo window, for an index covers the undo store. They
    /// come back as they would from a restart of the server: RedisJSON may print numbers below
    /// 1e-6 with another last digit then.
    Dump,
    /// They are deleted at once: no undo.
    Delete,
}

/// One source of a merge, as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The Redis key.
    pub key: String,
    /// Digest of the record that was judged and retired.
    pub digest: Digest,
    /// Digest of what it says, by which a veto knows it again; that of the record where there is
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_digest: Option<Digest>,
    /// When it was created, as far as known.
    pub created_at: Option<Timestamp>,
    /// Cosine distance to the farthest other source.
    pub distance: f64,
    /// Ids of the original memories that it stands for.
    pub leaves: Vec<String>,
    /// The key's absolute expiry (`PEXPIRETIME`), in ms since the epoch; `None` = kept for ever.
    pub expires_at_ms: Option<i64>,
    /// Its keys, its own first, where the layout keeps it on several; `digest` is of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyRecord>,
    /// What agents know it by, where that is not its key: fields of the index and their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identity: Vec<(String, String)>,
}

impl SourceRecord {
    /// By what a veto knows it again.
    pub(crate) fn said(&self) -> &Digest {
        self.text_digest.as_ref().unwrap_or(&self.digest)
    }
}

/// One key of a merge that is not a whole memory, as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The Redis key.
    pub key: String,
    /// How it is stored.
    pub storage: Storage,
    /// Digest of its record.
    pub digest: Digest,
    /// Its absolute expiry in ms since the epoch; `None` = kept for ever.
    pub expires_at_ms: Option<i64>,
}

/// A key that a merge pins, moves away and, by undo, brings back.
pub(in crate::store) struct Pinned<'a> {
    pub(in crate::store) key: &'a str,
    pub(in crate::store) storage: Storage,
    pub(in crate::store) digest: &'a Digest,
    /// -1 = never, as `PEXPIRETIME` says it.
    pub(in crate::store) expires_at_ms: i64,
    /// Keys of one number come back together: those of a memory, or a companion alone.
    pub(in crate::store) unit: usize,
    /// Whether the merge puts another record there.
    pub(in crate::store) written: bool,
}

/// All that is known about a merge, without any memory's text (but for the words that guards
/// found).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeRecord {
    /// Version of this format; [`RECORD_VERSION`].
    pub version: u32,
    /// The merge's id, a ULID.
    pub merge_id: String,
    /// The run that made it.
    pub run_id: String,
    /// The layout's name.
    pub layout: String,
    /// The index.
    pub index: String,
    /// How the memories are stored.
    pub storage: Storage,
    /// The partition of all sources.
    pub partition: Partition,
    /// The key that holds the result: one of the sources'.
    pub result_key: String,
    /// The sources, sorted by key.
    pub sources: Vec<SourceRecord>,
    /// Records that named a retired memory and were rewritten with the merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<KeyRecord>,
    /// The merges whose results are among the sources: undoing one of them needs this one undone.
    pub parents: Vec<String>,
    /// What the guards saw without objecting.
    pub findings: Vec<Finding>,
    /// The threshold in force (cosine distance).
    pub threshold: f64,
    /// Where the distances come from: `stored` or `onnx`.
    pub distance: String,
    /// Who wrote the text.
    pub author: Author,
    /// Where the vector comes from.
    pub vector_origin: VectorOrigin,
    /// When it was merged.
    pub merged_at: Timestamp,
    /// What became of the sources.
    pub retire: Retire,
    /// When the originals are dropped; `None` if they were at once.
    pub undo_until: Option<Timestamp>,
}

impl MergeRecord {
    /// All keys that the merge moves: those of the sources, then the companions.
    pub(in crate::store) fn pinned(&self) -> Vec<Pinned<'_>> {
        let mut pinned = Vec::new();
        for (unit, source) in self.sources.iter().enumerate() {
            let written = source.key == self.result_key;
            if source.keys.is_empty() {
                pinned.push(Pinned {
                    key: &source.key,
                    storage: self.storage,
                    digest: &source.digest,
                    expires_at_ms: source.expires_at_ms.unwrap_or(-1),
                    unit,
                    written,
                });
            }
            let keys = source.keys.iter();
            pinned.extend(keys.map(|key| Pinned::of(key, unit, written)));
        }
        let companions = self.companions.iter().zip(self.sources.len()..);
        pinned.extend(companions.map(|(key, unit)| Pinned::of(key, unit, true)));
        pinned
    }
}

impl<'a> Pinned<'a> {
    fn of(key: &'a KeyRecord, unit: usize, written: bool) -> Self {
        Self {
            key: &key.key,
            storage: key.storage,
            digest: &key.digest,
            expires_at_ms: key.expires_at_ms.unwrap_or(-1),
            unit,
            written,
        }
    }
}

/// Whether a merge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The result is in place of the sources.
    Merged,
    /// It was taken back.
    Undone,
}

/// A merge's record as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRecord {
    /// Whether it stands.
    pub state: State,
    /// Digest of the result's own key as it was written.
    pub result_digest: Digest,
    /// Digests of what else was written: the result's other keys, then the companions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_digests: Vec<Digest>,
    /// The merge.
    pub merge: MergeRecord,
}

impl StoredRecord {
    pub(crate) fn parse(merge_id: &str, text: &str) -> Result<Self, StoreError> {
        let unreadable = |why: String| {
            StoreError::Protocol(format!(
                "the record of merge {merge_id} is unreadable: {why}"
            ))
        };
        let stored: Self =
            serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        match stored.merge.version {
            ..=RECORD_VERSION => Ok(stored),
            newer => Err(unreadable(format!(
                "version {newer}; a newer memfold wrote it"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_text() {
        let merge = MergeRecord {
            version: RECORD_VERSION,
            merge_id: "01M".to_owned(),
            run_id: "01R".to_owned(),
            layout: "redisvl".to_owned(),
            index: "agent_memories".to_owned(),
            storage: Storage::Hash,
            partition: Partition {
                user: "alice".to_owned(),
                scope: vec!["ns".to_owned()],
                memory_type: "semantic".to_owned(),
            },
            result_key: "memory:1".to_owned(),
            sources: vec![SourceRecord {
                key: "memory:1".to_owned(),
                digest: Digest("d".repeat(40)),
                text_digest: Some(Digest("f".repeat(40))),
                created_at: Some(Timestamp::UNIX_EPOCH),
                distance: 0.123_456_789_012_345_67,
                leaves: vec!["1".to_owned()],
                expires_at_ms: Some(1_900_000_000_123),
                keys: vec![],
                identity: vec![],
            }],
            companions: vec![],
            parents: vec!["01L".to_owned()],
            findings: vec![],
            threshold: 0.1,
            distance: "stored".to_owned(),
            author: Author::Llm {
                model: "m".to_owned(),
                prompt: "1".to_owned(),
                tokens: 12,
                calls: 2,
            },
            vector_origin: VectorOrigin::Embedded,
            merged_at: Timestamp::UNIX_EPOCH,
            retire: Retire::Rename,
            undo_until: None,
        };
        let stored = StoredRecord {
            state: State::Merged,
            result_digest: Digest("e".repeat(40)),
            more_digests: vec![],
            merge,
        };
        let text = serde_json::to_string(&stored).unwrap();
        assert_eq!(StoredRecord::parse("01M", &text).unwrap(), stored);
        let newer = text.replace("\"version\":1", "\"version\":2");
        let error = StoredRecord::parse("01M", &newer).unwrap_err().to_string();
        assert!(
            error.contains("01M") && error.contains("version 2"),
            "{error}"
        );
    }
}
