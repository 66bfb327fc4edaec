//! Undo through the command line, of every kind, and its refusals.

use super::*;

/// A world with one merge made; its id.
async fn merged() -> (World, Picture, String) {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    let report = world.merge("alice");
    let id = report["merged"][0]["merge_id"].as_str().unwrap().to_owned();
    (world, before, id)
}

#[tokio::test]
async fn an_undo_brings_all_back_once_and_for_good() {
    let (mut world, before, id) = merged().await;
    let done = world.run(&["undo", &id]).ends(0);
    done.shows(&[
        &format!("undone {id}: 2 memories are back"),
        "memory:Ana1",
        "memory:Ana2",
    ]);
    assert_eq!(world.memories().await, before);
    world.run(&["undo", &id]).ends(7).says(&["undone already"]);
    // The user has said no: it is not merged again while its members are as they are.
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 0);
    assert_eq!(
        report["plan"]["groups_left"][0]["reason"], "vetoed",
        "{report:#}"
    );
    assert_eq!(world.memories().await, before);
    let () = world
        .command(&["JSON.SET", "memory:Ana2", "$.content", "\"Ana likes  tea\""])
        .await;
    assert_eq!(list(&world.merge("alice")["merged"]).len(), 1);
}

#[tokio::test]
async fn what_cannot_be_undone_ends_with_7_and_changes_nothing() {
    let (mut world, _, id) = merged().await;
    let ends = |world: &World, args: &[&str], parts: &[&str]| {
        world.run(&[&["undo"], args].concat()).ends(7).says(parts);
    };
    ends(
        &world,
        &["nonsense"],
        &["no merge nonsense", "memfold history"],
    );
    ends(&world, &["--run", "nonsense"], &["no merge of this run"]);

    let () = world
        .command(&["JSON.SET", "memory:Ana2", "$", "{\"a\": 1}"])
        .await;
    let before = world.all().await;
    ends(&world, &[&id], &["memory:Ana2", "taken"]);
    assert_eq!(world.all().await, before);
    let () = world.command(&["DEL", "memory:Ana2"]).await;

    let () = world
        .command(&["JSON.SET", "memory:Ana1", "$.content", "\"edited\""])
        .await;
    let before = world.all().await;
    ends(&world, &[&id], &["memory:Ana1", "edited", "--force"]);
    assert_eq!(world.all().await, before);
    let done = world
        .run(&["undo", &id, "--force", "--json"])
        .ends(0)
        .json();
    let beside = done["undone"][0]["kept_beside"].as_str().unwrap();
    let text: String = world.command(&["JSON.GET", beside, "$.content"]).await;
    assert_eq!(text, "[\"edited\"]");
    assert_eq!(world.memories().await.len(), 3);
}

#[tokio::test]
async fn without_a_window_there_is_no_undo() {
    let mut world = World::new().await.set("undo_window", "0");
    world.put_twins("alice", "Ana", 0).await;
    let report = world.merge("alice");
    let id = report["merged"][0]["merge_id"].as_str().unwrap();
    world
        .run(&["undo", id])
        .ends(7)
        .says(&["without an undo window"]);

    let mut world = World::new().await.set("undo_window", "100ms");
    world.put_twins("alice", "Ana", 0).await;
    let report = world.merge("alice");
    let id = report["merged"][0]["merge_id"].as_str().unwrap().to_owned();
    let start = std::time::Instant::now();
    while !world
        .command::<Vec<String>>(&["KEYS", "memfold:undo:*"])
        .await
        .is_empty()
    {
        assert!(
            start.elapsed().as_secs() < 20,
            "the undo copies do not expire"
        );
    }
    let before = world.memories().await;
    world
        .run(&["undo", &id])
        .ends(7)
        .says(&["undo window", "passed"]);
    let json = world.run(&["undo", &id, "--json"]).ends(7).json();
    assert_eq!(json["error"]["exit_code"], 7);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_result_that_was_merged_again_is_undone_in_cascade() {
    let (mut world, before, first) = merged().await;
    let third = twin("alice", "Ana likes  tea", 0, 4);
    world.put("Ana3", &third).await;
    let grown = world.memories().await;
    let second = world.merge("alice")["merged"][0]["merge_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(world.memories().await.len(), 1);
    world
        .run(&["undo", &first])
        .ends(7)
        .says(&[&second, "--cascade"]);
    let done = world
        .run(&["undo", &first, "--cascade", "--json"])
        .ends(0)
        .json();
    let undone: Vec<&Value> = list(&done["undone"])
        .iter()
        .map(|one| &one["merge_id"])
        .collect();
    assert_eq!(undone, [&Value::from(second), &Value::from(first)]);
    let mut after = world.memories().await;
    assert_eq!(after["memory:Ana3"], grown["memory:Ana3"]);
    after.remove("memory:Ana3");
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_run_is_undone_as_far_as_it_can_be() {
    let mut world = World::over(Index {
        dims: 5,
        ..Index::json()
    })
    .await;
    let names = ["Ana", "Bo", "Cy", "Di", "Ed"];
    for (i, name) in names.into_iter().enumerate() {
        world.put_twins("alice", name, i).await;
    }
    let before = world.memories().await;
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 5);
    let mut texts = Vec::new();
    for key in ["memory:Bo1", "memory:Di1"] {
        let text: String = world.command(&["JSON.GET", key, "$.content"]).await;
        texts.push((key, text.trim_matches(['[', ']']).to_owned()));
        let () = world
            .command(&["JSON.SET", key, "$.content", "\"edited\""])
            .await;
    }
    let run = ["undo", "--run", run_id(&report)];
    let done = world.run(&run).ends(7);
    done.says(&["memory:Bo1", "memory:Di1", "--force"]).shows(&[
        "memory:Ana2",
        "memory:Cy2",
        "memory:Ed2",
    ]);
    let after = world.memories().await;
    assert_eq!(after.len(), 8);
    for key in ["memory:Ana1", "memory:Ana2", "memory:Cy1", "memory:Ed2"] {
        assert_eq!(after[key], before[key]);
    }
    let json = world.run(&[&run[..], &["--json"]].concat()).ends(7).json();
    assert_eq!(json["error"]["exit_code"], 7);
    for (key, text) in texts {
        let () = world.command(&["JSON.SET", key, "$.content", &text]).await;
    }
    world.run(&run).ends(0);
    assert_eq!(world.memories().await, before);
    world.run(&run).ends(7).says(&["no merge of this run"]);
}

#[tokio::test]
async fn show_and_history_tell_the_story() {
    let (world, _, id) = merged().await;
    let done = world.run(&["show", &id]).ends(0);
    done.shows(&[
        &id,
        "alice",
        "memory:Ana1",
        "Ana likes tea.",
        "agent_memories",
    ]);
    let json = world.run(&["show", &id, "--json"]).ends(0).json();
    assert_eq!(json["state"], "merged");
    assert_eq!(list(&json["merge"]["sources"]).len(), 2);
    assert_eq!(
        json["texts"],
        serde_json::json!(["Ana likes tea.", "Ana likes tea"])
    );
    world
        .run(&["show", "nonsense"])
        .ends(1)
        .says(&["no record of merge nonsense"]);
    world.run(&["undo", &id]).ends(0);
    let json = world.run(&["history", "--json"]).ends(0).json();
    let events: Vec<&Value> = list(&json["entries"])
        .iter()
        .map(|entry| &entry["event"])
        .collect();
    assert_eq!(events, ["undone", "merged"]);
    world.run(&["show", &id]).ends(0).shows(&["undone"]);
}

#[tokio::test]
async fn own_decisions_come_as_labelled_pairs() {
    let mut world = World::new().await;
    world.put_twins("alice", "Alice", 0).await;
    world.put_twins("bob", "Bob", 1).await;
    world.merge("alice");
    let undone = world.merge("bob");
    let id = undone["merged"][0]["merge_id"].as_str().unwrap().to_owned();
    world.run(&["undo", &id]).ends(0);
    let done = world.run(&["history", "--as-pairs"]).ends(0);
    let pairs: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(pairs.len(), 2, "{done:?}");
    let labels: Vec<&Value> = pairs.iter().map(|pair| &pair["label"]).collect();
    assert_eq!(labels, ["different", "same"], "newest first");
    assert!(pairs[0]["id"].as_str().unwrap().starts_with(&id));
    assert!(pairs[1]["a"].as_str().unwrap().contains("Alice"));
    assert!(pairs.iter().all(|pair| pair["memory_type"] == "semantic"));
    let path = world.cli.path("own.jsonl");
    std::fs::write(&path, &done.stdout).unwrap();
    world
        .run(&["eval", path.to_str().unwrap(), "--json"])
        .ends(0);
}

#[tokio::test]
async fn what_was_forbidden_comes_as_pairs_that_differ() {
    let mut world = World::new().await;
    world.put_twins("alice", "Alice", 0).await;
    let answers = world.cli.path("answers");
    std::fs::write(&answers, "never\ntwo of that name\n").unwrap();
    let answers = answers.to_str().unwrap().to_owned();
    let review = ["review", "--user", "alice", "--json", "--answers", &answers];
    let told = world.run(&review).ends(0).json();
    let id = told["forbidden"][0]["id"].as_str().unwrap().to_owned();
    let pairs = |done: &Done| -> Vec<Value> {
        let lines = done.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let done = world.run(&["history", "--as-pairs"]).ends(0);
    let found = pairs(&done);
    assert_eq!(found.len(), 1, "{done:?}");
    assert_eq!(found[0]["label"], "different");
    assert_eq!(found[0]["kind"], "forbidden");
    assert!(found[0]["id"].as_str().unwrap().starts_with(&id));
    assert!(found[0]["b"].as_str().unwrap().contains("Alice"));
    let path = world.cli.path("own.jsonl");
    std::fs::write(&path, &done.stdout).unwrap();
    let path = path.to_str().unwrap().to_owned();
    world.run(&["eval", &path, "--json"]).ends(0);
    // Once it is lifted, nobody says so any more.
    world.run(&["undo", "--lift-veto", &id]).ends(0);
    let done = world.run(&["history", "--as-pairs"]).ends(0);
    assert_eq!(pairs(&done), Vec::<Value>::new());
    done.says(&["1 groups are left out"]);
}
