//! Requests for users to be worked on: one stream, and for each store one consumer group whose
//! workers share them.
//!
//! Agents put them there (`FCALL memfold_request`, `XADD`, `memfold request`), and so does the
//! worker that has found users to be due. A request stays pending until its work is done; those of
//! a worker that died are taken over by the others.

mod entry;

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager};
use redis::{RedisError, Value};

pub use self::entry::{Id, Request, Taken};
use self::entry::{of_entries, of_streams};
use super::{StoreError, reply};

/// The stream of requests.
pub const REQUESTS: &str = "memfold:requests";

/// The library with the function `memfold_request`. It has no version in its name: function names
/// are one for the whole server.
const LIBRARY: &str = include_str!("request.lua");

/// Requests that may wait; then the oldest go. Users that are due are found again by themselves.
const MOST: usize = 100_000;

/// Idle for longer than any worker waits before it takes over.
const LONG_IDLE_MS: u64 = 24 * 3600 * 1000;

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Backlog {
    /// Requests that no worker has taken yet.
    pub waiting: u64,
    /// Requests that are being worked on.
    pub pending: u64,
    /// When the oldest of them was put there, in ms since the epoch by the server's clock.
    pub oldest_ms: Option<i64>,
}

/// Puts requests into the stream; answers the ids.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn request(
    con: &mut impl ConnectionLike,
    requests: &[Request],
) -> Result<Vec<Id>, StoreError> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let mut pipe = redis::pipe();
    for request in requests {
        let cmd = pipe.cmd("XADD").arg(REQUESTS);
        cmd.arg("MAXLEN").arg("~").arg(MOST).arg("*");
        cmd.arg("user").arg(&request.user);
        cmd.arg("reason").arg(&request.reason);
        if let Some(index) = &request.index {
            cmd.arg("index").arg(index);
        }
        if request.failures > 0 {
            cmd.arg("failures").arg(request.failures);
        }
        if let Some(probe) = &request.probe {
            cmd.arg("count").arg(probe.count);
            cmd.arg("digest").arg(probe.digest);
        }
    }
    let ids: Vec<String> = pipe.query_async(con).await?;
    Ok(ids.iter().map(|text| Id::of(text)).collect())
}

/// Loads the function `memfold_request`; `false` where the server refuses functions.
///
/// # Errors
/// [`StoreError`] if the server did not answer.
pub async fn load_request_function(con: &mut impl ConnectionLike) -> Result<bool, StoreError> {
    let text = format!("#!lua name=memfold_request\n{LIBRARY}");
    let mut cmd = redis::cmd("FUNCTION");
    let loaded = cmd.arg("LOAD").arg("REPLACE").arg(text);
    match loaded.exec_async(con).await {
        Ok(()) => Ok(true),
        Err(error) if error.code().is_some() => {
            tracing::debug!(%error, "memfold_request cannot be offered; requests come by XADD");
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// The requests of one store, as one worker takes them.
#[derive(Clone)]
pub struct Queue {
    conn: ConnectionManager,
    group: String,
    consumer: String,
}

impl Queue {
    /// The queue of the group for `worker`. Waiting for requests blocks the connection: it must be
    /// the queue's own.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn open(
        conn: ConnectionManager,
        group: &str,
        worker: &str,
    ) -> Result<Self, StoreError> {
        let mut queue = Self {
            conn,
            group: group.to_owned(),
            consumer: worker.to_owned(),
        };
        queue.make_group().await?;
        Ok(queue)
    }

    async fn make_group(&mut self) -> Result<(), StoreError> {
        let mut cmd = redis::cmd("XGROUP");
        cmd.arg("CREATE").arg(REQUESTS).arg(&self.group);
        cmd.arg(0).arg("MKSTREAM");
        match cmd.exec_async(&mut self.conn).await {
            Err(error) if error.code() != Some("BUSYGROUP") => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Waits up to `block` for a request.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn next(&mut self, block: Duration) -> Result<Option<Taken>, StoreError> {
        let mut cmd = redis::cmd("XREADGROUP");
        cmd.arg("GROUP").arg(&self.group).arg(&self.consumer);
        cmd.arg("COUNT").arg(1);
        cmd.arg("BLOCK").arg(block.as_millis().max(1) as u64);
        cmd.arg("STREAMS").arg(REQUESTS).arg(">");
        let answer: Result<Value, RedisError> = cmd.query_async(&mut self.conn).await;
        match answer {
            Ok(answer) => Ok(of_streams(&answer).into_iter().next()),
            // The stream was deleted, or the server has become a replica: that is found out here.
            Err(error) if matches!(error.code(), Some("NOGROUP" | "UNBLOCKED")) => {
                self.make_group().await?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The requests that this worker took before and has not done.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn own(&mut self) -> Result<Vec<Taken>, StoreError> {
        let mut cmd = redis::cmd("XREADGROUP");
        cmd.arg("GROUP").arg(&self.group).arg(&self.consumer);
        cmd.arg("STREAMS").arg(REQUESTS).arg("0");
        let answer: Value = cmd.query_async(&mut self.conn).await?;
        Ok(of_streams(&answer))
    }

    /// Lets the others take over at once what this worker has not done.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn hand_back(&mut self) -> Result<(), StoreError> {
        let ids: Vec<String> = self
            .own()
            .await?
            .into_iter()
            .map(|taken| taken.id)
            .collect();
        if ids.is_empty() {
            return Ok(());
        }
        let mut cmd = redis::cmd("XCLAIM");
        cmd.arg(REQUESTS).arg(&self.group).arg(&self.consumer);
        cmd.arg(0)
            .arg(ids)
            .arg("IDLE")
            .arg(LONG_IDLE_MS)
            .arg("JUSTID");
        Ok(cmd.exec_async(&mut self.conn).await?)
    }

    /// Takes over a request that has been pending for `idle` with whoever took it.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn reclaim(&mut self, idle: Duration) -> Result<Option<Taken>, StoreError> {
        let mut from = "0-0".to_owned();
        loop {
            let mut cmd = redis::cmd("XAUTOCLAIM");
            cmd.arg(REQUESTS).arg(&self.group).arg(&self.consumer);
            cmd.arg(idle.as_millis() as u64).arg(&from);
            cmd.arg("COUNT").arg(1);
            let answer: Value = match cmd.query_async(&mut self.conn).await {
                Err(error) if error.code() == Some("NOGROUP") => return Ok(None),
                answer => answer?,
            };
            let parts = reply::items(&answer).unwrap_or_default();
            let entries = parts.get(1).map(of_entries).unwrap_or_default();
            if let Some(taken) = entries.into_iter().next() {
                return Ok(Some(taken));
            }
            // One call looks at a few only; those that are in hand may stand before it.
            match parts.first().and_then(reply::text) {
                Some(next) if next != "0-0" => from = next,
                _ => return Ok(None),
            }
        }
    }

    /// How many times a pending request was taken; 0 = it is not pending.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn deliveries(&mut self, id: &str) -> Result<u64, StoreError> {
        let mut cmd = redis::cmd("XPENDING");
        cmd.arg(REQUESTS).arg(&self.group).arg(id).arg(id).arg(1);
        let found: Vec<(String, String, u64, u64)> = cmd.query_async(&mut self.conn).await?;
        Ok(found.first().map_or(0, |(_, _, _, times)| *times))
    }

    /// Tells the others that these are still being worked on.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn keep(&mut self, ids: &[String]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut cmd = redis::cmd("XCLAIM");
        cmd.arg(REQUESTS).arg(&self.group).arg(&self.consumer);
        cmd.arg(0).arg(ids).arg("JUSTID");
        Ok(cmd.exec_async(&mut self.conn).await?)
    }

    /// The work for it is done.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn done(&mut self, id: &str) -> Result<(), StoreError> {
        let mut cmd = redis::cmd("XACK");
        cmd.arg(REQUESTS).arg(&self.group).arg(id);
        Ok(cmd.exec_async(&mut self.conn).await?)
    }

    /// What waits for this group, and the first id that it still needs.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn backlog(&mut self) -> Result<(Backlog, Id), StoreError> {
        let groups = groups(&mut self.conn).await?;
        let own = groups.into_iter().find(|group| group.name == self.group);
        // Where the group is gone, so are the requests.
        Ok(own.map_or((Backlog::default(), Id::MAX), |group| {
            (group.backlog, group.oldest)
        }))
    }

    /// Removes this worker from the group; requests that it still has stay for the others to take
    /// over, so it is only removed without any.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn leave(&mut self) -> Result<(), StoreError> {
        drop_idle_consumers(&mut self.conn, &self.group, |name, _| name == self.consumer).await
    }

    /// Removes workers that are gone, and requests that all groups are done with.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn tidy(&mut self, gone_for: Duration) -> Result<(), StoreError> {
        let gone = gone_for.as_millis() as u64;
        drop_idle_consumers(&mut self.conn, &self.group, |_, idle| idle > gone).await?;
        let Some(oldest) = groups(&mut self.conn)
            .await?
            .into_iter()
            .map(|g| g.oldest)
            .min()
        else {
            return Ok(());
        };
        let mut cmd = redis::cmd("XTRIM");
        cmd.arg(REQUESTS).arg("MINID").arg(oldest.to_string());
        Ok(cmd.exec_async(&mut self.conn).await?)
    }
}

/// Removes consumers without pending requests that `which` names, by name and idle time in ms.
async fn drop_idle_consumers(
    conn: &mut ConnectionManager,
    group: &str,
    which: impl Fn(&str, u64) -> bool,
) -> Result<(), StoreError> {
    let mut cmd = redis::cmd("XINFO");
    cmd.arg("CONSUMERS").arg(REQUESTS).arg(group);
    let consumers: Vec<HashMap<String, Value>> = match cmd.query_async(conn).await {
        Ok(consumers) => consumers,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for consumer in consumers {
        let number = |name: &str| consumer.get(name).and_then(reply::integer).unwrap_or(0);
        let name = consumer
            .get("name")
            .and_then(reply::text)
            .unwrap_or_default();
        if number("pending") == 0 && which(&name, number("idle").max(0) as u64) {
            let mut cmd = redis::cmd("XGROUP");
            cmd.arg("DELCONSUMER").arg(REQUESTS).arg(group).arg(&name);
            cmd.exec_async(conn).await?;
        }
    }
    Ok(())
}

/// One consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// What waits.
    pub backlog: Backlog,
    /// The first id that it still needs.
    oldest: Id,
}

/// The consumer groups of the stream; none if there is no stream.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn groups(con: &mut impl ConnectionLike) -> Result<Vec<Group>, StoreError> {
    let mut cmd = redis::cmd("XINFO");
    cmd.arg("GROUPS").arg(REQUESTS);
    let infos: Vec<HashMap<String, Value>> = match cmd.query_async(con).await {
        Ok(infos) => infos,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut groups = Vec::with_capacity(infos.len());
    for info in infos {
        let number = |name: &str| info.get(name).and_then(reply::integer);
        let text = |name: &str| info.get(name).and_then(reply::text).unwrap_or_default();
        let (name, pending) = (text("name"), number("pending").unwrap_or(0).max(0) as u64);
        let last = Id::of(&text("last-delivered-id"));
        let waiting = number("lag").unwrap_or(0).max(0) as u64;
        let after = last.next();
        let (oldest, since) = if pending > 0 {
            let mut cmd = redis::cmd("XPENDING");
            cmd.arg(REQUESTS).arg(&name);
            let summary: Value = cmd.query_async(con).await?;
            let first = reply::items(&summary).and_then(|parts| parts.get(1));
            let first = first
                .and_then(reply::text)
                .map_or(last, |text| Id::of(&text));
            (first, Some(first))
        } else if waiting > 0 {
            let mut cmd = redis::cmd("XRANGE");
            cmd.arg(REQUESTS).arg(after.to_string());
            cmd.arg("+").arg("COUNT").arg(1);
            let first = of_entries(&cmd.query_async(con).await?);
            (after, first.first().map(|taken| Id::of(&taken.id)))
        } else {
            (after, None)
        };
        groups.push(Group {
            name,
            backlog: Backlog {
                waiting,
                pending,
                oldest_ms: since.and_then(|id| i64::try_from(id.ms).ok()),
            },
            oldest,
        });
    }
    Ok(groups)
}

fn is_absent(error: &RedisError) -> bool {
    error.code() == Some("NOGROUP") || error.to_string().contains("no such key")
}
