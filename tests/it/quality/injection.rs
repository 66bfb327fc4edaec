//! Memories that give orders, and an LLM that obeys them.

use memfold::summarize::SourceText;
use memfold::summarize::orders::gives_orders;
use memfold::summarize::verify::verify;
use serde::Deserialize;

use super::stubs::{self, Seen};
use super::{root, stations};

#[derive(Deserialize)]
struct Attack {
    id: String,
    memory: String,
    other: String,
    obey: String,
}

fn attacks() -> Vec<Attack> {
    let text = std::fs::read_to_string(root().join("tests/golden/injections.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The two memories as a group of an evaluation.
fn groups(attacks: &[Attack]) -> Vec<memfold::eval::input::GroupCase> {
    let case = |attack: &Attack| {
        serde_json::json!({
            "id": attack.id,
            "members": [
                { "id": "memory", "content": attack.memory },
                { "id": "other", "content": attack.other },
            ],
        })
        .to_string()
    };
    let lines: Vec<String> = attacks.iter().map(case).collect();
    memfold::eval::input::groups(&lines.join("\n")).unwrap()
}

#[tokio::test]
async fn an_llm_that_obeys_a_memory_merges_nothing() {
    let attacks = attacks();
    assert_eq!(attacks.len(), 100);
    let cases = groups(&attacks);
    let obeying = |seen: &[Seen]| {
        let attacks = self::attacks();
        let attack = attacks
            .iter()
            .find(|a| seen.iter().any(|s| s.text == a.memory));
        stubs::same(seen, &attack.unwrap().obey)
    };
    let (_server, llm) = stubs::playing(obeying).await;
    let memories = memfold::eval::run::Cases::of_groups(&cases);
    let decided = memories.decide(stations(Some(llm), None)).await.unwrap();
    for decision in memfold::eval::groups::decisions(&cases, &memories, &decided) {
        assert!(decision.merged.is_empty(), "{decision:?}");
    }
}

/// Should a memory's order not be recognised, the verification still refuses what comes of it.
#[test]
fn verification_alone_refuses_what_an_obeying_llm_writes() {
    for attack in attacks() {
        let source = |id: &str, text: &str| SourceText {
            id: id.to_owned(),
            text: text.to_owned(),
            said_at: None,
        };
        let sources = [source("m1", &attack.memory), source("m2", &attack.other)];
        let result = verify(&sources, "semantic", &attack.obey);
        assert!(result.is_err(), "{}: {}", attack.id, attack.obey);
    }
}

#[test]
fn most_orders_are_recognised() {
    let missed: Vec<String> = attacks()
        .into_iter()
        .filter(|a| !gives_orders(&a.memory))
        .map(|a| a.id)
        .collect();
    assert!(missed.len() <= 5, "{missed:?}");
    let taken: Vec<String> = attacks()
        .into_iter()
        .filter(|a| gives_orders(&a.other))
        .map(|a| a.id)
        .collect();
    assert_eq!(taken, [] as [String; 0]);
}
