//! Every `--json` document is as docs/memfold.schema.json says ([`Done::json`] compares).

use std::fs;

use super::*;
use crate::support::schema;

const PAIRS: &str = r#"{"id":"p1","a":"Likes tea","b":"Likes tea.","label":"same","kind":"surface","lang":"en","source":"own"}
{"id":"p2","a":"Has 2 cats","b":"Has 3 cats","label":"different","kind":"number","lang":"en","source":"own"}
"#;
const GROUP: &str = r#"{"id":"g1","members":[{"id":"m1","content":"Likes tea","metadata":{"user_id":"a"}},{"id":"m2","content":"likes tea.","metadata":{"user_id":"a"}}],"facts":["tea"],"forbidden":[],"partition":[["m1","m2"]],"block_actions":["merge"]}"#;

#[tokio::test]
async fn every_json_document_is_as_its_schema_says() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world.put_twins("alice", "Ben", 1).await;
    let other = twin("alice", "Has 2 cats", 2, 4);
    world.put("cats2", &other).await;
    world.put("cats3", &twin("alice", "Has 3 cats", 2, 4)).await;
    fs::write(world.cli.path("pairs.jsonl"), PAIRS).unwrap();
    fs::write(world.cli.path("groups.jsonl"), GROUP).unwrap();
    fs::write(world.cli.path("answers"), "n\ntwo Anas\na\nq\n").unwrap();
    let json = |args: &[&str]| world.run(&[args, &["--json"]].concat()).json();

    let merge = ["merge", "--user", "alice"];
    json(
        &[
            &merge[..],
            &["--dry-run", "--stats", "--plan-out", "plan.json"],
        ]
        .concat(),
    );
    let plans: Value =
        serde_json::from_slice(&fs::read(world.cli.path("plan.json")).unwrap()).unwrap();
    schema::check("plan_file", &plans);
    json(&["merge", "--user", "nobody"]);
    json(&["conflicts", "--user", "alice"]);
    let review = json(&[
        "review",
        "--user",
        "alice",
        "--answers",
        "answers",
        "--left",
    ]);
    json(&["apply", "plan.json"]);
    let merged = review["merged"][0]["merge_id"].as_str().unwrap();
    let forbidden = review["forbidden"][0]["id"].as_str().unwrap();
    json(&["show", merged]);
    json(&["show", forbidden]);
    json(&["undo", merged, "--reason", "no"]);
    json(&["undo", merged]);
    json(&["show", merged]);
    json(&["undo", "--lift-veto", forbidden]);
    json(&["history"]);
    for args in [
        &["inspect"][..],
        &["doctor"],
        &["self-check"],
        &["status"],
        &["request", "--user", "alice"],
        &["resume"],
        &["config", "show"],
        &["eval", "pairs.jsonl"],
        &["eval", "pairs.jsonl", "--report", "report.md"],
        &["eval", "groups.jsonl", "--groups"],
    ] {
        json(args);
    }
    let calibrate = ["calibrate", "pairs.jsonl", "--out", "own.toml", "--json"];
    world.cli = Cli::new(&world.server.url()).with_model();
    fs::write(world.cli.path("pairs.jsonl"), PAIRS).unwrap();
    world.run(&calibrate).ends(0).json();
}
