//! Memories on several keys, and companions: all of them or none, there and back.

use std::time::Duration;

use memfold::record::{Other, Record, Storage, Stored, record_digest};
use memfold::store::{CommitError, KeyRecord, MergeRecord, Retire, UndoError, originals, show};

use crate::support::merging::{Case, LEDGER, VECTOR};
use crate::support::picture;
use crate::support::store::blob;

/// Two memories, each a document at `memory:` and its vector at `vec:`, and a companion at `link:`.
struct Store {
    case: Case,
    plan: MergeRecord,
    result: Stored,
    companions: Vec<Record>,
}

impl Store {
    async fn new(library: bool) -> Self {
        let mut case = Case::new((Storage::Json, library)).await;
        for (name, fields) in [
            (
                "vec",
                &[
                    "embedding",
                    "VECTOR",
                    "FLAT",
                    "6",
                    "TYPE",
                    "FLOAT32",
                    "DIM",
                    "4",
                    "DISTANCE_METRIC",
                    "COSINE",
                ][..],
            ),
            ("link", &["user_id", "TAG"]),
        ] {
            let prefix = format!("{name}:");
            let head = [
                "FT.CREATE",
                name,
                "ON",
                "HASH",
                "PREFIX",
                "1",
                &prefix,
                "SCHEMA",
            ];
            let _: () = case.run(&[&head[..], fields].concat()).await;
        }
        let keys = case.put(2).await;
        for id in ["1", "2"] {
            put_hash(&mut case, &format!("vec:{id}"), &vector(id)).await;
        }
        put_hash(&mut case, "link:a", &link("1,2")).await;
        let _: () = case.run(&["PEXPIRE", "vec:2", "100000000"]).await;
        let mut plan = case.plan("M1", &keys).await;
        for (source, id) in plan.sources.iter_mut().zip(["1", "2"]) {
            let own = KeyRecord {
                key: source.key.clone(),
                storage: Storage::Json,
                digest: source.digest.clone(),
                expires_at_ms: None,
            };
            let other = pinned(&mut case, &format!("vec:{id}"), &vector(id)).await;
            source.keys = vec![own, other];
        }
        plan.companions = vec![pinned(&mut case, "link:a", &link("1,2")).await];
        let result = Stored {
            record: case.result("merged", &VECTOR),
            others: vec![Other {
                key: "vec:1".into(),
                record: vector("new"),
                expires_at_ms: None,
            }],
        };
        let companions = vec![link("1")];
        Self {
            case,
            plan,
            result,
            companions,
        }
    }

    async fn commit(&mut self) -> Result<(), CommitError> {
        let (result, companions) = (&self.result, &self.companions);
        let window = self.case.window;
        let done = self.case.commit_with(&self.plan, &VECTOR, |commit| {
            commit.result = result;
            commit.companions = companions;
            commit.companion_index = "link";
            commit.vector_index = Some("vec");
            commit.window = window.max(Duration::from_secs(1));
            commit.ledger = LEDGER;
        });
        done.await.map(drop)
    }
}

async fn put_hash(case: &mut Case, key: &str, record: &Record) {
    let Record::Hash(fields) = record else {
        panic!()
    };
    let mut cmd = redis::cmd("HSET");
    cmd.arg(key);
    for (name, value) in fields {
        cmd.arg(name).arg(value);
    }
    cmd.exec_async(&mut case.con).await.unwrap();
}

async fn pinned(case: &mut Case, key: &str, record: &Record) -> KeyRecord {
    let at: i64 = case.run(&["PEXPIRETIME", key]).await;
    KeyRecord {
        key: key.to_owned(),
        storage: Storage::Hash,
        digest: record_digest(record),
        expires_at_ms: (at >= 0).then_some(at),
    }
}

fn vector(of: &str) -> Record {
    let bytes = blob(&VECTOR, "FLOAT32");
    Record::Hash(vec![
        (b"of".to_vec(), of.into()),
        (b"embedding".to_vec(), bytes),
    ])
}

fn link(ids: &str) -> Record {
    let user = (b"user_id".to_vec(), b"alice".to_vec());
    Record::Hash(vec![user, (b"ids".to_vec(), ids.into())])
}

#[tokio::test]
async fn all_keys_are_written_and_come_back_together() {
    for (library, retire) in [
        (true, Retire::Rename),
        (false, Retire::Rename),
        (true, Retire::Dump),
    ] {
        let mut store = Store::new(library).await;
        store.plan.retire = retire;
        let before = picture::all(&mut store.case.con).await;

        store.commit().await.unwrap();

        let after = picture::memories(&mut store.case.con).await;
        assert_eq!(
            after.keys().collect::<Vec<_>>(),
            ["link:a", "memory:1", "vec:1"]
        );
        assert_eq!(after["link:a"].content[1], b"1");
        let stored = show(&mut store.case.con, "M1").await.unwrap().unwrap();
        assert_eq!(stored.more_digests.len(), 2);
        let kept = originals(&mut store.case.con, &stored).await.unwrap();
        let whole = |memory: &Stored| memory.others.len() == 1;
        assert!(kept.iter().flatten().all(whole));
        assert_eq!(
            kept.iter().flatten().count(),
            if retire == Retire::Rename { 2 } else { 0 }
        );

        store.case.undo("M1", false, false).await.unwrap();
        let again = picture::memories(&mut store.case.con).await;
        assert_eq!(again, before);
    }
}

#[tokio::test]
async fn a_change_of_any_key_stops_the_merge() {
    for (key, command) in [
        ("vec:2", &["HSET", "vec:2", "of", "x"][..]),
        ("vec:2", &["DEL", "vec:2"]),
        ("vec:1", &["PEXPIRE", "vec:1", "9000000"]),
        ("link:a", &["HSET", "link:a", "ids", "1,2,3"]),
    ] {
        let mut store = Store::new(true).await;
        let _: () = store.case.run(command).await;
        let before = picture::all(&mut store.case.con).await;
        let error = store.commit().await.unwrap_err();
        assert!(
            matches!(
                &error,
                CommitError::Changed { key: changed, .. } | CommitError::OtherExpiry { key: changed, .. }
                    if changed == key
            ),
            "{error}"
        );
        assert_eq!(picture::all(&mut store.case.con).await, before);
    }
}

#[tokio::test]
async fn a_vector_that_its_index_does_not_find_takes_all_back() {
    let mut store = Store::new(true).await;
    store.result.others[0].record = link("no vector");
    let before = picture::all(&mut store.case.con).await;
    let error = store.commit().await.unwrap_err();
    assert!(matches!(error, CommitError::NotVisible { .. }), "{error}");
    assert_eq!(picture::all(&mut store.case.con).await, before);
}

#[tokio::test]
async fn an_edited_companion_refuses_the_undo_and_stays_by_force() {
    let mut store = Store::new(true).await;
    let before = picture::memories(&mut store.case.con).await;
    store.commit().await.unwrap();
    let _: () = store.case.run(&["HSET", "link:a", "ids", "1,9"]).await;

    let refused = store.case.undo("M1", false, false).await.unwrap_err();
    assert!(
        matches!(&refused, UndoError::EditedCompanion { key, .. } if key == "link:a"),
        "{refused}"
    );
    let told = refused.to_string();
    assert!(
        !told.contains("beside") && told.contains("leaves link:a as it is"),
        "{told}"
    );

    let undone = store.case.undo("M1", true, false).await.unwrap();
    assert_eq!(undone[0].kept_beside, None);
    assert_eq!(undone[0].left_edited, ["link:a"]);
    assert_eq!(undone[0].restored, ["memory:1", "memory:2"]);
    let mut after = picture::memories(&mut store.case.con).await;
    assert_eq!(after["link:a"].content[1], b"1,9");
    after.insert("link:a".into(), before["link:a"].clone());
    assert_eq!(after, before);
}

#[tokio::test]
async fn an_edited_result_goes_beside_with_all_its_keys() {
    let mut store = Store::new(true).await;
    let before = picture::memories(&mut store.case.con).await;
    store.commit().await.unwrap();
    let _: () = store.case.run(&["HSET", "vec:1", "of", "edited"]).await;
    assert!(store.case.undo("M1", false, false).await.is_err());

    store.case.undo("M1", true, false).await.unwrap();
    let mut after = picture::memories(&mut store.case.con).await;
    let beside: Vec<String> = after
        .keys()
        .filter(|k| !before.contains_key(*k))
        .cloned()
        .collect();
    let id = "01K00000000000000000000000";
    assert_eq!(beside, [format!("memory:1:{id}"), format!("vec:1:{id}")]);
    after.retain(|key, _| before.contains_key(key));
    assert_eq!(after, before);
}
