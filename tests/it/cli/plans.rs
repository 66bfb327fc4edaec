//! Plans: looking writes nothing, and only what was looked at is done.

use std::fs;

use super::*;

/// Plans for alice into `plan.json`.
#[track_caller]
fn plan(world: &World) -> Value {
    let args = [
        "merge",
        "--user",
        "alice",
        "--dry-run",
        "--plan-out",
        "plan.json",
    ];
    world.run(&args).ends(0).says(&["memfold apply plan.json"]);
    serde_json::from_slice(&fs::read(world.cli.path("plan.json")).unwrap()).unwrap()
}

fn doctor(world: &World, plan: &Value) {
    fs::write(world.cli.path("plan.json"), plan.to_string()).unwrap();
}

#[tokio::test]
async fn a_dry_run_writes_nothing_at_all() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.all().await;
    let () = world.command(&["CONFIG", "RESETSTAT"]).await;
    for args in [
        &["merge", "--user", "alice", "--dry-run"][..],
        &["merge", "--all-users", "--dry-run", "--json"],
        &[
            "merge",
            "--user",
            "alice",
            "--dry-run",
            "--plan-out",
            "plan.json",
        ],
        &["inspect"],
        &["doctor"],
        &["history"],
    ] {
        world.run(args).ends(0);
    }
    assert_eq!(world.all().await, before);
    let stats: String = world.command(&["INFO", "commandstats"]).await;
    for line in stats.lines() {
        for write in [
            "set",
            "fcall:",
            "eval:",
            "xadd",
            "rename",
            "function|load",
            "del",
            "expire:",
        ] {
            let name = line
                .trim_start_matches("cmdstat_")
                .split(':')
                .next()
                .unwrap();
            assert!(
                !format!("{name}:").ends_with(&format!("{write}:").replace("::", ":")),
                "{line}"
            );
        }
    }
    let functions: Vec<redis::Value> = world.command(&["FUNCTION", "LIST"]).await;
    assert!(functions.is_empty(), "{functions:?}");
}

#[tokio::test]
async fn a_second_run_writes_nothing() {
    for storage in [Index::json(), Index::hash()] {
        let mut world = World::over(storage).await;
        world.put_twins("alice", "Ana", 0).await;
        world
            .put("3", &Mem::new("Ana likes no tea", &[1.0, 0.1, 0.0, 0.0]))
            .await;
        world.merge("alice");
        let before = world.all_but_leases().await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), 0, "{report:#}");
        assert_eq!(world.all_but_leases().await, before);
        let leases: Vec<String> = world.command(&["KEYS", "memfold:lease:*"]).await;
        assert_eq!(leases, Vec::<String>::new(), "the lease is given back");
    }
}

#[tokio::test]
async fn a_plan_is_carried_out_as_it_was_seen() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world.put_twins("alice", "Bo", 1).await;
    let before = world.memories().await;
    let plan = plan(&world);
    let done = world.run(&["apply", "plan.json", "--json"]).ends(0).json();
    let report = &done["users"][0];
    let ids = |merges: &Value| -> Vec<Value> {
        list(merges)
            .iter()
            .map(|merge| merge["merge_id"].clone())
            .collect()
    };
    assert_eq!(ids(&report["merged"]), ids(&plan["users"][0]["merges"]));
    assert_eq!(world.memories().await.len(), 2);
    // A second time there is nothing left of what was planned.
    let merged = world.memories().await;
    world
        .run(&["apply", "plan.json"])
        .ends(4)
        .shows(&["left alone: changed"]);
    assert_eq!(world.memories().await, merged);
    world.run(&["undo", "--run", run_id(report)]).ends(0);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_memory_edited_between_plan_and_apply_keeps_its_group() {
    for (what, words) in [
        (
            "text",
            [
                "JSON.SET",
                "memory:Ana1",
                "$.content",
                "\"Ana likes coffee\"",
            ],
        ),
        (
            "metadata",
            ["JSON.SET", "memory:Ana1", "$.metadata", "\"{}\""],
        ),
        ("user", ["JSON.SET", "memory:Ana1", "$.user_id", "\"bob\""]),
        ("gone", ["UNLINK", "memory:Ana1", "memory:no", "memory:no"]),
    ] {
        let mut world = World::new().await;
        world.put_twins("alice", "Ana", 0).await;
        world.put_twins("alice", "Bo", 1).await;
        plan(&world);
        let () = world.command(&words).await;
        let edited = world.memories().await;
        let done = world.run(&["apply", "plan.json"]).ends(4);
        done.shows(&["left alone: changed", "memory:Ana1", "1 merge made"]);
        let after = world.memories().await;
        assert_eq!(
            after.get("memory:Ana1"),
            edited.get("memory:Ana1"),
            "{what}"
        );
        assert_eq!(after["memory:Ana2"], edited["memory:Ana2"], "{what}");
        assert!(!after.contains_key("memory:Bo2"), "{what}");
    }
}

#[tokio::test]
async fn what_was_kept_apart_between_plan_and_apply_stays_apart_in_larger_groups_too() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world
        .put("Ana3", &twin("alice", "Ana likes tea!", 0, 4))
        .await;
    let before = world.memories().await;
    let plan = plan(&world);
    assert_eq!(list(&plan["users"][0]["merges"][0]["sources"]).len(), 3);
    // The first two alone are merged, and that is undone.
    let () = world.command(&["RENAME", "memory:Ana3", "aside"]).await;
    let report = world.merge("alice");
    world.run(&["undo", "--run", run_id(&report)]).ends(0);
    let () = world.command(&["RENAME", "aside", "memory:Ana3"]).await;
    let done = world.run(&["apply", "plan.json"]).ends(4);
    done.shows(&["left alone: vetoed"]);
    assert_eq!(world.memories().await, before);
    let id = report["merged"][0]["merge_id"].as_str().unwrap();
    world.run(&["undo", "--lift-veto", id]).ends(0);
    world.run(&["apply", "plan.json"]).ends(0);
    assert_eq!(world.memories().await.len(), 1);
}

#[tokio::test]
async fn an_expiry_set_between_plan_and_apply_keeps_its_group() {
    let mut world = World::new().await;
    let [first, _] = world.put_twins("alice", "Ana", 0).await;
    plan(&world);
    let () = world.command(&["EXPIRE", &first, "5000"]).await;
    let before = world.memories().await;
    world
        .run(&["apply", "plan.json"])
        .ends(4)
        .shows(&["different-expiry"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_doctored_plan_is_refused() {
    type Doctor = fn(&mut Value);
    let cases: [(&str, Doctor, i32, &str); 11] = [
        (
            "version",
            |file| file["version"] = 2.into(),
            2,
            "plan again",
        ),
        (
            "no version",
            |file| drop(file.as_object_mut().unwrap().remove("version")),
            2,
            "no version",
        ),
        (
            "a user's version",
            |file| file["users"][0]["version"] = 7.into(),
            2,
            "format 7",
        ),
        (
            "index",
            |file| file["users"][0]["index"] = "other".into(),
            3,
            "no index `other`",
        ),
        (
            "user",
            |file| file["users"][0]["user"] = "bob".into(),
            2,
            "damaged",
        ),
        (
            "user everywhere",
            |file| {
                file["users"][0]["user"] = "bob".into();
                file["users"][0]["merges"][0]["partition"]["user"] = "bob".into();
            },
            2,
            "another user",
        ),
        (
            "another user's key",
            |file| {
                let source = &mut file["users"][0]["merges"][0]["sources"][1];
                source["key"] = "memory:Eve1".into();
            },
            4,
            "",
        ),
        (
            "a result elsewhere",
            |file| file["users"][0]["merges"][0]["result_key"] = "memory:Eve1".into(),
            4,
            "",
        ),
        (
            "another text",
            |file| file["users"][0]["merges"][0]["text"] = "Ana hates tea".into(),
            4,
            "",
        ),
        (
            "one source twice",
            |file| {
                let sources = &mut file["users"][0]["merges"][0]["sources"];
                sources[1] = sources[0].clone();
            },
            2,
            "damaged",
        ),
        (
            "one source",
            |file| {
                let sources = &mut file["users"][0]["merges"][0]["sources"];
                sources.as_array_mut().unwrap().pop();
            },
            2,
            "damaged",
        ),
    ];
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world.put_twins("eve", "Eve", 0).await;
    let before = world.memories().await;
    let good = plan(&world);
    for (what, change, code, words) in cases {
        let mut file = good.clone();
        change(&mut file);
        doctor(&world, &file);
        let done = world.run(&["apply", "plan.json"]);
        assert_eq!(done.code, Some(code), "{what}: {done:#?}");
        done.says(&[words]);
        assert_eq!(world.memories().await, before, "{what}");
    }
    doctor(&world, &good);
    world.run(&["apply", "plan.json"]).ends(0);
}

#[tokio::test]
async fn another_users_record_with_its_right_digest_is_refused() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world.put_twins("eve", "Eve", 0).await;
    let before = world.memories().await;
    let eve = world
        .run(&["merge", "--user", "eve", "--dry-run", "--json"])
        .json();
    let mut file = plan(&world);
    file["users"][0]["merges"][0]["sources"][1] =
        eve["users"][0]["merges"][0]["sources"][1].clone();
    doctor(&world, &file);
    world
        .run(&["apply", "plan.json"])
        .ends(2)
        .says(&["memory:Eve2", "another user"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_plan_for_another_index_than_the_settings_is_refused() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    plan(&world);
    world
        .run(&["apply", "plan.json", "--index", "others"])
        .ends(2)
        .says(&["agent_memories", "others"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_key_beside_the_index_is_no_source() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let mut file = plan(&world);
    // The same record under a key that the index does not cover.
    let () = world
        .command(&["COPY", "memory:Ana2", "private:Ana2"])
        .await;
    let before = world.memories().await;
    file["users"][0]["merges"][0]["sources"][1]["key"] = "private:Ana2".into();
    doctor(&world, &file);
    world
        .run(&["apply", "plan.json"])
        .ends(2)
        .says(&["private:Ana2"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_plan_that_could_not_be_saved_is_not_made() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let folder = world.cli.path("").display().to_string();
    for path in ["nowhere/plan.json", &folder] {
        let args = ["merge", "--user", "alice", "--dry-run", "--plan-out", path];
        let done = world.run(&args).ends(2).says(&["--plan-out", path]);
        assert_eq!(done.stdout, "");
    }
}
