//! What is bad for good: memories that nothing can be made of, and a log that cannot be written.

use std::fs::File;
use std::process::Stdio;

use serde_json::json;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::quiet::pair;
use super::{Case, Worker, until};

/// An LLM that refuses to read about honey, and says that all else differs.
async fn picky() -> MockServer {
    let llm = MockServer::start().await;
    let answer = |request: &Request| {
        if String::from_utf8_lossy(&request.body).contains("honey") {
            return ResponseTemplate::new(400)
                .set_body_json(json!({ "error": { "message": "content policy" } }));
        }
        let content = json!({ "verdict": "different", "text": "two", "used": [] }).to_string();
        let message = json!({ "role": "assistant", "content": content });
        let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
        ResponseTemplate::new(200).set_body_json(json!({ "choices": [choice] }))
    };
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&llm)
        .await;
    llm
}

#[tokio::test]
async fn a_poison_memory_stops_neither_its_user_nor_others_nor_floods_the_log() {
    let llm = picky().await;
    let mut case = Case::new()
        .await
        .set("llm_url", &llm.uri())
        .set("llm_model", "m")
        .set("write_vector", "centroid")
        .set("log", "info");
    // Two that the LLM chokes on, and many that are no memories at all.
    let poison = pair(&mut case, "mallory").await;
    for i in 0..50 {
        let vector = ["[1, 2]", "\"x\"", "[1e300, 0, 0, 0]", "[]", "null"][i % 5];
        let metadata = ["{", "[]", "7", "\u{1b}[31m", ""][i / 5 % 5];
        let text = json!(format!("Likes \u{0}\u{202e} {i}")).to_string();
        let document = format!(
            r#"{{"content": {text}, "user_id": "mallory", "memory_type": "semantic", "metadata": {},
               "created_at": "never", "memory_id": "{i}", "embedding": {vector}}}"#,
            json!(metadata)
        );
        let _: String = case
            .redis(&["JSON.SET", &format!("memory:bad{i}"), "$", &document])
            .await;
    }
    case.start(&[]);
    for round in 0..8 {
        // Her own other memories are merged, and so are those of others.
        let mut keys = case.twins(&format!("user-{round}"), "tea").await.to_vec();
        if round == 0 {
            keys.extend(case.twins("mallory", "tea").await);
        }
        let merged = keys.len() / 2;
        until("the others are merged", async || {
            case.count(&keys).await == merged
        })
        .await;
        case.run(&["request", "--user", "mallory"]).ends(0);
    }
    until("her run is told", async || {
        case.state("mallory").await["failures"] != 0
    })
    .await;
    assert_eq!(case.count(&poison).await, 2);
    let done = case.end(0, "-TERM").await.ends(0);
    assert!(!done.stderr.contains("panicked"), "{done:#?}");
    // A line or two for each run that did something, and no line for each bad memory.
    let lines = done.stderr.lines().count();
    assert!(lines < 60, "{lines} lines: {done:#?}");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_no_work() {
    for form in ["text", "json"] {
        let mut case = Case::new()
            .await
            .set("log", "trace")
            .set("log_format", form);
        let alice = case.twins("alice", "tea").await;
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = case.cli.command(&["worker"]);
        let child = command.stdout(Stdio::null()).stderr(full).spawn().unwrap();
        case.workers.push(Worker(Some(child)));
        until("alice is merged", async || case.count(&alice).await == 1).await;
        // In trouble it has something to say.
        case.server.kill();
        case.server.restart();
        case.con = case.server.connect().await;
        case.index.clone().create(&mut case.con).await;
        let bob = case.twins("bob", "tea").await;
        until("bob is merged", async || case.count(&bob).await == 1).await;
        assert_eq!(case.living().await.len(), 1);
        case.end(0, "-TERM").await.ends(0);
    }
}
