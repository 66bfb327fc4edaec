//! Keys of memfold's own that a server short of memory has evicted.

use super::{Case, until};

#[tokio::test]
async fn a_user_whose_state_is_gone_is_read_again_at_once() {
    let mut case = Case::new().await;
    let keys = case.twins("alice", "tea").await;
    case.start(&[]);
    until("alice is merged", async || case.count(&keys).await == 1).await;
    for _ in 0..2 {
        case.settled("alice").await;
        let states: Vec<String> = case.redis(&["KEYS", "memfold:state:*"]).await;
        let _: u64 = case.redis(&["DEL", &states[0]]).await;
    }
    case.settled("alice").await;
    assert_eq!(case.count(&keys).await, 1);
}

#[tokio::test]
async fn a_worker_carries_on_without_any_key_of_its_own() {
    let mut case = Case::new().await;
    let first = case.twins("first", "tea").await;
    case.start(&[]);
    for user in ["alice", "bob", "carol"] {
        until("the first user is merged", async || {
            case.count(&first).await == 1
        })
        .await;
        let own: Vec<String> = case.redis(&["KEYS", "memfold:*"]).await;
        let kept = |key: &&String| !key.starts_with("memfold:undo:");
        for key in own.iter().filter(kept) {
            let _: u64 = case.redis(&["DEL", key]).await;
        }
        let keys = case.twins(user, "tea").await;
        until("the user is merged", async || case.count(&keys).await == 1).await;
        assert_eq!(case.count(&first).await, 1);
    }
    let done = case.end(0, "-TERM").await.ends(0);
    assert!(!done.stderr.contains("panicked"), "{done:#?}");
}
