//! Reading many records over a connection of their own gives what the one connection gives.

use jiff::tz::TimeZone;
use memfold::layout::redisvl::{Redisvl, RedisvlFields};
use memfold::store::connect::{ConnectOptions, open};
use memfold::store::direct::Direct;
use memfold::store::index::index_facts;
use memfold::store::snapshot::{ReadOptions, Snapshot, snapshot_within};
use redis::aio::ConnectionManager;

use crate::support::server::Server;
use crate::support::store::{Index, Mem};
use crate::support::way::Way;

const MEMORIES: usize = 2_500;

/// Memories of alice, some of which are what a reader stumbles over.
async fn store(con: &mut ConnectionManager, index: &Index) {
    index.create(con).await;
    for number in 0..MEMORIES {
        let angle = number as f32;
        let memory = Mem::new(
            &format!("Text {number}\r\n$5\r\n"),
            &[angle.sin(), angle.cos(), 0.5, 0.1],
        );
        index.put(con, &format!("{number:05}"), &memory).await;
    }
    let commands: [&[&str]; 4] = [
        &["SET", "memory:00100", "no memory"],
        &["PEXPIREAT", "memory:01200", "4102444800000"],
        &["DEL", "memory:00300"],
        &["HSET", "memory:plain", "content", "of another kind"],
    ];
    for command in commands {
        let _: redis::Value = redis::cmd(command[0])
            .arg(&command[1..])
            .query_async(con)
            .await
            .unwrap();
    }
    while index_facts(con, &index.name).await.unwrap().indexing {}
}

async fn read(con: &mut ConnectionManager, direct: Option<&Direct>) -> Snapshot {
    let facts = index_facts(con, "agent_memories").await.unwrap();
    let layout = Redisvl::new(&RedisvlFields::default(), &facts, TimeZone::UTC).unwrap();
    let options = ReadOptions {
        direct,
        ..ReadOptions::default()
    };
    snapshot_within(con, &facts, &layout, "alice", options)
        .await
        .unwrap()
}

async fn direct(url: &str) -> Direct {
    let opened = open(&url.to_owned().into(), &ConnectOptions::default()).await;
    opened.unwrap().1.unwrap()
}

/// The only one of the account `agent`, which may do anything.
async fn set_password(con: &mut ConnectionManager, password: &str) {
    let password = format!(">{password}");
    let rules = [
        "SETUSER",
        "agent",
        "on",
        "resetpass",
        &password,
        "~*",
        "+@all",
    ];
    let _: () = redis::cmd("ACL")
        .arg(&rules)
        .query_async(con)
        .await
        .unwrap();
}

fn assert_same(found: &Snapshot, expected: &Snapshot) {
    assert!(found.memories == expected.memories);
    assert_eq!(found.vectors, expected.vectors);
    assert_eq!(found.left_alone, expected.left_alone);
}

async fn connections(con: &mut ConnectionManager) -> usize {
    let info: String = redis::cmd("INFO")
        .arg("stats")
        .query_async(con)
        .await
        .unwrap();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("total_connections_received:"));
    line.unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn both_ways_read_the_same() {
    for index in [Index::hash(), Index::json()] {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket").display().to_string();
        let server = Server::start_with(&["--unixsocket", &socket]);
        let mut con = server.connect().await;
        store(&mut con, &index).await;
        let expected = read(&mut con, None).await;
        assert!(expected.memories.len() > MEMORIES - 10);
        assert!(
            expected
                .memories
                .iter()
                .any(|memory| memory.expires_at_ms.is_some())
        );

        set_password(&mut con, "p w").await;
        let ways = [
            server.url_as("agent", "p%20w"),
            server.url(),
            format!("unix://{socket}"),
        ];
        for url in ways {
            let direct = direct(&url).await;
            let before = connections(&mut con).await;
            assert_same(&read(&mut con, Some(&direct)).await, &expected);
            assert_eq!(connections(&mut con).await, before + 1, "{url}");
        }
    }
}

#[tokio::test]
async fn what_it_does_not_read_is_read_by_the_other() {
    let server = Server::start();
    let mut con = server.connect().await;
    store(&mut con, &Index::hash()).await;
    let expected = read(&mut con, None).await;

    // Cut at the first answer, within one, and near the end.
    for bytes in [1, 100_000, 123_457, 500_000] {
        let way = Way::to(server.port());
        let direct = direct(&way.url()).await;
        way.cut_after(bytes);
        assert_same(&read(&mut con, Some(&direct)).await, &expected);
        assert_eq!(way.cuts(), 1, "{bytes}");
    }
    let gone = direct(&Server::start().url()).await;
    let another = Server::start();
    store(&mut another.connect().await, &Index::hash()).await;
    set_password(&mut con, "right").await;
    let refused = direct(&server.url_as("agent", "right")).await;
    set_password(&mut con, "another").await;
    let ways = [(gone, 0), (refused, 1), (direct(&another.url()).await, 0)];
    for (direct, expected_connections) in ways {
        let before = connections(&mut con).await;
        assert_same(&read(&mut con, Some(&direct)).await, &expected);
        let opened = connections(&mut con).await - before;
        assert_eq!(opened, expected_connections, "{direct:?}");
    }

    // An answer that is too long for it.
    let long = "x".repeat(9 << 20);
    let _: () = redis::cmd("HSET")
        .arg(&["memory:01000", "note", &long])
        .query_async(&mut con)
        .await
        .unwrap();
    let expected = read(&mut con, None).await;
    let found = read(&mut con, Some(&direct(&server.url()).await)).await;
    assert_same(&found, &expected);
}

#[tokio::test]
async fn few_memories_need_none() {
    let server = Server::start();
    let mut con = server.connect().await;
    Index::hash().create(&mut con).await;
    Index::hash()
        .put(&mut con, "1", &Mem::new("One", &[1.0, 0.0, 0.0, 0.0]))
        .await;
    let direct = direct(&server.url()).await;
    let before = connections(&mut con).await;
    assert_eq!(read(&mut con, Some(&direct)).await.memories.len(), 1);
    assert_eq!(connections(&mut con).await, before);
}
