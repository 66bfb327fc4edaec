//! The commit: all of it or nothing, whatever goes wrong.

use memfold::record::{Record, Storage, Stored, record_digest};
use memfold::store::{
    CommitError, Committed, Neighbours, Retire, State, StoreError, history, originals, show,
    vetoes::lift_veto,
};
use redis::aio::ConnectionLike;

use crate::support::merging::{Case, KINDS, VECTOR, WINDOW};
use crate::support::picture;
use crate::support::store::{Index, Mem};

#[tokio::test]
async fn the_result_is_in_place_and_the_sources_are_in_the_undo_store() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(3).await;
        let before = picture::all(&mut case.con).await;
        let sources: Vec<Record> = read_all(&mut case, &keys).await;
        let plan = case.plan("M1", &keys).await;

        assert_eq!(case.commit(&plan).await.unwrap(), Committed::Merged);

        assert_eq!(
            picture::memories(&mut case.con)
                .await
                .keys()
                .collect::<Vec<_>>(),
            [&keys[0]]
        );
        assert_eq!(case.indexed().await, [keys[0].clone()]);
        let result = case.read(&keys[0]).await;
        let stored = show(&mut case.con, "M1").await.unwrap().unwrap();
        assert_eq!(stored.state, State::Merged);
        assert_eq!(stored.merge, plan);
        assert_eq!(stored.result_digest, record_digest(&result));
        let kept = originals(&mut case.con, &stored).await.unwrap();
        let expected = sources.into_iter().map(|record| Some(record.into()));
        assert_eq!(kept, expected.collect::<Vec<_>>());
        for key in &keys {
            let copy = format!("memfold:undo:M1:{{{key}}}");
            assert_eq!(
                picture::entry(&mut case.con, &copy).await.unwrap().content,
                before[key].content
            );
            let ttl: i64 = case.run(&["PTTL", &copy]).await;
            let window = WINDOW.as_millis() as i64;
            assert!((window - 60_000..=window).contains(&ttl), "{ttl}");
        }
        let entries = history(&mut case.con, Some("alice"), 10).await.unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(
            (entries[0].merge_id.as_str(), entries[0].retired),
            ("M1", 3)
        );
        assert!(
            history(&mut case.con, Some("bob"), 10)
                .await
                .unwrap()
                .is_empty()
        );
    }
}

#[tokio::test]
async fn another_client_reads_what_was_written() {
    use fred::prelude::*;
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(2).await;
        let plan = case.plan("M1", &keys).await;
        case.commit(&plan).await.unwrap();

        let config =
            Config::from_url(&format!("redis://127.0.0.1:{}", case.server.port())).unwrap();
        let config = Config {
            version: fred::types::RespVersion::RESP3,
            ..config
        };
        let client = Builder::from_config(config).build().unwrap();
        client.init().await.unwrap();
        let args: Vec<Value> = match case.index.storage {
            Storage::Json => vec!["memory:1".into(), "$.content".into()],
            Storage::Hash => vec!["memory:1".into(), "content".into()],
        };
        let get = if case.index.storage == Storage::Json {
            "JSON.GET"
        } else {
            "HGET"
        };
        let command =
            fred::types::CustomCommand::new_static(get, fred::types::ClusterHash::FirstKey, false);
        let text: String = client.custom(command, args).await.unwrap();
        assert!(text == "merged" || text == r#"["merged"]"#, "{text}");
        let record: String = client.get("memfold:merge:M1").await.unwrap();
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["state"], "merged");
        assert_eq!(record["merge"]["sources"][1]["key"], "memory:2");
        let length: usize = client.xlen("memfold:ledger").await.unwrap();
        assert_eq!(length, 1);
        client.quit().await.unwrap();
    }
}

#[tokio::test]
async fn the_same_merge_id_is_used_once() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(3).await;
        let plan = case.plan("M1", &keys).await;
        case.commit(&plan).await.unwrap();
        let before = picture::all(&mut case.con).await;
        assert_eq!(case.commit(&plan).await.unwrap(), Committed::Already);
        assert_eq!(picture::all(&mut case.con).await, before);
        case.undo("M1", false, false).await.unwrap();
        let before = picture::all(&mut case.con).await;
        assert!(matches!(case.commit(&plan).await, Err(CommitError::Undone(id)) if id == "M1"));
        assert_eq!(picture::all(&mut case.con).await, before);
    }
}

/// What may happen to a source between the snapshot and the commit.
async fn disturb(case: &mut Case, how: &str, key: &str) {
    match (how, case.index.storage) {
        ("edit", Storage::Json) => {
            case.run::<()>(&["JSON.SET", key, "$.metadata", "\"{}\""])
                .await;
        }
        ("edit", Storage::Hash) => case.run::<()>(&["HSET", key, "metadata", "{}"]).await,
        ("delete", _) => case.run::<()>(&["DEL", key]).await,
        ("retype", _) => case.run::<()>(&["SET", key, "text"]).await,
        ("expire", _) => case.run::<()>(&["EXPIRE", key, "1000"]).await,
        ("swap", Storage::Json) => {
            case.run::<()>(&["DEL", key]).await;
            case.run::<()>(&["HSET", key, "content", "fact 2"]).await;
        }
        ("swap", Storage::Hash) => {
            case.run::<()>(&["DEL", key]).await;
            case.run::<()>(&["JSON.SET", key, "$", "{}"]).await;
        }
        _ => panic!("{how}"),
    }
}

#[tokio::test]
async fn a_source_that_is_not_what_was_judged_stops_the_merge() {
    for kind in KINDS {
        for how in ["edit", "delete", "retype", "expire", "swap"] {
            let mut case = Case::new(kind).await;
            let keys = case.put(3).await;
            let plan = case.plan("M1", &keys).await;
            disturb(&mut case, how, &keys[1]).await;
            let before = picture::all(&mut case.con).await;
            match case.commit(&plan).await {
                Err(CommitError::Changed { key, .. } | CommitError::OtherExpiry { key }) => {
                    assert_eq!(key, keys[1], "{how}");
                }
                other => panic!("{how}: {other:?}"),
            }
            assert_eq!(picture::all(&mut case.con).await, before, "{how}");
        }
    }
}

#[tokio::test]
async fn a_field_that_expires_by_itself_stops_the_merge() {
    let mut case = Case::new((Storage::Hash, true)).await;
    let keys = case.put(2).await;
    let hexpire = ["HEXPIRE", &keys[1], "1000", "FIELDS", "1", "thread_id"];
    case.run::<redis::Value>(&["HSET", &keys[1], "thread_id", "t1"])
        .await;
    case.run::<redis::Value>(&hexpire).await;
    let plan = case.plan("M1", &keys).await;
    let before = picture::all(&mut case.con).await;

    let error = case.commit(&plan).await.unwrap_err();

    assert!(
        matches!(&error, CommitError::ExpiringFields { key } if *key == keys[1]),
        "{error}"
    );
    assert_eq!(picture::all(&mut case.con).await, before);
}

#[tokio::test]
async fn a_key_in_the_way_stops_the_merge() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(2).await;
        let plan = case.plan("M1", &keys).await;
        case.run::<()>(&["SET", "memfold:undo:M1:{memory:2}", "x"])
            .await;
        let before = picture::all(&mut case.con).await;
        match case.commit(&plan).await {
            Err(CommitError::Taken { key }) => assert_eq!(key, "memfold:undo:M1:{memory:2}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(picture::all(&mut case.con).await, before);
    }
}

#[tokio::test]
async fn a_result_that_the_index_drops_is_taken_back_whole() {
    for kind in KINDS {
        for retire in [Retire::Rename, Retire::Dump, Retire::Delete] {
            let mut case = Case::new(kind).await;
            let keys = case.put(3).await;
            case.run::<()>(&["PEXPIREAT", &keys[1], "4000000000123"])
                .await;
            let mut plan = case.plan("M1", &keys).await;
            plan.retire = retire;
            plan.parents = vec!["M0".to_owned()];
            let before = picture::all(&mut case.con).await;
            let short = case.commit_with(&plan, &[1.0, 0.0, 0.0], |_| ()).await;
            assert!(
                matches!(&short, Err(CommitError::NotVisible { key, .. }) if *key == keys[0]),
                "{short:?}"
            );
            let unknown = case
                .commit_with(&plan, &VECTOR, |c| c.vector_field = "vektor")
                .await;
            assert!(
                matches!(unknown, Err(CommitError::NotVisible { .. })),
                "{unknown:?}"
            );
            let late = case
                .commit_with(&plan, &VECTOR, |c| c.expires_at_ms = Some(1000))
                .await;
            assert!(
                matches!(late, Err(CommitError::NotVisible { .. })),
                "{late:?}"
            );
            assert_eq!(picture::all(&mut case.con).await, before);
            assert_eq!(case.indexed().await, keys);
            assert_eq!(case.commit(&plan).await.unwrap(), Committed::Merged);
        }
    }
}

#[tokio::test]
async fn a_result_is_found_among_twins_by_every_kind_of_index() {
    for (storage, algorithm, dtype) in [
        (Storage::Json, "FLAT", "FLOAT32"),
        (Storage::Json, "HNSW", "FLOAT64"),
        (Storage::Json, "HNSW", "BFLOAT16"),
        (Storage::Hash, "FLAT", "FLOAT16"),
        (Storage::Hash, "HNSW", "FLOAT32"),
        (Storage::Hash, "HNSW", "BFLOAT16"),
    ] {
        let index = Index {
            storage,
            algorithm,
            dtype,
            ..Index::json()
        };
        let server = crate::support::server::Server::start();
        let mut case = Case::over(index, true, server).await;
        // Fifty documents with the very vector of the result.
        for i in 10..60 {
            let memory = Mem::new("twin", &VECTOR);
            case.index.put(&mut case.con, &i.to_string(), &memory).await;
        }
        let keys = case.put(2).await;
        let plan = case.plan("M1", &keys).await;
        assert_eq!(
            case.commit(&plan).await.unwrap(),
            Committed::Merged,
            "{algorithm} {dtype}"
        );
        case.undo("M1", false, false).await.unwrap();
        let mut plan = case.plan("M2", &keys).await;
        plan.result_key = keys[1].clone();
        assert!(lift_veto(&mut case.con, "M1").await.unwrap());
        let after = case.commit_with(&plan, &VECTOR, |c| c.check_after = true);
        assert_eq!(
            after.await.unwrap(),
            Committed::Merged,
            "{algorithm} {dtype}"
        );
    }
}

#[tokio::test]
async fn a_check_after_the_commit_takes_it_back_without_a_veto() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(2).await;
        let plan = case.plan("M1", &keys).await;
        let before = picture::memories(&mut case.con).await;
        let short = case
            .commit_with(&plan, &[1.0, 0.0, 0.0], |c| c.check_after = true)
            .await;
        assert!(
            matches!(short, Err(CommitError::NotVisible { .. })),
            "{short:?}"
        );
        assert_eq!(picture::memories(&mut case.con).await, before);
        let again = case.plan("M2", &keys).await;
        assert_eq!(case.commit(&again).await.unwrap(), Committed::Merged);
    }
}

#[tokio::test]
async fn expiries_are_recorded_and_the_result_gets_its_own() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(2).await;
        let at = 4_000_000_000_123;
        case.run::<()>(&["PEXPIREAT", &keys[1], &at.to_string()])
            .await;
        let plan = case.plan("M1", &keys).await;
        case.commit_with(&plan, &VECTOR, |c| c.expires_at_ms = Some(at - 7))
            .await
            .unwrap();
        let result = picture::entry(&mut case.con, &keys[0]).await.unwrap();
        assert_eq!(result.expires_at_ms, at - 7);
    }
}

#[tokio::test]
async fn at_the_memory_limit_nothing_is_written_but_undo_works() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(4).await;
        let before = picture::memories(&mut case.con).await;
        let first = case.plan("M1", &keys[..2]).await;
        case.commit(&first).await.unwrap();
        let second = case.plan("M2", &keys[2..]).await;
        case.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
        let full = picture::all(&mut case.con).await;
        let refused = case.commit(&second).await;
        assert!(
            matches!(refused, Err(CommitError::Store(StoreError::OutOfMemory(_)))),
            "{refused:?}"
        );
        assert_eq!(picture::all(&mut case.con).await, full);
        // A process that starts now cannot load the library, and yet must be able to undo.
        case.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
        let mut admin = case.server.connect().await;
        redis::cmd("FUNCTION")
            .arg("FLUSH")
            .exec_async(&mut admin)
            .await
            .unwrap();
        case.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
        case.undo("M1", false, false).await.unwrap();
        assert_eq!(picture::memories(&mut case.con).await, before);
    }
}

#[tokio::test]
async fn a_replica_refuses_and_nothing_is_written() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(2).await;
        let plan = case.plan("M1", &keys).await;
        let before = picture::all(&mut case.con).await;
        // The port of discard: nobody answers, the data stay.
        case.run::<()>(&["REPLICAOF", "127.0.0.1", "9"]).await;
        let refused = case.commit(&plan).await;
        assert!(
            matches!(refused, Err(CommitError::Store(StoreError::ReadOnly(_)))),
            "{refused:?}"
        );
        case.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
        assert_eq!(picture::all(&mut case.con).await, before);
        assert_eq!(case.commit(&plan).await.unwrap(), Committed::Merged);
    }
}

#[tokio::test]
async fn a_refused_write_takes_back_those_before_it() {
    for storage in [Storage::Json, Storage::Hash] {
        for denied in ["-json.set -hset", "-set", "-xadd", "-unlink", "-pexpireat"] {
            let mut case = Case::new((storage, true)).await;
            let keys = case.put(3).await;
            case.run::<()>(&["PEXPIREAT", &keys[1], "4000000000123"])
                .await;
            let plan = case.plan("M1", &keys).await;
            let before = picture::all(&mut case.con).await;
            let mut acl = vec!["ACL", "SETUSER", "poor", "on", ">secret", "~*", "+@all"];
            acl.extend(denied.split(' '));
            case.run::<()>(&acl).await;
            let admin = case.con.clone();
            let url = case.server.url_as("poor", "secret");
            case.con = crate::support::server::connect(&url).await;
            let refused = case
                .commit_with(&plan, &VECTOR, |c| {
                    c.expires_at_ms = Some(4_000_000_000_000)
                })
                .await;
            assert!(
                matches!(refused, Err(CommitError::Refused(_))),
                "{denied}: {refused:?}"
            );
            case.con = admin;
            assert_eq!(picture::all(&mut case.con).await, before, "{denied}");
            assert_eq!(case.indexed().await, keys);
        }
    }
}

#[tokio::test]
async fn of_two_commits_of_one_group_one_wins() {
    for kind in KINDS {
        let mut case = Case::new(kind).await;
        let keys = case.put(3).await;
        let plans = [
            case.plan("M1", &keys).await,
            case.plan("M2", &keys[1..]).await,
        ];
        let mut con = crate::support::server::connect(&case.server.url()).await;
        let functions = memfold::store::Functions::load(&mut con).await.unwrap();
        let mut other = Case {
            server: crate::support::server::Server::start(),
            con,
            functions,
            index: case.index.clone(),
            window: WINDOW,
        };
        let (a, b) = tokio::join!(case.commit(&plans[0]), other.commit(&plans[1]));
        assert_eq!(
            [&a, &b].iter().filter(|r| r.is_ok()).count(),
            1,
            "{a:?} {b:?}"
        );
        let loser = if a.is_ok() { b } else { a };
        assert!(
            matches!(loser, Err(CommitError::Changed { .. })),
            "{loser:?}"
        );
    }
}

#[tokio::test]
async fn digests_are_the_same_on_both_sides() {
    let mut case = Case::new((Storage::Hash, true)).await;
    let key = case.put(1).await.remove(0);
    let mut cmd = redis::cmd("HSET");
    cmd.arg(&key);
    for name in [
        "", "a", "B", "b", "Z", "z", "é", "ä", "用户", "a\0", "a\0b", "_", "~", "10", "9",
    ] {
        cmd.arg(name).arg(&[0_u8, 255, 10, 13]);
    }
    for i in 0..3000_u32 {
        cmd.arg(&i.to_be_bytes()[..]).arg(i);
    }
    cmd.exec_async(&mut case.con).await.unwrap();
    let plan = case.plan("M1", std::slice::from_ref(&key)).await;
    assert_eq!(case.commit(&plan).await.unwrap(), Committed::Merged);

    let mut case = Case::new((Storage::Json, true)).await;
    let key = case.put(1).await.remove(0);
    let odd =
        r#"{"a":[],"b":{},"n":12345678901234567890123,"f":0.1,"s":"用户 \u0000 \" \\","e":1e-300}"#;
    case.run::<()>(&["JSON.SET", &key, "$.metadata", odd]).await;
    let plan = case.plan("M1", &[key]).await;
    assert_eq!(case.commit(&plan).await.unwrap(), Committed::Merged);
}

#[tokio::test]
async fn a_large_hash_is_written_whole() {
    let mut case = Case::new((Storage::Hash, true)).await;
    let keys = case.put(2).await;
    let plan = case.plan("M1", &keys).await;
    let Record::Hash(mut fields) = case.result("merged", &VECTOR) else {
        panic!()
    };
    for i in 0..20_000_u32 {
        fields.push((format!("field {i}").into_bytes(), i.to_le_bytes().to_vec()));
    }
    let result = Record::Hash(fields);
    let before = picture::all(&mut case.con).await;
    // Without its vector it is not visible: all chunks must go again.
    let mut blind = result.clone();
    if let Record::Hash(fields) = &mut blind {
        fields.retain(|(name, _)| name != b"embedding");
    }
    let [blind, stored] = [blind, result.clone()].map(Stored::from);
    let refused = case
        .commit_with(&plan, &VECTOR, |c| c.result = &blind)
        .await;
    assert!(
        matches!(refused, Err(CommitError::NotVisible { .. })),
        "{refused:?}"
    );
    assert_eq!(picture::all(&mut case.con).await, before);
    case.commit_with(&plan, &VECTOR, |c| c.result = &stored)
        .await
        .unwrap();
    let stored = show(&mut case.con, "M1").await.unwrap().unwrap();
    assert_eq!(stored.result_digest, record_digest(&result));
}

async fn taking_undo(con: &mut impl ConnectionLike, storage: Storage) -> Option<String> {
    let neighbours = Neighbours::over(con, &[storage]).await.unwrap();
    neighbours.taking_undo().map(str::to_owned)
}

#[tokio::test]
async fn an_index_that_covers_the_undo_store_is_named() {
    for storage in [Storage::Json, Storage::Hash] {
        let mut case = Case::new((storage, true)).await;
        assert_eq!(taking_undo(&mut case.con, storage).await, None);
        let other = if storage == Storage::Json {
            Storage::Hash
        } else {
            Storage::Json
        };
        for (name, storage, prefixes) in [
            ("of_other_type", other, vec![]),
            ("beside", storage, vec!["memfold:demo:".to_owned()]),
        ] {
            let index = Index {
                name: name.to_owned(),
                storage,
                prefixes,
                ..Index::json()
            };
            index.create(&mut case.con).await;
        }
        assert_eq!(taking_undo(&mut case.con, storage).await, None);
        for prefixes in [
            vec![],
            vec!["x".to_owned(), "mem".to_owned()],
            vec!["memfold:undo:0".to_owned()],
        ] {
            let index = Index {
                name: "wide".to_owned(),
                storage,
                prefixes,
                ..Index::json()
            };
            index.create(&mut case.con).await;
            // In both protocols.
            for url in [
                case.server.url(),
                case.server.url().replace("resp3", "resp2"),
            ] {
                let mut con = crate::support::server::connect(&url).await;
                let found = taking_undo(&mut con, storage).await;
                assert_eq!(found.as_deref(), Some("wide"));
            }
            case.run::<()>(&["FT.DROPINDEX", "wide"]).await;
        }
        // One that may not be seen might be one.
        let rules = "on >pw ~memfold:* ~agent_memories +@all";
        let words: Vec<&str> = ["ACL", "SETUSER", "app"]
            .into_iter()
            .chain(rules.split(' '))
            .collect();
        case.run::<()>(&words).await;
        let mut con = crate::support::server::connect(&case.server.url_as("app", "pw")).await;
        let found = taking_undo(&mut con, storage).await;
        assert!(["beside", "of_other_type"].contains(&found.as_deref().unwrap()));
    }
}

async fn read_all(case: &mut Case, keys: &[String]) -> Vec<Record> {
    let mut records = Vec::new();
    for key in keys {
        records.push(case.read(key).await);
    }
    records
}
