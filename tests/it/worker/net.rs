//! A bad way to the server.

use std::time::Duration;

use super::{Case, free, get, until};
use crate::support::way::Way;

#[tokio::test]
async fn a_connection_cut_in_the_middle_of_an_answer_loses_nothing() {
    let mut case = Case::new().await;
    let way = Way::to(case.server.port());
    let url = way.url();
    case = case.set("redis_url", &url);
    case.start(&[]);
    until("it lives", async || case.living().await.len() == 1).await;
    let mut keys = Vec::new();
    let mut cuts = vec![1, 60, 900, 4000];
    if std::env::var_os("MEMFOLD_TEST_FULL").is_some() {
        cuts.extend((0..40).map(|i| i * i * 7 + 1));
    }
    for (i, bytes) in cuts.into_iter().enumerate() {
        keys.extend(case.twins(&format!("user-{i}"), "tea").await);
        way.cut_after(bytes);
        until("it was cut", async || way.cuts() > i).await;
    }
    let users = keys.len() / 2;
    until("all are merged", async || case.count(&keys).await == users).await;
    let done = case.end(0, "-TERM").await.ends(0);
    assert!(!done.stderr.contains("panicked"), "{done:#?}");
    // Each is merged once, whatever was answered.
    let merged: u64 = case.redis(&["XLEN", "memfold:ledger"]).await;
    assert_eq!(merged, users as u64);
}

#[tokio::test]
async fn a_slow_server_gets_no_work_until_it_is_fast_again() {
    let port = free();
    let mut case = Case::new()
        .await
        .set("listen", &format!("127.0.0.1:{port}"))
        .set("max_latency", "200ms");
    let way = Way::to(case.server.port());
    way.slow(Duration::from_millis(250));
    let url = way.url();
    case = case.set("redis_url", &url);
    let alice = case.twins("alice", "tea").await;
    case.start(&[]);
    until("it takes no work", async || {
        let (status, why) = get(port, "/readyz");
        status.contains("503") && why.contains("--max-latency")
    })
    .await;
    assert_eq!(case.count(&alice).await, 2);
    way.slow(Duration::ZERO);
    until("alice is merged", async || case.count(&alice).await == 1).await;
    // Slow, but not too slow.
    way.slow(Duration::from_millis(30));
    let bob = case.twins("bob", "tea").await;
    until("bob is merged", async || case.count(&bob).await == 1).await;
}
