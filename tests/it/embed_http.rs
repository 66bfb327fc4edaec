//! The HTTP embedder against servers that misbehave as servers are known to. A real server takes part in
//! the tests with real libraries.

use std::time::{Duration, Instant};

use memfold::embed::{
    Cached, EmbedError, Embedder, Embedding, HttpEmbedder, HttpSettings, Proof, Sample, prove,
};
use memfold::http::HttpError;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::model::{embeddings, texts};

const KEY: &str = "sk-very-secret";

fn settings(server: &MockServer) -> HttpSettings {
    HttpSettings {
        api_key: Some(KEY.into()),
        batch: 4,
        timeout: Duration::from_secs(10),
        total_time: Duration::from_secs(20),
        backoff: Duration::from_millis(2),
        jitter: || 0.0,
        ..HttpSettings::new(server.uri(), "the-model")
    }
}

/// A vector of three numbers that differs between texts of different length.
fn vector(text: &str) -> [f32; 3] {
    [text.chars().count() as f32, 1.0, 0.5]
}

fn embeds(request: &Request) -> ResponseTemplate {
    embeddings(request, vector)
}

async fn replying(reply: impl wiremock::Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    let any = Mock::given(method("POST"));
    any.respond_with(reply).mount(&server).await;
    server
}

/// A server that works, after `times` replies of another kind.
async fn first(times: u64, reply: impl wiremock::Respond + 'static) -> MockServer {
    let server = replying(embeds).await;
    Mock::given(method("POST"))
        .respond_with(reply)
        .up_to_n_times(times)
        .with_priority(1)
        .mount(&server)
        .await;
    server
}

/// The server from now on.
async fn then(server: &MockServer, reply: impl wiremock::Respond + 'static) {
    let any = Mock::given(method("POST")).respond_with(reply);
    any.with_priority(1).mount(server).await;
}

fn status(code: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(code).set_body_json(json!({ "error": message, "error_type": "x" }))
}

async fn requests(server: &MockServer) -> Vec<Vec<String>> {
    let received = server.received_requests().await.unwrap();
    received.iter().map(texts).collect()
}

async fn connect(settings: HttpSettings) -> HttpEmbedder {
    HttpEmbedder::connect(settings).await.unwrap()
}

async fn embed(
    embedder: impl Embedder + 'static,
    texts: &[&str],
) -> Result<Vec<Embedding>, EmbedError> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let work = move || {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        embedder.embed(&texts)
    };
    tokio::task::spawn_blocking(work).await.unwrap()
}

fn assert_direction(found: &Embedding, expected: &[f32]) {
    let norm = expected.iter().map(|x| x * x).sum::<f32>().sqrt();
    for (found, expected) in found.vector.iter().zip(expected) {
        assert!((found - expected / norm).abs() < 1e-5, "{found} {expected}");
    }
}

#[tokio::test]
async fn texts_are_sent_in_batches_and_vectors_keep_their_order() {
    let server = replying(embeds).await;
    let settings = HttpSettings {
        prefix: "query: ".to_owned(),
        dims: Some(3),
        ..settings(&server)
    };
    let embedder = connect(settings).await;
    assert_eq!((embedder.dims(), embedder.model()), (3, "the-model"));
    let all: Vec<String> = (1..=30).map(|length| "x".repeat(length)).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let found = embed(embedder, &all).await.unwrap();
    for (text, found) in all.iter().zip(&found) {
        assert_direction(found, &vector(&format!("query: {text}")));
    }
    let received = server.received_requests().await.unwrap();
    assert_eq!(received.len(), 1 + 8);
    for request in received {
        let body: Value = request.body_json().unwrap();
        assert_eq!(
            (&body["model"], &body["dimensions"]),
            (&json!("the-model"), &json!(3))
        );
        assert!(
            texts(&request)
                .iter()
                .all(|text| text.starts_with("query: "))
        );
        assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    }
}

#[tokio::test]
async fn tei_is_spoken_to_in_its_own_way() {
    let server = MockServer::start().await;
    let tei = |request: &Request| {
        let body: Value = request.body_json().unwrap();
        assert_eq!(body["truncate"], json!(false));
        let vectors: Vec<_> = texts(request).iter().map(|text| vector(text)).collect();
        ResponseTemplate::new(200).set_body_json(vectors)
    };
    let route = Mock::given(method("POST")).and(path("/embed"));
    route.respond_with(tei).mount(&server).await;
    let base_url = format!("{}/embed", server.uri());
    let embedder = connect(HttpSettings {
        base_url,
        ..settings(&server)
    })
    .await;
    let found = embed(embedder, &["a", "bb"]).await.unwrap();
    assert_direction(&found[1], &vector("bb"));
}

#[tokio::test]
async fn passing_failures_and_rate_limits_are_waited_for() {
    for code in [429, 500, 502, 503, 504] {
        let server = first(2, status(code, "not now")).await;
        let embedder = connect(settings(&server)).await;
        assert_eq!(embedder.dims(), 3, "{code}");
        assert_eq!(requests(&server).await.len(), 3, "{code}");
    }
    let limited = status(429, "slow down").insert_header("retry-after", "1");
    let server = first(1, limited).await;
    let started = Instant::now();
    connect(settings(&server)).await;
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn what_does_not_pass_is_told_without_the_key() {
    for (code, says, times) in [
        (401, "check the API key", 1),
        (404, "check base URL and model", 1),
        (429, "no quota left", 4),
        (500, "failed (500)", 4),
    ] {
        let server = replying(status(code, &format!("it was {KEY}"))).await;
        let error = HttpEmbedder::connect(settings(&server)).await.unwrap_err();
        let shown = format!("{error} {error:?} {:?}", settings(&server));
        assert!(shown.contains(says) && !shown.contains(KEY), "{shown}");
        assert_eq!(requests(&server).await.len(), times, "{code}");
    }
}

#[tokio::test]
async fn a_slow_server_is_not_asked_again() {
    let late = |request: &Request| embeds(request).set_delay(Duration::from_secs(30));
    let server = replying(late).await;
    let hurried = HttpSettings {
        timeout: Duration::from_millis(300),
        ..settings(&server)
    };
    let error = HttpEmbedder::connect(hurried).await.unwrap_err();
    assert!(
        matches!(error, EmbedError::Server(HttpError::Timeout { .. })),
        "{error}"
    );
}

#[tokio::test]
async fn no_server_is_told_with_its_address() {
    let nowhere = HttpSettings {
        backoff: Duration::from_millis(2),
        ..HttpSettings::new("http://ana:pw@127.0.0.1:1/v1", "m")
    };
    let error = HttpEmbedder::connect(nowhere)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("http://127.0.0.1:1/v1/embeddings"),
        "{error}"
    );
    assert!(!error.contains("pw"), "{error}");
}

#[tokio::test]
async fn other_dims_are_refused_at_first_and_later() {
    let server = replying(embeds).await;
    let asked = HttpSettings {
        dims: Some(2),
        ..settings(&server)
    };
    let error = HttpEmbedder::connect(asked).await.unwrap_err();
    let expected = (3, 2);
    assert!(
        matches!(error, EmbedError::WrongDims { found, expected: e } if (found, e) == expected),
        "{error}"
    );

    let embedder = connect(settings(&server)).await;
    let two = json!({ "data": [{ "index": 0, "embedding": [1.0, 2.0] }] });
    then(&server, ResponseTemplate::new(200).set_body_json(two)).await;
    let error = embed(embedder, &["a"]).await.unwrap_err();
    let expected = (2, 3);
    assert!(
        matches!(error, EmbedError::WrongDims { found, expected: e } if (found, e) == expected),
        "{error}"
    );
}

#[tokio::test]
async fn answers_without_meaning_are_refused() {
    for body in [
        json!({ "data": [] }),
        json!({ "data": [{ "index": 0, "embedding": [] }] }),
        json!({ "data": [{ "index": 0, "embedding": [0.0, 0.0] }] }),
        json!({ "data": [{ "index": 1, "embedding": [1.0] }] }),
        json!({ "error": "but with status 200" }),
        json!("hello"),
    ] {
        let server = replying(ResponseTemplate::new(200).set_body_json(&body)).await;
        let error = HttpEmbedder::connect(settings(&server)).await.unwrap_err();
        assert!(
            matches!(
                error,
                EmbedError::BadAnswer(_) | EmbedError::WrongDims { .. }
            ),
            "{body}: {error}"
        );
    }
}

/// Takes at most 2 texts at once, each of at most 300 characters.
fn narrow(code: u16) -> impl Fn(&Request) -> ResponseTemplate {
    move |request| {
        let texts = texts(request);
        if texts.len() > 2 || texts.iter().any(|text| text.chars().count() > 300) {
            return status(code, "the input is too large to process");
        }
        embeds(request)
    }
}

#[tokio::test]
async fn what_is_too_large_is_divided() {
    for code in [400, 413, 422, 500] {
        let server = replying(narrow(code)).await;
        let embedder = connect(settings(&server)).await;
        let long = "word ".repeat(200);
        let texts = ["a", "bb", "ccc", &long, "eeeee"];
        let found = embed(embedder, &texts).await.unwrap();
        for at in [0, 1, 2, 4] {
            assert_direction(&found[at], &vector(texts[at]));
        }
        // Parts of 250 characters point where the whole does not.
        assert_direction(&found[3], &vector(&"x".repeat(250)));
        let sent: Vec<String> = requests(&server).await.concat();
        assert!(sent.iter().all(|text| !text.trim().is_empty()));
    }
}

#[tokio::test]
async fn a_server_that_begins_to_refuse_everything_is_asked_a_few_times() {
    let server = replying(embeds).await;
    let embedder = connect(settings(&server)).await;
    then(&server, status(400, "no")).await;
    let long = "word ".repeat(2000);
    let error = embed(embedder, &[&long, "a", "b", "c"]).await.unwrap_err();
    assert!(
        matches!(
            error,
            EmbedError::Server(HttpError::Refused { status: 400, .. })
        ),
        "{error}"
    );
    assert!(requests(&server).await.len() < 20);
}

#[tokio::test]
async fn an_empty_text_is_not_sent() {
    let server = replying(embeds).await;
    let embedder = connect(settings(&server)).await;
    let error = embed(embedder, &["a", " \n"]).await.unwrap_err();
    assert!(
        matches!(error, EmbedError::EmptyText { index: 1 }),
        "{error}"
    );
    assert_eq!(requests(&server).await.len(), 1);
}

#[tokio::test]
async fn the_match_proof_covers_a_server() {
    let server = replying(embeds).await;
    let embedder = connect(settings(&server)).await;
    let stored = [vector("tea"), vector("a window seat"), [0.0, 1.0, -3.0]].map(|v| v.to_vec());
    let proof = tokio::task::spawn_blocking(move || {
        let sample = |text, vector: &'static [f32]| Sample {
            key: text,
            text,
            vector,
        };
        let stored: [&'static [f32]; 3] = stored.map(|vector| &*vector.leak());
        let own = [sample("tea", stored[0]), sample("a window seat", stored[1])];
        let foreign = [own[0], own[1], sample("tram", stored[2])];
        [own.to_vec(), foreign.to_vec()].map(|samples| prove(&embedder, &samples).unwrap())
    })
    .await
    .unwrap();
    assert!(matches!(proof[0], Proof::Matches { samples: 2, .. }));
    assert!(matches!(proof[1], Proof::Differs { samples: 3, .. }));
}

#[tokio::test]
async fn with_a_cache_the_server_gets_each_text_once() {
    let (server, dir) = (replying(embeds).await, tempfile::tempdir().unwrap());
    for _ in 0..2 {
        let embedder = std::sync::Arc::new(connect(settings(&server)).await);
        let cached = Cached::new(embedder, dir.path(), 1 << 20);
        let found = embed(cached, &["a", "bb", "a"]).await.unwrap();
        assert_direction(&found[2], &vector("a"));
    }
    let mut sent: Vec<String> = requests(&server).await.concat();
    sent.retain(|text| text.len() < 3);
    assert_eq!(sent, ["a", "bb"]);
}
