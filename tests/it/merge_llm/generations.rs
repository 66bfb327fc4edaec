//! Merges of merges, and merges that were undone.

use super::*;

#[tokio::test]
async fn a_merge_of_a_merge_names_all_originals_and_is_undone_from_the_end() {
    let mut case = Case::with_pairs(1).await;
    case.responds(good).await;
    let first = case.merge(&[]).await;
    let one = case.picture().await;
    let third = Mem::new("Alice likes tea with lemon", &near(0, 2));
    case.put("later", &third).await;
    let two = case.picture().await;

    let second = case.merge(&[]).await;

    second.assert_exit(0);
    assert_eq!(second.merged().len(), 1);
    let memory = case.memory("memory:g0-0").await;
    assert_eq!(
        memory["content"],
        "Alice likes tea with honey, ginger, lemon"
    );
    let metadata = case.metadata("memory:g0-0").await;
    assert_eq!(metadata["source_count"], 3);
    assert_eq!(metadata["merge_id"], second.merge_id(0));
    let mut leaves: Vec<&str> = metadata["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|leaf| leaf["id"].as_str().unwrap())
        .collect();
    leaves.sort_unstable();
    assert_eq!(leaves, ["g0-0", "g0-1", "later"]);
    let shown = case.run(&["show", &second.merge_id(0), "--json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["merge"]["parents"], json!([first.merge_id(0)]));

    // The LLM reads the originals with their dates, not the text that it wrote before.
    let question = case.questions().await.pop().unwrap();
    let [honey, ginger] = pair_texts(0);
    assert_eq!(
        question.texts,
        [&honey, &ginger, "Alice likes tea with lemon"]
    );
    let dates = [
        "2026-03-01T00:00:00Z",
        "2026-03-01T00:01:00Z",
        "2026-03-01T10:00:00Z",
    ];
    assert_eq!(question.dates, dates);

    let refused = case.run(&["undo", &first.merge_id(0)]).await;
    refused.assert_exit(7);
    assert!(refused.stderr.contains(&second.merge_id(0)), "{refused:?}");
    assert!(refused.stderr.contains("--cascade"), "{refused:?}");

    let undone = case.run(&["undo", &second.merge_id(0)]).await;
    undone.assert_exit(0);
    assert_eq!(case.picture().await, two);
    assert_eq!(one.len() + 1, two.len());
}

#[tokio::test]
async fn an_edited_result_and_one_past_its_undo_window_stand_for_themselves() {
    for gone in [false, true] {
        let mut case = Case::with_pairs(1).await;
        case.responds(good).await;
        case.merge(&[]).await;
        if gone {
            let copies: Vec<String> = case.redis(&["KEYS", "memfold:undo:*"]).await;
            case.redis::<()>(&["DEL", &copies[0]]).await;
        } else {
            let edit = ["JSON.SET", "memory:g0-0", "$.thread_id", "\"t1\""];
            case.redis::<()>(&edit).await;
        }
        let third = Mem::new("Alice likes tea with lemon", &near(0, 2));
        case.put("later", &third).await;

        case.merge(&[]).await.assert_exit(0);

        let question = case.questions().await.pop().unwrap();
        assert_eq!(question.texts.len(), 2);
    }
}

#[tokio::test]
async fn a_cascade_undoes_both_generations() {
    let mut case = Case::with_pairs(1).await;
    let mut before = case.picture().await;
    case.responds(good).await;
    let first = case.merge(&[]).await;
    let third = Mem::new("Alice likes tea with lemon", &near(0, 2));
    let key = case.put("later", &third).await;
    before.insert(key.clone(), case.picture().await[&key].clone());
    let second = case.merge(&[]).await;
    let undone = case
        .run(&["undo", &first.merge_id(0), "--cascade", "--json"])
        .await;
    undone.assert_exit(0);
    let document: Value = serde_json::from_str(&undone.stdout).unwrap();
    let ids: Vec<&Value> = document["undone"]
        .as_array()
        .unwrap()
        .iter()
        .map(|u| &u["merge_id"])
        .collect();
    assert_eq!(ids, [&json!(second.merge_id(0)), &json!(first.merge_id(0))]);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn an_undone_merge_is_not_asked_for_until_a_member_changes() {
    let mut case = Case::with_pairs(2).await;
    let before = case.picture().await;
    case.responds(good).await;
    let ended = case.merge(&[]).await;
    assert_eq!(case.questions().await.len(), 2);
    let run = ended.report()["run_id"].as_str().unwrap().to_owned();
    case.run(&["undo", "--run", &run]).await.assert_exit(0);

    let again = case.merge(&[]).await;

    again.assert_exit(0);
    assert_eq!(again.reasons(), ["vetoed"; 2]);
    assert_eq!(again.llm(), [0; 4]);
    assert_eq!(case.questions().await.len(), 2);
    assert_eq!(case.picture().await, before);

    let changed = Mem::new("Alice likes tea with lemon", &near(0, 1));
    case.put("g0-1", &changed).await;
    let third = case.merge(&[]).await;
    assert_eq!(third.llm(), [1, 1, 0, 0]);
    assert_eq!(third.reasons(), ["vetoed"]);
    assert_eq!(
        case.memory("memory:g0-0").await["content"],
        "Alice likes tea with honey, lemon"
    );
}

const HERBS: [&str; 12] = [
    "honey", "ginger", "lemon", "mint", "sage", "thyme", "anise", "clove", "fennel", "cinnamon",
    "basil", "lavender",
];

/// The texts of all live memories together.
async fn said(case: &mut Case) -> String {
    let keys: Vec<String> = case.redis(&["KEYS", "memory:*"]).await;
    let mut texts = String::new();
    for key in keys {
        texts += case.memory(&key).await["content"].as_str().unwrap();
        texts += ". ";
    }
    texts
}

#[tokio::test]
async fn ten_rounds_of_a_growing_group_lose_no_fact() {
    let mut case = Case::new().await;
    case.responds(good).await;
    for (round, herb) in HERBS.iter().enumerate() {
        let memory = Mem {
            created_at: format!("2026-03-{:02}T00:00:00", round + 1),
            ..Mem::new(&format!("Alice likes tea with {herb}"), &near(0, round))
        };
        case.put(&format!("r{round:02}"), &memory).await;
        case.merge(&[]).await.assert_exit(0);
        let said = said(&mut case).await;
        for known in &HERBS[..=round] {
            assert!(
                said.contains(known),
                "round {round}: {known} is gone from {said}"
            );
        }
    }
    assert_eq!(case.picture().await.len(), 1);
    assert_eq!(
        case.metadata("memory:r00").await["source_count"],
        HERBS.len()
    );
    // Every round but the first started from the originals.
    let last = case.questions().await.pop().unwrap();
    assert_eq!(last.texts.len(), HERBS.len());
}

#[tokio::test]
async fn once_the_originals_are_gone_an_llm_rewrites_its_text_a_few_times_only() {
    let mut case = Case::new().await;
    case.responds(good).await;
    let mut reasons = Vec::new();
    for (round, herb) in HERBS.iter().enumerate().take(8) {
        let text = format!("Alice likes tea with {herb}");
        case.put(&format!("r{round:02}"), &Mem::new(&text, &near(0, round)))
            .await;
        let ended = case.merge(&[]).await;
        ended.assert_exit(0);
        reasons.extend(ended.reasons());
        let copies: Vec<String> = case.redis(&["KEYS", "memfold:undo:*"]).await;
        for key in copies {
            case.redis::<()>(&["DEL", &key]).await;
        }
        let said = said(&mut case).await;
        for known in &HERBS[..=round] {
            assert!(
                said.contains(known),
                "round {round}: {known} is gone from {said}"
            );
        }
    }
    assert!(
        reasons.iter().any(|reason| reason == "generations"),
        "{reasons:?}"
    );
}
