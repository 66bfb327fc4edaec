//! Traces by OTLP over HTTP, to a collector of the test's own.

use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Case, until};

/// A collector, and all that it got, in the collector's binary form.
async fn collector(reply: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/traces"))
        .respond_with(reply)
        .mount(&server)
        .await;
    server
}

async fn got(server: &MockServer) -> Vec<u8> {
    let requests = server.received_requests().await.unwrap();
    requests
        .into_iter()
        .flat_map(|request| request.body)
        .collect()
}

fn has(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|part| part == word.as_bytes())
}

#[tokio::test]
async fn runs_and_their_parts_are_traced_without_texts_or_names() {
    let collector = collector(ResponseTemplate::new(200)).await;
    let mut case = Case::new().await.set("otlp_url", &collector.uri());
    let keys = case.twins("alice-in-wonderland", "tea").await;
    case.start(&[]);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    case.settled("alice-in-wonderland").await;
    // The last are sent when it ends.
    case.end(0, "-TERM").await.ends(0);
    let traces = got(&collector).await;
    for word in [
        "memfold",
        "run",
        "read",
        "compare",
        "commit",
        "run.id",
        "merge.id",
        "user.hash",
        "service.name",
    ] {
        assert!(has(&traces, word), "no {word}");
    }
    for word in ["alice", "Likes", "likes tea", "memory:"] {
        assert!(!has(&traces, word), "{word} is told");
    }
}

#[tokio::test]
async fn a_collector_that_is_away_stops_nobody() {
    let collector = collector(ResponseTemplate::new(500)).await;
    for url in [collector.uri(), "http://127.0.0.1:9".to_owned()] {
        let mut case = Case::new().await.set("otlp_url", &url);
        let keys = case.twins("alice", "tea").await;
        case.start(&[]);
        until("alice is merged", async || case.count(&keys).await == 1).await;
        let began = std::time::Instant::now();
        case.end(0, "-TERM").await.ends(0);
        assert!(began.elapsed() < std::time::Duration::from_secs(10));
    }
}

#[tokio::test]
async fn nothing_is_sent_unless_asked_for() {
    let collector = collector(ResponseTemplate::new(200)).await;
    let mut case = Case::new().await;
    let keys = case.twins("alice", "tea").await;
    case.run(&["merge", "--user", "alice"]).ends(0);
    assert_eq!(case.count(&keys).await, 1);
    assert!(got(&collector).await.is_empty());
    // The variable of all programs with traces is one way to ask.
    case.twins("alice", "coffee").await;
    let mut command = case.cli.command(&["merge", "--user", "alice"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.uri());
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap());
    assert!(ended.await.unwrap().status.success());
    assert!(has(&got(&collector).await, "commit"));
}
