//! Users are told apart byte for byte, whatever the index takes for the same.

use serde_json::json;

use super::*;

/// Ids that an index folds, trims, splits or cannot query, and their neighbours.
const ODD: [&str; 12] = [
    "user-42",
    "user-4",
    "a@b.com",
    "o'neil|x}",
    "a,b",
    "a",
    " alice ",
    "alice",
    "Alice",
    "用户一",
    "用户",
    "",
];

#[tokio::test]
async fn merging_one_user_touches_no_other() {
    for storage in [Index::json(), Index::hash()] {
        let mut world = World::over(storage).await;
        for (i, user) in ODD.iter().enumerate() {
            world.put_twins(user, &format!("N{i}x"), 0).await;
        }
        let start = world.memories().await;
        for (i, user) in ODD.iter().enumerate() {
            let before = world.memories().await;
            let report = world.merge(user);
            let after = world.memories().await;
            let merged = list(&report["merged"]);
            assert_eq!(merged.len(), 1, "{user:?}: {report:#}");
            assert_eq!(report["user"], *user);
            let own = |key: &str| key.starts_with(&format!("memory:N{i}x"));
            let others = |mut picture: Picture| {
                picture.retain(|key, _| !own(key));
                picture
            };
            assert_eq!(before.len() - 1, after.len(), "{user:?}");
            assert_eq!(others(before), others(after), "{user:?}");
            let history = world.run(&["history", "--user", user, "--json"]).ends(0);
            assert_eq!(list(&history.json()["entries"]).len(), 1, "{user:?}");
        }
        let entries = world.run(&["history", "--json", "--limit", "50"]).json();
        for entry in list(&entries["entries"]) {
            let id = entry["merge_id"].as_str().unwrap();
            world.run(&["undo", id]).ends(0);
        }
        assert_eq!(world.memories().await, start);
    }
}

#[tokio::test]
async fn a_user_without_memories_is_told_with_near_names() {
    let mut world = World::new().await;
    for (i, user) in ["alice", "Alice", "bob"].into_iter().enumerate() {
        world.put_twins(user, &format!("N{i}x"), 0).await;
    }
    let before = world.all().await;
    let run = |user: &str| world.run(&["merge", "--dry-run", "--user", user]).ends(8);
    run("ALICE").says(&["no memories of this user", "Alice or alice"]);
    run("alcie").says(&["did you mean"]);
    run(" bob").says(&["\" bob\"", "did you mean bob?"]);
    run("zoe").says(&["user zoe", "agent_memories", "memfold inspect"]);
    run("").says(&["\"\""]);
    let json = world
        .run(&["merge", "--user", "zoe", "--user", "bob", "--json"])
        .ends(8)
        .json();
    assert_eq!(json["users"][0]["error"]["exit_code"], 8);
    assert_eq!(list(&json["users"][1]["merged"]).len(), 1, "{json:#}");
    let mut after = world.all().await;
    after.retain(|key, _| !key.contains("N2x"));
    let mut before = before;
    before.retain(|key, _| !key.contains("N2x"));
    after.retain(|key, _| !key.starts_with("memfold:"));
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_user_without_memories_is_told_without_a_model_too() {
    let mut world = World::new().await.set("distance", "");
    world.put_twins("alice", "Ana", 0).await;
    world
        .run(&["merge", "--user", "alcie"])
        .ends(8)
        .says(&["did you mean alice?"]);
}

#[tokio::test]
async fn all_users_leaves_out_shared_ids_unless_named() {
    let mut world = World::new().await;
    for (i, user) in ["alice", "", "system", "bob"].into_iter().enumerate() {
        world.put_twins(user, &format!("N{i}x"), 0).await;
    }
    let users = |args: &[&str]| -> Vec<String> {
        let args = [&["merge", "--dry-run", "--json", "--all-users"], args].concat();
        let json = world.run(&args).ends(0).json();
        let names = list(&json["users"]).iter();
        names
            .map(|plan| plan["user"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(users(&[]), ["alice", "bob"]);
    assert_eq!(users(&["--user", "system"]), ["system", "alice", "bob"]);
    assert_eq!(users(&["--user", ""]), ["", "alice", "bob"]);
    assert_eq!(users(&["--user", "bob"]), ["bob", "alice"]);
    let json = |args: &[&str]| {
        let args = [&["merge", "--dry-run", "--json", "--all-users"], args].concat();
        world.run(&args).ends(0).json()
    };
    assert_eq!(json(&[])["left_out"], json!(["", "system"]));
    assert_eq!(json(&["--user", ""])["left_out"], json!(["system"]));
    let done = world.run(&["merge", "--all-users"]).ends(0);
    done.says(&["left out", "\"\" and system", "--user"]);
    let left: Vec<String> = world.memories().await.into_keys().collect();
    assert_eq!(
        left,
        [
            "memory:N0x1",
            "memory:N1x1",
            "memory:N1x2",
            "memory:N2x1",
            "memory:N2x2",
            "memory:N3x1"
        ]
    );
}

#[tokio::test]
async fn users_that_are_no_text_stop_no_other() {
    // By the index an array names its items, and is itself among the users.
    for odd in [
        json!(["alice"]),
        json!(["bob", "alice"]),
        json!({"id": "alice"}),
        json!(7),
        json!(true),
        json!(["zoe"]),
    ] {
        let mut world = World::new().await;
        for (i, user) in ["alice", "bob"].into_iter().enumerate() {
            world.put_twins(user, &format!("N{i}x"), 0).await;
        }
        let mut memory = twin("", "Someone likes tea", 0, 4).to_json("odd");
        memory["user_id"] = odd.clone();
        let document = memory.to_string();
        let () = world
            .command(&["JSON.SET", "memory:odd", "$", &document])
            .await;
        let before = world.memories().await["memory:odd"].clone();
        let report = world.run(&["merge", "--all-users", "--json"]).ends(0);
        let report = report.json();
        let entries = list(&report["users"]);
        let merged: usize = entries.iter().map(|user| list(&user["merged"]).len()).sum();
        assert_eq!(merged, 2, "{odd}: {report:#}");
        let told = entries
            .iter()
            .filter(|user| reason_of(user, "memory:odd") == Some("malformed"));
        assert!(told.count() > 0, "{odd}: {report:#}");
        assert_eq!(world.memories().await["memory:odd"], before);
    }
}

#[tokio::test]
async fn no_user_is_near_to_itself() {
    let mut world = World::new().await;
    let mut memory = twin("", "Someone likes tea", 0, 4).to_json("odd");
    memory["user_id"] = json!(["alice"]);
    let document = memory.to_string();
    let () = world
        .command(&["JSON.SET", "memory:odd", "$", &document])
        .await;
    world
        .run(&["merge", "--user", "[\"alice\"]", "--json"])
        .ends(0)
        .shows(&["malformed"]);
    // The index names it, and no memory is its: all that it is near to is itself.
    let done = world.run(&["merge", "--user", "alice"]);
    assert!(!done.stderr.contains("mean alice?"), "{done:#?}");
}
