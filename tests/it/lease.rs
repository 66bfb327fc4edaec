//! Leases: one owner at a time, and no commit by one that lost its lease.

use std::time::Duration;

use memfold::store::{
    CommitError, Committed, Functions, Lease, LeaseError, compared, remember_compared,
};
use redis::aio::ConnectionManager;

use crate::support::merging::{Case, KINDS, VECTOR};
use crate::support::picture;

const TTL: Duration = Duration::from_secs(30);

async fn acquire(case: &mut Case, owner: &str, ttl: Duration) -> Result<Lease, LeaseError> {
    Lease::acquire(&mut case.con, &case.functions, "alice|x}", owner, ttl).await
}

/// Ends a lease as its expiry would.
async fn run_out(con: &mut ConnectionManager) {
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("memfold:lease:*")
        .query_async(con)
        .await
        .unwrap();
    redis::cmd("DEL").arg(keys).exec_async(con).await.unwrap();
}

#[tokio::test]
async fn a_lease_has_one_owner_until_it_is_given_back() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let first = acquire(&mut case, "a:1", TTL).await.unwrap();
        match acquire(&mut case, "b", TTL).await {
            Err(LeaseError::Held { owner, remaining }) => {
                assert_eq!(owner, "a:1");
                assert!(remaining <= TTL && remaining > TTL / 2, "{remaining:?}");
            }
            other => panic!("{other:?}"),
        }
        let elsewhere = Lease::acquire(&mut case.con, &case.functions, "bob", "b", TTL)
            .await
            .unwrap();
        assert!(elsewhere.fence() > first.fence());
        first
            .renew(&mut case.con, &case.functions, TTL * 2)
            .await
            .unwrap();
        first.release(&mut case.con, &case.functions).await.unwrap();
        let second = acquire(&mut case, "b", TTL).await.unwrap();
        assert!(second.fence() > elsewhere.fence());
    }
}

#[tokio::test]
async fn a_lease_that_ran_out_is_neither_renewed_nor_released() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let old = acquire(&mut case, "a", TTL).await.unwrap();
        run_out(&mut case.con).await;
        // The same owner again: the fence tells the leases apart.
        let new = acquire(&mut case, "a", TTL).await.unwrap();
        let before = picture::all(&mut case.con).await;
        let renewed = old.renew(&mut case.con, &case.functions, TTL).await;
        assert!(matches!(renewed, Err(LeaseError::Lost)), "{renewed:?}");
        let released = old.release(&mut case.con, &case.functions).await;
        assert!(matches!(released, Err(LeaseError::Lost)), "{released:?}");
        assert_eq!(picture::all(&mut case.con).await, before);
        new.release(&mut case.con, &case.functions).await.unwrap();
    }
}

#[tokio::test]
async fn a_lease_ends_by_itself() {
    let mut case = Case::new(KINDS[0]).await;
    acquire(&mut case, "a", Duration::from_millis(1))
        .await
        .unwrap();
    let start = std::time::Instant::now();
    while acquire(&mut case, "b", TTL).await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_paused_holder_cannot_commit() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(2).await;
        let plan = case.plan("M1", &keys).await;
        let old = acquire(&mut case, "a", TTL).await.unwrap();
        run_out(&mut case.con).await;
        let before = picture::all(&mut case.con).await;
        let late = case
            .commit_with(&plan, &VECTOR, |c| c.lease = Some(&old))
            .await;
        assert!(
            matches!(late, Err(CommitError::Fenced { holder: None })),
            "{late:?}"
        );
        assert_eq!(picture::all(&mut case.con).await, before);

        let new = acquire(&mut case, "b", TTL).await.unwrap();
        let late = case
            .commit_with(&plan, &VECTOR, |c| c.lease = Some(&old))
            .await;
        assert!(
            matches!(late, Err(CommitError::Fenced { holder: Some(_) })),
            "{late:?}"
        );
        let done = case
            .commit_with(&plan, &VECTOR, |c| c.lease = Some(&new))
            .await;
        assert_eq!(done.unwrap(), Committed::Merged);
        // A merge that was made is made, whoever asks.
        let again = case
            .commit_with(&plan, &VECTOR, |c| c.lease = Some(&old))
            .await;
        assert_eq!(again.unwrap(), Committed::Already);
    }
}

#[tokio::test]
async fn a_lost_library_is_loaded_again() {
    let mut case = Case::new(KINDS[0]).await;
    redis::cmd("FUNCTION")
        .arg("FLUSH")
        .exec_async(&mut case.con)
        .await
        .unwrap();
    acquire(&mut case, "a", TTL).await.unwrap();
    let functions = Functions::load(&mut case.con).await.unwrap();
    assert_eq!(functions.wrapper(), case.functions.wrapper());
}

#[tokio::test]
async fn what_was_compared_is_remembered_under_the_lease_and_nothing_depends_on_it() {
    let [kind, ..] = KINDS;
    let mut case = Case::new(kind).await;
    let lease = acquire(&mut case, "a", TTL).await.unwrap();
    assert_eq!(compared(&mut case.con, "alice").await.unwrap(), None);
    for bytes in [&b"once"[..], b"again"] {
        let (con, functions) = (&mut case.con, &case.functions);
        remember_compared(con, functions, &lease, "alice", bytes, TTL)
            .await
            .unwrap();
        let known = compared(con, "alice").await.unwrap();
        assert_eq!(known.as_deref(), Some(bytes));
        // Something else in its place is no knowledge, and no error.
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg("memfold:compared:*")
            .query_async(con)
            .await
            .unwrap();
        redis::cmd("DEL").arg(&keys).exec_async(con).await.unwrap();
        let mut push = redis::cmd("RPUSH");
        push.arg(&keys).arg("x").exec_async(con).await.unwrap();
        assert_eq!(compared(con, "alice").await.unwrap(), None);
    }
}
