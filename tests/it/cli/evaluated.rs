//! What `eval` says of a pair is what `merge` does with it.

use std::collections::BTreeMap;

use serde_json::json;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

/// Every golden pair as the memories of a user of its own, near each other.
#[tokio::test]
async fn eval_decides_as_merge_does() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/memcases.jsonl");
    let text = std::fs::read_to_string(golden).unwrap();
    let pairs: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut world = World::new().await;
    for pair in &pairs {
        for side in ["a", "b"] {
            let user = pair["id"].as_str().unwrap();
            let memory = twin(user, pair[side].as_str().unwrap(), 0, 4);
            let at = pair[format!("{side}_created_at")].as_str();
            let memory = Mem {
                created_at: at.unwrap_or("unknown").to_owned(),
                ..memory
            };
            world.put(&format!("{user}-{side}"), &memory).await;
        }
    }
    let merged = world.run(&["merge", "--all-users", "--dry-run", "--json"]);
    let document = merged.ends(0).json();
    let by_merge: BTreeMap<&str, bool> = list(&document["users"])
        .iter()
        .map(|plan| {
            (
                plan["user"].as_str().unwrap(),
                !list(&plan["merges"]).is_empty(),
            )
        })
        .collect();
    assert_eq!(by_merge.len(), pairs.len());

    let out = world.cli.path("decisions.jsonl");
    let out = out.to_str().unwrap();
    world
        .run(&["eval", golden, "--decisions", out, "--json"])
        .ends(0);
    let decisions = std::fs::read_to_string(out).unwrap();
    for line in decisions.lines() {
        let decision: Value = serde_json::from_str(line).unwrap();
        let user = decision["id"].as_str().unwrap();
        assert_eq!(decision["merged"], by_merge[user], "{line}");
    }
}

const GROUPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/groups.jsonl");

/// An LLM that grades everything alike, but refuses the first question.
async fn grader() -> MockServer {
    let server = MockServer::start().await;
    let saying = |message: Value| {
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        ResponseTemplate::new(200).set_body_json(json!({ "model": "stub", "choices": [choice] }))
    };
    let grades =
        json!({ "accuracy": 5, "brevity": 4, "completeness": 3, "density": 2, "why": "long" });
    let good = saying(json!({ "role": "assistant", "content": grades.to_string() }));
    let refusal = saying(json!({ "role": "assistant", "refusal": "no" }));
    Mock::given(method("POST"))
        .respond_with(good)
        .mount(&server)
        .await;
    let first = Mock::given(method("POST"))
        .respond_with(refusal)
        .up_to_n_times(1);
    first.with_priority(1).mount(&server).await;
    server
}

#[tokio::test]
async fn an_llm_grades_results_that_it_did_not_write() {
    let server = grader().await;
    let cli = Cli::new("redis://127.0.0.1:1");
    let out = cli.path("decisions.jsonl");
    let out = out.to_str().unwrap();
    let url = server.uri();
    let judge = [
        "--summarizer",
        "extractive",
        "--llm-judge",
        "--llm-url",
        &url,
        "--llm-model",
        "stub",
    ];
    let eval = ["eval", GROUPS, "--groups", "--decisions", out];
    let told = cli
        .run(&[&eval[..], &judge, &["--json"]].concat())
        .ends(0)
        .json();
    let without = cli.run(&[&eval[..], &["--json"]].concat()).ends(0).json();
    assert_eq!(without["llm_judge"], Value::Null);
    assert_eq!(told["scores"], without["scores"], "it decides nothing");
    let opinion = &told["llm_judge"];
    let results = server.received_requests().await.unwrap().len();
    assert_eq!(opinion["graded"], results - 1);
    assert_eq!(opinion["failed"].as_object().unwrap().len(), 1);
    assert_eq!(
        opinion["means"],
        json!({ "accuracy": 5.0, "brevity": 4.0, "completeness": 3.0, "density": 2.0 })
    );
    assert!(opinion["prompt"].as_str().unwrap().starts_with("grade-v1@"));

    cli.run(&[&eval[..], &judge].concat()).ends(0).shows(&[
        "graded by stub (grade-v1@",
        "accuracy",
        "5.00",
    ]);
    let decisions = std::fs::read_to_string(out).unwrap();
    let lines = decisions
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let merged: Vec<Value> = lines
        .flat_map(|line| list(&line["merged"]).to_vec())
        .collect();
    assert!(
        merged.iter().all(|merged| merged["grades"]["density"] == 2),
        "{merged:?}"
    );
}

#[tokio::test]
async fn grades_need_a_server() {
    let cli = Cli::new("redis://127.0.0.1:1");
    cli.run(&["eval", GROUPS, "--groups", "--llm-judge"])
        .ends(2)
        .says(&["--llm-url"]);
}
