//! Undo: the originals of a merge back on their keys, byte for byte; all of them or none.

use std::time::Duration;

use redis::aio::ConnectionLike;
use serde::Serialize;

use super::functions::{Function, Functions, unexpected, words};
use super::ledger::{MergeRecord, Pinned, Retire, State, StoredRecord, show};
use super::vetoes::Veto;
use super::{StoreError, keys, listing};
use crate::layout;
use crate::memory::Digest;
use crate::record::Storage;

/// How far an undo may go.
#[derive(Clone, Copy)]
pub struct UndoOptions<'a> {
    /// Undo although the result was edited; the edited result is kept beside, on a new key.
    pub force: bool,
    /// Undo later merges of the result first.
    pub cascade: bool,
    /// Gives a new ULID, for the key of an edited result.
    pub new_id: &'a (dyn Fn() -> String + Sync),
    /// How long the ledger keeps its entries.
    pub ledger: Duration,
    /// Why, for the ledger and for the veto against making the merge again.
    pub reason: Option<&'a str>,
}

/// One merge that was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// The merge.
    pub merge_id: String,
    /// The keys whose memories are back.
    pub restored: Vec<String>,
    /// The keys whose memories stay gone: their own expiry has passed.
    pub expired: Vec<String>,
    /// The new key of the edited result, if there was one.
    pub kept_beside: Option<String>,
    /// Companions that were edited and stay as they are: they may go on naming the result.
    pub left_edited: Vec<String>,
}

/// Why a merge was not undone. Nothing was changed, except by [`UndoError::Partly`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no such merge.
    #[error("there is no merge {0} (any more); see `memfold history`")]
    Unknown(String),
    /// It was undone before.
    #[error("merge {0} is undone already")]
    Already(String),
    /// The originals are gone.
    #[error(
        "the original of {key} is gone from the undo store: the undo window of merge {merge_id} \
         has passed"
    )]
    Window {
        /// The merge.
        merge_id: String,
        /// The first source without an original.
        key: String,
    },
    /// It was made without an undo window.
    #[error("merge {0} was made without an undo window; its originals were deleted")]
    Deleted(String),
    /// The result is not as it was written.
    #[error(
        "the result of merge {merge_id} at {key} was edited since; --force undoes the merge and \
         keeps the edited memory beside, on a new key"
    )]
    Edited {
        /// The merge.
        merge_id: String,
        /// The result's key.
        key: String,
    },
    /// The result is not as it was written, and cannot be kept on a new key.
    #[error(
        "the result of merge {merge_id} at {key} was edited since, and cannot be kept beside: its \
         record repeats the id that its key holds, so that agents would know two memories by one id. \
         Save what it says as a new memory through the agent's library, delete it there, then undo \
         without --force"
    )]
    EditedInPlace {
        /// The merge.
        merge_id: String,
        /// The result's key.
        key: String,
    },
    /// A companion is not as it was written.
    #[error(
        "the memories of merge {merge_id} are as they were written, but {key}, which names some of \
         them by their ids, was edited since; --force undoes the merge and leaves {key} as it is: it \
         may go on naming only the memory at {result}"
    )]
    EditedCompanion {
        /// The merge.
        merge_id: String,
        /// The companion's key.
        key: String,
        /// The result's key.
        result: String,
    },
    /// A key is in use by something else.
    #[error("{key} is taken by something else; rename it first, then undo merge {merge_id}")]
    Taken {
        /// The merge.
        merge_id: String,
        /// The key.
        key: String,
    },
    /// A memory was written anew, under another key.
    #[error(
        "what agents know {key} by was written again, at {by}; undoing merge {merge_id} would give \
         them two. Delete one of them through the agent's library first"
    )]
    Replaced {
        /// The merge.
        merge_id: String,
        /// The source.
        key: String,
        /// The key that has its identity now.
        by: String,
    },
    /// The result was merged again.
    #[error(
        "the result of merge {merge_id} was merged again by {later}; undo that first, or both \
         with --cascade"
    )]
    Later {
        /// The merge.
        merge_id: String,
        /// The one that took its result.
        later: String,
    },
    /// Nothing would come back.
    #[error("the originals of merge {0} have all expired by themselves; nothing would come back")]
    Expired(String),
    /// The server refused a write; what had been written was taken back.
    #[error("the server refused a write ({0}); nothing was changed")]
    Refused(String),
    /// The server refused to take a write back after refusing another.
    #[error("the server refused to take a write back ({0}); repair by hand")]
    Broken(String),
    /// A cascade stopped on its way.
    #[error("undone: {}; then: {error}", .undone.iter().map(|u| u.merge_id.as_str())
        .collect::<Vec<_>>().join(", "))]
    Partly {
        /// What was undone, each as a whole.
        undone: Vec<Undone>,
        /// Why it went no further.
        error: Box<UndoError>,
    },
    /// The store failed. After a lost connection, try again: a merge that was undone says so.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Serialize)]
struct Spec<'a> {
    merge_id: &'a str,
    retire: Retire,
    user: &'a str,
    run_id: &'a str,
    /// Memories that were merged.
    retired: usize,
    /// Their own keys.
    memories: Vec<&'a str>,
    /// All keys that were moved.
    keys: Vec<SpecKey>,
    /// What was written, the result's own key first.
    writes: Vec<SpecWrite<'a>>,
    ledger_ms: u64,
    force: bool,
    /// Whether a memory that was edited may be kept on a new key.
    beside: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// What the user's set of vetoes says of this one; none where there is to be no veto.
    #[serde(skip_serializing_if = "Option::is_none")]
    veto: Option<String>,
}

#[derive(Serialize)]
struct SpecKey {
    storage: Storage,
    /// -1 = never.
    expires_at_ms: i64,
    /// Keys of one number come back together; those of memories are numbered as these are.
    unit: usize,
}

#[derive(Serialize)]
struct SpecWrite<'a> {
    /// Position among the keys, from 1.
    at: usize,
    digest: &'a Digest,
}

/// Undoes a merge; with `cascade`, first the merges that built on it, newest first. Each is undone
/// as a whole. The answer names them in that order.
///
/// # Errors
/// [`UndoError`]
pub async fn undo(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    merge_id: &str,
    options: &UndoOptions<'_>,
) -> Result<Vec<Undone>, UndoError> {
    let mut chain = vec![merge_id.to_owned()];
    let mut undone: Vec<Undone> = Vec::new();
    while let Some(id) = chain.last() {
        match undo_one(con, functions, id, options, true).await {
            Ok(one) => {
                undone.push(one);
                chain.pop();
            }
            // A later merge that is named twice would be one that cannot be undone.
            Err(UndoError::Later { later, .. }) if options.cascade && !chain.contains(&later) => {
                chain.push(later);
            }
            Err(error) if undone.is_empty() => return Err(error),
            Err(error) => {
                return Err(UndoError::Partly {
                    undone,
                    error: Box::new(error),
                });
            }
        }
    }
    Ok(undone)
}

/// Takes back a merge that was made a moment ago, without a veto against making it again.
pub(crate) async fn take_back(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    merge_id: &str,
    ledger: Duration,
) -> Result<(), UndoError> {
    let new_id = String::new;
    let options = UndoOptions {
        force: false,
        cascade: false,
        new_id: &new_id,
        ledger,
        reason: None,
    };
    undo_one(con, functions, merge_id, &options, false)
        .await
        .map(drop)
}

async fn undo_one(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    merge_id: &str,
    options: &UndoOptions<'_>,
    veto: bool,
) -> Result<Undone, UndoError> {
    let stored = show(con, merge_id)
        .await?
        .ok_or_else(|| UndoError::Unknown(merge_id.to_owned()))?;
    if stored.state == State::Undone {
        return Err(UndoError::Already(merge_id.to_owned()));
    }
    if stored.merge.retire == Retire::Delete {
        return Err(UndoError::Deleted(merge_id.to_owned()));
    }
    refuse_twins(con, &stored.merge).await?;
    let new_id = (options.new_id)();
    let spec = spec(&stored, options, veto)?;
    let args = serde_json::to_vec(&spec).map_err(StoreError::protocol)?;
    let keys = keys_of(&stored.merge, &new_id);
    let reply = functions.call(con, Function::Undo, &keys, &[&args]).await?;
    match outcome(&stored.merge, &reply) {
        Err(UndoError::Edited { merge_id, key }) if options.force => {
            Err(UndoError::EditedInPlace { merge_id, key })
        }
        result => result,
    }
}

/// Refuses to bring back a memory that an agent has written anew under another key. Where a source's
/// own key is taken, the function on the server says so.
async fn refuse_twins(con: &mut impl ConnectionLike, merge: &MergeRecord) -> Result<(), UndoError> {
    let pinned: Vec<&str> = merge.pinned().iter().map(|pinned| pinned.key).collect();
    for source in merge.sources.iter().filter(|s| !s.identity.is_empty()) {
        let twin = listing::twin(con, &merge.index, &source.identity, &pinned).await?;
        if let Some(by) = twin {
            return Err(UndoError::Replaced {
                merge_id: merge.merge_id.clone(),
                key: source.key.clone(),
                by,
            });
        }
    }
    Ok(())
}

fn spec<'a>(
    stored: &'a StoredRecord,
    options: &UndoOptions<'a>,
    veto: bool,
) -> Result<Spec<'a>, StoreError> {
    let merge = &stored.merge;
    let pinned = merge.pinned();
    let mut digests = [&stored.result_digest]
        .into_iter()
        .chain(&stored.more_digests);
    let mut writes = Vec::new();
    for (at, _) in (1..).zip(&pinned).filter(|(_, key)| key.written) {
        let lacking = || StoreError::Protocol(format!("merge {}: a digest", merge.merge_id));
        let digest = digests.next().ok_or_else(lacking)?;
        writes.push(SpecWrite { at, digest });
    }
    let key = |pinned: Pinned<'_>| SpecKey {
        storage: pinned.storage,
        expires_at_ms: pinned.expires_at_ms,
        unit: pinned.unit,
    };
    Ok(Spec {
        merge_id: &merge.merge_id,
        retire: merge.retire,
        user: &merge.partition.user,
        run_id: &merge.run_id,
        retired: merge.sources.len(),
        memories: merge.sources.iter().map(|s| s.key.as_str()).collect(),
        keys: pinned.into_iter().map(key).collect(),
        writes,
        ledger_ms: super::commit::millis(options.ledger),
        force: options.force,
        reason: options.reason,
        beside: layout::kind(&merge.layout).is_none_or(|kind| kind.copied),
        veto: veto
            .then(|| serde_json::to_string(&Veto::of(merge, options.reason)))
            .transpose()
            .map_err(StoreError::protocol)?,
    })
}

fn keys_of(merge: &MergeRecord, new_id: &str) -> Vec<String> {
    let pinned = merge.pinned();
    let written = || pinned.iter().filter(|pinned| pinned.written).map(|p| p.key);
    let user = &merge.partition.user;
    let partition = keys::partition_name(&merge.layout, &merge.index, user);
    let asides = written().map(|key| keys::aside(&merge.merge_id, key));
    let besides = written().map(|key| keys::beside(key, new_id));
    keys::of_merge(
        merge,
        [keys::pointer(&merge.merge_id), keys::vetoes(&partition)],
        asides.chain(besides),
    )
}

fn outcome(merge: &MergeRecord, reply: &[String]) -> Result<Undone, UndoError> {
    let merge_id = merge.merge_id.clone();
    Err(match words(reply)[..] {
        ["RESTORED", beside, gone, ref keys @ ..] => {
            let gone = gone.parse().unwrap_or(keys.len()).min(keys.len());
            let (expired, left) = keys.split_at(gone);
            let own = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect();
            let names = merge.sources.iter().map(|source| &source.key);
            return Ok(Undone {
                merge_id,
                restored: names
                    .filter(|key| !expired.contains(&key.as_str()))
                    .cloned()
                    .collect(),
                expired: own(expired),
                left_edited: own(left),
                kept_beside: (!beside.is_empty()).then(|| beside.to_owned()),
            });
        }
        ["UNKNOWN"] => UndoError::Unknown(merge_id),
        ["UNDONE"] => UndoError::Already(merge_id),
        ["LATER", later] => UndoError::Later {
            merge_id,
            later: later.to_owned(),
        },
        ["EDITED", key] if merge.companions.iter().any(|known| known.key == key) => {
            UndoError::EditedCompanion {
                merge_id,
                key: key.to_owned(),
                result: merge.result_key.clone(),
            }
        }
        ["EDITED", key] => UndoError::Edited {
            merge_id,
            key: key.to_owned(),
        },
        ["TAKEN", key] => UndoError::Taken {
            merge_id,
            key: key.to_owned(),
        },
        ["WINDOW", key] => UndoError::Window {
            merge_id,
            key: key.to_owned(),
        },
        ["EXPIRED"] => UndoError::Expired(merge_id),
        ["REFUSED", why] => UndoError::Refused(why.to_owned()),
        ["BROKEN", why] => UndoError::Broken(why.to_owned()),
        _ => unexpected(reply).into(),
    })
}
