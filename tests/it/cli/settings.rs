//! Settings that decide what is merged.

use super::*;

#[tokio::test]
async fn the_threshold_comes_from_flag_environment_file_default() {
    let mut world = World::new().await;
    // Cosine distance 0.2.
    world
        .put("1", &Mem::new("Likes tea", &[1.0, 0.0, 0.0, 0.0]))
        .await;
    world
        .put("2", &Mem::new("likes black tea", &[0.8, 0.6, 0.0, 0.0]))
        .await;
    let threshold = |world: &World, args: &[&str]| {
        let args = [&["merge", "--user", "alice", "--dry-run", "--json"], args].concat();
        let plan = world.run(&args).ends(0).json()["users"][0].clone();
        let groups = list(&plan["groups_left"]).len() + list(&plan["merges"]).len();
        (
            plan["threshold"]["value"].as_f64().unwrap(),
            plan["threshold"]["origin"].as_str().unwrap().to_owned(),
            groups,
        )
    };
    let origin = |value: f64, name: &str, groups| (value, name.to_owned(), groups);
    assert_eq!(threshold(&world, &[]), origin(0.1, "default", 0));
    std::fs::write(world.cli.path("memfold.toml"), "threshold = 0.3").unwrap();
    assert_eq!(threshold(&world, &[]), origin(0.3, "file", 1));
    let world = world.set("threshold", "0.25");
    assert_eq!(threshold(&world, &[]), origin(0.25, "environment", 1));
    let flag = threshold(&world, &["--threshold", "0.15"]);
    assert_eq!(flag, origin(0.15, "flag", 0));
    let text = world.run(&["merge", "--user", "alice", "--dry-run"]);
    text.ends(0)
        .shows(&["distance ≤ 0.25 (environment, stored)"]);
}

/// An index whose fields have other names, with two equal memories of `ada`.
async fn renamed() -> World {
    let server = Server::start();
    let mut con = server.connect().await;
    let cli = Cli::new(&server.url()).set("index", "notes");
    let mut create = redis::cmd("FT.CREATE");
    create.arg(&["notes", "ON", "JSON", "PREFIX", "1", "note:", "SCHEMA"]);
    for (path, name, kind) in [
        ("$.fact", "fact", "TEXT"),
        ("$.owner", "owner", "TAG"),
        ("$.kind", "kind", "TAG"),
        ("$.ns", "ns", "TAG"),
    ] {
        create.arg(&[path, "AS", name, kind]);
    }
    create.arg(&[
        "$.vec", "AS", "vec", "VECTOR", "FLAT", "6", "TYPE", "FLOAT32", "DIM", "2",
    ]);
    create.arg(&["DISTANCE_METRIC", "COSINE"]);
    create.exec_async(&mut con).await.unwrap();
    for (id, ns) in [("1", "home"), ("2", "home"), ("3", "work")] {
        let note = serde_json::json!({
            "fact": "Likes tea", "owner": "ada", "kind": "semantic", "ns": ns, "id": id,
            "when": "2026-03-01T10:00:00Z", "extra": {"a": [1.0, 2]}, "meta": {"seen": 1},
            "vec": [1.0, 0.0],
        });
        let mut set = redis::cmd("JSON.SET");
        set.arg(format!("note:{id}")).arg("$").arg(note.to_string());
        set.exec_async(&mut con).await.unwrap();
    }
    World {
        server,
        con,
        index: Index::json(),
        cli,
    }
}

const FLAGS: [&str; 14] = [
    "--fields-text",
    "fact",
    "--fields-user",
    "owner",
    "--fields-memory-type",
    "kind",
    "--fields-id",
    "id",
    "--fields-created-at",
    "when",
    "--fields-metadata",
    "meta",
    "--fields-vector",
    "vec",
];

#[tokio::test]
async fn fields_are_named_by_flags_or_by_the_file() {
    let mut world = renamed().await;
    let before = world.memories().await;
    world
        .run(&["merge", "--user", "ada"])
        .ends(3)
        .says(&["vec"]);
    let misspelt = FLAGS.map(|word| if word == "fact" { "fakt" } else { word });
    let misspelt = [&["merge", "--user", "ada"], &misspelt[..]].concat();
    world
        .run(&misspelt)
        .ends(3)
        .says(&["none of 3", "`fakt`", "memfold inspect"]);
    let plan = |world: &World, more: &[&str]| {
        let args = [&["merge", "--user", "ada", "--dry-run", "--json"], more].concat();
        let done = world.run(&args).ends(0);
        list(&done.json()["users"][0]["merges"][0]["sources"]).len()
    };
    assert_eq!(plan(&world, &FLAGS), 3);
    let scoped = [&FLAGS[..], &["--fields-scope", "ns"]].concat();
    assert_eq!(plan(&world, &scoped), 2);
    let file = "[fields]\ntext = 'fact'\nuser = 'owner'\nmemory_type = 'kind'\nid = 'id'\n\
                created_at = 'when'\nmetadata = 'meta'\nvector = 'vec'\nscope = ['ns']\n";
    std::fs::write(world.cli.path("memfold.toml"), file).unwrap();
    let report = world.merge("ada");
    assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
    let result: String = world.command(&["JSON.GET", "note:1"]).await;
    for part in [
        "\"extra\":{\"a\":[1.0,2]}",
        "Likes tea",
        "source_count",
        "seen",
    ] {
        assert!(result.contains(part), "{part} in {result}");
    }
    world.run(&["undo", "--run", run_id(&report)]).ends(0);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn inspect_gives_flags_that_work() {
    let world = renamed().await;
    let seen = world.run(&["inspect", "--json"]).ends(0).json();
    let notes = &seen["indexes"][0];
    assert_eq!(notes["users"], serde_json::json!(["ada"]), "{seen:#}");
    let flags = notes["flags"].as_str();
    // The text field has a name that is not among the usual ones only if no flags are given.
    if let Some(flags) = flags {
        let flags: Vec<&str> = flags.split(' ').collect();
        let args = [&["merge", "--user", "ada", "--dry-run"], &flags[..]].concat();
        world.run(&args).ends(0);
    }
}
