//! What was merged: one record a merge, one stream entry an event, and reading both.

mod record;

use std::collections::{HashMap, HashSet};

use redis::aio::ConnectionLike;
use serde::{Deserialize, Serialize};

pub(super) use self::record::Pinned;
pub use self::record::{
    KeyRecord, MergeRecord, RECORD_VERSION, Retire, SourceRecord, State, StoredRecord,
};
use super::{StoreError, keys};
use crate::layout::Layout;
use crate::record::{Other, Record, Storage, Stored};

/// Stream entries read in one step.
const PAGE: usize = 500;

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
