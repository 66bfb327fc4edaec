//! `memfold worker`, whole: the program beside agents, on the real Redis.

mod accounts;
mod ends;
mod evicted;
mod inside;
mod net;
mod ops;
mod poison;
mod quiet;
mod requests;
mod stops;
mod traces;
mod troubles;
mod vetoes;
mod ways;
mod web;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use memfold::store::fleet::{Heartbeat, RunEntry};
use redis::aio::ConnectionManager;
use serde_json::Value;

use crate::support::cli::{Cli, Done};
use crate::support::server::Server;
use crate::support::store::{Index, Mem};

/// A worker that dies with its case.
struct Worker(Option<Child>);

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A store with users, and workers beside it.
struct Case {
    server: Server,
    con: ConnectionManager,
    index: Index,
    cli: Cli,
    workers: Vec<Worker>,
}

impl Case {
    /// An empty index, and workers that look for work all the time.
    async fn new() -> Self {
        Self::over(Index::json()).await
    }

    async fn over(index: Index) -> Self {
        Self::on(Server::start(), index).await
    }

    async fn on(server: Server, index: Index) -> Self {
        let mut con = server.connect().await;
        index.create(&mut con).await;
        let cli = Cli::new(&server.url())
            .set("probe_every", "200ms")
            .set("period", "300ms")
            // A busy machine is slow, which is no reason here.
            .set("max_latency", "30s")
            .set("log", "warn,memfold=debug");
        Self {
            server,
            con,
            index,
            cli,
            workers: Vec::new(),
        }
    }

    /// With this setting for what is started from now on.
    fn set(mut self, setting: &str, value: &str) -> Self {
        self.cli = self.cli.set(setting, value);
        self
    }

    /// Two memories that say the same; they can be made one without an LLM.
    async fn twins(&mut self, user: &str, name: &str) -> [String; 2] {
        let texts = [format!("Likes {name}"), format!("likes {name}.")];
        let mut keys = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            let memory = Mem {
                user: user.to_owned(),
                created_at: format!("2026-03-0{}T10:00:00", i + 1),
                ..Mem::new(text, &[1.0, 0.0, 0.0, 0.001 * i as f32])
            };
            let id = format!("{user}-{name}-{i}");
            keys.push(self.index.put(&mut self.con, &id, &memory).await);
        }
        keys.try_into().unwrap()
    }

    fn start(&mut self, args: &[&str]) -> usize {
        let args = [&["worker"], args].concat();
        // What it logs is shown with the test if that fails.
        let child = self.cli.command(&args).stdout(Stdio::null()).spawn();
        self.workers.push(Worker(Some(child.unwrap())));
        self.workers.len() - 1
    }

    /// Ends a worker by a signal; gives how it ended.
    async fn end(&mut self, worker: usize, signal: &str) -> Done {
        kill(&self.workers[worker], signal);
        let child = self.workers.remove(worker).0.take().unwrap();
        let output = tokio::task::spawn_blocking(move || child.wait_with_output());
        Done::of(&["worker"], output.await.unwrap().unwrap())
    }

    /// Runs a command to its end.
    fn run(&self, args: &[&str]) -> Done {
        self.cli.run(args)
    }

    async fn redis<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut cmd = redis::cmd(words[0]);
        let reply = cmd.arg(&words[1..]).query_async(&mut self.con).await;
        reply.unwrap()
    }

    async fn exists(&mut self, key: &str) -> bool {
        self.redis(&["EXISTS", key]).await
    }

    /// How many of these are there.
    async fn count(&mut self, keys: &[String]) -> usize {
        let mut count = 0;
        for key in keys {
            count += usize::from(self.exists(key).await);
        }
        count
    }

    async fn runs(&mut self) -> Vec<RunEntry> {
        memfold::store::fleet::runs(&mut self.con, 1000)
            .await
            .unwrap()
    }

    async fn living(&mut self) -> Vec<Heartbeat> {
        memfold::store::fleet::workers(&mut self.con).await.unwrap()
    }

    /// What a user's state says; `Null` if there is none.
    async fn state(&mut self, user: &str) -> Value {
        let partition = format!("redisvl\nagent_memories\n{user}");
        let state = memfold::store::state(&mut self.con, &partition)
            .await
            .unwrap();
        serde_json::to_value(state).unwrap()
    }

    /// Waits until the user was read and nothing is left to do.
    async fn settled(&mut self, user: &str) {
        until(&format!("{user} is settled"), async || {
            let state = self.state(user).await;
            state["probe"].is_object() && state["open"] == false
        })
        .await;
    }
}

fn kill(worker: &Worker, signal: &str) {
    let pid = worker.0.as_ref().unwrap().id().to_string();
    let ended: Output = Command::new("kill").args([signal, &pid]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

/// A port that is free now.
fn free() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Status line and body of an answer; empty while nobody answers.
fn get(port: u16, path: &str) -> (String, String) {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let _ = write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.read_to_string(&mut text);
    }
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    (
        head.lines().next().unwrap_or_default().to_owned(),
        body.to_owned(),
    )
}

/// Waits until a condition holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(40), async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("waited too long: {what}"));
}

#[tokio::test]
async fn all_users_are_found_and_merged_but_for_the_shared_ids() {
    let mut case = Case::new().await;
    let users = [
        "alice",
        "Alice",
        " bob",
        "carol,dave",
        "eve@example.com",
        "用户",
    ];
    let mut keys = Vec::new();
    for user in users {
        keys.push(case.twins(user, "tea").await);
    }
    let shared = [
        case.twins("system", "tea").await,
        case.twins("", "tea").await,
    ];
    case.start(&[]);
    for (user, keys) in users.iter().zip(&keys) {
        until(&format!("{user:?} is merged"), async || {
            case.count(keys).await == 1
        })
        .await;
    }
    // The oldest keeps its key.
    assert!(case.exists(&keys[0][0]).await);
    assert_eq!(case.count(&shared.concat()).await, 4);
    // What comes later is found too.
    let later = case.twins("alice", "coffee").await;
    until("the later pair is merged", async || {
        case.count(&later).await == 1
    })
    .await;
    until("all runs are told", async || case.runs().await.len() >= 7).await;
    let runs = case.runs().await;
    assert!(runs.iter().all(|run| run.error.is_none()), "{runs:#?}");
    assert_eq!(runs.iter().map(|run| run.merged).sum::<u64>(), 7);
}

#[tokio::test]
async fn a_shared_id_is_worked_on_where_it_is_named() {
    let mut case = Case::new().await.set("shared_users", "system");
    let named = case.twins("system", "tea").await;
    let other = case.twins("", "tea").await;
    case.start(&[]);
    until("the named id is merged", async || {
        case.count(&named).await == 1
    })
    .await;
    case.settled("system").await;
    assert_eq!(case.count(&other).await, 2);
}

#[tokio::test]
async fn two_workers_share_the_users_and_merge_each_once() {
    let mut case = Case::new().await.set("concurrency", "1");
    case.start(&[]);
    case.start(&[]);
    until("both live", async || case.living().await.len() == 2).await;
    let users: Vec<String> = (0..30).map(|i| format!("user-{i}")).collect();
    let mut keys = Vec::new();
    for user in &users {
        keys.extend(case.twins(user, "tea").await);
    }
    until("all are merged", async || {
        case.count(&keys).await == users.len()
    })
    .await;
    for user in &users {
        case.settled(user).await;
    }
    // A run is told a moment after its user is settled.
    let merged =
        async |case: &mut Case| case.runs().await.iter().map(|run| run.merged).sum::<u64>();
    until("all runs are told", async || merged(&mut case).await >= 30).await;
    let runs = case.runs().await;
    assert_eq!(runs.iter().map(|run| run.merged).sum::<u64>(), 30);
    for worker in case.living().await {
        let own = runs.iter().filter(|run| run.worker == worker.worker);
        assert!(own.count() > 1, "{} did little", worker.worker);
    }
}
