//! An LLM that is away, slow or not to be paid any more: the originals stay, and it is left in peace.

use std::time::{Duration, Instant};

use super::*;

/// Three groups, one after the other, so that an outage is known before the second.
async fn three_groups(
    respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> (Case, Ended) {
    let mut case = Case::with_pairs(3).await;
    let before = case.picture().await;
    case.responds(respond).await;
    let ended = case.merge(&["--llm-concurrency", "1"]).await;
    assert_eq!(case.picture().await, before);
    (case, ended)
}

#[tokio::test]
async fn an_outage_ends_the_questions() {
    let (case, ended) = three_groups(|_| error(401, "no such key")).await;
    ended.assert_exit(4);
    assert_eq!(ended.reasons(), ["llm-failed"; 3]);
    assert_eq!(ended.llm(), [1, 0, 0, 3]);
    assert_eq!(case.questions().await.len(), 1);
    assert!(ended.stdout.contains("not asked after"), "{ended:?}");
}

#[tokio::test]
async fn no_server_is_looked_for_four_times_and_not_again() {
    let mut case = Case::with_pairs(3).await;
    let before = case.picture().await;
    let mut command = case.command(&["merge", "--user", "alice", "--json"]);
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    command
        .env("MEMFOLD_LLM_URL", format!("http://{nowhere}/v1"))
        .env("MEMFOLD_LLM_CONCURRENCY", "1");
    let ended = run(command).await;
    ended.assert_exit(4);
    assert_eq!(ended.reasons(), ["llm-failed"; 3]);
    assert_eq!(ended.llm(), [4, 0, 0, 3]);
    assert!(
        ended.detail().contains("the LLM server does not answer at"),
        "{ended:?}"
    );
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn a_rate_limit_that_does_not_end_is_an_outage() {
    let (case, ended) = three_groups(|_| error(429, "slowly")).await;
    ended.assert_exit(4);
    assert_eq!(ended.reasons(), ["llm-failed"; 3]);
    assert_eq!(case.questions().await.len(), 4);
}

#[tokio::test]
async fn a_rate_limit_with_a_time_is_waited_for() {
    let case = Case::with_pairs(1).await;
    case.responds(good).await;
    Mock::given(method("POST"))
        .respond_with(error(429, "slowly").insert_header("retry-after", "1"))
        .up_to_n_times(1)
        .with_priority(1)
        .mount(&case.llm)
        .await;
    let started = Instant::now();
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [2, 1, 0, 0]);
    assert_eq!(ended.merged().len(), 1);
    assert!(started.elapsed() > Duration::from_secs(1));
    assert!(!case.questions().await[1].is_second());
}

#[tokio::test]
async fn a_server_error_is_asked_again_four_times_a_group_at_most() {
    let mut case = Case::with_pairs(2).await;
    let before = case.picture().await;
    case.replies(error(500, "oops")).await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(4);
    assert_eq!(ended.reasons(), ["llm-failed"; 2]);
    assert_eq!(ended.llm(), [8, 0, 0, 2]);
    assert!(ended.detail().contains("failed (500): oops"), "{ended:?}");
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn a_slow_answer_is_not_waited_for_and_not_asked_for_again() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    case.responds(|request| good(request).set_delay(Duration::from_secs(20)))
        .await;
    let started = Instant::now();
    let ended = case.merge(&["--llm-timeout", "500ms"]).await;
    ended.assert_exit(4);
    assert!(started.elapsed() < Duration::from_secs(15));
    assert_eq!(ended.reasons(), ["llm-failed"]);
    assert!(
        ended.detail().contains("did not answer within 0.5 s"),
        "{ended:?}"
    );
    assert_eq!(case.questions().await.len(), 1);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn a_budget_of_calls_is_kept_to() {
    let mut case = Case::with_pairs(3).await;
    case.responds(good).await;
    let args = ["--llm-max-calls", "2", "--llm-concurrency", "1"];
    let ended = case.merge(&args).await;
    ended.assert_exit(4);
    assert_eq!(ended.merged().len(), 2);
    assert_eq!(ended.reasons(), ["llm-failed"]);
    assert_eq!(ended.llm(), [2, 2, 0, 1]);
    assert_eq!(case.picture().await.len(), 4);
}

#[tokio::test]
async fn a_group_that_fails_does_not_stop_the_others() {
    let mut case = Case::with_pairs(3).await;
    case.responds(|request| {
        let question = Question::read(request);
        if question.texts[0].contains("coffee") {
            return question.same("Alice likes coffee");
        }
        question.same(&question.united())
    })
    .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [4, 2, 0, 1]);
    assert_eq!(ended.merged().len(), 2);
    assert_eq!(ended.reasons(), ["verification-failed"]);
    let left = &ended.report()["plan"]["groups_left"][0]["members"];
    assert_eq!(left[0]["text"], "Alice likes coffee with honey");
    assert_eq!(case.picture().await.len(), 4);
}

#[tokio::test]
async fn an_outage_is_remembered_for_all_users_and_each_is_told_its_own_calls() {
    let mut case = Case::with_pairs(1).await;
    for (i, text) in pair_texts(1).iter().enumerate() {
        let memory = Mem {
            user: "bob".to_owned(),
            ..Mem::new(text, &near(1, i))
        };
        case.put(&format!("bob{i}"), &memory).await;
    }
    let args = ["merge", "--all-users", "--json"];
    case.replies(error(401, "no such key")).await;
    let ended = case.run(&args).await;
    ended.assert_exit(4);
    assert_eq!(case.questions().await.len(), 1);
    let calls = |ended: &Ended| -> Vec<(Value, Value)> {
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let users = document["users"].as_array().unwrap().iter();
        users
            .map(|user| (user["llm"]["calls"].clone(), user["llm"]["kept"].clone()))
            .collect()
    };
    assert_eq!(calls(&ended), [(json!(1), json!(1)), (json!(0), json!(1))]);

    case.responds(good).await;
    let ended = case.run(&args).await;
    ended.assert_exit(0);
    assert_eq!(calls(&ended), [(json!(1), json!(0)), (json!(1), json!(0))]);
}

#[tokio::test]
async fn a_server_that_never_answers_is_asked_three_times() {
    let mut case = Case::with_pairs(6).await;
    let before = case.picture().await;
    case.responds(|request| good(request).set_delay(Duration::from_secs(20)))
        .await;
    let args = ["--llm-timeout", "200ms", "--llm-concurrency", "1"];
    let ended = case.merge(&args).await;
    ended.assert_exit(4);
    assert_eq!(ended.reasons(), ["llm-failed"; 6]);
    assert_eq!(case.questions().await.len(), 3);
    assert_eq!(case.picture().await, before);
}
