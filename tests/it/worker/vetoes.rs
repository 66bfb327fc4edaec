//! An undone merge stays undone while its members live, whatever else happens.

use super::{Case, until};
use crate::support::store::Mem;

/// Merges by hand and undoes it; gives the merge.
async fn undone(case: &mut Case) -> String {
    let report = case
        .run(&["merge", "--user", "alice", "--json"])
        .ends(0)
        .json();
    let merged = &report["users"][0]["merged"][0]["merge_id"];
    let merge_id = merged.as_str().unwrap().to_owned();
    case.run(&["undo", &merge_id]).ends(0);
    merge_id
}

/// How many vetoes there are, and how many of them run out.
async fn vetoes(case: &mut Case) -> (usize, usize) {
    let keys: Vec<String> = case.redis(&["KEYS", "memfold:veto:*"]).await;
    let mut ending = 0;
    for key in &keys {
        ending += usize::from(case.redis::<i64>(&["PTTL", key]).await > 0);
    }
    (keys.len(), ending)
}

#[tokio::test]
async fn an_undone_merge_is_not_made_again_after_edits_of_metadata_or_with_more_members() {
    let mut case = Case::new().await;
    let keys = case.twins("alice", "tea").await;
    let merge_id = undone(&mut case).await;
    let edit = r#""{\"source\": \"mail\"}""#;
    let _: String = case
        .redis(&["JSON.SET", &keys[0], "$.metadata", edit])
        .await;
    let third = Mem::new("likes tea", &[1.0, 0.0, 0.0, 0.002]);
    let third = case.index.put(&mut case.con, "third", &third).await;
    case.start(&[]);
    case.settled("alice").await;
    assert_eq!(case.count(&keys).await, 2);
    assert!(case.exists(&third).await);
    // Lifted, all three become one.
    case.run(&["undo", "--lift-veto", &merge_id])
        .ends(0)
        .shows(&["may be made again"]);
    case.run(&["undo", "--lift-veto", &merge_id])
        .ends(7)
        .says(&["nothing keeps"]);
    assert_eq!(vetoes(&mut case).await, (0, 0));
    // Nothing in the index has changed, so somebody has to ask for it.
    case.run(&["request", "--user", "alice"]).ends(0);
    let all = [&keys[..], &[third]].concat();
    until("all are one", async || case.count(&all).await == 1).await;
}

#[tokio::test]
async fn a_veto_ends_with_its_members_and_comes_back_with_them() {
    let mut case = Case::new().await;
    let keys = case.twins("alice", "tea").await;
    undone(&mut case).await;
    assert_eq!(vetoes(&mut case).await, (1, 0));
    let document: String = case.redis(&["JSON.GET", &keys[0]]).await;
    let _: u64 = case.redis(&["DEL", &keys[0]]).await;
    case.start(&[]);
    until("the veto runs out", async || {
        vetoes(&mut case).await == (1, 1)
    })
    .await;
    let _: String = case.redis(&["JSON.SET", &keys[0], "$", &document]).await;
    until("the veto stays", async || vetoes(&mut case).await == (1, 0)).await;
    assert_eq!(case.count(&keys).await, 2);
    // Said differently, it is another group.
    let _: String = case
        .redis(&["JSON.SET", &keys[0], "$.content", r#""likes tea""#])
        .await;
    case.run(&["request", "--user", "alice"]).ends(0);
    until("they are one", async || case.count(&keys).await == 1).await;
    // Nothing of it is left when its time is over.
    let sets: Vec<String> = case.redis(&["KEYS", "memfold:vetoes:*"]).await;
    let strings: Vec<String> = case.redis(&["KEYS", "memfold:veto:*"]).await;
    let _: u64 = case.redis(&["DEL", &strings[0]]).await;
    memfold::store::vetoes::trim_orphaned_vetoes(&mut case.con, std::time::Duration::ZERO)
        .await
        .unwrap();
    assert!(!case.exists(&sets[0]).await);
}
