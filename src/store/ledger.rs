//! What was merged: one record a merge, one stream entry an event, and reading both.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use redis::aio::ConnectionLike;
use serde::{Deserialize, Serialize};

use super::{Storage, StoreError, keys};
use crate::layout::{Layout, Other, Record, Stored};
use crate::memory::{Author, Digest, Finding, Partition, VectorOrigin};

/// Version of [`MergeRecord`]; readers refuse a higher one.
pub const RECORD_VERSION: u32 = 1;

/// Stream entries read in one step.
const PAGE: usize = 500;

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
pub(super) struct Pinned<'a> {
    pub(super) key: &'a str,
    pub(super) storage: Storage,
    pub(super) digest: &'a Digest,
    /// -1 = never, as `PEXPIRETIME` says it.
    pub(super) expires_at_ms: i64,
    /// Keys of one number come back together: those of a memory, or a companion alone.
    pub(super) unit: usize,
    /// Whether the merge puts another record there.
    pub(super) written: bool,
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
    pub(super) fn pinned(&self) -> Vec<Pinned<'_>> {
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

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// A merge was made.
    Merged,
    /// A merge was undone.
    Undone,
    /// A person said that a group is never to be merged.
    Vetoed,
}

/// One entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The merge.
    pub merge_id: String,
    /// What happened.
    pub event: Event,
    /// The owner of the memories.
    pub user: String,
    /// The run that made the merge.
    pub run_id: String,
    /// When, by the server's clock, in ms since the epoch.
    pub at_ms: i64,
    /// How many memories the merge made one; of a veto, how many it keeps apart.
    pub retired: usize,
    /// Why, in the words of whoever undid it or forbade it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The record of a merge; `None` if there is none (any more).
///
/// # Errors
/// [`StoreError`] if it cannot be read.
pub async fn show(
    con: &mut impl ConnectionLike,
    merge_id: &str,
) -> Result<Option<StoredRecord>, StoreError> {
    let text: Option<String> = redis::cmd("GET")
        .arg(keys::record(merge_id))
        .query_async(con)
        .await?;
    text.map(|text| StoredRecord::parse(merge_id, &text))
        .transpose()
}

/// The later merge that took the result of this one as a source, if one did.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn merged_again_by(
    con: &mut impl ConnectionLike,
    merge_id: &str,
) -> Result<Option<String>, StoreError> {
    let mut cmd = redis::cmd("GET");
    Ok(cmd.arg(keys::pointer(merge_id)).query_async(con).await?)
}

/// The latest `limit` entries of the ledger, newest first; of one user or of all.
///
/// # Errors
/// [`StoreError`] if the ledger cannot be read.
pub async fn history(
    con: &mut impl ConnectionLike,
    user: Option<&str>,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    let mut found = Vec::new();
    let mut pages = Pages::default();
    while found.len() < limit
        && let Some(page) = pages.next(con).await?
    {
        found.extend(
            page.into_iter()
                .filter(|entry| user.is_none_or(|user| entry.user == user)),
        );
    }
    found.truncate(limit);
    Ok(found)
}

/// How many merges were undone since the entry with id `last`, which becomes that of the newest.
/// Without one, nothing is counted: the past is not this process's.
///
/// # Errors
/// [`StoreError`] if the ledger cannot be read.
pub async fn undone_since(
    con: &mut impl ConnectionLike,
    last: &mut Option<String>,
) -> Result<u64, StoreError> {
    let mut undone = 0;
    loop {
        let mut cmd = redis::cmd(if last.is_some() {
            "XRANGE"
        } else {
            "XREVRANGE"
        });
        cmd.arg(keys::LEDGER);
        match &*last {
            Some(last) => cmd.arg(format!("({last}")).arg("+").arg("COUNT").arg(PAGE),
            None => cmd.arg("+").arg("-").arg("COUNT").arg(1),
        };
        let page: Vec<(String, HashMap<String, String>)> = cmd.query_async(con).await?;
        let first_look = last.is_none();
        let Some((newest, _)) = page.last() else {
            last.get_or_insert_with(|| "0".to_owned());
            return Ok(undone);
        };
        *last = Some(newest.clone());
        if first_look {
            return Ok(0);
        }
        let is_undone = |(_, fields): &&(String, HashMap<String, String>)| {
            fields.get("event").is_some_and(|event| event == "undone")
        };
        undone += page.iter().filter(is_undone).count() as u64;
    }
}

/// Drops the oldest entries of the ledger beyond `most`. The records of the merges stay for their
/// own time: they can be shown and undone by their ids.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn trim_ledger(con: &mut impl ConnectionLike, most: usize) -> Result<(), StoreError> {
    let mut cmd = redis::cmd("XTRIM");
    cmd.arg(keys::LEDGER).arg("MAXLEN").arg("~").arg(most);
    Ok(cmd.exec_async(con).await?)
}

/// The merges of a run that stand, newest first: the order in which to undo them.
///
/// # Errors
/// [`StoreError`] if the ledger cannot be read.
pub async fn merges_of_run(
    con: &mut impl ConnectionLike,
    run_id: &str,
) -> Result<Vec<String>, StoreError> {
    let (mut undone, mut found) = (HashSet::new(), Vec::new());
    let mut pages = Pages::default();
    while let Some(page) = pages.next(con).await? {
        for entry in page.into_iter().filter(|entry| entry.run_id == run_id) {
            match entry.event {
                Event::Undone => {
                    undone.insert(entry.merge_id);
                }
                Event::Merged if !undone.contains(&entry.merge_id) => found.push(entry.merge_id),
                Event::Merged | Event::Vetoed => {}
            }
        }
    }
    Ok(found)
}

/// The merges that these memories are the results of, for [`MergeRecord::parents`]. `claims` are
/// keys with the merge ids that their own provenance names; one that was copied from another
/// memory, or whose merge does not stand, counts for nothing.
///
/// # Errors
/// [`StoreError`] if a record cannot be read.
pub async fn parents(
    con: &mut impl ConnectionLike,
    claims: &[(&str, &str)],
) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for &(key, merge_id) in claims {
        if let Some(stored) = show(con, merge_id).await?
            && stored.state == State::Merged
            && stored.merge.result_key == key
        {
            found.push(merge_id.to_owned());
        }
    }
    Ok(found)
}

/// The originals of a merge from the undo store, in the order of its sources. `None` where one is
/// there no more, or only as a payload ([`Retire::Dump`]).
///
/// # Errors
/// [`StoreError`] if the undo store cannot be read.
pub async fn originals(
    con: &mut impl ConnectionLike,
    stored: &StoredRecord,
) -> Result<Vec<Option<Stored>>, StoreError> {
    let merge = &stored.merge;
    let mut originals: Vec<Option<Stored>> = vec![None; merge.sources.len()];
    if merge.retire != Retire::Rename {
        return Ok(originals);
    }
    for pinned in merge.pinned() {
        // Companions are no originals.
        let Some(original) = originals.get_mut(pinned.unit) else {
            break;
        };
        let copy = keys::undo(&merge.merge_id, pinned.key);
        let record = match pinned.storage {
            Storage::Json => {
                let text: Option<String> =
                    redis::cmd("JSON.GET").arg(copy).query_async(con).await?;
                text.map(Record::Json)
            }
            Storage::Hash => {
                let fields: Vec<(Vec<u8>, Vec<u8>)> =
                    redis::cmd("HGETALL").arg(copy).query_async(con).await?;
                (!fields.is_empty()).then_some(Record::Hash(fields))
            }
        };
        match (original, record) {
            (original @ None, Some(record)) => *original = Some(record.into()),
            (Some(original), Some(record)) => original.others.push(Other {
                key: pinned.key.to_owned(),
                record,
                expires_at_ms: (pinned.expires_at_ms >= 0).then_some(pinned.expires_at_ms),
            }),
            (_, None) => {}
        }
    }
    Ok(originals)
}

/// What the originals of a merge say, in the order of its sources; `None` where that cannot be had
/// any more.
///
/// # Errors
/// [`StoreError`] if the undo store cannot be read.
pub async fn original_texts(
    con: &mut impl ConnectionLike,
    layout: &dyn Layout,
    stored: &StoredRecord,
) -> Result<Vec<Option<String>>, StoreError> {
    let originals = originals(con, stored).await?;
    let text = |(source, original): (&SourceRecord, Option<Stored>)| {
        Some(layout.read(&source.key, &original?).ok()?.memory.text)
    };
    Ok(stored
        .merge
        .sources
        .iter()
        .zip(originals)
        .map(text)
        .collect())
}

/// Reads the ledger backwards, page by page.
#[derive(Default)]
struct Pages {
    /// Id of the last entry read.
    last: Option<String>,
}

impl Pages {
    async fn next(
        &mut self,
        con: &mut impl ConnectionLike,
    ) -> Result<Option<Vec<Entry>>, StoreError> {
        let end = self
            .last
            .as_ref()
            .map_or("+".to_owned(), |id| format!("({id}"));
        let mut cmd = redis::cmd("XREVRANGE");
        cmd.arg(keys::LEDGER)
            .arg(end)
            .arg("-")
            .arg("COUNT")
            .arg(PAGE);
        let page: Vec<(String, HashMap<String, String>)> = cmd.query_async(con).await?;
        let Some((last, _)) = page.last() else {
            return Ok(None);
        };
        self.last = Some(last.clone());
        page.into_iter()
            .map(|(id, fields)| entry(&id, fields))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

fn entry(id: &str, mut fields: HashMap<String, String>) -> Result<Entry, StoreError> {
    let reason = fields.remove("reason");
    let broken =
        |what: &str| StoreError::Protocol(format!("entry {id} of {}: {what}", keys::LEDGER));
    let mut field = |name: &str| fields.remove(name).ok_or_else(|| broken(name));
    let event = match field("event")?.as_str() {
        "merged" => Event::Merged,
        "undone" => Event::Undone,
        "vetoed" => Event::Vetoed,
        other => return Err(broken(other)),
    };
    Ok(Entry {
        merge_id: field("merge_id")?,
        event,
        user: field("user")?,
        run_id: field("run_id")?,
        at_ms: field("at_ms")?.parse().map_err(|_| broken("at_ms"))?,
        retired: field("retired")?.parse().map_err(|_| broken("retired"))?,
        reason,
    })
}

#[cfg(test)]
pub(crate) mod tests {
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
