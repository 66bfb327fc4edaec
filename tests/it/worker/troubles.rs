//! A store in trouble, of each kind: the worker says which, waits, and carries on by itself.

use memfold::store::Trouble;

use super::{Case, free, get, until};
use crate::support::server::Server;
use crate::support::store::Index;

/// A worker that has merged somebody, and the port of its numbers.
async fn at_work(case: Case) -> (Case, u16) {
    let port = free();
    let mut case = case.set("listen", &format!("127.0.0.1:{port}"));
    let first = case.twins("first", "tea").await;
    case.start(&[]);
    until("the first user is merged", async || {
        case.count(&first).await == 1
    })
    .await;
    (case, port)
}

/// Waits until the worker has met this kind of trouble, and tells of it.
async fn met(port: u16, kind: Trouble) {
    let line = format!("memfold_store_errors_total{{kind=\"{}\"}}", kind.name());
    until(&line, async || get(port, "/metrics").1.contains(&line)).await;
}

/// The same process merges whoever comes now.
async fn carries_on(case: &mut Case, port: u16) {
    let later = case.twins("later", "tea").await;
    until("the later user is merged", async || {
        case.count(&later).await == 1
    })
    .await;
    until("it is ready", async || {
        get(port, "/readyz").0.contains("200")
    })
    .await;
    let done = case.end(0, "-TERM").await.ends(0);
    assert!(!done.stderr.contains("panicked"), "{done:#?}");
    // Each kind of trouble is told once a minute.
    let told = done.stderr.matches("no work is taken (").count();
    assert!(told <= 4, "{done:#?}");
}

#[tokio::test]
async fn a_server_without_memory_is_waited_for() {
    let (mut case, port) = at_work(Case::new().await.set("max_memory_percent", "255")).await;
    let info: String = case.redis(&["INFO", "memory"]).await;
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.unwrap().parse().unwrap();
    let limit = (used * 9 / 10).to_string();
    let alice = case.twins("alice", "tea").await;
    let _: () = case.redis(&["CONFIG", "SET", "maxmemory", &limit]).await;
    met(port, Trouble::OutOfMemory).await;
    let _: () = case.redis(&["CONFIG", "SET", "maxmemory", "0"]).await;
    until("alice is merged", async || case.count(&alice).await == 1).await;
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn a_server_that_is_a_replica_for_a_while_is_waited_for() {
    let (mut case, port) = at_work(Case::new().await).await;
    let _: () = case.redis(&["REPLICAOF", "127.0.0.1", "1"]).await;
    met(port, Trouble::ReadOnly).await;
    let _: () = case.redis(&["REPLICAOF", "NO", "ONE"]).await;
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn a_command_that_is_refused_for_a_while_is_waited_for() {
    let mut case = Case::new().await;
    let rules = [
        "ACL", "SETUSER", "app", "on", ">s3cret", "~*", "&*", "+@all",
    ];
    let _: () = case.redis(&rules).await;
    let url = case.server.url_as("app", "s3cret");
    let (mut case, port) = at_work(case.set("redis_url", &url)).await;
    let _: () = case
        .redis(&["ACL", "SETUSER", "app", "-ft.aggregate"])
        .await;
    met(port, Trouble::NoPermission).await;
    let _: () = case
        .redis(&["ACL", "SETUSER", "app", "+ft.aggregate"])
        .await;
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn a_user_whose_key_is_refused_stops_no_other() {
    let mut case = Case::new().await;
    let keys = [
        "~memfold:*",
        "~agent_memories",
        "~memory:a*",
        "~memory:later*",
    ];
    let rules = [
        "ACL",
        "SETUSER",
        "app",
        "on",
        ">s3cret",
        "+@all",
        "~memory:first*",
    ];
    let _: () = case.redis(&[&rules[..], &keys[..]].concat()).await;
    let mallory = case.twins("mallory", "tea").await;
    let url = case.server.url_as("app", "s3cret");
    let (mut case, port) = at_work(case.set("redis_url", &url)).await;
    until("mallory has failed", async || {
        case.state("mallory").await["failures"] == 1
    })
    .await;
    let alice = case.twins("alice", "tea").await;
    until("alice is merged", async || case.count(&alice).await == 1).await;
    assert_eq!(case.count(&mallory).await, 2);
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn an_index_that_is_dropped_and_made_again_is_waited_for() {
    let (mut case, port) = at_work(Case::new().await).await;
    let alice = case.twins("alice", "tea").await;
    let _: () = case.redis(&["FT.DROPINDEX", "agent_memories"]).await;
    met(port, Trouble::NoIndex).await;
    case.index.clone().create(&mut case.con).await;
    until("alice is merged", async || case.count(&alice).await == 1).await;
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn another_index_of_that_name_is_read_anew() {
    let (mut case, port) = at_work(Case::new().await).await;
    let _: () = case.redis(&["FT.DROPINDEX", "agent_memories"]).await;
    case.index.prefixes = vec!["note:".to_owned()];
    case.index.clone().create(&mut case.con).await;
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn an_index_in_the_making_is_waited_for() {
    // Its indexing sleeps after each memory, so that nobody can miss it.
    let server = Server::start_slow_to_index();
    let (mut case, port) = at_work(Case::on(server, Index::hash()).await).await;
    for chunk in 0..20 {
        let mut pipe = redis::pipe();
        for number in 0..1000 {
            let text = format!("Text {number} of {chunk}");
            pipe.cmd("HSET").arg(format!("memory:x:{chunk}:{number}"));
            pipe.arg("content").arg(text).ignore();
        }
        pipe.exec_async(&mut case.con).await.unwrap();
    }
    let _: () = case.redis(&["FT.DROPINDEX", "agent_memories"]).await;
    case.index.clone().create(&mut case.con).await;
    // Somebody looks at once: the probe of so many memories takes its time.
    let request = ["XADD", "memfold:requests", "*", "user", "tyler"];
    let _: String = case.redis(&request).await;
    met(port, Trouble::Indexing).await;
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_waited_for() {
    let (mut case, port) = at_work(Case::new().await.set("redis_timeout", "500ms")).await;
    let mut con = case.server.connect().await;
    let _: () = redis::cmd("CLIENT")
        .arg(&["PAUSE", "3000", "ALL"])
        .query_async(&mut con)
        .await
        .unwrap();
    met(port, Trouble::Timeout).await;
    carries_on(&mut case, port).await;
}

#[tokio::test]
async fn a_cluster_is_refused_whole() {
    let redis = crate::support::server::parts().join("redis/lib");
    let module = |name: &str| redis.join(name).display().to_string();
    let (search, json) = (module("redisearch.so"), module("rejson.so"));
    let mut args = vec!["--cluster-enabled", "yes"];
    args.extend(["--loadmodule", &search, "--loadmodule", &json]);
    let server = Server::start_bare(&args);
    let port = free();
    let cli = crate::support::cli::Cli::new(&server.url());
    let cli = cli.set("listen", &format!("127.0.0.1:{port}"));
    for args in [
        &["merge", "--user", "alice"][..],
        &["merge", "--all-users", "--dry-run"],
        &["undo", "01K00000000000000000000000"],
        &["history"],
        &["status"],
        &["request", "--user", "alice"],
        &["inspect"],
    ] {
        let done = cli.run(args).ends(3);
        done.says(&["Redis Cluster", "nothing was read or written"]);
    }
    cli.run(&["doctor"]).ends(1).shows(&["Redis Cluster"]);
    let mut worker = cli.start(&["worker"]);
    met(port, Trouble::Unfit).await;
    let (status, why) = get(port, "/readyz");
    assert!(
        status.contains("503") && why.contains("Redis Cluster"),
        "{why}"
    );
    assert!(worker.try_wait().unwrap().is_none(), "it waits");
    worker.kill().unwrap();
    worker.wait().unwrap();
    let mut con = server.connect().await;
    let info: redis::RedisResult<String> = redis::cmd("INFO")
        .arg("commandstats")
        .query_async(&mut con)
        .await;
    let info = info.unwrap();
    let sent = info
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_"));
    for name in sent.filter_map(|line| line.split(':').next()) {
        let harmless = ["hello", "client|setinfo", "client|setname", "ping", "info"];
        assert!(harmless.contains(&name), "{name} was sent");
    }
}

#[tokio::test]
async fn a_server_that_goes_is_waited_for() {
    let options = ["--appendonly", "yes", "--appendfsync", "always"];
    let case = Case::on(Server::start_with(&options), Index::json()).await;
    let (mut case, port) = at_work(case).await;
    case.server.kill();
    met(port, Trouble::Connection).await;
    case.server.restart();
    case.con = case.server.connect().await;
    carries_on(&mut case, port).await;
}
