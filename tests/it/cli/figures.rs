//! What a run costs, and what it may cost.

use serde_json::json;

use super::*;

/// How often memfold's functions were called.
async fn calls(world: &mut World) -> u64 {
    let stats: String = world.command(&["INFO", "commandstats"]).await;
    let line = stats
        .lines()
        .find(|line| line.starts_with("cmdstat_fcall:"));
    let count = line.and_then(|line| line.split(['=', ',']).nth(1));
    count.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn a_group_of_five_is_one_call_of_the_server() {
    let mut world = World::over(Index::hash()).await;
    let mut spent = Vec::new();
    for (user, groups) in [("alice", 1), ("bob", 4)] {
        for group in 0..groups {
            for copy in 0..5 {
                let memory = twin(user, &format!("{user}{group} likes tea."), group, 4);
                world.put(&format!("{user}{group}{copy}"), &memory).await;
            }
        }
        let before = calls(&mut world).await;
        let report = world.merge(user);
        assert_eq!(list(&report["merged"]).len(), groups);
        spent.push(calls(&mut world).await - before);
    }
    assert_eq!(spent[1] - spent[0], 3, "{spent:?}");
}

#[tokio::test]
async fn the_cost_to_the_server_is_told_on_request() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ann", 0).await;
    let plan = ["merge", "--user", "alice", "--dry-run"];
    let told = world
        .run(&[&plan[..], &["--stats", "--json"]].concat())
        .ends(0)
        .json();
    let server = &told["server"];
    assert_eq!(server["all_clients"], true);
    assert_eq!(server["memories"], 2);
    let commands = server["commands"].as_f64().unwrap();
    // At least the two records with their expiries, and the listing.
    assert!((5.0..100.0).contains(&commands), "{server}");
    assert_eq!(server["commands_per_1000_memories"], commands * 500.0);
    assert!(server["cpu_seconds"].as_f64().unwrap() >= 0.0);
    let told = world.run(&[&plan[..], &["--stats"]].concat()).ends(0);
    let told = told.says(&["for all its clients", "commands"]);
    let told = told.says(&["2 memories became 1", "of 1 names", "1 are kept"]);
    told.says(&["s starting", "s comparing"]);
    assert!(
        world
            .run(&[&plan[..], &["--json"]].concat())
            .json()
            .get("server")
            .is_none()
    );
}

#[tokio::test]
async fn where_the_time_went_is_told_on_request() {
    let mut world = World::new().await;
    for (user, axis) in [("alice", 0), ("bob", 1)] {
        world.put_twins(user, user, axis).await;
    }
    for write in [&["--dry-run"][..], &[]] {
        let all = ["merge", "--all-users", "--stats", "--json"];
        let start = std::time::Instant::now();
        let told = world.run(&[&all[..], write].concat()).ends(0).json();
        let whole = start.elapsed().as_secs_f64();
        let seconds = told["seconds"].as_object().unwrap();
        let names: Vec<&str> = seconds.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["starting", "reading", "comparing", "judging", "merging"]
        );
        let parts = seconds.values().map(|part| part.as_f64().unwrap());
        assert!(parts.clone().all(|part| part > 0.0), "{seconds:?}");
        assert!(parts.sum::<f64>() <= whole, "{seconds:?}");
    }
}

#[tokio::test]
async fn what_a_run_kept_and_saved_is_told_in_numbers() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ann", 0).await;
    world.put_twins("bob", "Bob", 1).await;
    let args = [
        "merge", "--user", "alice", "--user", "bob", "--stats", "--json",
    ];
    let told = world.run(&args).ends(0).json();
    let quality = |of: &Value| of["quality"].clone();
    for user in list(&told["users"]) {
        let quality = quality(user);
        assert_eq!(quality["memories"], json!({ "before": 2, "after": 1 }));
        assert_eq!(
            quality["entities"],
            json!({ "named": 1, "in_text": 1, "in_history": 0 })
        );
        assert_eq!(quality["entity_recall"], 1.0);
        let compression = quality["compression"].as_f64().unwrap();
        assert!((0.4..0.6).contains(&compression), "{quality}");
    }
    assert_eq!(
        quality(&told)["memories"],
        json!({ "before": 4, "after": 2 })
    );
    let again = world.run(&args).ends(0).json();
    assert_eq!(quality(&again)["entity_recall"], Value::Null);
    assert_eq!(quality(&again)["compression"], Value::Null);
}

#[tokio::test]
async fn a_user_of_too_many_memories_is_refused_with_the_size_needed() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ann", 0).await;
    // The index cannot be asked for a user with a comma, so that all keys are looked at.
    for (key, user) in [("bob", "bob"), ("both", "a,b")] {
        world.put(key, &twin(user, "Likes tea", 0, 4)).await;
    }
    let before = world.all().await;
    let mut world = world.set("max_memory", "2KiB");
    let users = ["--user", "alice", "--user", "bob", "--user", "a,b"];
    let args = [&["merge", "--json"], &users[..]].concat();
    let refused = world.run(&args).ends(5);
    assert!(
        refused.json()["users"][0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("2 memories")
    );
    for user in [1, 2] {
        let error = &refused.json()["users"][user]["error"];
        assert!(error.is_null(), "one memory fits: {error}");
    }
    refused.says(&["nothing was done", "--max-memory 1MiB"]);
    assert_eq!(world.all_but_leases().await, before);
    for key in ["both2", "both3"] {
        world.put(key, &twin("a,b", "Likes tea", 0, 4)).await;
    }
    let refused = world.run(&["merge", "--user", "a,b"]).ends(5);
    refused.says(&["3 memories", "nothing was done"]);
    world.set("max_memory", "1MiB").run(&args).ends(0);
}

#[tokio::test]
async fn a_user_whose_memories_are_all_near_is_refused_with_the_pairs() {
    let mut world = World::over(Index::hash()).await;
    for number in 0..60_u8 {
        let mut memory = twin("alice", &format!("Has read book {number}"), 0, 4);
        memory.vector[1] = f32::from(number) / 1e4;
        world.put(&number.to_string(), &memory).await;
    }
    let before = world.all().await;
    let mut world = world.set("max_memory", "128KiB");
    let refused = world.run(&["merge", "--user", "alice"]).ends(5);
    refused.says(&[
        "60 memories, 1770 pairs",
        "nothing was done",
        "--max-memory 1MiB",
    ]);
    assert_eq!(world.all_but_leases().await, before);
    let plan = ["merge", "--user", "alice", "--dry-run"];
    world.set("max_memory", "1MiB").run(&plan).ends(0);
}
