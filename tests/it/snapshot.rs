//! The snapshot against the real server: complete or refused, and exactly one user's memories.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::tz::TimeZone;
use memfold::layout::redisvl::{Redisvl, RedisvlFields};
use memfold::layout::{
    CannotWrite, FieldUse, Layout, Leaf, Listing, Merged, NotRead, Reading, Source,
};
use memfold::memory::Reason;
use memfold::record::{Metric, Storage, Stored, record_digest};
use memfold::store::StoreError;
use memfold::store::index::index_facts;
use memfold::store::listing::users;
use memfold::store::records::{LoadError, load};
use memfold::store::snapshot::{Snapshot, snapshot};
use redis::aio::ConnectionManager;
use serde_json::json;

use crate::support::server::Server;
use crate::support::store::{Index, Mem, blob, pin};

const X: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

async fn layout(con: &mut ConnectionManager, index: &Index) -> Result<Redisvl, StoreError> {
    let facts = index_facts(con, &index.name).await?;
    Ok(Redisvl::new(
        &RedisvlFields::default(),
        &facts,
        TimeZone::UTC,
    )?)
}

/// Makes an index and waits until it has looked at the keys that are there.
async fn create(con: &mut ConnectionManager, index: &Index) {
    index.create(con).await;
    while index_facts(con, &index.name).await.unwrap().indexing {}
}

async fn take(
    con: &mut ConnectionManager,
    index: &Index,
    user: &str,
) -> Result<Snapshot, StoreError> {
    let facts = index_facts(con, &index.name).await?;
    let layout = layout(con, index).await?;
    snapshot(con, &facts, &layout, user).await
}

fn keys(snapshot: &Snapshot) -> Vec<&str> {
    snapshot
        .memories
        .iter()
        .map(|memory| memory.key.as_str())
        .collect()
}

fn reasons(snapshot: &Snapshot) -> BTreeMap<&str, Reason> {
    snapshot
        .left_alone
        .iter()
        .map(|left| (left.key.as_str(), left.reason))
        .collect()
}

fn of(user: &str) -> Mem {
    Mem {
        user: user.to_owned(),
        ..Mem::new("likes window seats", &X)
    }
}

async fn run(con: &mut ConnectionManager, words: &[&str]) {
    redis::cmd(words[0])
        .arg(&words[1..])
        .exec_async(con)
        .await
        .unwrap();
}

async fn put_json(con: &mut ConnectionManager, key: &str, document: serde_json::Value) {
    run(con, &["JSON.SET", key, "$", &document.to_string()]).await;
}

#[tokio::test]
async fn documents_that_take_no_part_say_why() {
    let server = Server::start();
    let mut con = server.connect().await;
    let index = Index::json();
    create(&mut con, &index).await;
    index.put(&mut con, "good", &of("alice")).await;
    index.put(&mut con, "folded", &of("Alice")).await;
    index.put(&mut con, "other", &of("bob")).await;
    index.put(&mut con, "split", &of("alice,bob")).await;
    index
        .put(
            &mut con,
            "empty",
            &Mem {
                text: " ".into(),
                ..of("alice")
            },
        )
        .await;
    index
        .put(
            &mut con,
            "zero",
            &Mem {
                vector: vec![0.0; 4],
                ..of("alice")
            },
        )
        .await;
    index
        .put(
            &mut con,
            "half",
            &Mem {
                vector: vec![1.0, 0.0],
                ..of("alice")
            },
        )
        .await;
    let document = |more: serde_json::Value| {
        let mut document = json!({"content": "a", "user_id": "alice", "embedding": X});
        document
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        document
    };
    put_json(
        &mut con,
        "memory:vectorless",
        document(json!({"embedding": null})),
    )
    .await;
    put_json(&mut con, "memory:number", document(json!({"content": 7}))).await;
    put_json(
        &mut con,
        "memory:unindexed",
        document(json!({"metadata": {"a": 1}})),
    )
    .await;
    put_json(
        &mut con,
        "memory:tags",
        document(json!({"user_id": ["alice", "bob"]})),
    )
    .await;
    put_json(
        &mut con,
        "memory:note",
        json!({"note": 1, "content": {"a": 1}}),
    )
    .await;
    put_json(
        &mut con,
        "memory:bobs",
        document(json!({"user_id": "bob", "metadata": 1})),
    )
    .await;
    let not_utf8 = [&b"memory:"[..], &[0xff]].concat();
    let text = document(json!({})).to_string();
    redis::cmd("JSON.SET")
        .arg(not_utf8)
        .arg("$")
        .arg(text)
        .exec_async(&mut con)
        .await
        .unwrap();
    // Bookkeeping of the agent beside its memories.
    run(&mut con, &["SET", "memory:last_processed", "x"]).await;
    run(&mut con, &["HSET", "memory:hash", "content", "x"]).await;

    let snapshot = take(&mut con, &index, "alice").await.unwrap();
    assert_eq!(keys(&snapshot), ["memory:good"]);
    let expected = BTreeMap::from([
        ("memory:empty", Reason::EmptyText),
        ("memory:folded", Reason::ForeignUser),
        ("memory:half", Reason::BadVector),
        ("memory:note", Reason::Malformed),
        ("memory:number", Reason::Malformed),
        ("memory:split", Reason::ForeignUser),
        ("memory:tags", Reason::Malformed),
        ("memory:unindexed", Reason::NotIndexed),
        ("memory:vectorless", Reason::NoVector),
        ("memory:zero", Reason::BadVector),
        ("memory:\u{fffd}", Reason::NotUtf8),
    ]);
    assert_eq!(reasons(&snapshot), expected);
    assert_eq!(snapshot.similar_users, ["Alice", "alice,bob"]);
    assert_eq!(snapshot.foreign, 1, "the unindexed one of bob");
}

#[tokio::test]
async fn hashes_that_take_no_part_say_why() {
    let server = Server::start();
    let mut con = server.connect().await;
    let index = Index::hash();
    create(&mut con, &index).await;
    index.put(&mut con, "good", &of("alice")).await;
    index
        .put(
            &mut con,
            "nan",
            &Mem {
                vector: vec![f32::NAN; 4],
                ..of("alice")
            },
        )
        .await;
    index
        .put(
            &mut con,
            "half",
            &Mem {
                vector: vec![1.0, 0.0],
                ..of("alice")
            },
        )
        .await;
    index
        .put(
            &mut con,
            "zero",
            &Mem {
                vector: vec![0.0; 4],
                ..of("alice")
            },
        )
        .await;
    index
        .put(
            &mut con,
            "empty",
            &Mem {
                text: String::new(),
                ..of("alice")
            },
        )
        .await;
    run(
        &mut con,
        &[
            "HSET",
            "memory:vectorless",
            "content",
            "a",
            "user_id",
            "alice",
        ],
    )
    .await;
    run(
        &mut con,
        &[
            "HSET",
            "memory:text",
            "content",
            "a",
            "user_id",
            "alice",
            "embedding",
            "[1,0]",
        ],
    )
    .await;
    run(
        &mut con,
        &["HSET", "memory:meta", "next", "7", "embedding", "x"],
    )
    .await;
    index.put(&mut con, "latin", &of("alice")).await;
    let latin = redis::cmd("HSET")
        .arg("memory:latin")
        .arg("content")
        .arg(b"caf\xe9")
        .clone();
    latin.exec_async(&mut con).await.unwrap();

    let snapshot = take(&mut con, &index, "alice").await.unwrap();
    assert_eq!(keys(&snapshot), ["memory:good"]);
    let expected = BTreeMap::from([
        ("memory:empty", Reason::EmptyText),
        ("memory:half", Reason::BadVector),
        ("memory:latin", Reason::NotUtf8),
        ("memory:meta", Reason::NotAMemory),
        ("memory:nan", Reason::BadVector),
        ("memory:text", Reason::BadVector),
        ("memory:vectorless", Reason::NoVector),
        ("memory:zero", Reason::BadVector),
    ]);
    assert_eq!(reasons(&snapshot), expected);
}

#[tokio::test]
async fn each_user_id_has_exactly_its_own_memories() {
    let server = Server::start();
    let mut con = server.connect().await;
    let long = "x".repeat(5000);
    let ids = [
        "user-42",
        "a@b.com",
        "o'neil|x}",
        "a,b",
        "a",
        "b",
        " alice ",
        "Alice",
        "alice",
        "用户一",
        "",
        "system",
        "a b",
        "a\\b",
        // A query takes a backslash before punctuation for an escape.
        "a\\\\b",
        "corp\\-alice",
        "corp-alice",
        "a\\ b",
        "alice\\",
        "*",
        "$user",
        "tab\there",
        "ÄÖ",
        "äö",
        "{x}",
        "the",
        &long,
    ];
    for index in [Index::json(), Index::hash()] {
        let index = Index {
            name: format!("ix{:?}", index.storage),
            prefixes: vec![format!("{:?}:", index.storage)],
            ..index
        };
        create(&mut con, &index).await;
        let mut own = Vec::new();
        for (number, id) in ids.iter().enumerate() {
            own.push(index.put(&mut con, &format!("{number:02}"), &of(id)).await);
        }
        for (id, key) in ids.iter().zip(&own) {
            let snapshot = take(&mut con, &index, id).await.unwrap();
            assert_eq!(keys(&snapshot), [key], "{id:?}");
            assert_eq!(snapshot.memories[0].partition.user, *id);
            let foreign: Vec<_> = reasons(&snapshot).into_values().collect();
            assert!(
                foreign.iter().all(|reason| *reason == Reason::ForeignUser),
                "{foreign:?}"
            );
        }
        let nobody = take(&mut con, &index, "ALICE").await.unwrap();
        assert!(nobody.memories.is_empty());
        assert_eq!(nobody.similar_users, [" alice ", "Alice", "alice"]);

        let facts = index_facts(&mut con, &index.name).await.unwrap();
        let mut expected: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
        expected.sort();
        let layout = layout(&mut con, &index).await.unwrap();
        assert_eq!(users(&mut con, &facts, &layout).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn nothing_is_cut_off_at_ten_or_at_a_page() {
    let server = Server::start();
    let mut con = server.connect().await;
    let index = Index::hash();
    create(&mut con, &index).await;
    for count in [11, 2500] {
        let mut pipe = redis::pipe();
        for number in 0..count {
            pipe.cmd("HSET").arg(format!("memory:{number:05}"));
            pipe.arg("content").arg("a").arg("user_id").arg("alice");
            pipe.arg("embedding")
                .arg(blob(&[3.0, 4.0, number as f32, 0.0], "FLOAT32"))
                .ignore();
        }
        pipe.exec_async(&mut con).await.unwrap();
        let snapshot = take(&mut con, &index, "alice").await.unwrap();
        assert_eq!(snapshot.memories.len(), count);
        assert!(snapshot.memories.is_sorted_by(|a, b| a.key < b.key));
        assert_eq!(snapshot.vectors.dim(), (count, 4));
        for (number, row) in snapshot.vectors.outer_iter().enumerate() {
            assert!((row.dot(&row) - 1.0).abs() < 1e-6);
            assert!((row[2] / row[0] - number as f32 / 3.0).abs() < 1e-3);
        }
    }
    let info = redis::cmd("FT.INFO")
        .arg(&index.name)
        .query_async(&mut con)
        .await
        .unwrap();
    assert_eq!(cursors(&info), 0);
}

/// Cursors that are open on an index.
fn cursors(info: &redis::Value) -> i64 {
    fn find<'a>(value: &'a redis::Value, name: &str) -> Option<&'a redis::Value> {
        let redis::Value::Map(pairs) = value else {
            return None;
        };
        let same = |key: &redis::Value| {
            matches!(key, redis::Value::BulkString(bytes) if bytes == name.as_bytes())
                || matches!(key, redis::Value::SimpleString(text) if text == name)
        };
        pairs
            .iter()
            .find(|(key, _)| same(key))
            .map(|(_, value)| value)
    }
    match find(info, "cursor_stats").and_then(|stats| find(stats, "index_total")) {
        Some(redis::Value::Int(open)) => *open,
        other => panic!("no cursor_stats: {other:?}"),
    }
}

#[tokio::test]
async fn every_data_type_is_read_in_both_storages() {
    let server = Server::start();
    let mut con = server.connect().await;
    for index in [Index::json(), Index::hash()] {
        for dtype in ["FLOAT32", "FLOAT64", "FLOAT16", "BFLOAT16"] {
            let name = format!("{:?}{dtype}", index.storage);
            let index = Index {
                prefixes: vec![format!("{name}:")],
                name,
                dtype,
                ..index.clone()
            };
            create(&mut con, &index).await;
            index
                .put(&mut con, "1", &Mem::new("a", &[0.0, 3.0, -4.0, 0.0]))
                .await;
            let snapshot = take(&mut con, &index, "alice").await.unwrap();
            let row = snapshot.vectors.row(0).to_vec();
            assert_eq!(row, [0.0, 0.6, -0.8, 0.0], "{}", index.name);
        }
    }
}

/// Distances are the cosine's, whatever the index compares by. Where its distances depend on the
/// length of vectors, they are a function of the cosine's only for vectors of length 1.
#[tokio::test]
async fn other_metrics_need_vectors_of_length_one() {
    let server = Server::start();
    let mut con = server.connect().await;
    for (metric, index) in [("L2", Index::json()), ("IP", Index::hash())] {
        let index = Index {
            name: metric.to_owned(),
            prefixes: vec![format!("{metric}:")],
            metric,
            ..index
        };
        create(&mut con, &index).await;
        for (id, vector) in [
            ("1", [1.0, 0.0, 0.0, 0.0]),
            ("2", [0.5, 0.5, 0.5, 0.5]),
            ("3", [0.5, 0.5, 0.5, 1.0]),
        ] {
            index.put(&mut con, id, &Mem::new("a", &vector)).await;
        }
        let snapshot = take(&mut con, &index, "alice").await.unwrap();
        let [one, two] = [format!("{metric}:1"), format!("{metric}:2")];
        assert_eq!(keys(&snapshot), [one, two]);
        let [left] = &snapshot.left_alone[..] else {
            panic!("{snapshot:?}")
        };
        assert_eq!(left.reason, Reason::BadVector);
        assert!(left.detail.contains("length 1.323") && left.detail.contains(metric));

        let reply: redis::Value = redis::cmd("FT.SEARCH")
            .arg(&index.name)
            .arg("*=>[KNN 2 @embedding $v AS d]")
            .arg("RETURN")
            .arg(&["1", "d", "PARAMS", "2", "v"])
            .arg(blob(&[1.0, 0.0, 0.0, 0.0], "FLOAT32"))
            .arg(&["SORTBY", "d", "DIALECT", "2"])
            .query_async(&mut con)
            .await
            .unwrap();
        let cosine = 1.0 - f64::from(snapshot.vectors.row(0).dot(&snapshot.vectors.row(1)));
        let expected = Metric::from_name(metric).unwrap().of_cosine(cosine);
        let (told, shown) = (format!("{reply:?}"), format!("\"{expected}\""));
        assert!(told.contains(&shown), "{shown} is not in {told}");
    }
}

#[tokio::test]
async fn an_index_that_does_not_fit_is_refused() {
    let server = Server::start();
    let mut con = server.connect().await;
    let none = Index {
        name: "nowhere".into(),
        ..Index::json()
    };
    let error = take(&mut con, &none, "alice").await.unwrap_err();
    assert!(
        matches!(&error, StoreError::NoIndex { known, .. } if known.is_empty()),
        "{error}"
    );

    // A vector of other dimensions than the index says leaves it; it is found all the same.
    let wide = Index {
        name: "wide".into(),
        dims: 8,
        ..Index::json()
    };
    create(&mut con, &wide).await;
    wide.put(&mut con, "1", &of("alice")).await;
    let snapshot = take(&mut con, &wide, "alice").await.unwrap();
    assert_eq!(
        reasons(&snapshot),
        BTreeMap::from([("memory:1", Reason::BadVector)])
    );
}

#[tokio::test]
async fn an_index_in_the_making_is_refused() {
    let server = Server::start();
    let mut con = server.connect().await;
    let index = Index::hash();
    for chunk in 0..40 {
        let mut pipe = redis::pipe();
        for number in 0..1000 {
            pipe.cmd("HSET").arg(format!("memory:{chunk}:{number}"));
            pipe.arg("content")
                .arg("a b c d e f")
                .arg("user_id")
                .arg("alice");
            pipe.arg("embedding").arg(blob(&X, "FLOAT32")).ignore();
        }
        pipe.exec_async(&mut con).await.unwrap();
    }
    index.create(&mut con).await;
    let error = take(&mut con, &index, "alice").await.unwrap_err();
    assert!(matches!(error, StoreError::Indexing(_)), "{error}");
}

#[tokio::test]
async fn prefixes_are_plain_strings() {
    let server = Server::start();
    let mut con = server.connect().await;
    let put = async |index: &Index, con: &mut ConnectionManager, id: &str| {
        index.put(con, id, &of("a,b")).await; // listed by a scan
    };
    let plain = Index {
        name: "plain".into(),
        prefixes: vec!["memory".into()],
        ..Index::json()
    };
    create(&mut con, &plain).await;
    put(&plain, &mut con, "XYZ").await;
    put(&plain, &mut con, ":1").await;
    let odd = Index {
        name: "odd".into(),
        prefixes: vec!["m[e]*?\\:".into()],
        ..Index::json()
    };
    create(&mut con, &odd).await;
    put(&odd, &mut con, "1").await;
    put(
        &Index {
            prefixes: vec!["memo:".into()],
            ..odd.clone()
        },
        &mut con,
        "1",
    )
    .await;
    let two = Index {
        name: "two".into(),
        prefixes: vec!["memo:".into(), "memory:".into()],
        ..Index::json()
    };
    create(&mut con, &two).await;
    let all = Index {
        name: "all".into(),
        prefixes: vec![],
        ..Index::json()
    };
    create(&mut con, &all).await;
    put(&all, &mut con, "memfold:undo:1").await;

    for (index, expected) in [
        (&plain, vec!["memory:1", "memoryXYZ"]),
        (&odd, vec!["m[e]*?\\:1"]),
        (&two, vec!["memo:1", "memory:1"]),
        (&all, vec!["m[e]*?\\:1", "memo:1", "memory:1", "memoryXYZ"]),
    ] {
        let snapshot = take(&mut con, index, "a,b").await.unwrap();
        assert_eq!(keys(&snapshot), expected, "{}", index.name);
        assert!(snapshot.left_alone.is_empty(), "{:?}", snapshot.left_alone);
    }
}

/// A layout that sends a command of its own when the first record is read, after the listing.
struct Meddling {
    inner: Redisvl,
    port: u16,
    command: &'static str,
    done: AtomicBool,
}

impl Layout for Meddling {
    fn name(&self) -> &'static str {
        "meddling"
    }

    fn listing(&self) -> Listing<'_> {
        self.inner.listing()
    }

    fn fields(&self) -> Vec<FieldUse> {
        self.inner.fields()
    }

    fn vector_field(&self) -> &str {
        self.inner.vector_field()
    }

    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead> {
        if !self.done.swap(true, Ordering::SeqCst) {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            stream
                .write_all(format!("{}\r\n", self.command).as_bytes())
                .unwrap();
            let mut answer = [0; 64];
            let length = stream.read(&mut answer).unwrap();
            assert!(
                !answer[..length].starts_with(b"-"),
                "{:?}",
                &answer[..length]
            );
        }
        self.inner.read(key, stored)
    }

    fn leaves(&self, source: &Source) -> Vec<Leaf> {
        self.inner.leaves(source)
    }

    fn merge(&self, s: &[Source], survivor: usize, m: &Merged) -> Result<Stored, CannotWrite> {
        self.inner.merge(s, survivor, m)
    }
}

async fn take_while(
    server: &Server,
    con: &mut ConnectionManager,
    index: &Index,
    command: &'static str,
) -> Result<Snapshot, StoreError> {
    let facts = index_facts(con, &index.name).await.unwrap();
    let inner = layout(con, index).await.unwrap();
    let layout = Meddling {
        inner,
        port: server.port(),
        command,
        done: AtomicBool::new(false),
    };
    snapshot(con, &facts, &layout, "alice").await
}

#[tokio::test]
async fn expiries_are_asked_for_only_where_something_expires() {
    for index in [Index::json(), Index::hash()] {
        let server = Server::start();
        let mut con = server.connect().await;
        create(&mut con, &index).await;
        for id in ["0", "1"] {
            index.put(&mut con, id, &of("alice")).await;
        }
        let mut seen = Vec::new();
        for expiry in [None, Some(4_102_444_800_000i64)] {
            if let Some(at) = expiry {
                run(&mut con, &["PEXPIREAT", "memory:1", &at.to_string()]).await;
            }
            let snapshot = take(&mut con, &index, "alice").await.unwrap();
            let mut info = redis::cmd("INFO");
            let stats: String = info
                .arg("commandstats")
                .query_async(&mut con)
                .await
                .unwrap();
            seen.push((
                snapshot.memories[1].expires_at_ms,
                stats.contains("pexpiretime"),
            ));
            assert_eq!(snapshot.memories[0].expires_at_ms, None);
        }
        assert_eq!(seen, [(None, false), (Some(4_102_444_800_000), true)]);
    }
}

#[tokio::test]
async fn what_goes_away_while_it_is_read_is_told() {
    for index in [Index::json(), Index::hash()] {
        let server = Server::start();
        let mut con = server.connect().await;
        create(&mut con, &index).await;
        // Enough that the last key is read only after the first was looked at.
        for number in 0..850 {
            index
                .put(&mut con, &format!("{number:03}"), &of("alice"))
                .await;
        }
        let expires = 4_102_444_800_000i64;
        run(&mut con, &["PEXPIREAT", "memory:001", &expires.to_string()]).await;
        let snapshot = take_while(&server, &mut con, &index, "PEXPIREAT memory:849 1")
            .await
            .unwrap();
        assert_eq!(snapshot.memories.len(), 849);
        assert_eq!(
            reasons(&snapshot),
            BTreeMap::from([("memory:849", Reason::Expired)])
        );
        let expiries: Vec<_> = snapshot.memories[..3]
            .iter()
            .map(|m| m.expires_at_ms)
            .collect();
        assert_eq!(expiries, [None, Some(expires), None]);

        let snapshot = take_while(&server, &mut con, &index, "SET memory:848 x")
            .await
            .unwrap();
        assert_eq!(
            reasons(&snapshot),
            BTreeMap::from([("memory:848", Reason::NotAMemory)])
        );

        let error = take_while(&server, &mut con, &index, "FT.DROPINDEX agent_memories").await;
        assert!(
            matches!(error, Err(StoreError::NoIndex { .. })),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn members_are_loaded_again_only_as_they_were_judged() {
    let server = Server::start();
    let mut con = server.connect().await;
    for index in [Index::json(), Index::hash()] {
        run(&mut con, &["FLUSHALL"]).await;
        create(&mut con, &index).await;
        for id in ["1", "2", "3"] {
            index.put(&mut con, id, &of("alice")).await;
        }
        let snapshot = take(&mut con, &index, "alice").await.unwrap();
        let [one, two, three] = &snapshot.memories[..] else {
            panic!("{snapshot:?}")
        };
        let layout = layout(&mut con, &index).await.unwrap();
        let sources = load(&mut con, index.storage, &layout, &[pin(three), pin(one)])
            .await
            .unwrap();
        assert_eq!([&sources[0].memory, &sources[1].memory], [three, one]);
        assert_eq!(record_digest(&sources[1].stored.record), one.digest);

        match index.storage {
            Storage::Json => run(&mut con, &["JSON.SET", "memory:2", "$.content", "\"x\""]).await,
            Storage::Hash => run(&mut con, &["HSET", "memory:2", "content", "x"]).await,
        }
        let error = load(&mut con, index.storage, &layout, &[pin(one), pin(two)])
            .await
            .unwrap_err();
        assert!(
            matches!(&error, LoadError::Changed { key } if key == "memory:2"),
            "{error}"
        );
        run(&mut con, &["DEL", "memory:1"]).await;
        let error = load(&mut con, index.storage, &layout, &[pin(one)])
            .await
            .unwrap_err();
        assert!(
            matches!(&error, LoadError::Changed { key } if key == "memory:1"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn users_keep_their_spelling_where_the_index_folds_it() {
    let server = Server::start();
    let mut con = server.connect().await;
    let create = "FT.CREATE ix ON HASH PREFIX 1 m: SCHEMA u AS user_id TAG SORTABLE embedding VECTOR \
                  FLAT 6 TYPE FLOAT32 DIM 4 DISTANCE_METRIC COSINE";
    run(&mut con, &create.split_whitespace().collect::<Vec<_>>()).await;
    for (id, user) in ["Alice", "alice", "ÄÖ", "Bob"].iter().enumerate() {
        let mut put = redis::cmd("HSET");
        put.arg(format!("m:{id}"))
            .arg("u")
            .arg(user)
            .arg("content")
            .arg("a");
        put.arg("embedding")
            .arg(blob(&X, "FLOAT32"))
            .exec_async(&mut con)
            .await
            .unwrap();
    }
    let facts = index_facts(&mut con, "ix").await.unwrap();
    let layout = Redisvl::new(&RedisvlFields::default(), &facts, TimeZone::UTC).unwrap();
    let found = users(&mut con, &facts, &layout).await.unwrap();
    assert_eq!(found, ["Alice", "Bob", "alice", "ÄÖ"]);
    for user in &found {
        let snapshot = snapshot(&mut con, &facts, &layout, user).await.unwrap();
        assert_eq!(snapshot.memories.len(), 1, "{user}");
    }
    let fields = RedisvlFields {
        user: "nobody".to_owned(),
        ..RedisvlFields::default()
    };
    let layout = Redisvl::new(&fields, &facts, TimeZone::UTC).unwrap();
    let error = users(&mut con, &facts, &layout).await.unwrap_err();
    assert!(matches!(error, StoreError::IndexUnfit(_)), "{error}");
}

#[tokio::test]
async fn a_user_field_outside_the_index_is_found_by_a_scan() {
    let server = Server::start();
    let mut con = server.connect().await;
    let create = "FT.CREATE ix ON JSON PREFIX 1 m: SCHEMA $.embedding VECTOR FLAT 6 TYPE FLOAT32 DIM 4 \
                  DISTANCE_METRIC COSINE";
    run(&mut con, &create.split_whitespace().collect::<Vec<_>>()).await;
    for (id, user) in ["alice", "bob", "Alice"].iter().enumerate() {
        put_json(
            &mut con,
            &format!("m:{id}"),
            json!({"content": "a", "user_id": user, "embedding": X}),
        )
        .await;
    }
    let facts = index_facts(&mut con, "ix").await.unwrap();
    let layout = Redisvl::new(&RedisvlFields::default(), &facts, TimeZone::UTC).unwrap();
    let snapshot = snapshot(&mut con, &facts, &layout, "alice").await.unwrap();
    assert_eq!(keys(&snapshot), ["m:0"]);
    assert_eq!((snapshot.foreign, snapshot.left_alone.len()), (2, 0));
    assert_eq!(snapshot.similar_users, ["Alice"]);
}
