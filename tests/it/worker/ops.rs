//! What a worker tells over HTTP.

use std::net::TcpListener;

use super::{Case, free, get, until};

#[tokio::test]
async fn health_readiness_and_numbers_are_told() {
    let port = free();
    let mut case = Case::new()
        .await
        .set("listen", &format!("127.0.0.1:{port}"));
    let keys = case.twins("alice", "tea").await;
    case.start(&[]);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    assert!(get(port, "/healthz").0.contains("200"));
    assert!(get(port, "/readyz").0.contains("200"));
    until("the merge is counted", async || {
        get(port, "/metrics")
            .1
            .contains("memfold_groups_merged_total 1")
    })
    .await;
    let (_, text) = get(port, "/metrics");
    assert!(!text.contains("alice"), "{text}");
    assert!(get(port, "/no-such-path").0.contains("404"));
    // Without its store it lives on, but is not ready.
    case.server.kill();
    until("it is not ready", async || {
        get(port, "/readyz").0.contains("503")
    })
    .await;
    assert!(get(port, "/healthz").0.contains("200"));
    case.server.restart();
    case.con = case.server.connect().await;
    let index = case.index.clone();
    index.create(&mut case.con).await;
    until("it is ready again", async || {
        get(port, "/readyz").0.contains("200")
    })
    .await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_said_at_once() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let case = Case::new().await;
    case.run(&["worker", "--listen", &address])
        .ends(1)
        .says(&["in use"]);
}
