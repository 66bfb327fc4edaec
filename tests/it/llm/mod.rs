//! The LLM client against a server that misbehaves in each of the ways that servers are known for.

#![allow(clippy::unwrap_used)]

mod answers;
mod faults;
mod grading;
mod questions;

use std::time::Duration;

use memfold::http::HttpError;
use memfold::summarize::{
    SourceText,
    llm::{Answer, Llm, LlmError, LlmSettings, Reply, Request},
};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

const KEY: &str = "sk-very-secret";

fn settings(base_url: &str) -> LlmSettings {
    LlmSettings {
        api_key: Some(KEY.into()),
        timeout: Duration::from_secs(10),
        total_time: Duration::from_secs(20),
        backoff: Duration::from_millis(2),
        jitter: || 0.0,
        ..LlmSettings::new(base_url, "the-model")
    }
}

fn source(id: &str, text: &str) -> SourceText {
    SourceText {
        id: id.to_owned(),
        text: text.to_owned(),
        said_at: None,
    }
}

async fn ask(llm: &Llm) -> Result<Reply, LlmError> {
    let sources = [
        source("m1", "Ana likes tea."),
        source("m2", "Ana enjoys tea."),
    ];
    llm.summarize(&Request {
        memory_type: "semantic",
        sources: &sources,
        fault: None,
    })
    .await
}

/// A server that gives the same reply to every question, and a client for it.
async fn replying(reply: ResponseTemplate) -> (MockServer, Llm) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(reply)
        .mount(&server)
        .await;
    let llm = Llm::new(settings(&server.uri())).unwrap();
    (server, llm)
}

/// Puts a reply before all others, for the next `times` requests.
async fn first(server: &MockServer, times: u64, reply: ResponseTemplate) {
    Mock::given(method("POST"))
        .respond_with(reply)
        .up_to_n_times(times)
        .with_priority(1)
        .mount(server)
        .await;
}

async fn requests(server: &MockServer) -> Vec<Value> {
    let received = server.received_requests().await.unwrap();
    received
        .iter()
        .map(|request| request.body_json().unwrap())
        .collect()
}

fn completion(message: Value, finish_reason: &str) -> Value {
    json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "the-model-2",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason }],
        "usage": { "prompt_tokens": 700, "completion_tokens": 20, "total_tokens": 720 },
    })
}

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn saying(content: &str) -> ResponseTemplate {
    ok(&completion(
        json!({ "role": "assistant", "content": content }),
        "stop",
    ))
}

fn same() -> String {
    json!({ "verdict": "same", "text": "Ana likes tea.", "used": ["m1", "m2"] }).to_string()
}

fn status(code: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(code).set_body_json(json!({ "error": { "message": message } }))
}

fn merged_text(reply: Result<Reply, LlmError>) -> String {
    match reply.map(|reply| reply.answer) {
        Ok(Answer::Merged { text, .. }) => text,
        other => panic!("{other:?}"),
    }
}
