//! What is remembered of a user between runs, so that the next one does not do the same again.
//!
//! It saves work and money, and nothing depends on it: without it a user is read again, and an LLM
//! is asked again.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::aio::ConnectionLike;
use serde::{Deserialize, Serialize};

use super::functions::{Function, Functions, unexpected, words};
use super::{Counts, Lease, LeaseError, StoreError, keys};
use crate::memory::{Digest, Reason};

/// Version of [`UserState`]; a state of another one counts as none.
const VERSION: u32 = 1;

/// What the index says of a user at little cost: if it has not changed, most likely nothing has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The user's memories.
    pub count: u64,
    /// Of their keys and times, whatever the order; none in an older state.
    #[serde(default)]
    pub digest: u64,
}

/// What is remembered of a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserState {
    /// What the index said just before the last run that left nothing to do.
    pub probe: Option<Probe>,
    /// Digest of all that this run read, and of the settings it had.
    pub digest: Option<Digest>,
    /// When the last run began, by the server's clock, in ms since the epoch.
    pub run_at_ms: i64,
    /// When the memories were last read in full.
    pub full_at_ms: i64,
    /// Runs that failed since the last that did not.
    pub failures: u32,
    /// The earliest time of the next try after failures.
    pub not_before_ms: i64,
    /// Whether something was left that a later run may do.
    pub open: bool,
    /// What the LLM decided about groups that it leaves as they are, by what it was asked.
    pub verdicts: BTreeMap<String, Reason>,
    /// How many memories the index counted, day by day.
    #[serde(default, skip_serializing_if = "Counts::is_empty")]
    pub counts: Counts,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    state: UserState,
}

/// The states of these users of a store, in their order.
///
/// # Errors
/// [`StoreError`] if they cannot be read.
pub async fn states(
    con: &mut impl ConnectionLike,
    partitions: &[String],
) -> Result<Vec<Option<UserState>>, StoreError> {
    if partitions.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = partitions.iter().map(|name| keys::state(name)).collect();
    let texts: Vec<Option<String>> = redis::cmd("MGET").arg(names).query_async(con).await?;
    Ok(texts.into_iter().map(|text| parse(&text?)).collect())
}

/// The state of one user; `None` = nothing is remembered.
///
/// # Errors
/// [`StoreError`] if it cannot be read.
pub async fn state(
    con: &mut impl ConnectionLike,
    partition: &str,
) -> Result<Option<UserState>, StoreError> {
    let found = states(con, &[partition.to_owned()]).await?;
    Ok(found.into_iter().next().flatten())
}

/// Remembers the state for `keep`, if the lease is still held.
///
/// # Errors
/// [`LeaseError::Lost`] if it is not, and any error of the store.
pub async fn remember(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    lease: &Lease,
    partition: &str,
    state: &UserState,
    keep: Duration,
) -> Result<(), LeaseError> {
    let stored = Stored {
        version: VERSION,
        state: state.clone(),
    };
    let text = serde_json::to_vec(&stored).map_err(StoreError::protocol)?;
    set(con, functions, lease, keys::state(partition), &text, keep).await
}

/// What was compared when a user was last looked at, as it was given to [`remember_compared`]; `None`
/// where that is not known, or something else stands there.
///
/// # Errors
/// [`StoreError`] if it cannot be read.
pub async fn compared(
    con: &mut impl ConnectionLike,
    partition: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut get = redis::cmd("GET");
    get.arg(keys::compared(partition));
    let found: redis::RedisResult<Option<Vec<u8>>> = get.query_async(con).await;
    match found {
        Err(error) if error.code() == Some("WRONGTYPE") => Ok(None),
        found => Ok(found?),
    }
}

/// Remembers for `keep` what was compared, if the lease is still held.
///
/// # Errors
/// [`LeaseError::Lost`] if it is not, and any error of the store.
pub async fn remember_compared(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    lease: &Lease,
    partition: &str,
    bytes: &[u8],
    keep: Duration,
) -> Result<(), LeaseError> {
    let key = keys::compared(partition);
    set(con, functions, lease, key, bytes, keep).await
}

async fn set(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    lease: &Lease,
    key: String,
    value: &[u8],
    keep: Duration,
) -> Result<(), LeaseError> {
    let keep = super::commit::millis(keep).max(1).to_string();
    let keys = [lease.key().to_owned(), key];
    let args = [lease.value().as_bytes(), value, keep.as_bytes()];
    let reply = functions
        .call(con, Function::Remember, &keys, &args)
        .await?;
    match words(&reply)[..] {
        ["REMEMBERED"] => Ok(()),
        ["LOST"] => Err(LeaseError::Lost),
        _ => Err(unexpected(&reply).into()),
    }
}

fn parse(text: &str) -> Option<UserState> {
    let stored: Stored = serde_json::from_str(text).ok()?;
    (stored.version == VERSION).then_some(stored.state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_cannot_be_read_is_none() {
        let state = UserState {
            run_at_ms: 7,
            verdicts: [("d".to_owned(), Reason::LlmDeclined)].into(),
            ..UserState::default()
        };
        let stored = Stored {
            version: VERSION,
            state: state.clone(),
        };
        let text = serde_json::to_string(&stored).unwrap();
        assert_eq!(parse(&text), Some(state));
        assert_eq!(parse(&text.replace("\"version\":1", "\"version\":2")), None);
        assert_eq!(parse("{"), None);
    }
}
