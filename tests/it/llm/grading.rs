//! The LLM as a judge of results.

use memfold::eval::{groups, input, llm_judge};
use memfold::summarize::llm::{GradePrompt, Grades, Merge};

use super::*;

fn grades(accuracy: u64) -> Value {
    json!({ "accuracy": accuracy, "brevity": 4, "completeness": 3, "density": 2, "why": "no date for {EMAIL_1}" })
}

async fn grade(llm: &Llm, result: &str, history: &[String]) -> Result<Grades, LlmError> {
    let sources = [
        source("m1", "Ana likes tea; write to ana@example.org"),
        source("m2", "Ana enjoys tea.<|im_end|>"),
    ];
    let merge = Merge {
        sources: &sources,
        result,
        history,
    };
    llm.grade(&GradePrompt::load(None).unwrap(), &merge).await
}

#[tokio::test]
async fn whole_numbers_of_1_to_5_are_grades() {
    let (server, llm) = replying(saying(&grades(5).to_string())).await;
    let given = grade(&llm, "Ana likes tea", &["Ana likes coffee".to_owned()])
        .await
        .unwrap();
    assert_eq!(
        [
            given.accuracy,
            given.brevity,
            given.completeness,
            given.density
        ],
        [5, 4, 3, 2]
    );
    assert_eq!(given.why, "no date for ana@example.org");
    let [question] = &requests(&server).await[..] else {
        panic!("one question")
    };
    let asked = question["messages"][1]["content"].as_str().unwrap();
    // As data, without what ends a message, and without personal data.
    for part in [
        "\"Ana likes tea\"",
        "\"Ana likes coffee\"",
        "{EMAIL_1}",
        "\\u003c|im_end|>",
    ] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
    assert!(!question.to_string().contains("ana@example.org"));
    assert_eq!(question["response_format"]["json_schema"]["name"], "grades");
    assert_eq!(llm.calls(), 1);
    assert_eq!(llm.tokens(), 720);
}

#[tokio::test]
async fn a_history_is_only_spoken_of_where_there_is_one() {
    let (server, llm) = replying(saying(&grades(5).to_string())).await;
    grade(&llm, "Ana likes tea", &[]).await.unwrap();
    let asked = requests(&server).await[0]["messages"][1]["content"].to_string();
    assert!(!asked.contains("history"), "{asked}");
}

#[tokio::test]
async fn the_question_is_in_the_language_of_the_memories() {
    let (server, llm) = replying(saying(&grades(5).to_string())).await;
    let sources = [source("m1", "安娜喜欢茶"), source("m2", "安娜爱喝茶")];
    let merge = Merge {
        sources: &sources,
        result: "安娜喜欢茶",
        history: &[],
    };
    llm.grade(&GradePrompt::load(None).unwrap(), &merge)
        .await
        .unwrap();
    let system = requests(&server).await[0]["messages"][0]["content"].to_string();
    assert!(system.contains("你负责"), "{system}");
}

#[tokio::test]
async fn everything_else_is_no_grade() {
    let answers = [
        grades(6).to_string(),
        grades(0).to_string(),
        r#"{"accuracy": 4.5, "brevity": 4, "completeness": 3, "density": 2}"#.to_owned(),
        r#"{"accuracy": 4, "brevity": 4, "completeness": 3}"#.to_owned(),
        format!("{}{}", grades(5), grades(4)),
        "Very good!".to_owned(),
    ];
    for answer in answers {
        let (_server, llm) = replying(saying(&answer)).await;
        let error = grade(&llm, "Ana likes tea", &[]).await.unwrap_err();
        assert!(
            matches!(error, LlmError::BadAnswer { .. }),
            "{answer}: {error:?}"
        );
    }
    let cut = completion(
        json!({ "role": "assistant", "content": "{\"accuracy\": 5" }),
        "length",
    );
    let empty = completion(
        json!({ "role": "assistant", "content": "", "reasoning_content": "hm" }),
        "stop",
    );
    let refused = completion(
        json!({ "role": "assistant", "content": null, "refusal": "no" }),
        "stop",
    );
    for (body, expected) in [(cut, "cut"), (empty, "empty"), (refused, "refused")] {
        let (_server, llm) = replying(ok(&body)).await;
        let error = grade(&llm, "Ana likes tea", &[]).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[tokio::test]
async fn a_server_without_schemas_is_asked_without() {
    let (server, llm) = replying(saying(&grades(5).to_string())).await;
    first(&server, 1, status(400, "response_format is not supported")).await;
    grade(&llm, "Ana likes tea", &[]).await.unwrap();
    assert_eq!(
        requests(&server).await[1]["response_format"]["type"],
        "json_object"
    );
}

#[tokio::test]
async fn results_of_groups_are_graded_and_what_fails_is_counted() {
    let (server, llm) = replying(saying("none")).await;
    first(&server, 1, saying(&grades(5).to_string())).await;
    first(&server, 1, saying(&grades(4).to_string())).await;
    let member = |id: &str, text: &str| json!({ "id": id, "content": text });
    let group = |id: &str| {
        json!({
            "id": id, "members": [member("a", "likes tea"), member("b", "likes tea.")],
            "facts": [], "forbidden": [], "partition": [["a", "b"]], "block_actions": ["merge"],
        })
        .to_string()
    };
    let cases = input::groups(&["1", "2", "3"].map(group).join("\n")).unwrap();
    let decision = |case: &input::GroupCase| groups::GroupDecision {
        id: case.id.clone(),
        partition: Vec::new(),
        merged: vec![groups::Merged {
            ids: vec!["a".into(), "b".into()],
            text: "likes tea".into(),
            history: Vec::new(),
            grades: None,
        }],
        skipped: Vec::new(),
    };
    let mut decisions: Vec<_> = cases.iter().map(decision).collect();
    let prompt = GradePrompt::load(None).unwrap();
    let opinion = llm_judge::grade(&llm, &prompt, &cases, &mut decisions, 1, || ()).await;
    assert!(
        opinion.prompt.starts_with("grade-v1@"),
        "{}",
        opinion.prompt
    );
    assert_eq!(
        (opinion.graded, opinion.failed.values().sum::<usize>()),
        (2, 1)
    );
    assert_eq!(opinion.means.unwrap().accuracy, 4.5);
    let graded: Vec<bool> = decisions
        .iter()
        .map(|d| d.merged[0].grades.is_some())
        .collect();
    assert_eq!(graded, [true, true, false]);
}

#[test]
fn a_template_of_ones_own_is_tried_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.md");
    std::fs::write(
        &path,
        "{% block system %}s{% endblock %}{% block user %}{{ result }}{% endblock %}",
    )
    .unwrap();
    assert!(
        GradePrompt::load(Some(&path))
            .unwrap()
            .version()
            .starts_with("mine@")
    );
    std::fs::write(
        &path,
        "{% block system %}s{% endblock %}{% block user %}{{ reslt }}{% endblock %}",
    )
    .unwrap();
    assert!(matches!(
        GradePrompt::load(Some(&path)),
        Err(LlmError::Template(_))
    ));
}
