//! Who has memories: every user once, however many there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use memfold::layout::{Layout, Options, kind};
use memfold::record::IndexFacts;
use memfold::store::index::index_facts;
use memfold::store::{Probe, probes};
use redis::aio::ConnectionManager;

use crate::support::server::Server;

/// The indexes of a LangGraph store.
async fn create(con: &mut ConnectionManager) {
    let text = "FT.CREATE store ON JSON PREFIX 1 store: SCHEMA $.prefix AS prefix TEXT \
                $.key AS key TAG $.created_at AS created_at NUMERIC $.updated_at AS updated_at NUMERIC";
    let vector = "$.field_name AS field_name TAG $.embedding AS embedding VECTOR FLAT 6 TYPE \
                  FLOAT32 DIM 2 DISTANCE_METRIC COSINE";
    let vectors = text
        .replace("store ", "store_vectors ")
        .replace("store:", "store_vectors:");
    for command in [text.to_owned(), format!("{vectors} {vector}")] {
        let mut words = command.split_whitespace();
        let mut cmd = redis::cmd(words.next().unwrap());
        cmd.arg(words.collect::<Vec<_>>());
        cmd.exec_async(con).await.unwrap();
    }
}

async fn put(con: &mut ConnectionManager, items: impl Iterator<Item = (String, String, u64)>) {
    let mut pipe = redis::pipe();
    for (id, prefix, at) in items {
        let item = serde_json::json!({
            "prefix": prefix, "key": id, "value": { "content": "x" }, "created_at": at, "updated_at": at,
        });
        pipe.cmd("JSON.SET").arg(format!("store:{id}")).arg("$");
        pipe.arg(item.to_string()).ignore();
    }
    pipe.exec_async(con).await.unwrap();
}

/// All users, each with its probe.
async fn all(con: &mut ConnectionManager, pattern: &str) -> BTreeMap<Box<str>, Probe> {
    let facts = index_facts(con, "store").await.unwrap();
    let vectors: Option<IndexFacts> = index_facts(con, "store_vectors").await.ok();
    let options = Options {
        namespace: Some(pattern.to_owned()),
        ..Options::default()
    };
    let open = kind("langgraph-store").unwrap().open;
    let layout: Arc<dyn Layout> = open(&options, &facts, &[vectors]).unwrap();
    probes(con, &facts, layout.as_ref()).await.unwrap()
}

#[tokio::test]
async fn users_of_many_namespaces_come_once() {
    let server = Server::start();
    let mut con = server.connect().await;
    create(&mut con).await;
    let item = |user: u64, place: &str| {
        let (id, prefix) = (format!("{place}{user}"), format!(r"{place}\.u{user}"));
        (id, prefix, 1_700_000_000 + user)
    };
    put(&mut con, (0..2500).map(|user| item(user, "home"))).await;
    put(&mut con, (0..1500).map(|user| item(user, "work"))).await;
    let found = all(&mut con, "*/{user}").await;
    assert_eq!(found.len(), 2500);
    assert_eq!(found["u7"].count, 2);
    assert_eq!(found["u2000"].count, 1);
    // One namespace says all of its user.
    let single = all(&mut con, "home/{user}").await;
    assert_eq!((single.len(), single["u7"].count), (2500, 1));
    // What is another time anywhere shows, and nothing else.
    put(
        &mut con,
        std::iter::once(("home7".to_owned(), r"home\.u7".to_owned(), 1_700_000_008)),
    )
    .await;
    let later = all(&mut con, "*/{user}").await;
    let changed: Vec<&str> = later
        .keys()
        .map(AsRef::as_ref)
        .filter(|user| later[*user] != found[*user])
        .collect();
    assert_eq!(changed, ["u7"]);
    // So does another memory of the same time in the place of one.
    redis::cmd("UNLINK")
        .arg("store:home8")
        .exec_async(&mut con)
        .await
        .unwrap();
    let instead = ("other8".to_owned(), r"home\.u8".to_owned(), 1_700_000_008);
    put(&mut con, std::iter::once(instead)).await;
    let replaced = all(&mut con, "*/{user}").await;
    assert_eq!(replaced["u8"].count, later["u8"].count);
    assert_ne!(replaced["u8"], later["u8"]);
}
