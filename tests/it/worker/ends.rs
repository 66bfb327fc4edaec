//! SIGTERM while something is under way: it ends within 10 seconds, and leaves all as it should be.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::quiet::pair;
use super::{Case, until};
use crate::support::cli::{Meddler, When};

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(100);

/// Ends the worker and checks what it leaves: nobody's lease, no heartbeat, and whatever it had in
/// hand to be done by the next one.
async fn ends_cleanly(mut case: Case, keys: &[String], began: Instant) -> Case {
    let child = case.workers.remove(0).0.take().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output());
    let output = output.await.unwrap().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(began.elapsed() < Duration::from_secs(10), "{log}");
    assert_eq!(output.status.code(), Some(0), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    let leases: Vec<String> = case.redis(&["KEYS", "memfold:lease:*"]).await;
    assert_eq!(leases, Vec::<String>::new(), "{log}");
    assert_eq!(case.living().await, [], "{log}");
    // Half a merge would show as one of the keys without its other side.
    assert!((1..=2).contains(&case.count(keys).await));
    // The next one does what is left.
    let merged_before = case.runs().await.iter().map(|run| run.merged).sum::<u64>();
    assert!(merged_before <= 1);
    let url = case.server.url();
    let mut case = case
        .set("redis_url", &url)
        .set("llm_url", "")
        .set("embed_url", "")
        .set("distance", "stored");
    case.start(&[]);
    let later = case.twins("later", "tea").await;
    until("another user is merged", async || {
        case.count(&later).await == 1
    })
    .await;
    case
}

#[tokio::test]
async fn sigterm_at_any_command_ends_the_worker_soon() {
    for (word, when) in [
        ("FT.AGGREGATE", When::Before),
        ("JSON.GET", When::Before),
        ("JSON.GET", When::Answered),
        ("memfold_1_acquire", When::Answered),
        ("memfold_1_commit", When::Before),
        ("memfold_1_commit", When::Answered),
        ("memfold_1_remember", When::Before),
        ("XACK", When::Before),
    ] {
        let mut case = Case::new().await;
        let keys = case.twins("alice", "tea").await;
        let pid = Arc::new(Mutex::new(None::<u32>));
        let struck = Arc::new(Mutex::new(None));
        let (who, at) = (Arc::clone(&pid), Arc::clone(&struck));
        let meddler = Meddler::new(case.server.port(), word, 0, when, move || {
            let pid = who.lock().unwrap().unwrap().to_string();
            let mut kill = std::process::Command::new("kill");
            assert!(kill.args(["-TERM", &pid]).status().unwrap().success());
            *at.lock().unwrap() = Some(Instant::now());
        });
        let mut case = case.set("redis_url", &meddler.url());
        {
            let mut pid = pid.lock().unwrap();
            case.start(&[]);
            *pid = Some(case.workers[0].0.as_ref().unwrap().id());
        }
        until(&format!("{word} comes by"), async || {
            struck.lock().unwrap().is_some()
        })
        .await;
        let began = struck.lock().unwrap().unwrap();
        ends_cleanly(case, &keys, began).await;
    }
}

/// A server that answers nothing for long.
async fn silent(answered: usize) -> MockServer {
    let server = MockServer::start().await;
    let count = std::sync::atomic::AtomicUsize::new(0);
    let respond = move |request: &Request| {
        let body: serde_json::Value = request.body_json().unwrap();
        let texts = body["input"].as_array().map_or(1, Vec::len);
        let vector = |index| json!({ "index": index, "embedding": [1.0, 0.0, 0.0, 0.0] });
        let data: Vec<_> = (0..texts).map(vector).collect();
        let reply = ResponseTemplate::new(200).set_body_json(json!({ "data": data, "model": "m" }));
        let seen = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if seen < answered {
            reply
        } else {
            reply.set_delay(LONG)
        }
    };
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    server
}

async fn asked(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn sigterm_while_the_llm_thinks_ends_the_worker_soon() {
    let llm = silent(0).await;
    let mut case = Case::new()
        .await
        .set("llm_url", &llm.uri())
        .set("llm_model", "m")
        .set("write_vector", "centroid");
    let keys = pair(&mut case, "alice").await;
    case.start(&[]);
    until("the LLM is asked", async || asked(&llm).await > 0).await;
    let began = Instant::now();
    super::kill(&case.workers[0], "-TERM");
    let mut case = ends_cleanly(case, &keys, began).await;
    assert_eq!(case.count(&keys).await, 2);
}

#[tokio::test]
async fn sigterm_while_texts_are_embedded_ends_the_worker_soon() {
    // The first request finds out what the server is.
    let model = silent(1).await;
    let mut case = Case::new()
        .await
        .set("embed_url", &model.uri())
        .set("embed_model", "m")
        .set("distance", "onnx");
    let keys = case.twins("alice", "tea").await;
    case.start(&[]);
    until("the model is asked", async || asked(&model).await > 1).await;
    let began = Instant::now();
    super::kill(&case.workers[0], "-TERM");
    ends_cleanly(case, &keys, began).await;
}
