//! How much may be retired, sent and grouped.

use super::*;

/// `count` distinct texts of one subject.
fn distinct(count: usize) -> Vec<String> {
    (0..count)
        .map(|i| format!("Alice likes tea with {}", word(i)))
        .collect()
}

async fn with_group(count: usize) -> Case {
    let mut case = Case::new().await;
    case.group(0, &distinct(count)).await;
    case.responds(good).await;
    case
}

/// The run must be refused for this many memories, with nothing done and nobody asked.
async fn assert_refused(case: &mut Case, args: &[&str], proposed: usize, limit: usize) {
    let before = case.picture().await;
    let ended = case.merge(args).await;
    ended.assert_exit(5);
    let report = ended.report();
    let message = report["error"]["message"].as_str().unwrap();
    for part in [
        format!("retire up to {proposed} of"),
        format!("the limit is {limit}"),
        "nothing was done".to_owned(),
        format!("--max-retire {proposed}"),
    ] {
        assert!(message.contains(&part), "{part}: {message}");
    }
    assert_eq!(report["error"]["exit_code"], 5);
    assert!(case.questions().await.is_empty());
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn twenty_may_always_be_retired() {
    let mut case = with_group(21).await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!((ended.merged().len(), case.picture().await.len()), (1, 1));
}

#[tokio::test]
async fn one_more_than_the_limit_refuses_the_run() {
    let mut case = with_group(22).await;
    assert_refused(&mut case, &[], 21, 20).await;
    assert_refused(&mut case, &["--dry-run"], 21, 20).await;
    let ended = case.merge(&["--max-retire", "21"]).await;
    ended.assert_exit(0);
    assert_eq!(case.picture().await.len(), 1);
}

#[tokio::test]
async fn thirty_percent_of_many_may_be_retired() {
    let mut case = with_group(25).await;
    // 79 memories in all: 30 % are 23, one less than the group would retire.
    for i in 0..54 {
        let alone = Mem {
            memory_type: format!("type{i}"),
            ..Mem::new("Alice plays chess", &near(1, i))
        };
        case.put(&format!("alone{i}"), &alone).await;
    }
    assert_refused(&mut case, &[], 24, 23).await;
    let alone = Mem {
        memory_type: "last".to_owned(),
        ..Mem::new("Alice plays chess", &near(1, 0))
    };
    case.put("last", &alone).await;
    case.merge(&[]).await.assert_exit(0);
}

#[tokio::test]
async fn lossless_merges_do_not_count() {
    let mut case = Case::with_pairs(1).await;
    let copies = vec!["Alice plays chess"; 40];
    case.group(1, &copies).await;
    case.responds(good).await;
    assert_refused(&mut case, &["--max-retire", "0"], 1, 0).await;
    let ended = case.merge(&["--max-retire", "1"]).await;
    ended.assert_exit(0);
    assert_eq!((ended.merged().len(), case.picture().await.len()), (2, 2));
}

#[tokio::test]
async fn groups_of_many_texts_take_one_call_and_give_one_memory() {
    for count in [12, 25, 100] {
        let mut case = with_group(count).await;
        let before = case.picture().await;
        let ended = case.merge(&["--max-retire", "99"]).await;
        ended.assert_exit(0);
        assert_eq!(ended.llm(), [1, 1, 0, 0], "{count}: {ended:?}");
        assert_eq!(case.questions().await[0].texts, distinct(count));
        assert_eq!(case.picture().await.len(), 1);
        assert_eq!(case.metadata("memory:g0-0").await["source_count"], count);
        let text = case.memory("memory:g0-0").await["content"].to_string();
        assert!((0..count).all(|i| text.contains(&word(i))), "{text}");
        case.run(&["undo", &ended.merge_id(0)]).await.assert_exit(0);
        assert_eq!(case.picture().await, before);
    }
}

#[tokio::test]
async fn a_group_beyond_the_limit_of_texts_is_split() {
    let mut case = with_group(12).await;
    let ended = case.merge(&["--max-members", "5"]).await;
    ended.assert_exit(0);
    let questions = case.questions().await;
    assert!(
        questions.iter().all(|q| (2..=5).contains(&q.texts.len())),
        "{questions:?}"
    );
    let mut asked: Vec<String> = questions.into_iter().flat_map(|q| q.texts).collect();
    asked.sort();
    let mut all = distinct(12);
    all.sort();
    assert_eq!(asked, all);
    assert_eq!(case.picture().await.len(), ended.merged().len());
}

#[tokio::test]
async fn a_group_with_too_much_text_is_not_sent_and_nothing_is_cut() {
    let mut case = Case::with_pairs(2).await;
    let long = "x".repeat(300);
    case.group(
        2,
        &[
            format!("Alice likes soup with {long}"),
            "Alice likes soup with salt".to_owned(),
        ],
    )
    .await;
    case.responds(good).await;
    let ended = case.merge(&["--max-group-chars", "100"]).await;
    ended.assert_exit(0);
    assert_eq!(ended.reasons(), ["group-too-large"]);
    assert!(
        ended.detail().contains("348 characters, the limit is 100"),
        "{ended:?}"
    );
    assert_eq!(ended.llm(), [2, 2, 0, 0]);
    assert_eq!(case.picture().await.len(), 4);
}
