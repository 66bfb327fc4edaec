//! Requests: by anybody, in every form, also those that make no sense.

use std::time::{Duration, Instant};

use super::{Case, until};
use crate::support::server::Server;
use crate::support::store::Index;

/// A store whose worker finds nobody by itself.
async fn case() -> Case {
    Case::new().await.set("probe_every", "1h")
}

/// Starts a worker; its first sweep is over, and from now on only requests count.
async fn at_work(case: &mut Case) {
    let first = case.twins("first", "tea").await;
    case.start(&[]);
    until("the first sweep is over", async || {
        case.count(&first).await == 1
    })
    .await;
}

#[tokio::test]
async fn a_user_is_worked_on_when_somebody_asks() {
    let mut case = case().await;
    at_work(&mut case).await;
    let by_hand = case.twins("by-hand", "tea").await;
    let by_call = case.twins("by-call", "tea").await;
    let by_add = case.twins("by-add", "tea").await;
    let nobody = case.twins("nobody", "tea").await;
    case.run(&["request", "--user", "by-hand"])
        .ends(0)
        .shows(&["asked for by-hand"]);
    let id: String = case
        .redis(&[
            "FCALL",
            "memfold_request",
            "1",
            "memfold:requests",
            "by-call",
        ])
        .await;
    assert!(id.contains('-'), "{id}");
    let _: String = case
        .redis(&["XADD", "memfold:requests", "*", "user", "by-add"])
        .await;
    for keys in [&by_hand, &by_call, &by_add] {
        until("an asked user is merged", async || {
            case.count(keys).await == 1
        })
        .await;
    }
    assert_eq!(case.count(&nobody).await, 2);
}

#[tokio::test]
async fn an_agent_that_fails_often_enough_is_looked_after() {
    let mut case = case().await;
    at_work(&mut case).await;
    let keys = case.twins("alice", "tea").await;
    case.run(&["request", "--user", "alice", "--failures", "2"])
        .ends(0);
    let _: String = case
        .redis(&[
            "FCALL",
            "memfold_request",
            "1",
            "memfold:requests",
            "alice",
            "failures",
            "1",
        ])
        .await;
    // A request that comes after those shows that they were passed over.
    let marker = case.twins("marker", "tea").await;
    case.run(&["request", "--user", "marker"]).ends(0);
    until("the marker is merged", async || {
        case.count(&marker).await == 1
    })
    .await;
    assert_eq!(case.count(&keys).await, 2);
    case.run(&["request", "--user", "alice", "--failures", "3"])
        .ends(0);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    until("the run is told", async || {
        let runs = case.runs().await;
        runs.iter()
            .any(|run| run.cause == "failures" && run.user == "alice")
    })
    .await;
}

#[tokio::test]
async fn nonsense_in_the_stream_stops_nobody() {
    let mut case = case().await;
    at_work(&mut case).await;
    for words in [
        &["usr", "alice"][..],
        &["user", "alice", "index", "another"],
        &["user", "", "reason", "\u{1b}[31m"],
        &["user", "no such user"],
        &["user", "alice", "reason", "failures", "failures", "-7"],
    ] {
        let _: String = case
            .redis(&[&["XADD", "memfold:requests", "*"], words].concat())
            .await;
    }
    let keys = case.twins("alice", "tea").await;
    case.run(&["request", "--user", "alice"]).ends(0);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    until("nothing is pending", async || {
        let pending: (u64, Option<String>, Option<String>, redis::Value) = case
            .redis(&["XPENDING", "memfold:requests", "redisvl:agent_memories"])
            .await;
        pending.0 == 0
    })
    .await;
}

#[tokio::test]
async fn a_request_of_a_dead_worker_is_taken_over() {
    let mut case = case().await.set("lease_ttl", "1s");
    at_work(&mut case).await;
    let keys = case.twins("alice", "tea").await;
    // Taken by a worker that died before it did anything, in the group of its own that has not
    // been read by the living.
    let _: redis::Value = case
        .redis(&[
            "EVAL",
            "local id = redis.call('XADD', 'memfold:requests', '*', 'user', 'alice') \
             redis.call('XREADGROUP', 'GROUP', 'redisvl:agent_memories', 'dead', 'STREAMS', \
             'memfold:requests', '>') return id",
            "1",
            "memfold:requests",
        ])
        .await;
    until("alice is merged", async || case.count(&keys).await == 1).await;
}

#[tokio::test]
async fn requests_of_the_dead_are_taken_over_at_once_wherever_they_stand() {
    let mut case = case().await;
    let keys = case.twins("alice", "tea").await;
    // Behind many that others work on: one of a worker that was silent for long.
    let _: redis::Value = case
        .redis(&[
            "EVAL",
            "local stream, group = KEYS[1], 'redisvl:agent_memories' \
             redis.call('XGROUP', 'CREATE', stream, group, 0, 'MKSTREAM') \
             for i = 1, 40 do redis.call('XADD', stream, '*', 'user', 'busy') end \
             local id = redis.call('XADD', stream, '*', 'user', 'alice') \
             redis.call('XREADGROUP', 'GROUP', group, 'other', 'STREAMS', stream, '>') \
             redis.call('XCLAIM', stream, group, 'other', 0, id, 'IDLE', 1000000)",
            "1",
            "memfold:requests",
        ])
        .await;
    let _: () = case
        .redis(&["SET", "memfold:turn:sweep:redisvl:agent_memories", "other"])
        .await;
    let began = Instant::now();
    case.start(&[]);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    // No worker that lives for a short time only leaves it to the next.
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn a_user_is_worked_on_when_the_server_tells_of_a_write() {
    for index in [Index::json(), Index::hash()] {
        let server = Server::start_with(&["--notify-keyspace-events", "KA"]);
        let case = Case::on(server, index).await;
        let mut case = case.set("probe_every", "1h");
        at_work(&mut case).await;
        let keys = case.twins("alice", "tea").await;
        until("alice is merged", async || case.count(&keys).await == 1).await;
        let shared = case.twins("system", "tea").await;
        let bob = case.twins("bob", "tea").await;
        until("bob is merged", async || case.count(&bob).await == 1).await;
        assert_eq!(case.count(&shared).await, 2);
    }
}
