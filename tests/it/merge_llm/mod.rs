//! `memfold merge` with an LLM, whole: the program, the real Redis, and a stub that plays the LLM.

mod answers;
mod faults;
mod generations;
mod limits;
mod meanwhile;
mod outages;
mod secrets;
mod spent;
mod vectors;

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use redis::aio::ConnectionManager;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::picture::{self, Picture};
use crate::support::server::{Server, parts};
use crate::support::store::{Index, Mem};

/// The key that must be seen nowhere but in the header of a request.
const KEY: &str = "sk-very-secret-4711";

/// Numbers in a vector: every axis but the last can hold a group.
const DIMS: usize = 16;

/// A store, an LLM, and the program that is to bring them together.
struct Case {
    server: Server,
    con: ConnectionManager,
    index: Index,
    llm: MockServer,
}

impl Case {
    /// An empty index, and an LLM that answers nothing yet.
    async fn new() -> Self {
        Self::over(Index {
            dims: DIMS,
            ..Index::json()
        })
        .await
    }

    async fn over(index: Index) -> Self {
        let server = Server::start();
        let mut con = server.connect().await;
        index.create(&mut con).await;
        Self {
            server,
            con,
            index,
            llm: MockServer::start().await,
        }
    }

    /// A store with the groups `0..count` of [`Self::pair`].
    async fn with_pairs(count: usize) -> Self {
        let mut case = Self::new().await;
        for group in 0..count {
            case.pair(group).await;
        }
        case
    }

    /// Two memories that only an LLM can make one: `memory:g<group>-0` and `-1`.
    async fn pair(&mut self, group: usize) -> [String; 2] {
        let keys = self.group(group, &pair_texts(group)).await;
        keys.try_into().unwrap()
    }

    /// Memories near each other, `memory:g<group>-<i>`, the first the oldest.
    async fn group(&mut self, group: usize, texts: &[impl AsRef<str>]) -> Vec<String> {
        let mut keys = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            let memory = Mem {
                created_at: format!("2026-03-01T{:02}:{:02}:00", i / 60, i % 60),
                ..Mem::new(text.as_ref(), &near(group, i))
            };
            keys.push(self.put(&format!("g{group}-{i}"), &memory).await);
        }
        keys
    }

    async fn put(&mut self, id: &str, memory: &Mem) -> String {
        self.index.put(&mut self.con, id, memory).await
    }

    /// The LLM gives this reply to every question from now on.
    async fn replies(&self, reply: ResponseTemplate) {
        self.responds(move |_: &Request| reply.clone()).await;
    }

    /// The LLM answers by this function from now on; what was asked before is forgotten.
    async fn responds(
        &self,
        respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
    ) {
        self.llm.reset().await;
        Mock::given(method("POST"))
            .and(path("/v1/chat/completions"))
            .respond_with(respond)
            .mount(&self.llm)
            .await;
    }

    /// What the LLM was asked, oldest first.
    async fn questions(&self) -> Vec<Question> {
        let requests = self.llm.received_requests().await.unwrap();
        requests.iter().map(Question::read).collect()
    }

    /// All that is not memfold's own.
    async fn picture(&mut self) -> Picture {
        picture::memories(&mut self.con).await
    }

    /// The document of a memory.
    async fn memory(&mut self, key: &str) -> Value {
        let text: String = redis::cmd("JSON.GET")
            .arg(key)
            .query_async(&mut self.con)
            .await
            .unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Runs a command of words.
    async fn redis<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut cmd = redis::cmd(words[0]);
        let reply = cmd.arg(&words[1..]).query_async(&mut self.con).await;
        reply.unwrap()
    }

    /// The metadata of a memory, which is JSON in a string.
    async fn metadata(&mut self, key: &str) -> Value {
        let memory = self.memory(key).await;
        serde_json::from_str(memory["metadata"].as_str().unwrap()).unwrap()
    }

    /// The program with the stub as its LLM, distances by the stored vectors.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memfold"));
        command
            .env_clear()
            .current_dir(std::env::temp_dir())
            .env("MEMFOLD_CONFIG", "/dev/null")
            .env("MEMFOLD_REDIS_URL", self.server.url())
            .env("MEMFOLD_LLM_URL", self.llm.uri())
            .env("MEMFOLD_LLM_MODEL", "the-model")
            .env("MEMFOLD_LLM_KEY", KEY)
            .env("MEMFOLD_DISTANCE", "stored")
            .env("MEMFOLD_WRITE_VECTOR", "centroid")
            .env("MEMFOLD_LOG", "warn")
            .args(args);
        command
    }

    /// `memfold merge --user alice --json` with further arguments.
    async fn merge(&self, args: &[&str]) -> Ended {
        self.run(&[&["merge", "--user", "alice", "--json"], args].concat())
            .await
    }

    async fn run(&self, args: &[&str]) -> Ended {
        run(self.command(args)).await
    }
}

/// Runs a command to its end beside this test's own tasks.
async fn run(mut command: Command) -> Ended {
    let output = tokio::task::spawn_blocking(move || command.output());
    Ended::read(output.await.unwrap().unwrap())
}

/// Starts a command without waiting for it.
fn start(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a started command.
async fn end(child: Child) -> Ended {
    let output = tokio::task::spawn_blocking(move || child.wait_with_output());
    Ended::read(output.await.unwrap().unwrap())
}

/// How the program ended.
#[derive(Debug)]
struct Ended {
    exit: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn read(output: Output) -> Self {
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The document of the one user.
    fn report(&self) -> Value {
        let document: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        document["users"][0].clone()
    }

    /// The reason codes of the groups that were left, in the order of the report.
    fn reasons(&self) -> Vec<String> {
        let report = self.report();
        let left = [&report["not_committed"], &report["plan"]["groups_left"]];
        left.into_iter()
            .flat_map(|groups| groups.as_array().unwrap())
            .map(|group| group["reason"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The detail of the first group that was left.
    fn detail(&self) -> String {
        let report = self.report();
        let detail = &report["plan"]["groups_left"][0]["detail"];
        detail.as_str().unwrap_or_default().to_owned()
    }

    /// The merges made.
    fn merged(&self) -> Vec<Value> {
        self.report()["merged"].as_array().unwrap().clone()
    }

    fn merge_id(&self, at: usize) -> String {
        self.merged()[at]["merge_id"].as_str().unwrap().to_owned()
    }

    /// LLM calls, and groups accepted at once, accepted after a retry, and kept.
    fn llm(&self) -> [u64; 4] {
        let report = self.report();
        ["calls", "accepted", "retried", "kept"].map(|name| report["llm"][name].as_u64().unwrap())
    }

    fn assert_exit(&self, code: i32) -> &Self {
        assert_eq!(self.exit, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }
}

/// What the LLM is asked, as it finds it.
#[derive(Debug)]
struct Question {
    ids: Vec<String>,
    texts: Vec<String>,
    dates: Vec<Value>,
    /// The user message after the memories: on a second question, what was wrong with the answer.
    rest: String,
    characters: usize,
}

impl Question {
    fn read(request: &Request) -> Self {
        let body: Value = request.body_json().unwrap();
        let user = body["messages"][1]["content"].as_str().unwrap();
        let from = user.find("[\n").unwrap();
        let to = user.find("\n]").unwrap() + 2;
        let memories: Vec<Value> = serde_json::from_str(&user[from..to]).unwrap();
        let field = |name: &str| memories.iter().map(|m| m[name].clone()).collect::<Vec<_>>();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            ids: field("id").iter().map(text).collect(),
            texts: field("text").iter().map(text).collect(),
            dates: field("date"),
            rest: user[to..].to_owned(),
            characters: request.body.len(),
        }
    }

    fn is_second(&self) -> bool {
        self.rest.contains("rejected")
    }

    /// One text for texts that begin alike: `X with a`, `X with b` → `X with a, b`.
    fn united(&self) -> String {
        let (subject, _) = self.texts[0].split_once(" with ").unwrap();
        let ends: Vec<&str> = self
            .texts
            .iter()
            .map(|text| text.split_once(" with ").unwrap().1)
            .collect();
        format!("{subject} with {}", ends.join(", "))
    }

    /// The answer that the memories are one and say `text`.
    fn same(&self, text: &str) -> ResponseTemplate {
        let answer = json!({ "verdict": "same", "text": text, "used": self.ids });
        self.content(&answer.to_string())
    }

    /// A completion with this content.
    fn content(&self, content: &str) -> ResponseTemplate {
        let message = json!({ "role": "assistant", "content": content });
        completion(message, "stop", self.characters)
    }
}

/// An LLM that does what it is asked.
fn good(request: &Request) -> ResponseTemplate {
    let question = Question::read(request);
    question.same(&question.united())
}

fn completion(message: Value, finish_reason: &str, prompt_tokens: usize) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "the-model-2",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason }],
        "usage": { "prompt_tokens": prompt_tokens, "completion_tokens": 20 },
    }))
}

/// An error of the server, with its own words.
fn error(status: u16, message: &str) -> ResponseTemplate {
    let body = json!({ "error": { "message": message } });
    ResponseTemplate::new(status).set_body_json(body)
}

fn pair_texts(group: usize) -> [String; 2] {
    let drink = [
        "tea", "coffee", "cocoa", "juice", "soup", "milk", "broth", "cider",
    ][group];
    ["honey", "ginger"].map(|taste| format!("Alice likes {drink} with {taste}"))
}

/// A vector of this group: those of one group are within 0.05 of each other, others are far.
fn near(group: usize, i: usize) -> Vec<f32> {
    let mut vector = vec![0.0; DIMS];
    vector[group] = 1.0;
    vector[DIMS - 1] = 0.003 * i as f32;
    vector
}

/// A word that no list of the guards knows, another for each number.
fn word(number: usize) -> String {
    const SYLLABLES: [&str; 10] = [
        "bol", "cam", "dul", "fep", "gav", "kim", "lob", "mur", "nep", "zol",
    ];
    format!(
        "{}{}ak",
        SYLLABLES[number / 10 % 10],
        SYLLABLES[number % 10]
    )
}

/// The library and the models of the real embedder.
fn model() -> (PathBuf, PathBuf) {
    (
        parts().join("onnxruntime/libonnxruntime.so.1.32.0"),
        parts().join("models"),
    )
}

/// Waits until a condition holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("waited too long: {what}"));
}
