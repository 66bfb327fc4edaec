//! What `memfold status` and the dashboard show: who works, what waits, what was done.

use redis::aio::ConnectionManager;
use serde_json::{Value, json};

use super::StoreError;
use super::fleet::{
    Halt, Heartbeat, OwnMemory, RunEntry, halted, own_memory, runs, server_ms, workers,
};
use super::requests::{Group, groups};

/// The workers of a server at one time.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// The time, by the server's clock, in ms since the epoch.
    pub at_ms: i64,
    /// Why no worker works, if none does.
    pub halt: Option<Halt>,
    /// The workers that live.
    pub workers: Vec<Heartbeat>,
    /// What waits, by store.
    pub groups: Vec<Group>,
    /// The latest runs that did something, newest first.
    pub runs: Vec<RunEntry>,
    /// What memfold's own keys take; `None` where that was not measured or may not be read.
    pub memory: Option<OwnMemory>,
}

/// Reads the status, with so many runs at most.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn status(conn: &mut ConnectionManager, most: usize) -> Result<Status, StoreError> {
    Ok(Status {
        at_ms: server_ms(conn).await?,
        halt: halted(conn).await?,
        workers: workers(conn).await?,
        groups: groups(conn).await?,
        runs: runs(conn, most).await?,
        memory: match own_memory(conn).await {
            Err(StoreError::Permission(_)) => None,
            found => found?,
        },
    })
}

impl Status {
    /// Requests that no worker has taken yet.
    pub fn waiting(&self) -> u64 {
        self.groups.iter().map(|group| group.backlog.waiting).sum()
    }

    /// As one JSON document.
    pub fn document(&self) -> Value {
        let backlog = |group: &Group| {
            json!({
                "store": group.name,
                "waiting": group.backlog.waiting,
                "pending": group.backlog.pending,
            })
        };
        let memory = self.memory.as_ref().map(|memory| {
            json!({ "at_ms": memory.at_ms, "bytes": memory.bytes(), "kinds": memory.kinds })
        });
        json!({
            "version": 1,
            "at_ms": self.at_ms,
            "halt": self.halt,
            "workers": self.workers,
            "backlog": self.groups.iter().map(backlog).collect::<Vec<_>>(),
            "runs": self.runs,
            "memory": memory,
        })
    }
}
