//! A no-op is a no-op.

use std::collections::BTreeMap;

use serde_json::json;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::{Case, until};
use crate::support::store::Mem;

/// Commands that change something, and how often they were run.
async fn writes(case: &mut Case) -> BTreeMap<String, u64> {
    let info: String = case.redis(&["INFO", "commandstats"]).await;
    let mut found = BTreeMap::new();
    for line in info
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_"))
    {
        let (name, rest) = line.split_once(":calls=").unwrap();
        let calls: u64 = rest.split(',').next().unwrap().parse().unwrap();
        found.insert(name.to_lowercase(), calls);
    }
    // Heartbeats and turns: SET, ZADD; waiting for requests: XREADGROUP.
    let reads = [
        "get",
        "mget",
        "info",
        "time",
        "ping",
        "hello",
        "exists",
        "scan",
        "type",
        "json.get",
        "pexpiretime",
        "ft.info",
        "ft.aggregate",
        "ft.cursor",
        "ft.search",
        "ft._list",
        "xinfo",
        "xpending",
        "xrevrange",
        "zrange",
        "xreadgroup",
        "set",
        "zadd",
        "command",
        "client",
        "ft.config",
        "module",
    ];
    found.retain(|name, _| !reads.contains(&name.split('|').next().unwrap()));
    found
}

/// The state stays as it is over several sweeps.
async fn sweeps(case: &mut Case) {
    let turns = async |case: &mut Case| -> u64 {
        let info: String = case.redis(&["INFO", "commandstats"]).await;
        let line = info
            .lines()
            .find(|line| line.to_lowercase().starts_with("cmdstat_ft.aggregate"));
        let calls = line
            .and_then(|line| line.split_once("calls="))
            .map(|(_, rest)| rest);
        calls
            .and_then(|rest| rest.split(',').next()?.parse().ok())
            .unwrap_or(0)
    };
    let before = turns(case).await;
    until("three sweeps", async || turns(case).await >= before + 3).await;
}

#[tokio::test]
async fn a_quiet_store_is_not_written_to() {
    let mut case = Case::new().await;
    let mut keys = Vec::new();
    for user in ["alice", "bob", "carol"] {
        keys.extend(case.twins(user, "tea").await);
    }
    case.start(&[]);
    for user in ["alice", "bob", "carol"] {
        case.settled(user).await;
    }
    until("nothing waits", async || {
        let groups = memfold::store::requests::groups(&mut case.con)
            .await
            .unwrap();
        groups
            .iter()
            .all(|g| g.backlog.waiting + g.backlog.pending == 0)
    })
    .await;
    let before = writes(&mut case).await;
    sweeps(&mut case).await;
    assert_eq!(writes(&mut case).await, before);
    assert_eq!(case.count(&keys).await, 3);
}

/// Two memories that only an LLM could make one.
pub(super) async fn pair(case: &mut Case, user: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for (i, taste) in ["honey", "ginger"].iter().enumerate() {
        let memory = Mem {
            user: user.to_owned(),
            created_at: format!("2026-03-0{}T10:00:00", i + 1),
            ..Mem::new(
                &format!("Alice likes tea with {taste}"),
                &[0.0, 1.0, 0.0, 0.001 * i as f32],
            )
        };
        keys.push(
            case.index
                .put(&mut case.con, &format!("{user}-{taste}"), &memory)
                .await,
        );
    }
    keys
}

/// An LLM that declines everything.
pub(super) async fn declining() -> MockServer {
    let llm = MockServer::start().await;
    let answer = |_: &Request| {
        let content =
            json!({ "verdict": "different", "text": "two things", "used": [] }).to_string();
        ResponseTemplate::new(200).set_body_json(json!({
            "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{ "index": 0, "finish_reason": "stop",
                          "message": { "role": "assistant", "content": content } }],
            "usage": { "prompt_tokens": 2000, "completion_tokens": 20 },
        }))
    };
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(answer)
        .mount(&llm)
        .await;
    llm
}

pub(super) async fn asked(llm: &MockServer) -> usize {
    llm.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn what_the_llm_declined_is_not_asked_again_until_a_text_changes() {
    let llm = declining().await;
    let mut case = Case::new()
        .await
        .set("llm_url", &llm.uri())
        .set("llm_model", "m")
        .set("write_vector", "centroid");
    let keys = pair(&mut case, "alice").await;
    case.start(&[]);
    case.settled("alice").await;
    let once = asked(&llm).await;
    assert!(once >= 1);
    // By hand it is the same decision, unless asked for.
    case.run(&["merge", "--user", "alice"])
        .ends(0)
        .shows(&["llm-declined"]);
    assert_eq!(asked(&llm).await, once);
    case.run(&["merge", "--user", "alice", "--ask-again"])
        .ends(0);
    let again = asked(&llm).await;
    assert!(again > once);
    // Metadata alone is no new question, though it is a change.
    let before = case.state("alice").await;
    let _: String = case
        .redis(&[
            "JSON.SET",
            &keys[0],
            "$.metadata",
            r#""{\"source\": \"mail\"}""#,
        ])
        .await;
    let other = case.twins("alice", "coffee").await;
    until("the other pair is merged", async || {
        case.count(&other).await == 1
    })
    .await;
    case.settled("alice").await;
    until("the change was read", async || {
        case.state("alice").await["digest"] != before["digest"]
    })
    .await;
    assert_eq!(asked(&llm).await, again);
    // A text is.
    let _: String = case
        .redis(&[
            "JSON.SET",
            &keys[0],
            "$.content",
            r#""Alice likes tea with lemon""#,
        ])
        .await;
    case.run(&["request", "--user", "alice"]).ends(0);
    until("the LLM is asked again", async || asked(&llm).await > again).await;
}

#[tokio::test]
async fn what_was_left_is_looked_at_again_under_other_settings() {
    for (setting, before, now) in [
        ("conflicts", "keep", "latest"),
        ("fields_scope", "memory_id", ""),
    ] {
        let mut case = Case::new().await.set(setting, before);
        let keys = match setting {
            "conflicts" => drinks(&mut case).await,
            _ => case.twins("alice", "tea").await.to_vec(),
        };
        case.start(&[]);
        case.settled("alice").await;
        assert_eq!(case.count(&keys).await, 2, "{setting}");
        case.end(0, "-TERM").await.ends(0);

        let mut case = case.set(setting, now);
        case.start(&[]);
        // Nothing in the index has changed, so somebody has to ask for it.
        case.run(&["request", "--user", "alice"]).ends(0);
        until(setting, async || case.count(&keys).await == 1).await;
    }
}

/// An old value and a new one.
async fn drinks(case: &mut Case) -> Vec<String> {
    let mut keys = Vec::new();
    for (i, drink) in ["cola", "coffee"].iter().enumerate() {
        let text = format!("Favourite drink is {drink}");
        let memory = Mem {
            created_at: format!("2026-03-0{}T10:00:00", i + 1),
            ..Mem::new(&text, &[1.0, 0.0, 0.0, 0.001 * i as f32])
        };
        keys.push(case.index.put(&mut case.con, drink, &memory).await);
    }
    keys
}
