//! The LLM client against a real llama.cpp server. Its small model answers badly; what counts is that
//! every answer arrives as an answer or as a typed error.

#![allow(clippy::unwrap_used)]

use std::{path::Path, process::Command};

use memfold::summarize::{
    SourceText,
    llm::{Answer, Llm, LlmError, LlmSettings, Request},
};

/// A server's base URL; one that was started here is stopped at the end.
struct Server {
    url: String,
    pid: Option<String>,
}

impl Server {
    /// `MEMFOLD_TEST_LLM_URL`, or the server of this checkout; `None` where neither is there.
    fn get() -> Option<Self> {
        if let Ok(url) = std::env::var("MEMFOLD_TEST_LLM_URL") {
            return Some(Self { url, pid: None });
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let script = root.join("scripts/llm");
        if !script.exists() || !root.join(".memfold/llm").exists() {
            return None;
        }
        let run = |command: &str| {
            let output = Command::new(&script).arg(command).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            output.status.success().then_some(said)
        };
        let running = run("status");
        let ours = running.is_none();
        let said = running
            .or_else(|| run("start"))
            .expect("scripts/llm start failed");
        let (url, pid) = said
            .trim()
            .split_once(" pid ")
            .expect("scripts/llm says URL and pid");
        Some(Self {
            url: url.to_owned(),
            pid: ours.then(|| pid.to_owned()),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = &self.pid {
            let _ = Command::new("kill").arg(pid).status();
        }
    }
}

#[tokio::test]
async fn a_real_model_answers_in_the_form_asked_for() {
    let Some(server) = Server::get() else {
        eprintln!("skipped: no LLM server; run scripts/setup llm or set MEMFOLD_TEST_LLM_URL");
        return;
    };
    let settings = LlmSettings {
        max_output_tokens: 120,
        max_calls: Some(2),
        ..LlmSettings::new(&server.url, "SmolLM2-135M-Instruct.Q4_1")
    };
    let llm = Llm::new(settings).unwrap();
    for texts in [
        [
            "Ana's train leaves at 9:40 on 3 May.",
            "On 3 May Ana takes the 9:40 train.",
        ],
        ["王芳住在杭州。", "王芳的家在杭州。"],
    ] {
        let sources: Vec<_> = ["m1", "m2"]
            .iter()
            .zip(texts)
            .map(|(id, text)| SourceText {
                id: (*id).to_owned(),
                text: text.to_owned(),
                said_at: Some("2025-05-01T08:00:00Z".parse().unwrap()),
            })
            .collect();
        let before = llm.tokens();
        let request = Request {
            memory_type: "episodic",
            sources: &sources,
            fault: None,
        };
        match llm.summarize(&request).await {
            Ok(reply) => {
                eprintln!("{:?} from {}, {:?}", reply.answer, reply.model, reply.usage);
                assert!(reply.usage.prompt_tokens > 200 && reply.usage.completion_tokens > 0);
                if let Answer::Merged { text, .. } = reply.answer {
                    assert!(!text.is_empty());
                }
            }
            // What a weak model may do even where the server enforces the form: use an id twice or
            // not at all, or go on until it is cut.
            Err(LlmError::BadAnswer { what }) => {
                eprintln!("bad answer: {what}");
                assert!(what.contains("id") || what.contains("empty"), "{what}");
            }
            Err(LlmError::Cut { .. }) => eprintln!("cut"),
            Err(other) => panic!("{other:?}"),
        }
        assert!(llm.tokens() > before, "the server reports its tokens");
    }
    // Had the server refused the JSON schema, there would have been a third request.
    assert_eq!(llm.calls(), 2);
}
