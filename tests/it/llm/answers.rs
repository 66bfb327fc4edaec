//! What a model says, and what of it is an answer.

use super::*;

#[tokio::test]
async fn a_server_may_be_silent_on_model_and_usage() {
    let choice = json!({ "message": { "content": same() } });
    let (_server, llm) = replying(ok(&json!({ "choices": [choice] }))).await;
    let reply = ask(&llm).await.unwrap();
    assert_eq!(
        (reply.model.as_str(), reply.usage.prompt_tokens),
        ("the-model", 0)
    );
}

#[tokio::test]
async fn the_model_may_say_no() {
    let no = json!({ "verdict": "different", "text": "two teas", "used": [] }).to_string();
    let (_server, llm) = replying(saying(&no)).await;
    let answer = ask(&llm).await.unwrap().answer;
    assert_eq!(
        answer,
        Answer::Declined {
            why: "two teas".to_owned()
        }
    );
}

#[tokio::test]
async fn an_answer_that_is_none_is_an_error() {
    let message = |content: Value| json!({ "role": "assistant", "content": content });
    let thinking = |content: Value| json!({ "content": content, "reasoning_content": "Tea is…" });
    let refusal = json!({ "content": null, "refusal": "I can't help with that." });
    let half = &same()[..30];
    let (limit, refused) = (1024, |by| LlmError::Refused { by });
    for (message, finish_reason, expected) in [
        (
            message(json!("")),
            "stop",
            LlmError::Empty { reasoning: false },
        ),
        (
            message(json!(" \n")),
            "stop",
            LlmError::Empty { reasoning: false },
        ),
        (
            message(Value::Null),
            "stop",
            LlmError::Empty { reasoning: false },
        ),
        (
            thinking(Value::Null),
            "stop",
            LlmError::Empty { reasoning: true },
        ),
        (
            thinking(json!("")),
            "stop",
            LlmError::Empty { reasoning: true },
        ),
        (
            json!({ "reasoning": "Tea" }),
            "stop",
            LlmError::Empty { reasoning: true },
        ),
        (
            thinking(Value::Null),
            "length",
            LlmError::Cut {
                limit,
                reasoning: true,
            },
        ),
        (
            message(json!("<think>Tea is")),
            "length",
            LlmError::Cut {
                limit,
                reasoning: true,
            },
        ),
        (
            message(json!(half)),
            "length",
            LlmError::Cut {
                limit,
                reasoning: false,
            },
        ),
        (
            message(json!(same())),
            "length",
            LlmError::Cut {
                limit,
                reasoning: false,
            },
        ),
        (refusal, "stop", refused("message.refusal")),
        (
            message(json!("")),
            "content_filter",
            refused("content_filter"),
        ),
        (
            message(json!(same())),
            "content_filter",
            refused("content_filter"),
        ),
    ] {
        let (server, llm) = replying(ok(&completion(message, finish_reason))).await;
        let error = ask(&llm).await.unwrap_err();
        assert_eq!(error, expected);
        assert!(!error.is_outage());
        assert_eq!(requests(&server).await.len(), 1);
        assert_eq!(llm.tokens(), 720);
    }
    let hint = LlmError::Empty { reasoning: true }.to_string();
    assert!(hint.contains("reasoning parser"), "{hint}");
}

#[tokio::test]
async fn an_answer_in_another_form_is_a_bad_answer() {
    let cut = &same()[..30];
    let with = |verdict: &str, used: Value| {
        json!({ "verdict": verdict, "text": "Ana likes tea.", "used": used }).to_string()
    };
    for content in [
        "Sure! Here is the merged memory: Ana likes tea.",
        "Could you paste the memories?",
        cut,
        &format!("{}\n{}", same(), same()),
        &with("maybe", json!(["m1", "m2"])),
        &with("same", json!(["m1"])),
        &with("same", json!(["m1", "m12"])),
        &with("same", json!(["m1", "m1", "m2"])),
    ] {
        let (server, llm) = replying(saying(content)).await;
        let error = ask(&llm).await.unwrap_err();
        assert!(
            matches!(error, LlmError::BadAnswer { .. }),
            "{content}: {error:?}"
        );
        assert!(!error.to_string().contains("Ana"), "{error}");
        assert_eq!(requests(&server).await.len(), 1);
    }
}

#[tokio::test]
async fn fences_and_reasoning_round_the_answer_are_taken_off() {
    for content in [
        format!("```json\n{}\n```", same()),
        format!("<think>Is it {}?</think>\n{}", same(), same()),
        format!("Is it {{}}?</think>{}", same()),
        format!("Here it is: {}", same()),
    ] {
        let (_server, llm) = replying(saying(&content)).await;
        assert_eq!(merged_text(ask(&llm).await), "Ana likes tea.");
    }
    let (_server, llm) = replying(saying(&format!("<think>Is it {}", same()))).await;
    assert_eq!(ask(&llm).await, Err(LlmError::Empty { reasoning: true }));
}

#[tokio::test]
async fn a_reply_that_is_no_completion_is_a_bad_answer() {
    for body in [
        "",
        "<html>",
        "{}",
        "[]",
        r#"{"choices":[{}]}"#,
        r#"{"choices":null}"#,
        "\u{0}",
    ] {
        let (_server, llm) = replying(ResponseTemplate::new(200).set_body_string(body)).await;
        let error = ask(&llm).await.unwrap_err();
        assert!(
            matches!(error, LlmError::BadAnswer { .. }),
            "{body}: {error:?}"
        );
    }
    let (_server, llm) = replying(ok(&json!({ "choices": [] }))).await;
    assert_eq!(ask(&llm).await, Err(LlmError::Empty { reasoning: false }));
}

#[tokio::test]
async fn an_answer_to_a_part_of_the_prompt_is_refused() {
    let mut body = completion(json!({ "content": same() }), "stop");
    body["usage"]["prompt_tokens"] = json!(90);
    let (_server, llm) = replying(ok(&body)).await;
    let error = ask(&llm).await.unwrap_err();
    assert!(
        matches!(error, LlmError::ContextCut { read: 90, .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("OLLAMA_CONTEXT_LENGTH"));
}

#[tokio::test]
async fn an_endless_body_is_not_held() {
    let (_server, llm) = replying(saying(&"x".repeat(5 << 20))).await;
    assert_eq!(
        ask(&llm).await,
        Err(LlmError::Server(HttpError::TooLarge { limit: 4 << 20 }))
    );
}
