//! The commit: the result in, the sources out, the record written; all in one step or not at all.
//!
//! The result goes in place, on the key of one of its sources (the oldest): an id that an agent
//! holds stays valid, and key shape, memory id and unknown members stay as the library made them.

use std::time::Duration;

use redis::aio::ConnectionLike;
use serde::Serialize;

use super::functions::{Function, Functions, unexpected, words};
use super::ledger::{MergeRecord, Retire, State, StoredRecord};
use super::writes::Write;
use super::{Lease, StoreError, keys, query, visible};
use crate::memory::{Digest, Reason};
use crate::record::{Record, Storage, Stored};

/// 100 years, in ms: longer times are this long. Sums with the time of day stay exact on the server.
const LONGEST_MS: u128 = 100 * 365 * 24 * 3600 * 1000;

/// One merge, ready to be written.
#[derive(Clone, Debug)]
pub struct Commit<'a> {
    /// What is recorded; it names the sources, the result's key and the way of retiring.
    pub record: &'a MergeRecord,
    /// The result, on all keys of the source that it replaces.
    pub result: &'a Stored,
    /// The companions as they are to be, in the order of those of the record.
    pub companions: &'a [Record],
    /// The index of the companions, if there are any.
    pub companion_index: &'a str,
    /// The result's vector in the index's data type, little-endian, to find it by.
    pub vector: &'a [u8],
    /// The vector field's name in its index (its alias).
    pub vector_field: &'a str,
    /// The index with the vectors, if it is not that of the record: it then holds the first of the
    /// result's other keys.
    pub vector_index: Option<&'a str>,
    /// The result's absolute expiry in ms since the epoch; `None` = kept for ever.
    pub expires_at_ms: Option<i64>,
    /// How long the originals are kept. Not used with [`Retire::Delete`].
    pub window: Duration,
    /// How long the record is kept; at least `window`.
    pub ledger: Duration,
    /// The lease that must still be held, if the merge is made under one.
    pub lease: Option<&'a Lease>,
    /// For servers that index in the background: look for the result after the commit, and take
    /// the merge back if it does not appear.
    pub check_after: bool,
}

/// How a commit ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The merge was made.
    Merged,
    /// A merge of this id stands already; nothing was changed.
    Already,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// A source is not what was judged.
    #[error("{key} has changed since it was read ({what}); the group waits for the next run")]
    Changed {
        /// The source.
        key: String,
        /// What changed.
        what: String,
    },
    /// A source is what was judged, but expires at another time than it did when it was read: some
    /// libraries prolong what they read.
    #[error(
        "{key} expires at another time than when it was read; the group waits for the next run"
    )]
    OtherExpiry {
        /// The source.
        key: String,
    },
    /// A source has fields with an expiry of their own, which the result could not keep.
    #[error("fields of {key} expire by themselves (HEXPIRE), which a merge could not keep")]
    ExpiringFields {
        /// The source.
        key: String,
    },
    /// A key of the undo store is in use.
    #[error("{key} is in use, though it belongs to memfold; rename or delete it")]
    Taken {
        /// The key.
        key: String,
    },
    /// The result would not be found through the index.
    #[error("the result at {key} would not be found through the index: {detail}")]
    NotVisible {
        /// The result's key.
        key: String,
        /// What the index says.
        detail: String,
    },
    /// The lease is another's.
    #[error("the lease was lost to {}", .holder.as_deref().unwrap_or("nobody: it ran out"))]
    Fenced {
        /// Fence and token of the one that has it.
        holder: Option<String>,
    },
    /// This very merge was undone before, or is forbidden.
    #[error(
        "this merge was undone before or forbidden in a review; it may be made after `memfold undo \
         --lift-veto {merge_id}`"
    )]
    Vetoed {
        /// The merge that was undone, or the id of what forbids it.
        merge_id: String,
    },
    /// The merge id was used and undone.
    #[error("merge {0} was made and undone; a new merge needs a new id")]
    Undone(String),
    /// The server refused a write; what had been written was taken back.
    #[error("the server refused a write ({0}); nothing was changed")]
    Refused(String),
    /// The server refused to take a write back after refusing another.
    #[error("the server refused to take a write back ({0}); see `memfold show` and repair by hand")]
    Broken(String),
    /// What was to be committed makes no sense.
    #[error("not a valid merge: {0}")]
    Invalid(&'static str),
    /// The store failed. After a lost connection the same commit may be tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CommitError {
    /// The reason code under which the group is left alone; `None` where the run must stop.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Changed { .. } | Self::OtherExpiry { .. } => Some(Reason::Changed),
            Self::ExpiringFields { .. } => Some(Reason::Unwritable),
            Self::NotVisible { .. } => Some(Reason::NotVisible),
            Self::Vetoed { .. } => Some(Reason::Vetoed),
            Self::Refused(_) | Self::Taken { .. } => Some(Reason::WriteRefused),
            _ => None,
        }
    }
}

/// The control part, decoded by the server.
#[derive(Serialize)]
struct Spec<'a> {
    merge_id: &'a str,
    retire: Retire,
    user: &'a str,
    run_id: &'a str,
    /// Memories that are merged.
    retired: usize,
    /// All keys that are moved.
    keys: Vec<SpecKey<'a>>,
    /// What is written where keys were moved away, the result's own key first.
    writes: Vec<SpecWrite<'a>>,
    window_ms: u64,
    ledger_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<&'a str>,
    prove: bool,
}

#[derive(Serialize)]
struct SpecKey<'a> {
    storage: Storage,
    digest: &'a Digest,
    /// -1 = never, as `PEXPIRETIME` says it.
    expires_at_ms: i64,
}

#[derive(Serialize)]
struct SpecWrite<'a> {
    /// Position among the keys, from 1.
    at: usize,
    /// How many arguments hold the record.
    args: usize,
    expires_at_ms: i64,
    /// The index that must find it.
    index: &'a str,
    /// The field by whose vector it must be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_field: Option<String>,
}

/// Commits a merge. The same commit may be sent again at any time: a merge id is used once.
///
/// A lost reply is asked for once more here, for the same reason.
///
/// # Errors
/// [`CommitError`]; nothing was written then, except after a lost connection
/// ([`CommitError::Store`]), where it is either all written or not at all.
pub async fn commit(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    commit: &Commit<'_>,
) -> Result<Committed, CommitError> {
    let record = commit.record;
    validate(commit)?;
    let writes = commit.writes()?;
    let spec = serde_json::to_vec(&spec(commit, &writes)).map_err(|_| unencodable())?;
    let text = serde_json::to_vec(record).map_err(|_| unencodable())?;
    let mut args: Vec<&[u8]> = vec![&spec, &text, commit.vector];
    args.extend(writes.iter().flat_map(Write::args));
    let keys = keys_of(commit);

    let mut reply = functions.call(con, Function::Commit, &keys, &args).await;
    let asked_again = reply.as_ref().is_err_and(is_reply_lost);
    if asked_again {
        tracing::debug!(
            merge_id = record.merge_id,
            "no reply to the commit, asking again"
        );
        reply = functions.call(con, Function::Commit, &keys, &args).await;
    }
    let committed = outcome(record, &reply?)?;
    if commit.check_after && (committed == Committed::Merged || asked_again) {
        visible::check_after(con, functions, commit, &writes).await?;
    }
    Ok(committed)
}

fn validate(commit: &Commit<'_>) -> Result<(), CommitError> {
    let record = commit.record;
    let pinned = record.pinned();
    let mut names: Vec<&str> = pinned.iter().map(|pinned| pinned.key).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() != pinned.len() {
        return Err(CommitError::Invalid("a source is named twice"));
    }
    if record.retire != Retire::Delete && millis(commit.window) == 0 {
        return Err(CommitError::Invalid(
            "an undo window of nothing; delete the sources instead",
        ));
    }
    if record.retire == Retire::Delete && commit.check_after {
        return Err(CommitError::Invalid(
            "sources deleted before the result is seen; give an undo window",
        ));
    }
    let mut sources = record.sources.iter();
    if !sources.any(|source| source.key == record.result_key) {
        return Err(CommitError::Invalid(
            "the result's key is none of the sources'",
        ));
    }
    Ok(())
}

fn spec<'a>(commit: &'a Commit<'_>, writes: &'a [Write<'_>]) -> Spec<'a> {
    let record = commit.record;
    let keys = record.pinned().into_iter().map(|pinned| SpecKey {
        storage: pinned.storage,
        digest: pinned.digest,
        expires_at_ms: pinned.expires_at_ms,
    });
    let writes = writes.iter().map(|write| SpecWrite {
        at: write.at,
        args: write.args().len(),
        expires_at_ms: write.expires_at_ms.unwrap_or(-1),
        index: write.index,
        vector_field: write
            .by_vector
            .then(|| query::field_name(commit.vector_field)),
    });
    Spec {
        merge_id: &record.merge_id,
        retire: record.retire,
        user: &record.partition.user,
        run_id: &record.run_id,
        retired: record.sources.len(),
        keys: keys.collect(),
        writes: writes.collect(),
        window_ms: millis(commit.window),
        ledger_ms: millis(commit.ledger.max(commit.window)),
        lease: commit.lease.map(Lease::value),
        prove: !commit.check_after,
    }
}

fn keys_of(commit: &Commit<'_>) -> Vec<String> {
    let lease = commit.lease.map_or(keys::FENCE, Lease::key);
    keys::of_merge(commit.record, [lease.to_owned()], [])
}

fn outcome(record: &MergeRecord, reply: &[String]) -> Result<Committed, CommitError> {
    let changed = |key: &str, what: &str| CommitError::Changed {
        key: key.to_owned(),
        what: what.to_owned(),
    };
    Err(match words(reply)[..] {
        ["MERGED", _] => return Ok(Committed::Merged),
        ["ALREADY", text] => {
            return match StoredRecord::parse(&record.merge_id, text)?.state {
                State::Merged => Ok(Committed::Already),
                State::Undone => Err(CommitError::Undone(record.merge_id.clone())),
            };
        }
        ["MISSING", key] => changed(key, "it is gone"),
        ["TYPE", key, kind] => changed(key, &format!("it is a {kind}")),
        ["CHANGED", key] => changed(key, "another content"),
        ["EXPIRY", key] => CommitError::OtherExpiry {
            key: key.to_owned(),
        },
        ["FIELDTTL", key] => CommitError::ExpiringFields {
            key: key.to_owned(),
        },
        ["TAKEN", key] => CommitError::Taken {
            key: key.to_owned(),
        },
        ["NOTVISIBLE", detail] => CommitError::NotVisible {
            key: record.result_key.clone(),
            detail: detail.to_owned(),
        },
        ["FENCED", holder] => CommitError::Fenced {
            holder: (!holder.is_empty()).then(|| holder.to_owned()),
        },
        ["VETOED", merge_id] => CommitError::Vetoed {
            merge_id: merge_id.to_owned(),
        },
        ["REFUSED", why] => CommitError::Refused(why.to_owned()),
        ["BROKEN", why] => CommitError::Broken(why.to_owned()),
        _ => unexpected(reply).into(),
    })
}

pub(crate) fn millis(duration: Duration) -> u64 {
    duration.as_millis().min(LONGEST_MS) as u64
}

fn is_reply_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::Timeout(_) | StoreError::Lost(_))
}

fn unencodable() -> CommitError {
    CommitError::Invalid("the record cannot be encoded")
}
