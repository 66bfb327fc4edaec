//! The ends of a worker, and what stops it from working.

use std::time::{Duration, Instant};

use memfold::store::{Counter, Spent};

use super::{Case, until};

#[tokio::test]
async fn a_signal_ends_it_soon_and_it_says_goodbye() {
    let mut case = Case::new().await;
    let keys = case.twins("alice", "tea").await;
    let worker = case.start(&[]);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    assert_eq!(case.living().await.len(), 1);
    let began = Instant::now();
    let done = case.end(worker, "-TERM").await.ends(0);
    assert!(began.elapsed() < Duration::from_secs(10), "{done:#?}");
    assert_eq!(case.living().await, []);
    let left: Vec<String> = case.redis(&["KEYS", "memfold:lease:*"]).await;
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn status_tells_of_workers_and_runs() {
    let mut case = Case::new().await;
    case.run(&["status"]).ends(0).shows(&["no worker lives"]);
    let keys = case.twins("alice", "tea").await;
    case.start(&[]);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    until("the run is told", async || !case.runs().await.is_empty()).await;
    let status = case.run(&["status", "--json"]).ends(0).json();
    assert_eq!(status["workers"][0]["store"], "redisvl:agent_memories");
    assert_eq!(status["runs"][0]["user"], "alice");
    assert_eq!(status["runs"][0]["merged"], 1);
    assert_eq!(status["halt"], serde_json::Value::Null);
    case.run(&["status"])
        .ends(0)
        .shows(&["redisvl:agent_memories", "alice"]);
}

#[tokio::test]
async fn the_guard_over_all_users_stops_the_workers_until_resume() {
    let mut case = Case::new().await.set("mass_percent", "1");
    // One thousand may always be retired.
    let now = memfold::store::fleet::server_ms(&mut case.con)
        .await
        .unwrap();
    let retired = Counter::of_day(Spent::Retired, None, now);
    retired.add(&mut case.con, 1000).await.unwrap();
    case.twins("alice", "tea").await;
    case.start(&[]);
    until("the workers are stopped", async || {
        case.run(&["status", "--json"]).json()["halt"].is_object()
    })
    .await;
    let status = case.run(&["status"]).ends(1);
    status.shows(&["STOPPED", "memfold resume"]);
    // Nothing is worked on meanwhile.
    let bob = case.twins("bob", "tea").await;
    case.run(&["request", "--user", "bob"]).ends(0);
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(case.count(&bob).await, 2);
    case.run(&["resume"]).ends(0).shows(&["the workers go on"]);
    until("bob is merged", async || case.count(&bob).await == 1).await;
    case.run(&["status"]).ends(0);
}

#[tokio::test]
async fn a_restart_of_redis_is_survived() {
    let mut case = Case::new().await;
    let alice = case.twins("alice", "tea").await;
    case.start(&[]);
    until("alice is merged", async || case.count(&alice).await == 1).await;
    // Without a file on disk all is gone with it, the index too.
    case.server.kill();
    tokio::time::sleep(Duration::from_millis(300)).await;
    case.server.restart();
    case.con = case.server.connect().await;
    let index = case.index.clone();
    index.create(&mut case.con).await;
    let bob = case.twins("bob", "tea").await;
    until("bob is merged", async || case.count(&bob).await == 1).await;
}

#[tokio::test]
async fn settings_are_read_again_on_hangup() {
    let mut case = Case::new().await;
    let file = case.cli.path("memfold.toml");
    std::fs::write(&file, "shared_users = \"\"\n").unwrap();
    let system = case.twins("system", "tea").await;
    let alice = case.twins("alice", "tea").await;
    case.start(&[]);
    until("alice is merged", async || case.count(&alice).await == 1).await;
    assert_eq!(case.count(&system).await, 2);
    std::fs::write(&file, "shared_users = \"system\"\n").unwrap();
    super::kill(&case.workers[0], "-HUP");
    until("system is merged", async || case.count(&system).await == 1).await;
    // A file that cannot be read changes nothing.
    std::fs::write(&file, "nonsense = 1\n").unwrap();
    super::kill(&case.workers[0], "-HUP");
    let bob = case.twins("bob", "tea").await;
    until("bob is merged", async || case.count(&bob).await == 1).await;
}
