//! Refusals, rate limits, failures and silence of the server.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc,
    time::Instant,
};

use super::*;

#[tokio::test]
async fn refused_credentials_and_credit_are_outages_and_not_asked_again() {
    for code in [401, 402, 403] {
        let (server, llm) = replying(status(code, &format!("wrong key {KEY}"))).await;
        let error = ask(&llm).await.unwrap_err();
        match error {
            LlmError::Server(HttpError::Auth { .. }) => assert_ne!(code, 402),
            LlmError::Server(HttpError::Quota { .. }) => assert_eq!(code, 402),
            _ => panic!("{error:?}"),
        }
        assert!(error.is_outage());
        assert_eq!(requests(&server).await.len(), 1);
        let shown = format!("{error} {error:?} {llm:?} {:?}", settings(&server.uri()));
        assert!(!shown.contains(KEY), "{shown}");
        assert!(error.to_string().contains("wrong key ***"), "{error}");
    }
}

#[tokio::test]
async fn a_missing_model_is_an_outage() {
    let (server, llm) = replying(status(404, "model `the-model` not found")).await;
    let error = ask(&llm).await.unwrap_err();
    assert!(
        error.is_outage() && error.to_string().contains("`the-model` not found"),
        "{error}"
    );
    assert_eq!(requests(&server).await.len(), 1);
}

#[tokio::test]
async fn other_refusals_are_not_asked_again() {
    for code in [400, 413, 422, 418, 501] {
        let (server, llm) = replying(status(code, "no")).await;
        let error = ask(&llm).await.unwrap_err();
        assert!(!error.is_outage(), "{error:?}");
        assert_eq!(requests(&server).await.len(), 1, "{code}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = MockServer::start().await;
    let moved = ResponseTemplate::new(307).insert_header("location", elsewhere.uri());
    let (_server, llm) = replying(moved).await;
    let error = ask(&llm).await.unwrap_err();
    assert!(
        matches!(
            error,
            LlmError::Server(HttpError::Refused { status: 307, .. })
        ),
        "{error:?}"
    );
    assert!(requests(&elsewhere).await.is_empty());
}

#[tokio::test]
async fn a_rate_limit_is_waited_for() {
    for (retry_after, at_least) in [
        (None, Duration::ZERO),
        (Some("1"), Duration::from_secs(1)),
        (Some("Sun, 06 Nov 1994 08:49:37 GMT"), Duration::ZERO),
        (Some("in a while"), Duration::ZERO),
    ] {
        let (server, llm) = replying(saying(&same())).await;
        let mut limited = status(429, "slow down");
        if let Some(value) = retry_after {
            limited = limited.insert_header("retry-after", value);
        }
        first(&server, 1, limited).await;
        let started = Instant::now();
        merged_text(ask(&llm).await);
        assert!(started.elapsed() >= at_least, "{retry_after:?}");
        assert_eq!(requests(&server).await.len(), 2);
    }
}

#[tokio::test]
async fn an_endless_rate_limit_ends() {
    let limited = status(429, "slow down").insert_header("retry-after", "0");
    let (server, llm) = replying(limited).await;
    let error = ask(&llm).await.unwrap_err();
    assert!(
        matches!(
            error,
            LlmError::Server(HttpError::Quota { status: 429, .. })
        ),
        "{error:?}"
    );
    assert!(error.is_outage());
    assert_eq!(requests(&server).await.len(), 4);
    assert_eq!(llm.calls(), 4);
}

#[tokio::test]
async fn a_wait_beyond_the_total_time_is_not_begun() {
    let limited = status(429, "come back tomorrow").insert_header("retry-after", "86400");
    let (server, llm) = replying(limited).await;
    let started = Instant::now();
    assert!(matches!(
        ask(&llm).await,
        Err(LlmError::Server(HttpError::Quota { .. }))
    ));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(requests(&server).await.len(), 1);
}

#[tokio::test]
async fn an_account_without_credit_is_not_waited_for() {
    let broke = json!({ "error": { "message": "no credit", "code": "insufficient_quota" } });
    let (server, llm) = replying(ResponseTemplate::new(429).set_body_json(broke)).await;
    assert!(matches!(
        ask(&llm).await,
        Err(LlmError::Server(HttpError::Quota { .. }))
    ));
    assert_eq!(requests(&server).await.len(), 1);
}

#[tokio::test]
async fn passing_server_errors_are_asked_again_with_the_same_id() {
    for code in [500, 502, 503, 504] {
        let (server, llm) = replying(saying(&same())).await;
        first(&server, 2, status(code, "oops")).await;
        merged_text(ask(&llm).await);
        let received = server.received_requests().await.unwrap();
        assert_eq!(received.len(), 3);
        let ids: Vec<_> = received
            .iter()
            .map(|r| &r.headers["x-client-request-id"])
            .collect();
        assert!(
            ids.iter().all(|id| *id == ids[0] && id.len() == 32),
            "{ids:?}"
        );
    }
}

#[tokio::test]
async fn lasting_server_errors_end() {
    let (server, llm) = replying(ResponseTemplate::new(500).set_body_string("<html>oops")).await;
    let error = ask(&llm).await.unwrap_err();
    assert!(
        matches!(
            error,
            LlmError::Server(HttpError::Failed { status: 500, .. })
        ),
        "{error:?}"
    );
    assert_eq!(requests(&server).await.len(), 4);
}

/// A server that accepts one connection, sends `beginning` and then nothing more. The receiver gets
/// one item for each connection.
fn stalling(beginning: &'static str) -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, connections) = mpsc::channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(beginning.as_bytes());
            open.push(stream);
            if seen.send(()).is_err() {
                return;
            }
        }
    });
    (url, connections)
}

#[tokio::test]
async fn a_slow_answer_is_given_up_and_not_asked_for_again() {
    for beginning in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\":",
    ] {
        let (url, connections) = stalling(beginning);
        let timeout = Duration::from_millis(200);
        let llm = Llm::new(LlmSettings {
            timeout,
            ..settings(&url)
        })
        .unwrap();
        let error = ask(&llm).await.unwrap_err();
        assert_eq!(
            error,
            LlmError::Server(HttpError::Timeout { after: timeout })
        );
        assert!(error.to_string().contains("may have been billed"));
        assert_eq!((llm.calls(), connections.try_iter().count()), (1, 1));
    }
}

#[tokio::test]
async fn the_total_time_bounds_an_attempt_too() {
    let (url, _connections) = stalling("");
    let total_time = Duration::from_millis(150);
    let llm = Llm::new(LlmSettings {
        total_time,
        ..settings(&url)
    })
    .unwrap();
    let started = Instant::now();
    assert!(matches!(
        ask(&llm).await,
        Err(LlmError::Server(HttpError::Timeout { .. }))
    ));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_connection_that_breaks_is_not_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{");
    });
    let llm = Llm::new(settings(&url)).unwrap();
    let error = ask(&llm).await.unwrap_err();
    assert!(
        matches!(error, LlmError::Server(HttpError::Interrupted { .. })),
        "{error:?}"
    );
    assert_eq!(llm.calls(), 1);
}

#[tokio::test]
async fn no_server_is_an_outage() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let llm = Llm::new(settings(&format!("http://ana:pw@127.0.0.1:{port}/v1"))).unwrap();
    let error = ask(&llm).await.unwrap_err();
    assert!(
        matches!(error, LlmError::Server(HttpError::Unreachable { .. })) && error.is_outage(),
        "{error:?}"
    );
    let shown = error.to_string();
    assert!(
        shown.contains("127.0.0.1") && shown.contains("refused") && !shown.contains("pw"),
        "{shown}"
    );
    assert_eq!(llm.calls(), 4);
}

#[tokio::test]
async fn the_budget_counts_every_request() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(status(500, "oops"))
        .mount(&server)
        .await;
    for limit in [0, 3] {
        let max_calls = Some(limit);
        let llm = Llm::new(LlmSettings {
            max_calls,
            ..settings(&server.uri())
        })
        .unwrap();
        let error = ask(&llm).await.unwrap_err();
        assert_eq!(error, LlmError::BudgetExhausted { limit });
        assert!(error.is_outage());
        assert_eq!(llm.calls(), limit);
    }
    assert_eq!(requests(&server).await.len(), 3);
}
