//! What `eval` says of a pair is what `merge` does with it.

use std::collections::BTreeMap;

use super::*;

/// Every golden pair as the memories of a user of its own, near each other.
#[tokio::test]
async fn eval_decides_as_merge_does() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/memcases.jsonl");
    let text = std::fs::read_to_string(golden).unwrap();
    let pairs: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut world = World::new().await;
    for pair in &pairs {
        for side in ["a", "b"] {
            let user = pair["id"].as_str().unwrap();
            let memory = twin(user, pair[side].as_str().unwrap(), 0, 4);
            let at = pair[format!("{side}_created_at")].as_str();
            let memory = Mem {
                created_at: at.unwrap_or("unknown").to_owned(),
                ..memory
            };
            world.put(&format!("{user}-{side}"), &memory).await;
        }
    }
    let merged = world.run(&["merge", "--all-users", "--dry-run", "--json"]);
    let document = merged.ends(0).json();
    let by_merge: BTreeMap<&str, bool> = list(&document["users"])
        .iter()
        .map(|plan| {
            (
                plan["user"].as_str().unwrap(),
                !list(&plan["merges"]).is_empty(),
            )
        })
        .collect();
    assert_eq!(by_merge.len(), pairs.len());

    let out = world.cli.path("decisions.jsonl");
    let out = out.to_str().unwrap();
    world
        .run(&["eval", golden, "--decisions", out, "--json"])
        .ends(0);
    let decisions = std::fs::read_to_string(out).unwrap();
    for line in decisions.lines() {
        let decision: Value = serde_json::from_str(line).unwrap();
        let user = decision["id"].as_str().unwrap();
        assert_eq!(decision["merged"], by_merge[user], "{line}");
    }
}
