//! Servers that play LLMs which are of no use, each in its own way.

use std::sync::Arc;

use memfold::summarize::llm::{Llm, LlmSettings};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// A memory as the model sees it.
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) text: String,
}

/// Says "same" to everything, and strings all texts together.
pub(super) fn obliging(seen: &[Seen]) -> String {
    let text = |seen: &Seen| seen.text.trim_end_matches(['.', '。']).to_owned();
    let texts: Vec<String> = seen.iter().map(text).collect();
    let han = texts
        .iter()
        .any(|t| t.chars().any(|c| ('\u{4e00}'..'\u{a000}').contains(&c)));
    same(seen, &texts.join(if han { "。" } else { ". " }))
}

/// Says "same" to everything, and gives the first text back.
pub(super) fn lazy(seen: &[Seen]) -> String {
    same(seen, &seen[0].text)
}

/// Says "same" to everything, and gives the longest text back.
pub(super) fn lazy_but_long(seen: &[Seen]) -> String {
    let longest = seen.iter().max_by_key(|s| s.text.chars().count());
    same(seen, &longest.unwrap().text)
}

/// The answer that these memories are one, with this text.
pub(super) fn same(seen: &[Seen], text: &str) -> String {
    let ids: Vec<&str> = seen.iter().map(|s| s.id.as_str()).collect();
    json!({ "verdict": "same", "text": text, "used": ids }).to_string()
}

/// A server that answers by `play`, and a client for it. The server must outlive the client.
pub(super) async fn playing(
    play: impl Fn(&[Seen]) -> String + Send + Sync + 'static,
) -> (MockServer, Arc<Llm>) {
    let server = MockServer::start().await;
    let respond = move |request: &Request| {
        let content = play(&seen(&request.body_json().unwrap()));
        let message = json!({ "role": "assistant", "content": content });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        ResponseTemplate::new(200).set_body_json(json!({ "choices": [choice] }))
    };
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let llm = Llm::new(LlmSettings::new(server.uri(), "stub")).unwrap();
    (server, Arc::new(llm))
}

/// The memories of a question.
fn seen(body: &Value) -> Vec<Seen> {
    let user = body["messages"][1]["content"].as_str().unwrap();
    let (from, to) = (user.find("[\n").unwrap(), user.find("\n]").unwrap() + 2);
    let sources: Vec<Value> = serde_json::from_str(&user[from..to]).unwrap();
    let text = |source: &Value, name: &str| source[name].as_str().unwrap().to_owned();
    let source = |source: &Value| Seen {
        id: text(source, "id"),
        text: text(source, "text"),
    };
    sources.iter().map(source).collect()
}
