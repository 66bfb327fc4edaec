//! Answers that are accepted, and what becomes of them.

use std::time::Duration;

use super::*;

#[tokio::test]
async fn a_good_answer_is_written_recorded_and_can_be_undone() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    case.responds(good).await;

    let ended = case.merge(&[]).await;

    ended.assert_exit(0);
    assert_eq!(ended.llm(), [1, 1, 0, 0]);
    let questions = case.questions().await;
    assert_eq!(questions[0].texts, pair_texts(0));
    let days = ["2026-03-01T00:00:00Z", "2026-03-01T00:01:00Z"];
    assert_eq!(questions[0].dates, days);
    assert_eq!(ended.merged()[0]["result_key"], "memory:g0-0");
    assert_eq!(ended.merged()[0]["retired"], json!(["memory:g0-1"]));
    assert_eq!(case.picture().await.len(), 1);
    let memory = case.memory("memory:g0-0").await;
    assert_eq!(memory["content"], "Alice likes tea with honey, ginger");
    assert_eq!(memory["memory_type"], "semantic");
    let metadata = case.metadata("memory:g0-0").await;
    assert_eq!(metadata["consolidated"], true);
    assert_eq!(metadata["source_count"], 2);
    assert_eq!(metadata["merge_id"], ended.merge_id(0));
    assert_eq!(metadata["source"], "chat");

    let merge = &ended.report()["plan"]["merges"][0];
    assert_eq!(merge["findings"], json!([]));
    let author = &merge["author"];
    assert_eq!(merge["vector_origin"], "centroid");
    assert_eq!(
        (&author["by"], &author["model"]),
        (&json!("llm"), &json!("the-model-2"))
    );
    assert!(author["prompt"].as_str().unwrap().starts_with("merge-v2@"));
    let tokens = questions[0].characters as u64 + 20;
    assert_eq!(
        (author["tokens"].as_u64(), author["calls"].as_u64()),
        (Some(tokens), Some(1))
    );
    assert_eq!(ended.report()["llm"]["tokens"].as_u64(), Some(tokens));
    let id = ended.merge_id(0);
    let shown = case.run(&["show", &id, "--json"]).await;
    shown.assert_exit(0);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(&shown["merge"]["author"], author, "{shown}");

    case.run(&["undo", &id]).await.assert_exit(0);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn a_fenced_answer_is_read() {
    let mut case = Case::with_pairs(1).await;
    case.responds(|request| {
        let question = Question::read(request);
        let answer = json!({ "verdict": "same", "text": question.united(), "used": question.ids });
        question.content(&format!("Sure!\n```json\n{answer}\n```\n"))
    })
    .await;
    assert_eq!(case.merge(&[]).await.llm(), [1, 1, 0, 0]);
    assert_eq!(case.picture().await.len(), 1);
}

#[tokio::test]
async fn a_second_answer_may_mend_the_first() {
    let mut case = Case::with_pairs(1).await;
    case.responds(|request| {
        let question = Question::read(request);
        if question.is_second() {
            return question.same(&question.united());
        }
        question.same("Alice likes tea with honey, ginger and lemon")
    })
    .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [2, 0, 1, 0]);
    let questions = case.questions().await;
    assert!(questions[1].rest.contains("lemon"), "{questions:?}");
    assert_eq!(ended.report()["plan"]["merges"][0]["author"]["calls"], 2);
    assert_eq!(case.picture().await.len(), 1);
}

#[tokio::test]
async fn a_text_of_a_source_keeps_the_vector_of_that_source() {
    let mut case = Case::new().await;
    let long = "Alice likes tea, honey and ginger";
    case.group(0, &["Alice likes tea and ginger", long]).await;
    let source = case.memory("memory:g0-1").await;
    case.responds(move |request| Question::read(request).same(long))
        .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [1, 1, 0, 0]);
    assert_eq!(
        ended.report()["plan"]["merges"][0]["vector_origin"],
        "source"
    );
    let memory = case.memory("memory:g0-0").await;
    assert_eq!(memory["content"], long);
    assert_eq!(memory["embedding"], source["embedding"]);
}

#[tokio::test]
async fn the_report_is_in_the_order_of_the_keys_however_fast_each_answer_comes() {
    let mut orders = Vec::new();
    for slowest_first in [true, false] {
        let case = Case::with_pairs(6).await;
        case.responds(move |request| {
            let question = Question::read(request);
            let at = (0..6).find(|&g| question.texts == pair_texts(g)).unwrap();
            let steps = if slowest_first { 6 - at } else { at };
            question
                .same(&question.united())
                .set_delay(Duration::from_millis(40 * steps as u64))
        })
        .await;
        let ended = case.merge(&["--llm-concurrency", "6"]).await;
        ended.assert_exit(0);
        let keys: Vec<Value> = ended
            .merged()
            .iter()
            .map(|m| m["result_key"].clone())
            .collect();
        let merges = ended.report()["plan"]["merges"].clone();
        let planned: Vec<Value> = merges
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["result_key"].clone())
            .collect();
        assert_eq!(keys, planned);
        orders.push(keys);
    }
    let expected: Vec<String> = (0..6).map(|g| format!("memory:g{g}-0")).collect();
    assert_eq!(
        orders,
        [
            json!(expected).as_array().unwrap().clone(),
            json!(expected).as_array().unwrap().clone()
        ]
    );
}

/// Three copies of one text and two of another, within one group.
async fn twins() -> Case {
    let mut case = Case::new().await;
    let [honey, ginger] = pair_texts(0);
    let texts = [&honey, &ginger, &honey, &format!("{ginger}."), &honey];
    case.group(0, &texts).await;
    case
}

#[tokio::test]
async fn the_llm_sees_each_text_once() {
    let mut case = twins().await;
    let before = case.picture().await;
    case.responds(good).await;
    let ended = case.merge(&["--max-retire", "1"]).await;
    ended.assert_exit(0);
    let questions = case.questions().await;
    assert_eq!((questions.len(), questions[0].texts.len()), (1, 2));
    assert_eq!(ended.merged().len(), 1);
    assert_eq!(case.metadata("memory:g0-0").await["source_count"], 5);
    case.run(&["undo", &ended.merge_id(0)]).await.assert_exit(0);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn twins_are_merged_also_where_the_llm_fails() {
    let mut case = twins().await;
    let before = case.picture().await;
    case.responds(|request| Question::read(request).content(""))
        .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(4);
    assert_eq!(ended.llm(), [2, 0, 0, 1]);
    assert_eq!(ended.reasons(), ["llm-failed"]);
    assert_eq!(ended.merged().len(), 2);
    for merge in ended.report()["plan"]["merges"].as_array().unwrap() {
        assert_eq!(merge["author"]["by"], "extractive");
    }
    let after = case.picture().await;
    assert_eq!(after.len(), 2);
    let run = ended.report()["run_id"].as_str().unwrap().to_owned();
    case.run(&["undo", "--run", &run]).await.assert_exit(0);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn a_preview_asks_and_writes_nothing_and_is_applied_without_asking() {
    let mut case = Case::with_pairs(2).await;
    let before = case.picture().await;
    case.responds(good).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.json").display().to_string();
    let ended = case.merge(&["--dry-run", "--plan-out", &file]).await;
    ended.assert_exit(0);
    assert_eq!(case.questions().await.len(), 2);
    assert_eq!(case.picture().await, before);
    // One of the two groups changes before the plan is carried out.
    let edited = Mem::new("Alice hates coffee", &near(1, 1));
    case.put("g1-1", &edited).await;

    let applied = case.run(&["apply", &file, "--json"]).await;

    applied.assert_exit(4);
    assert_eq!(case.questions().await.len(), 2);
    assert_eq!(applied.merged().len(), 1);
    assert_eq!(applied.reasons(), ["changed"]);
    assert_eq!(
        case.memory("memory:g0-0").await["content"],
        "Alice likes tea with honey, ginger"
    );
    assert_eq!(
        case.memory("memory:g1-1").await["content"],
        "Alice hates coffee"
    );
}

#[tokio::test]
async fn a_plan_that_is_carried_out_whole_is_a_success() {
    let mut case = Case::with_pairs(2).await;
    case.responds(|request| {
        let question = Question::read(request);
        if question.texts[0].contains("coffee") {
            return question.content("");
        }
        question.same(&question.united())
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.json").display().to_string();
    let ended = case.merge(&["--dry-run", "--plan-out", &file]).await;
    ended.assert_exit(4);
    let applied = case.run(&["apply", &file, "--json"]).await;
    applied.assert_exit(0);
    assert_eq!(applied.merged().len(), 1);
    assert_eq!(case.picture().await.len(), 3);
}

#[tokio::test]
async fn a_plan_that_was_edited_to_say_something_else_is_not_carried_out() {
    let mut case = Case::with_pairs(2).await;
    let before = case.picture().await;
    case.responds(good).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.json").display().to_string();
    case.merge(&["--dry-run", "--plan-out", &file])
        .await
        .assert_exit(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let mut plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    let merges = &mut plan["users"][0]["merges"];
    merges[0]["text"] = json!("Alice likes tea");
    let stranger = merges[0]["sources"][0].clone();
    merges[1]["sources"][1] = stranger;
    std::fs::write(&file, plan.to_string()).unwrap();

    let applied = case.run(&["apply", &file, "--json"]).await;

    applied.assert_exit(4);
    assert_eq!(applied.reasons(), ["unwritable", "unwritable"]);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn a_further_run_asks_nothing_unless_told_to() {
    let mut case = Case::with_pairs(2).await;
    case.responds(|request| {
        let question = Question::read(request);
        if question.texts[0].contains("coffee") {
            let answer = json!({ "verdict": "different", "text": "two", "used": [] });
            return question.content(&answer.to_string());
        }
        question.same(&question.united())
    })
    .await;
    let ended = case.merge(&[]).await;
    assert_eq!(ended.llm(), [2, 1, 0, 1]);
    let after = case.picture().await;
    for (args, calls) in [(&[][..], 0), (&["--ask-again"], 1), (&[], 0)] {
        let again = case.merge(args).await;
        again.assert_exit(0);
        assert_eq!(again.llm(), [calls, 0, 0, calls]);
        assert_eq!(again.reasons(), ["llm-declined"]);
        assert_eq!(case.picture().await, after);
    }
}

#[tokio::test]
async fn what_the_guards_saw_is_recorded_with_the_merge() {
    let mut case = Case::new().await;
    let texts = [
        "Alice likes tea with honey",
        "Alice likes tea with 2 spoons of honey",
    ];
    case.group(0, &texts).await;
    case.responds(move |request| Question::read(request).same(texts[1]))
        .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [1, 1, 0, 0], "{ended:?}");
    let finding = &ended.report()["plan"]["merges"][0]["findings"][0];
    assert_eq!(finding["guard"], "numbers", "{ended:?}");
    let shown = case.run(&["show", &ended.merge_id(0), "--json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(&shown["merge"]["findings"][0], finding);
}

#[tokio::test]
async fn hashes_other_scripts_and_expiries_come_through() {
    let mut case = Case::over(Index {
        dims: DIMS,
        dtype: "FLOAT16",
        ..Index::hash()
    })
    .await;
    let texts = ["用户喜欢加蜂蜜的绿茶", "用户喜欢加生姜的绿茶"];
    let keys = case.group(0, &texts).await;
    let in_an_hour = jiff::Timestamp::now().as_millisecond() + 3_600_000;
    for (i, key) in keys.iter().enumerate() {
        let mut expire = redis::cmd("PEXPIREAT");
        expire.arg(key).arg(in_an_hour + i as i64);
        expire.exec_async(&mut case.con).await.unwrap();
    }
    let before = case.picture().await;
    case.responds(|request| Question::read(request).same("用户喜欢加蜂蜜和生姜的绿茶"))
        .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [1, 1, 0, 0], "{ended:?}");
    let after = case.picture().await;
    let entry = &after["memory:g0-0"];
    assert_eq!((after.len(), entry.expires_at_ms), (1, in_an_hour + 1));
    let text = "用户喜欢加蜂蜜和生姜的绿茶".as_bytes();
    assert!(entry.content.iter().any(|bytes| bytes == text));
    case.run(&["undo", &ended.merge_id(0)]).await.assert_exit(0);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn people_are_told_what_the_llm_was_good_for() {
    let case = Case::with_pairs(3).await;
    case.responds(|request| {
        let question = Question::read(request);
        let text = question.united();
        match question.texts[0].as_str() {
            text if text.contains("coffee") => question.same("Alice likes coffee"),
            _ if question.texts[0].contains("cocoa") && !question.is_second() => question.same(""),
            _ => question.same(&text),
        }
    })
    .await;
    let ended = case.run(&["merge", "--user", "alice"]).await;
    ended.assert_exit(0);
    for part in [
        "2 merges made, 2 memories retired",
        "5 LLM calls",
        "1 accepted, 1 after a retry, 1 not accepted",
        "written by the-model-2",
        "left alone: verification-failed",
        "a stronger LLM may write",
        "undo with: memfold undo --run",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

/// The answer in the form that the built-in templates ask for.
fn structured(
    question: &Question,
    text: &str,
    used: &[usize],
    left_out: &[usize],
) -> ResponseTemplate {
    let ids: Vec<&String> = used.iter().map(|&at| &question.ids[at]).collect();
    let left = |&at: &usize| json!({ "id": question.ids[at], "reason": "that is another drink" });
    let answer = json!({
        "verdict": "same",
        "text": text,
        "facts": [{ "text": "tea", "sources": ids }],
        "superseded": [],
        "left_out": left_out.iter().map(left).collect::<Vec<_>>(),
    });
    question.content(&answer.to_string())
}

#[tokio::test]
async fn a_memory_that_the_llm_leaves_out_stays() {
    let mut case = Case::new().await;
    let texts = [
        "Alice likes tea with honey",
        "Alice likes tea with ginger",
        "Alice likes milk",
    ];
    case.group(0, &texts).await;
    case.responds(|request: &Request| {
        let question = Question::read(request);
        structured(
            &question,
            "Alice likes tea with honey, ginger",
            &[0, 1],
            &[2],
        )
    })
    .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.merged().len(), 1);
    assert_eq!(ended.llm(), [1, 1, 0, 0]);
    assert_eq!(ended.reasons(), ["llm-declined"]);
    assert_eq!(ended.detail(), "that is another drink");
    assert_eq!(
        case.memory("memory:g0-0").await["content"],
        "Alice likes tea with honey, ginger"
    );
    assert_eq!(
        case.memory("memory:g0-2").await["content"],
        "Alice likes milk"
    );
    assert_eq!(case.metadata("memory:g0-0").await["source_count"], 2);
}

#[tokio::test]
async fn what_the_llm_calls_a_newer_value_is_not_merged() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    case.responds(|request: &Request| {
        let question = Question::read(request);
        let old = json!([{ "text": "honey", "source": question.ids[0] }]);
        let answer = json!({
            "verdict": "update", "text": "", "facts": [], "superseded": old, "left_out": [],
        });
        question.content(&answer.to_string())
    })
    .await;
    let ended = case.merge(&[]).await;
    assert_eq!(ended.reasons(), ["llm-update"]);
    assert_eq!(ended.detail(), "honey (m1)");
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn where_a_text_is_faulty_the_source_that_says_most_stands_for_those_it_says() {
    let mut case = Case::new().await;
    let texts = [
        "Alice likes tea and ginger",
        "Alice likes tea, honey and ginger",
        "Alice likes milk",
    ];
    case.group(0, &texts).await;
    case.responds(|request: &Request| Question::read(request).same("Alice likes drinks"))
        .await;
    let ended = case.merge(&[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [1, 1, 0, 0]);
    assert_eq!(ended.reasons(), ["verification-failed"]);
    let memory = case.memory("memory:g0-0").await;
    assert_eq!(memory["content"], "Alice likes tea, honey and ginger");
    assert_eq!(
        case.memory("memory:g0-2").await["content"],
        "Alice likes milk"
    );
}

#[tokio::test]
async fn a_model_that_judges_first_has_the_last_word_against_a_merge() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    let model = |request: &Request| request.body_json::<Value>().unwrap()["model"].clone();
    let play = move |says_no: &'static str| {
        move |request: &Request| {
            let question = Question::read(request);
            if model(request) == says_no {
                let no = json!({ "verdict": "different", "text": "two teas", "used": [] });
                question.content(&no.to_string())
            } else {
                good(request)
            }
        }
    };
    let models = ["--judge-model", "small", "--summary-model", "large"];
    for (says_no, calls) in [("small", 1), ("large", 2)] {
        case.responds(play(says_no)).await;
        let ended = case
            .merge(&[&models[..], &["--ledger-days", "90"]].concat())
            .await;
        assert_eq!(ended.reasons(), ["llm-declined"], "{says_no}");
        assert_eq!(case.questions().await.len(), calls, "{says_no}");
        assert_eq!(case.picture().await, before);
        // Forget the verdict.
        let remembered: Vec<String> = case.redis(&["KEYS", "memfold:*"]).await;
        for key in remembered {
            case.redis::<()>(&["DEL", &key]).await;
        }
    }
    case.responds(play("nobody")).await;
    let ended = case.merge(&models).await;
    assert_eq!(ended.merged().len(), 1);
    assert_eq!(case.questions().await.len(), 2);
}
