//! What is said of memories goes to stdout; logs hold neither their words nor the key.

use super::*;

/// Words of the memories, and of texts that were rejected.
const WORDS: [&str; 5] = ["honey", "ginger", "likes", "lemon", "Alice"];

/// Runs a merge under this log level and answer, and gives what stands on stderr.
async fn logged(level: &str, respond: fn(&Request) -> ResponseTemplate) -> (Case, Ended) {
    let case = Case::with_pairs(2).await;
    case.responds(respond).await;
    let mut command = case.command(&["merge", "--user", "alice", "--json"]);
    command
        .env("MEMFOLD_LOG", level)
        .env("MEMFOLD_LOG_FORMAT", "json")
        .env("MEMFOLD_LLM_CONCURRENCY", "1");
    let ended = run(command).await;
    for line in ended.stderr.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    (case, ended)
}

/// The LLM server quotes what it was sent, the key included, in its own error.
fn quoting(request: &Request, status: u16) -> ResponseTemplate {
    let key = request.headers["authorization"].to_str().unwrap();
    let texts = Question::read(request).texts.join(" ");
    let message = format!("{key} may not ask: {texts}");
    ResponseTemplate::new(status).set_body_json(json!({ "error": { "message": message } }))
}

const ANSWERS: &[fn(&Request) -> ResponseTemplate] = &[
    good,
    |request| Question::read(request).same("Alice likes tea with lemon"),
    |request| {
        let answer = json!({ "verdict": "different", "text": "honey is no ginger", "used": [] });
        Question::read(request).content(&answer.to_string())
    },
    |request| Question::read(request).content("Alice likes honey"),
    |request| quoting(request, 400),
    |request| quoting(request, 401),
    |request| quoting(request, 404),
];

#[tokio::test]
async fn logs_above_debug_hold_no_memory() {
    for answer in ANSWERS {
        let (_case, ended) = logged("info", *answer).await;
        assert!(ended.exit == Some(0) || ended.exit == Some(4), "{ended:?}");
        for word in WORDS {
            assert!(!ended.stderr.contains(word), "{word}: {}", ended.stderr);
        }
    }
}

#[tokio::test]
async fn the_key_is_nowhere() {
    for answer in ANSWERS {
        let (mut case, ended) = logged("trace", *answer).await;
        let requests = case.llm.received_requests().await.unwrap();
        assert_eq!(
            requests[0].headers["authorization"],
            format!("Bearer {KEY}").as_str()
        );
        assert!(!ended.stderr.contains(KEY), "{}", ended.stderr);
        assert!(!ended.stdout.contains(KEY), "{}", ended.stdout);
        for request in &requests {
            assert!(!String::from_utf8_lossy(&request.body).contains(KEY));
        }
        let store = picture::all(&mut case.con).await;
        let holds = |bytes: &Vec<u8>| {
            bytes
                .windows(KEY.len())
                .any(|window| window == KEY.as_bytes())
        };
        assert!(!store.values().any(|entry| entry.content.iter().any(holds)));
    }
}

#[tokio::test]
async fn a_wrong_key_is_not_shown_with_the_settings() {
    let case = Case::new().await;
    let shown = case.run(&["config", "show"]).await;
    shown.assert_exit(0);
    assert!(
        shown.stdout.contains("llm_key") && !shown.stdout.contains(KEY),
        "{shown:?}"
    );
    let mut command = case.command(&["merge", "--user", "alice"]);
    command.env("MEMFOLD_LLM_KEY", format!("{KEY}\nx"));
    let refused = run(command).await;
    refused.assert_exit(2);
    assert!(!refused.stderr.contains(KEY), "{refused:?}");
}
