//! What a server of an embedding model is asked, and what it answers.

use serde::Serialize;
use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

/// The texts of a request, in the protocol of OpenAI or in TEI's.
pub(crate) fn texts(request: &Request) -> Vec<String> {
    let body: Value = request.body_json().unwrap();
    let texts = body.get("input").or(body.get("inputs")).unwrap();
    serde_json::from_value(texts.clone()).unwrap()
}

/// The answer that gives each text of a request its vector, in the protocol of OpenAI.
pub(crate) fn embeddings<V: Serialize>(
    request: &Request,
    vector: impl Fn(&str) -> V,
) -> ResponseTemplate {
    let data: Vec<Value> = texts(request)
        .iter()
        .enumerate()
        .map(|(index, text)| json!({ "index": index, "embedding": vector(text) }))
        .collect();
    ResponseTemplate::new(200).set_body_json(json!({ "object": "list", "data": data }))
}
