//! The LLM client against a real llama.cpp server. Its small model is a weak one; what counts is that
//! what it says arrives as an answer or as a typed error.

#![allow(clippy::unwrap_used)]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use memfold::summarize::{
    SourceText,
    llm::{GradePrompt, Llm, LlmError, LlmSettings, Merge, Reply, Request},
};

/// A server's base URL; a server that was started here is stopped at the end.
struct Server {
    url: String,
    script: Option<PathBuf>,
}

impl Server {
    /// `MEMFOLD_TEST_LLM_URL`, or the server of this checkout; `None` where neither is there.
    fn get() -> Option<Self> {
        if let Ok(url) = std::env::var("MEMFOLD_TEST_LLM_URL") {
            return Some(Self { url, script: None });
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let script = root.join("scripts/llm");
        if !script.exists() || !root.join(".memfold/llm").exists() {
            return None;
        }
        if let Some(url) = says_url(&script, "status") {
            return Some(Self { url, script: None });
        }
        let url = says_url(&script, "start").expect("scripts/llm start failed");
        Some(Self {
            url,
            script: Some(script),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(script) = &self.script {
            let _ = Command::new(script).arg("stop").status();
        }
    }
}

/// The URL that `scripts/llm start` and `status` print first, if the server runs.
fn says_url(script: &Path, command: &str) -> Option<String> {
    let output = Command::new(script).arg(command).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| {
        said.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    })
}

#[tokio::test]
async fn a_real_model_answers_in_the_form_asked_for() {
    let Some(server) = Server::get() else {
        eprintln!("skipped: no LLM server; run scripts/setup llm or set MEMFOLD_TEST_LLM_URL");
        return;
    };
    let settings = LlmSettings {
        max_output_tokens: 80,
        // Were the JSON schema refused, a second request would be needed.
        max_calls: Some(1),
        ..LlmSettings::new(&server.url, "SmolLM2-135M-Instruct.Q4_1")
    };
    let llm = Llm::new(settings.clone()).unwrap();
    let sources =
        [("m1", "王芳住在杭州。"), ("m2", "王芳的家在杭州。")].map(|(id, text)| SourceText {
            id: id.to_owned(),
            text: text.to_owned(),
            said_at: Some("2025-05-01T08:00:00Z".parse().unwrap()),
        });
    let request = Request {
        memory_type: "semantic",
        sources: &sources,
        fault: None,
    };
    match llm.summarize(&request).await {
        Ok(Reply {
            answer,
            model,
            usage,
        }) => {
            eprintln!("{answer:?} from {model}, {usage:?}");
            assert!(usage.prompt_tokens > 200 && usage.completion_tokens > 0);
        }
        // What a weak model may do even where the server enforces the form: use an id twice or not
        // at all, write nothing, or go on until it is cut.
        Err(LlmError::BadAnswer { what }) => {
            eprintln!("bad answer: {what}");
            assert!(what.contains("id") || what.contains("empty"), "{what}");
        }
        Err(LlmError::Cut { .. }) => eprintln!("cut"),
        Err(other) => panic!("{other:?}"),
    }
    assert!(llm.tokens() > 200, "the server reports its tokens");

    let judge = Llm::new(LlmSettings {
        max_output_tokens: 200,
        ..settings
    });
    let merge = Merge {
        sources: &sources,
        result: "王芳住在杭州。",
        history: &[],
    };
    let prompt = GradePrompt::load(None).unwrap();
    match judge.unwrap().grade(&prompt, &merge).await {
        Ok(grades) => eprintln!("{grades:?}"),
        // The reason may go on without an end.
        Err(LlmError::Cut { .. }) => eprintln!("cut"),
        Err(other) => panic!("{other:?}"),
    }
}
