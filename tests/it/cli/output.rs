//! What is printed: JSON with stable names, no escape codes in pipes, harmless memory text.

use super::*;

const EVIL: &str = "Ana\u{1b}[31m likes\u{7} tea\u{9b}2J \u{202e}gnp.exe\r\nerror: faked";

async fn evil() -> World {
    let mut world = World::new().await;
    for id in ["1", "2\u{1b}]0;title\u{7}"] {
        let memory = Mem {
            metadata: format!("{{\"note\": \"{}\"}}", "\\u001b[2J"),
            ..twin("al\u{1b}[1mice", EVIL, 0, 4)
        };
        world.put(id, &memory).await;
    }
    world.put("3", &Mem::new("Bo", &[0.0, 1.0, 0.0, 0.0])).await;
    world
}

#[track_caller]
fn assert_harmless(done: &Done) {
    for text in [&done.stdout, &done.stderr] {
        let bad = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(bad), "{done:#?}");
        assert!(
            !text.lines().any(|line| line.starts_with("error: faked")),
            "{done:#?}"
        );
    }
}

#[tokio::test]
async fn stored_text_cannot_reach_the_terminal() {
    let world = evil().await.set("log", "info");
    let user = "al\u{1b}[1mice";
    let mut dones = vec![
        world.run(&["inspect"]).ends(0),
        world
            .run(&["merge", "--user", user, "--dry-run", "-v"])
            .ends(0),
        world
            .run(&["merge", "--user", user, "--dry-run", "--json"])
            .ends(0),
        world.run(&["merge", "--user", "al\u{1b}[1mce"]).ends(8),
        world.run(&["merge", "--user", user]).ends(0),
        world.run(&["history"]).ends(0),
        world.run(&["merge", "--user", "alice", "-v"]).ends(0),
        world.run(&["undo", "a\u{1b}[1m"]).ends(7),
        world.run(&["show", "a\u{1b}[1m"]).ends(1),
        world
            .run(&["merge", "--user", "alice", "--index", "a\u{1b}[1m"])
            .ends(3),
    ];
    let json = world.run(&["history", "--json"]).ends(0);
    let id = json.json()["entries"][0]["merge_id"]
        .as_str()
        .unwrap()
        .to_owned();
    dones.push(json);
    dones.push(world.run(&["show", &id, "-v"]).ends(0));
    dones.push(world.run(&["show", &id, "--json"]).ends(0));
    dones.push(world.run(&["undo", &id]).ends(0));
    for done in &dones {
        assert_harmless(done);
    }
    // In JSON the text is still itself.
    assert_eq!(dones[2].json()["users"][0]["merges"][0]["text"], EVIL);
}

#[tokio::test]
async fn logs_hold_no_memory_text() {
    let mut world = World::new()
        .await
        .set("log", "info")
        .set("log_format", "json");
    world.put_twins("alice", "Ana", 0).await;
    let done = world.run(&["merge", "--user", "alice", "--json"]).ends(0);
    assert!(!done.stderr.contains("likes tea"), "{done:#?}");
    for line in done.stderr.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["level"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn colours_are_asked_for() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let plain = world
        .run(&["merge", "--user", "alice", "--dry-run"])
        .ends(0);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'));
    let run = |color: &str, no_color: &str| {
        let mut command = world
            .cli
            .command(&["merge", "--user", "alice", "--dry-run"]);
        command
            .env("MEMFOLD_COLOR", color)
            .env("NO_COLOR", no_color);
        Done::of(&[], command.output().unwrap()).ends(0)
    };
    assert!(run("always", "").stdout.contains('\u{1b}'));
    assert!(!run("auto", "1").stdout.contains('\u{1b}'));
    assert!(!run("never", "").stdout.contains('\u{1b}'));
}

#[track_caller]
fn has(value: &Value, names: &[&str]) {
    for name in names {
        assert!(value.get(name).is_some(), "{name} is not in {value:#}");
    }
}

#[tokio::test]
async fn json_has_stable_members() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world
        .put("empty", &Mem::new("", &[1.0, 0.0, 0.0, 0.0]))
        .await;
    world
        .put("no", &Mem::new("Ana likes no tea", &[1.0, 0.1, 0.0, 0.0]))
        .await;
    let json = |args: &[&str], code| world.run(args).ends(code).json();

    let plan = json(&["merge", "--user", "alice", "--dry-run", "--json"], 0);
    assert_eq!(plan["version"], 1);
    let plan = &plan["users"][0];
    has(
        plan,
        &[
            "version",
            "index",
            "user",
            "memories",
            "threshold",
            "distance",
            "merges",
            "groups_left",
            "left_alone",
        ],
    );
    has(
        &plan["merges"][0],
        &[
            "merge_id",
            "partition",
            "sources",
            "result_key",
            "text",
            "author",
            "vector_origin",
            "findings",
        ],
    );
    has(
        &plan["merges"][0]["sources"][0],
        &["key", "digest", "text", "created_at", "distance"],
    );
    has(
        &plan["groups_left"][0],
        &["partition", "members", "reason", "detail", "findings"],
    );
    has(&plan["left_alone"][0], &["key", "reason", "detail"]);

    let report = json(&["merge", "--user", "alice", "--json"], 0);
    assert_eq!(report["version"], 1);
    let report = &report["users"][0];
    has(
        report,
        &[
            "user",
            "run_id",
            "merged",
            "not_committed",
            "llm",
            "stopped",
            "plan",
        ],
    );
    has(&report["merged"][0], &["merge_id", "result_key", "retired"]);
    has(
        &report["llm"],
        &["calls", "tokens", "accepted", "retried", "kept"],
    );

    let history = json(&["history", "--json"], 0);
    has(&history, &["version", "entries"]);
    has(
        &history["entries"][0],
        &["merge_id", "event", "user", "run_id", "at", "sources"],
    );
    let id = history["entries"][0]["merge_id"].as_str().unwrap();
    has(
        &json(&["show", id, "--json"], 0),
        &["version", "state", "result_digest", "merge", "texts"],
    );
    let inspect = json(&["inspect", "--json"], 0);
    has(
        &inspect["indexes"][0],
        &[
            "name", "storage", "prefixes", "docs", "vectors", "look", "served", "flags", "users",
        ],
    );
    let doctor = json(&["doctor", "--json"], 0);
    has(&doctor, &["version", "ok", "checks"]);
    has(&doctor["checks"][0], &["name", "status", "found", "advice"]);
    let undo = json(&["undo", id, "--json"], 0);
    has(&undo, &["version", "undone", "error"]);
    has(
        &undo["undone"][0],
        &[
            "merge_id",
            "restored",
            "expired",
            "kept_beside",
            "left_edited",
        ],
    );
    let missing = json(&["merge", "--user", "zoe", "--json"], 8);
    has(&missing["users"][0]["error"], &["exit_code", "message"]);
}

#[tokio::test]
async fn a_dry_run_promises_only_what_is_there() {
    let mut world = World::new().await;
    world
        .put("1", &Mem::new("Likes tea", &[1.0, 0.0, 0.0, 0.0]))
        .await;
    let done = world
        .run(&["merge", "--user", "alice", "--dry-run"])
        .ends(0);
    assert!(!done.stderr.contains("run without --dry-run"), "{done:#?}");
    let done = world.run(&["merge", "--user", "zoe", "--dry-run"]).ends(8);
    assert!(!done.stderr.contains("run without --dry-run"), "{done:#?}");
    world
        .put("2", &Mem::new("likes tea", &[1.0, 0.0, 0.0, 0.0]))
        .await;
    let done = world
        .run(&["merge", "--user", "alice", "--dry-run"])
        .ends(0);
    done.says(&["nothing was written; run without --dry-run to merge"]);
}
