//! Old values and new ones: kept and listed, or the newest wins with its history.

use super::*;

const COLA: &str = "Favourite drink is cola";
const COFFEE: &str = "Favourite drink is coffee";

/// Memories of alice, each far from the others, with these dates.
async fn world(said: &[(&str, &str)]) -> World {
    let mut world = World::new().await;
    for (i, (text, date)) in said.iter().enumerate() {
        let memory = Mem {
            created_at: (*date).to_owned(),
            ..twin("alice", text, i, 4)
        };
        world.put(&i.to_string(), &memory).await;
    }
    world
}

const CHAIN: [(&str, &str); 3] = [
    (COLA, "2026-01-01T10:00:00"),
    (COFFEE, "2026-02-01T10:00:00"),
    (COLA, "2026-03-01T10:00:00"),
];

/// The texts of all memories, and the history in the metadata of the only merged one.
async fn texts_and_history(world: &mut World) -> (Vec<String>, Vec<Value>) {
    let (mut texts, mut history) = (Vec::new(), Vec::new());
    for i in 0..4 {
        let found: Option<String> = world.command(&["JSON.GET", &format!("memory:{i}")]).await;
        let Some(found) = found else { continue };
        let record: Value = serde_json::from_str(&found).unwrap();
        texts.push(record["content"].as_str().unwrap().to_owned());
        let metadata = match &record["metadata"] {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            other => other.clone(),
        };
        history.extend(list(&metadata["memfold"]["history"]).to_vec());
    }
    (texts, history)
}

#[tokio::test]
async fn by_default_both_stay_and_are_listed() {
    let mut world = world(&CHAIN[..2]).await;
    let before = world.memories().await;
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 0, "{report:#}");
    assert_eq!(world.memories().await, before);
    let listed = world
        .run(&["conflicts", "--user", "alice", "--json"])
        .ends(0);
    let conflicts = listed.json()["conflicts"].clone();
    assert_eq!(list(&conflicts).len(), 1, "{conflicts:#}");
    assert_eq!(conflicts[0]["reason"], "conflict");
    let texts: Vec<&Value> = list(&conflicts[0]["members"])
        .iter()
        .map(|m| &m["text"])
        .collect();
    assert_eq!(texts, [COLA, COFFEE]);
    let shown = world.run(&["conflicts", "--user", "alice"]).ends(0);
    assert!(shown.stdout.contains(COFFEE), "{}", shown.stdout);
}

#[tokio::test]
async fn the_newest_wins_and_keeps_the_whole_history() {
    let mut world = world(&CHAIN).await.set("conflicts", "latest");
    let before = world.memories().await;
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
    let (texts, history) = texts_and_history(&mut world).await;
    assert_eq!(texts, [COLA]);
    let past: Vec<(&str, &str)> = history
        .iter()
        .map(|past| {
            (
                past["text"].as_str().unwrap(),
                past["said_at"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        past,
        [
            (COLA, "2026-01-01T10:00:00Z"),
            (COFFEE, "2026-02-01T10:00:00Z")
        ]
    );
    world.run(&["undo", "--run", run_id(&report)]).ends(0);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_value_that_comes_later_takes_the_history_over() {
    let mut world = world(&CHAIN[..2]).await.set("conflicts", "latest");
    world.merge("alice");
    let (texts, history) = texts_and_history(&mut world).await;
    assert_eq!((texts, history.len()), (vec![COFFEE.to_owned()], 1));
    let again = Mem {
        created_at: CHAIN[2].1.to_owned(),
        ..twin("alice", COLA, 2, 4)
    };
    world.put("2", &again).await;
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
    let (texts, history) = texts_and_history(&mut world).await;
    assert_eq!((texts, history.len()), (vec![COLA.to_owned()], 2));
    // Nothing is left to do.
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 0, "{report:#}");
}

#[tokio::test]
async fn what_has_no_order_is_left_alone() {
    for date in ["2026-01-01T10:00:00", ""] {
        let mut world = world(&[CHAIN[0], (COFFEE, date)])
            .await
            .set("conflicts", "latest");
        let before = world.memories().await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), 0, "{report:#}");
        let reasons: Vec<&Value> = list(&report["plan"]["groups_left"])
            .iter()
            .map(|group| &group["reason"])
            .collect();
        assert!(
            reasons.iter().any(|r| **r == "conflict-undated"),
            "{report:#}"
        );
        assert_eq!(world.memories().await, before);
    }
}
