//! What workers tell of themselves, for `memfold status` and for each other: heartbeats, runs, and
//! the halt that stops them all.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager};
use serde::{Deserialize, Serialize};

use super::scan::Scan;
use super::{NAMESPACE, StoreError};

/// The workers by the time of their last heartbeat. A sorted set: no index can catch it.
const WORKERS: &str = "memfold:workers";
/// The latest runs that did something.
const RUNS: &str = "memfold:runs";
const RUNS_KEPT: usize = 1000;
/// Why no worker works.
const HALT: &str = "memfold:halt";
/// What memfold's own keys take.
const MEMORY: &str = "memfold:memory";

fn worker_key(id: &str) -> String {
    format!("{NAMESPACE}worker:{id}")
}

/// The server's clock, in ms since the epoch: what workers on many machines agree on.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn server_ms(con: &mut impl ConnectionLike) -> Result<i64, StoreError> {
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(con).await?;
    Ok(seconds * 1000 + micros / 1000)
}

/// A worker, as it tells of itself every few seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Its id.
    pub worker: String,
    /// Its machine.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The store that it works for: layout and index.
    pub store: String,
    /// When it started, in ms since the epoch.
    pub started_ms: i64,
    /// When it told this.
    pub at_ms: i64,
    /// Users that it works on; it holds the lease of each.
    pub running: Vec<Running>,
    /// Runs ended.
    pub runs: u64,
    /// Runs failed.
    pub failed: u64,
    /// Merges made.
    pub merged: u64,
    /// Memories retired.
    pub retired: u64,
    /// Requests to the LLM.
    pub llm_calls: u64,
    /// Its tokens.
    pub llm_tokens: u64,
    /// State of the breaker before the LLM; `None` = no LLM.
    pub breaker: Option<String>,
    /// Why it takes no work at the moment.
    pub waiting_for: Option<String>,
    /// The last run that did not fail.
    pub last_success_ms: Option<i64>,
    /// The last error.
    pub last_error: Option<String>,
    /// When that was.
    pub last_error_ms: Option<i64>,
    /// Memory of the process, in bytes, where the system tells it.
    pub rss_bytes: Option<u64>,
}

/// A user that is being worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The user's hash, as logs name it.
    pub user: String,
    /// Why.
    pub cause: String,
    /// Since when, in ms since the epoch.
    pub since_ms: i64,
}

/// Tells that a worker lives; it counts as dead after `ttl` without another word.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn beat(
    con: &mut impl ConnectionLike,
    beat: &Heartbeat,
    ttl: Duration,
) -> Result<(), StoreError> {
    let text = serde_json::to_string(beat).map_err(StoreError::protocol)?;
    let mut pipe = redis::pipe();
    let set = pipe.cmd("SET").arg(worker_key(&beat.worker)).arg(text);
    set.arg("PX").arg(ttl.as_millis() as u64).ignore();
    pipe.cmd("ZADD")
        .arg(WORKERS)
        .arg(beat.at_ms)
        .arg(&beat.worker)
        .ignore();
    Ok(pipe.query_async(con).await?)
}

/// Tells that a worker is gone.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn say_goodbye(con: &mut impl ConnectionLike, worker: &str) -> Result<(), StoreError> {
    let mut pipe = redis::pipe();
    pipe.cmd("UNLINK").arg(worker_key(worker)).ignore();
    pipe.cmd("ZREM").arg(WORKERS).arg(worker).ignore();
    Ok(pipe.query_async(con).await?)
}

/// The workers that live, by id.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn workers(con: &mut impl ConnectionLike) -> Result<Vec<Heartbeat>, StoreError> {
    let ids = worker_ids(con).await?;
    let beats = heartbeats(con, &ids).await?;
    let living = beats.into_iter().flatten();
    let mut living: Vec<Heartbeat> = living
        .filter_map(|text| serde_json::from_str(&text).ok())
        .collect();
    living.sort_by(|a, b| a.worker.cmp(&b.worker));
    Ok(living)
}

/// Forgets workers that died.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn forget_dead_workers(con: &mut impl ConnectionLike) -> Result<(), StoreError> {
    let ids = worker_ids(con).await?;
    let beats = heartbeats(con, &ids).await?;
    for (id, _) in ids.iter().zip(beats).filter(|(_, beat)| beat.is_none()) {
        redis::cmd("ZREM")
            .arg(WORKERS)
            .arg(id)
            .exec_async(con)
            .await?;
    }
    Ok(())
}

async fn worker_ids(con: &mut impl ConnectionLike) -> Result<Vec<String>, StoreError> {
    let mut cmd = redis::cmd("ZRANGE");
    Ok(cmd.arg(WORKERS).arg(0).arg(-1).query_async(con).await?)
}

async fn heartbeats(
    con: &mut impl ConnectionLike,
    ids: &[String],
) -> Result<Vec<Option<String>>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<String> = ids.iter().map(|id| worker_key(id)).collect();
    Ok(redis::cmd("MGET").arg(keys).query_async(con).await?)
}

/// Takes a turn that one of all workers takes in `every`; `false` = another one did.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn take_turn(
    con: &mut impl ConnectionLike,
    name: &str,
    worker: &str,
    every: Duration,
) -> Result<bool, StoreError> {
    let mut cmd = redis::cmd("SET");
    cmd.arg(format!("{NAMESPACE}turn:{name}"))
        .arg(worker)
        .arg("NX");
    cmd.arg("PX").arg(every.as_millis().max(1) as u64);
    let taken: Option<String> = cmd.query_async(con).await?;
    Ok(taken.is_some())
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// The run.
    pub run_id: String,
    /// The worker.
    pub worker: String,
    /// The store: layout and index.
    pub store: String,
    /// The user.
    pub user: String,
    /// Why it was made.
    pub cause: String,
    /// When it ended, in ms since the epoch.
    pub at_ms: i64,
    /// How long it took.
    pub took_ms: u64,
    /// Merges made.
    pub merged: u64,
    /// Memories retired.
    pub retired: u64,
    /// Groups left as they are.
    pub left: u64,
    /// Requests to the LLM.
    pub llm_calls: u64,
    /// Its tokens.
    pub llm_tokens: u64,
    /// What it failed with.
    pub error: Option<String>,
}

/// Records a run.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn record_run(con: &mut impl ConnectionLike, run: &RunEntry) -> Result<(), StoreError> {
    let text = serde_json::to_string(run).map_err(StoreError::protocol)?;
    let mut cmd = redis::cmd("XADD");
    cmd.arg(RUNS).arg("MAXLEN").arg("~").arg(RUNS_KEPT);
    Ok(cmd.arg("*").arg("run").arg(text).exec_async(con).await?)
}

/// The latest runs that did something, newest first.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn runs(
    con: &mut impl ConnectionLike,
    limit: usize,
) -> Result<Vec<RunEntry>, StoreError> {
    let mut cmd = redis::cmd("XREVRANGE");
    cmd.arg(RUNS).arg("+").arg("-").arg("COUNT").arg(limit);
    let entries: Vec<(String, HashMap<String, String>)> = cmd.query_async(con).await?;
    let read = |(_, fields): (String, HashMap<String, String>)| {
        serde_json::from_str(fields.get("run")?).ok()
    };
    Ok(entries.into_iter().filter_map(read).collect())
}

/// Why no worker works, until `memfold resume`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// What happened, in words.
    pub why: String,
    /// The worker that stopped them.
    pub worker: String,
    /// When, in ms since the epoch.
    pub at_ms: i64,
}

/// The halt in force.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn halted(con: &mut impl ConnectionLike) -> Result<Option<Halt>, StoreError> {
    let text: Option<String> = redis::cmd("GET").arg(HALT).query_async(con).await?;
    let read = |text: String| {
        serde_json::from_str(&text).unwrap_or(Halt {
            why: text,
            worker: String::new(),
            at_ms: 0,
        })
    };
    Ok(text.map(read))
}

/// Stops all workers; a halt that is in force stays.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn halt(con: &mut impl ConnectionLike, halt: &Halt) -> Result<(), StoreError> {
    let text = serde_json::to_string(halt).map_err(StoreError::protocol)?;
    let mut cmd = redis::cmd("SET");
    Ok(cmd.arg(HALT).arg(text).arg("NX").exec_async(con).await?)
}

/// Lets the workers work again; `None` = they were not stopped.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn resume(con: &mut impl ConnectionLike) -> Result<Option<Halt>, StoreError> {
    let found = halted(con).await?;
    redis::cmd("UNLINK").arg(HALT).exec_async(con).await?;
    Ok(found)
}

/// What memfold's own keys take on the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnMemory {
    /// When it was measured, in ms since the epoch.
    pub at_ms: i64,
    /// Keys and bytes by kind of key, such as `undo` or `state`.
    pub kinds: BTreeMap<String, (u64, u64)>,
}

impl OwnMemory {
    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.kinds.values().map(|(_, bytes)| bytes).sum()
    }
}

/// Measures memfold's own keys and leaves the answer on the server. Goes through the key space, in
/// small steps.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn measure_memory(conn: &mut ConnectionManager) -> Result<OwnMemory, StoreError> {
    let mut found = OwnMemory {
        at_ms: server_ms(conn).await?,
        ..OwnMemory::default()
    };
    let mut scan = Scan::of(NAMESPACE);
    while let Some(keys) = scan.next::<Vec<u8>>(conn).await? {
        if keys.is_empty() {
            continue;
        }
        let mut pipe = redis::pipe();
        for key in &keys {
            pipe.cmd("MEMORY").arg("USAGE").arg(key);
        }
        let sizes: Vec<Option<u64>> = pipe.query_async(conn).await?;
        for (key, size) in keys.iter().zip(sizes) {
            let (count, bytes) = found.kinds.entry(kind(key)).or_default();
            *count += 1;
            *bytes += size.unwrap_or(0);
        }
    }
    let text = serde_json::to_string(&found).map_err(StoreError::protocol)?;
    redis::cmd("SET")
        .arg(MEMORY)
        .arg(text)
        .exec_async(conn)
        .await?;
    Ok(found)
}

/// What was measured last.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn own_memory(con: &mut impl ConnectionLike) -> Result<Option<OwnMemory>, StoreError> {
    let text: Option<String> = redis::cmd("GET").arg(MEMORY).query_async(con).await?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// The word after the namespace.
fn kind(key: &[u8]) -> String {
    let rest = key.strip_prefix(NAMESPACE.as_bytes()).unwrap_or(key);
    let word = rest.split(|byte| *byte == b':').next().unwrap_or_default();
    String::from_utf8_lossy(word).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_by_their_kind() {
        assert_eq!(kind(b"memfold:undo:01M:{memory:1}"), "undo");
        assert_eq!(kind(b"memfold:ledger"), "ledger");
    }
}
