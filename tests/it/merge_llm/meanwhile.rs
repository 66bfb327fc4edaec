//! What others do while the LLM thinks.

use std::time::{Duration, Instant};

use fred::prelude::*;
use fred::types::config::Config as FredConfig;

use super::*;

/// Longer than it takes to change a key.
const THINKS: Duration = Duration::from_millis(800);

/// A time within which a program that is to stop must stop, also on a busy machine.
const SOON: Duration = Duration::from_secs(10);

fn slowly(request: &Request) -> ResponseTemplate {
    good(request).set_delay(THINKS)
}

/// Starts a merge and returns when the LLM was asked.
async fn thinking(case: &Case, args: &[&str]) -> Child {
    case.responds(slowly).await;
    let args = [&["merge", "--user", "alice", "--json"], args].concat();
    let child = start(case.command(&args));
    asked(case).await;
    child
}

async fn asked(case: &Case) {
    until("the LLM is asked", async || {
        !case.questions().await.is_empty()
    })
    .await;
}

/// Another client, of another make.
async fn other(case: &Case) -> Client {
    let mut config =
        FredConfig::from_url(&format!("redis://127.0.0.1:{}", case.server.port())).unwrap();
    config.version = fred::types::RespVersion::RESP3;
    let client = Client::new(config, None, None, None);
    client.init().await.unwrap();
    client
}

async fn send(client: &Client, words: &[&str]) {
    let name: &'static str = words[0].to_owned().leak();
    let command =
        fred::types::CustomCommand::new_static(name, fred::types::ClusterHash::FirstKey, false);
    let args: Vec<fred::types::Value> = words[1..].iter().map(|&word| word.into()).collect();
    let _: fred::types::Value = client.custom(command, args).await.unwrap();
}

#[tokio::test]
async fn an_edit_while_the_llm_thinks_is_kept() {
    for storage in [Index::json(), Index::hash()] {
        let json = storage.storage == memfold::record::Storage::Json;
        let mut case = Case::over(Index {
            dims: DIMS,
            ..storage
        })
        .await;
        case.pair(0).await;
        let before = case.picture().await;
        let child = thinking(&case, &[]).await;
        let client = other(&case).await;
        let edit: &[&str] = if json {
            &[
                "JSON.SET",
                "memory:g0-1",
                "$.content",
                "\"Alice hates tea with ginger\"",
            ]
        } else {
            &[
                "HSET",
                "memory:g0-1",
                "content",
                "Alice hates tea with ginger",
            ]
        };
        send(&client, edit).await;
        let edited = case.picture().await;
        assert_ne!(edited, before);

        let ended = end(child).await;

        ended.assert_exit(0);
        assert_eq!(ended.reasons(), ["changed"]);
        assert!(ended.merged().is_empty());
        assert_eq!(case.picture().await, edited);
    }
}

#[tokio::test]
async fn a_memory_that_goes_while_the_llm_thinks_stays_gone_and_the_other_stays() {
    let mut case = Case::with_pairs(1).await;
    let child = thinking(&case, &[]).await;
    send(&other(&case).await, &["DEL", "memory:g0-0"]).await;
    let left = case.picture().await;
    assert_eq!(left.len(), 1);
    let ended = end(child).await;
    assert_eq!(ended.reasons(), ["changed"]);
    assert_eq!(case.picture().await, left);
}

#[tokio::test]
async fn an_expiry_set_while_the_llm_thinks_is_kept() {
    let mut case = Case::with_pairs(1).await;
    let child = thinking(&case, &[]).await;
    send(&other(&case).await, &["EXPIRE", "memory:g0-1", "1000"]).await;
    let left = case.picture().await;
    let ended = end(child).await;
    ended.assert_exit(0);
    assert_eq!(ended.reasons(), ["different-expiry"]);
    assert_eq!(case.picture().await, left);
}

#[tokio::test]
async fn a_memory_that_comes_while_the_llm_thinks_waits_for_the_next_run() {
    let mut case = Case::with_pairs(1).await;
    let child = thinking(&case, &[]).await;
    let new = Mem::new("Alice likes tea with lemon", &near(0, 2));
    case.put("new", &new).await;
    let ended = end(child).await;
    assert_eq!(ended.merged().len(), 1);
    assert_eq!(case.memory("memory:new").await["content"], new.text);
    case.responds(good).await;
    assert_eq!(case.merge(&[]).await.merged().len(), 1);
    assert_eq!(
        case.memory("memory:g0-0").await["content"],
        "Alice likes tea with honey, ginger, lemon"
    );
}

#[tokio::test]
async fn another_merge_of_the_same_user_is_turned_away() {
    let mut case = Case::with_pairs(1).await;
    let child = thinking(&case, &[]).await;
    case.merge(&[]).await.assert_exit(6);
    let ended = end(child).await;
    ended.assert_exit(0);
    assert_eq!(ended.merged().len(), 1);
    assert_eq!(case.questions().await.len(), 1);
    assert_eq!(case.picture().await.len(), 1);
}

#[tokio::test]
async fn a_run_whose_lease_was_taken_commits_nothing() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    let child = thinking(&case, &[]).await;
    let leases: Vec<String> = redis::cmd("KEYS")
        .arg("memfold:lease:*")
        .query_async(&mut case.con)
        .await
        .unwrap();
    assert_eq!(leases.len(), 1);
    send(&other(&case).await, &["DEL", &leases[0]]).await;
    let ended = end(child).await;
    ended.assert_exit(6);
    assert!(ended.stderr.contains("the lease was lost"), "{ended:?}");
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn the_lease_holds_for_longer_than_its_time() {
    let mut case = Case::with_pairs(1).await;
    case.responds(|request| good(request).set_delay(Duration::from_millis(2500)))
        .await;
    let ended = case.merge(&["--lease-ttl", "1s"]).await;
    ended.assert_exit(0);
    assert_eq!((ended.merged().len(), case.picture().await.len()), (1, 1));
}

#[tokio::test]
async fn an_interrupt_does_not_wait_for_the_llm() {
    let mut case = Case::with_pairs(3).await;
    let before = case.picture().await;
    case.responds(|request| good(request).set_delay(Duration::from_secs(60)))
        .await;
    let child = start(case.command(&[
        "merge",
        "--user",
        "alice",
        "--json",
        "--llm-concurrency",
        "1",
    ]));
    asked(&case).await;
    let started = Instant::now();
    interrupt(&child);
    let ended = end(child).await;
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    ended.assert_exit(130);
    let report = ended.report();
    assert_eq!(report["stopped"], true);
    assert_eq!(report["merged"], json!([]));
    assert_eq!(case.questions().await.len(), 1);
    assert_eq!(case.picture().await, before);
    // The lease was given back.
    case.responds(good).await;
    let again = case.merge(&[]).await;
    again.assert_exit(0);
    assert_eq!(again.merged().len(), 3);
}

#[tokio::test]
async fn what_was_merged_before_an_interrupt_is_whole_and_told() {
    let mut case = Case::with_pairs(2).await;
    case.responds(|request| {
        let question = Question::read(request);
        let late = question.texts[0].contains("coffee");
        let delay = Duration::from_secs(if late { 60 } else { 0 });
        question.same(&question.united()).set_delay(delay)
    })
    .await;
    let child = start(case.command(&[
        "merge",
        "--user",
        "alice",
        "--json",
        "--llm-concurrency",
        "1",
    ]));
    until("the second question", async || {
        case.questions().await.len() == 2
    })
    .await;
    let started = Instant::now();
    interrupt(&child);
    let ended = end(child).await;
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    ended.assert_exit(130);
    assert_eq!(ended.merged().len(), 1);
    assert_eq!(case.picture().await.len(), 3);
    case.run(&["undo", &ended.merge_id(0)]).await.assert_exit(0);
    assert_eq!(case.picture().await.len(), 4);
}

#[tokio::test]
async fn a_kill_while_the_llm_thinks_changes_nothing() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    let mut child = thinking(&case, &["--lease-ttl", "1s"]).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(case.picture().await, before);
    case.responds(good).await;
    until("the lease runs out", async || {
        case.merge(&[]).await.exit == Some(0)
    })
    .await;
    assert_eq!(case.picture().await.len(), 1);
}

fn interrupt(child: &Child) {
    let mut kill = Command::new("kill");
    assert!(
        kill.args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn a_preview_is_interrupted_at_once() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    case.responds(|request| good(request).set_delay(Duration::from_secs(60)))
        .await;
    let child = start(case.command(&["merge", "--user", "alice", "--dry-run"]));
    asked(&case).await;
    let started = Instant::now();
    interrupt(&child);
    end(child).await.assert_exit(130);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert_eq!(case.picture().await, before);
}
