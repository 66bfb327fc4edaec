//! A review by answers that are read: what it commits, refuses, remembers and goes on with. (At a
//! terminal: tests/interop/test_review.py.)

use std::io::Write;
use std::process::Stdio;

use super::*;

/// Runs `review --user alice --answers -` with these answers.
fn review(world: &World, more: &[&str], answers: &str) -> Done {
    let args = [&["review", "--user", "alice", "--answers", "-"], more].concat();
    let mut child = world
        .cli
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
    Done::of(&args, child.wait_with_output().unwrap())
}

/// What `--json` says of these answers.
fn decided(world: &World, more: &[&str], answers: &str) -> Value {
    review(world, &[more, &["--json"]].concat(), answers)
        .ends(0)
        .json()
}

/// Two groups that are merged without an LLM.
async fn two_groups() -> World {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world.put_twins("alice", "Ben", 1).await;
    world
}

#[tokio::test]
async fn an_accepted_group_is_merged_as_merge_does_it_and_can_be_undone() {
    let mut world = two_groups().await;
    let before = world.memories().await;
    let done = review(&world, &[], "a\nreject\n").ends(0).says(&[
        "merged as ",
        "1 merge made, 0 forbidden, 1 rejected; 0 open",
    ]);
    let done = done.shows(&["merge 1 of 2", "merge 2 of 2", "Ana likes tea.", "0.000"]);
    assert_eq!(world.memories().await.len(), 3);
    let history = world.run(&["history", "--json"]).ends(0).json();
    assert_eq!(list(&history["entries"]).len(), 1);
    let run = history["entries"][0]["run_id"].as_str().unwrap();
    assert!(done.stderr.contains(run), "{done:#?}");
    world.run(&["undo", "--run", run]).ends(0);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_forbidden_group_is_never_merged_and_the_reason_is_told_until_it_is_lifted() {
    let mut world = two_groups().await;
    let before = world.memories().await;
    let told = decided(&world, &[], "never\ntwo Anas, not one\nnever\n\n");
    assert_eq!(told["forbidden"][0]["reason"], "two Anas, not one");
    assert_eq!(told["forbidden"][1]["reason"], Value::Null);
    let id = told["forbidden"][0]["id"].as_str().unwrap();
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 0, "{report:#}");
    let left = &report["plan"]["groups_left"][0];
    assert_eq!(left["reason"], "vetoed");
    assert!(
        left["detail"]
            .as_str()
            .unwrap()
            .contains("two Anas, not one")
    );
    assert_eq!(world.memories().await, before);
    world
        .run(&["history"])
        .ends(0)
        .shows(&["forbidden", "two Anas, not one", "2 apart"]);
    world
        .run(&["show", id])
        .ends(0)
        .shows(&["forbidden", "two Anas, not one", "memory:Ana1"]);
    world.run(&["undo", "--lift-veto", id]).ends(0);
    world.run(&["show", id]).ends(1).says(&["no record"]);
    assert_eq!(list(&world.merge("alice")["merged"]).len(), 1);
}

#[tokio::test]
async fn a_veto_ends_with_what_its_members_say() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    decided(&world, &[], "never\nno\n");
    let () = world
        .command(&["JSON.SET", "memory:Ana2", "$.content", "\"Ana likes  tea\""])
        .await;
    assert_eq!(list(&world.merge("alice")["merged"]).len(), 1);
}

#[tokio::test]
async fn an_expiring_member_takes_the_veto_with_it() {
    let mut world = World::new().await;
    for key in world.put_twins("alice", "Ana", 0).await {
        let _: i64 = world.command(&["EXPIRE", &key, "600"]).await;
    }
    decided(&world, &[], "never\nno\n");
    let vetoes: Vec<String> = world.command(&["KEYS", "memfold:veto:*"]).await;
    let left: i64 = world.command(&["PTTL", &vetoes[0]]).await;
    assert!((1..=600_000).contains(&left), "{left}");
}

#[tokio::test]
async fn a_review_goes_on_where_it_was_left() {
    let mut world = two_groups().await;
    let told = decided(&world, &[], "skip\nquit\n");
    assert_eq!(told["open"], 2);
    let told = decided(&world, &[], "reject\n");
    assert_eq!((&told["rejected"], &told["open"]), (&1.into(), &1.into()));
    // What was rejected is not asked again, what came since waits for the next plan.
    world.put_twins("alice", "Zoe", 2).await;
    let done = review(&world, &[], "a\n").ends(0);
    done.shows(&["merge 1 of 1", "Ben likes tea"])
        .says(&["1 group open", "1 merge made"]);
    assert_eq!(world.memories().await.len(), 5);
    // All is decided: the next review plans anew, as --new does.
    review(&world, &[], "q\n").ends(0).shows(&["merge 1 of 2"]);
    review(&world, &["--new"], "q\n")
        .ends(0)
        .shows(&["merge 1 of 2"]);
}

#[tokio::test]
async fn a_group_that_changed_meanwhile_is_not_merged() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    decided(&world, &[], "q\n");
    let () = world
        .command(&[
            "JSON.SET",
            "memory:Ana2",
            "$.content",
            "\"Ana likes coffee\"",
        ])
        .await;
    let before = world.memories().await;
    review(&world, &[], "a\n").ends(4).says(&["changed"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn an_edited_text_is_verified_and_then_merged_by_hand() {
    let mut world = World::new().await.set("write_vector", "centroid");
    let mem = |text: &str| twin("alice", text, 0, 4);
    world.put("a", &mem("User is allergic to nuts")).await;
    world.put("b", &mem("User is allergic to eggs")).await;
    let before = world.memories().await;
    // Loses a fact; makes one up; keeps all.
    let answers = "e\nUser is allergic to nuts\ne\nUser is allergic to nuts and milk\n\
                   e\nUser is allergic to nuts and eggs\nq\n";
    let done = review(&world, &["--left"], answers).ends(0);
    assert_eq!(
        done.stderr.matches("this text is not taken").count(),
        2,
        "{done:#?}"
    );
    done.shows(&["written by hand and verified", "left alone 1 of 1"]);
    assert_eq!(world.memories().await, before);
    let answers = "e\nUser is allergic to nuts and eggs\naccept\n";
    let told = decided(&world, &["--left"], answers);
    let id = told["merged"][0]["merge_id"].as_str().unwrap();
    assert_eq!(world.memories().await.len(), 1);
    world
        .run(&["show", id])
        .ends(0)
        .shows(&["written by hand and verified"]);
    world
        .run(&["undo", id, "--reason", "two facts after all"])
        .ends(0);
    assert_eq!(world.memories().await, before);
    world
        .run(&["history"])
        .ends(0)
        .shows(&["undone", "two facts after all"]);
}

#[tokio::test]
async fn a_review_without_anybody_to_answer_is_refused() {
    let world = two_groups().await;
    world
        .run(&["review", "--user", "alice"])
        .ends(2)
        .says(&["no terminal", "--answers"]);
    review(&world, &[], "perhaps\n").ends(2).says(&["brackets"]);
    world
        .run(&["review", "--user", "alice", "--answers", "none.txt"])
        .ends(2)
        .says(&["none.txt"]);
    world
        .run(&["review", "--user", "alic", "--answers", "/dev/null"])
        .ends(8)
        .says(&["did you mean alice?"]);
}

#[tokio::test]
async fn a_text_of_ones_own_is_taken_against_the_verification_by_a_whole_word() {
    let mut world = World::new().await.set("write_vector", "centroid");
    let mem = |text: &str| twin("alice", text, 0, 4);
    world.put("a", &mem("User is allergic to nuts")).await;
    world.put("b", &mem("User is allergic to eggs")).await;
    let before = world.memories().await;
    // Nothing was refused yet.
    review(&world, &["--left"], "anyway\n")
        .ends(2)
        .says(&["no text of yours was refused"]);
    // It is shown again, and still has to be accepted.
    let answers = "e\nUser is allergic to nuts\nanyway\nq\n";
    review(&world, &["--left"], answers)
        .ends(0)
        .says(&["this text is not taken", "eggs"])
        .shows(&["accepted against the verification"]);
    assert_eq!(world.memories().await, before);
    let answers = "e\nUser is allergic to nuts\nanyway\naccept\n";
    let told = decided(&world, &["--left"], answers);
    let id = told["merged"][0]["merge_id"].as_str().unwrap();
    assert_eq!(world.memories().await.len(), 1);
    world.run(&["show", id]).ends(0).shows(&[
        "written by hand and accepted against the verification",
        "eggs",
    ]);
    let record = world.run(&["show", id, "--json"]).ends(0).json();
    let overridden = list(&record["merge"]["author"]["overridden"]);
    assert!(!overridden.is_empty(), "{record:#}");
    // What was left out stays readable beside the result, and in no record.
    let key = record["merge"]["result_key"].as_str().unwrap();
    let stored: String = world.command(&["JSON.GET", key]).await;
    assert!(stored.contains("User is allergic to eggs"), "{stored}");
    let whole = serde_json::to_string(&record["merge"]).unwrap();
    assert!(!whole.contains("User is allergic to eggs"), "{whole}");
    world.run(&["undo", id]).ends(0);
    assert_eq!(world.memories().await, before);
}
