//! The redisvl layout against the real server: a merged record stays in the index, in both
//! storages and in every data type.

use jiff::tz::TimeZone;
use memfold::layout::redisvl::{Redisvl, RedisvlFields};
use memfold::layout::{Layout, Merged, ResultVector};
use memfold::record::{IndexFacts, Record};
use memfold::store::index::index_facts;
use memfold::store::records::load;
use memfold::store::snapshot::{Snapshot, snapshot};
use redis::aio::ConnectionManager;
use serde_json::Value;

use crate::support::server::Server;
use crate::support::store::{Index, Mem, pin};

fn merged(id: &str, vector: ResultVector) -> Merged {
    Merged {
        merge_id: id.to_owned(),
        text: "likes window seats, 喜欢靠窗".to_owned(),
        vector,
        merged_at: "2026-12-01T00:00:00Z".parse().unwrap(),
        history: Vec::new(),
    }
}

async fn write(con: &mut ConnectionManager, key: &str, record: &Record) {
    match record {
        Record::Json(text) => {
            redis::cmd("JSON.SET")
                .arg(key)
                .arg("$")
                .arg(text)
                .exec_async(con)
                .await
        }
        Record::Hash(fields) => {
            redis::cmd("HSET")
                .arg(key)
                .arg(fields)
                .exec_async(con)
                .await
        }
    }
    .unwrap();
}

struct Store {
    con: ConnectionManager,
    facts: IndexFacts,
    layout: Redisvl,
}

impl Store {
    async fn over(server: &Server, index: &Index) -> Self {
        let mut con = server.connect().await;
        index.create(&mut con).await;
        let mut facts = index_facts(&mut con, &index.name).await.unwrap();
        while facts.indexing {
            facts = index_facts(&mut con, &index.name).await.unwrap();
        }
        let layout = Redisvl::new(&RedisvlFields::default(), &facts, TimeZone::UTC).unwrap();
        Self { con, facts, layout }
    }

    async fn snapshot(&mut self) -> Snapshot {
        snapshot(&mut self.con, &self.facts, &self.layout, "alice")
            .await
            .unwrap()
    }

    /// Merges all memories onto the first one's key.
    async fn merge_all(&mut self, id: &str, vector: ResultVector) {
        let snapshot = self.snapshot().await;
        let pinned: Vec<_> = snapshot.memories.iter().map(pin).collect();
        let sources = load(&mut self.con, self.facts.storage, &self.layout, &pinned)
            .await
            .unwrap();
        let record = self.layout.merge(&sources, 0, &merged(id, vector)).unwrap();
        for source in &sources[1..] {
            redis::cmd("DEL")
                .arg(&source.memory.key)
                .exec_async(&mut self.con)
                .await
                .unwrap();
        }
        write(&mut self.con, &sources[0].memory.key, &record.record).await;
    }
}

fn metadata(record: &Record) -> Value {
    let text = match record {
        Record::Json(text) => {
            let document: Value = serde_json::from_str(text).unwrap();
            document["metadata"].as_str().unwrap().to_owned()
        }
        Record::Hash(fields) => {
            let (_, value) = fields.iter().find(|(name, _)| name == b"metadata").unwrap();
            String::from_utf8(value.clone()).unwrap()
        }
    };
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_merged_record_is_read_through_the_index_again() {
    let server = Server::start();
    for index in [Index::json(), Index::hash()] {
        for dtype in ["FLOAT32", "FLOAT64", "FLOAT16", "BFLOAT16"] {
            let name = format!("{:?}{dtype}", index.storage);
            let index = Index {
                prefixes: vec![format!("{name}:")],
                name,
                dtype,
                ..index.clone()
            };
            let mut store = Store::over(&server, &index).await;
            let metadata_of = ["{\"source\": \"chat\"}", "{'ok': True, 'n': 1.50}", "oops{"];
            for (number, metadata) in metadata_of.iter().enumerate() {
                let vector = [0.6, 0.8, number as f32 / 16.0, 0.0];
                let created_at = format!("2026-03-0{}T10:00:00.000001", 3 - number);
                let memory = Mem {
                    metadata: (*metadata).into(),
                    created_at,
                    ..Mem::new("window", &vector)
                };
                index
                    .put(&mut store.con, &number.to_string(), &memory)
                    .await;
            }
            let before = store.snapshot().await;
            store.merge_all("M1", ResultVector::OfSource(2)).await;

            let after = store.snapshot().await;
            let [memory] = &after.memories[..] else {
                panic!("{after:?}")
            };
            assert!(after.left_alone.is_empty());
            assert_eq!(memory.text, "likes window seats, 喜欢靠窗");
            assert_eq!(memory.merge_id.as_deref(), Some("M1"));
            assert_eq!(memory.created_at, before.memories[2].created_at);
            assert_eq!(memory.said_at, before.memories[0].created_at);
            assert_eq!(
                after.vectors.row(0),
                before.vectors.row(2),
                "{}",
                index.name
            );
            let facts = index_facts(&mut store.con, &index.name).await.unwrap();
            assert_eq!((facts.failures, facts.docs), (0, 1));

            let source = load(&mut store.con, facts.storage, &store.layout, &[pin(memory)])
                .await
                .unwrap()
                .remove(0);
            let own = metadata(&source.stored.record);
            assert_eq!(
                (own["source"].as_str(), own["ok"].as_bool()),
                (Some("chat"), Some(true))
            );
            assert_eq!(own["n"].to_string(), "1.50");
            assert_eq!(own["metadata_raw"][0]["raw"], "oops{");
            assert_eq!(own["source_count"].as_u64(), Some(3));
            let digests: Vec<_> = before.memories.iter().map(|m| m.digest.clone()).collect();
            let leaves = store.layout.leaves(&source);
            assert_eq!(
                leaves.iter().map(|l| l.digest.clone()).collect::<Vec<_>>(),
                digests
            );
        }
    }
}

#[tokio::test]
async fn a_second_generation_adds_up_and_takes_a_new_vector() {
    let server = Server::start();
    for index in [Index::json(), Index::hash()] {
        let name = format!("{:?}", index.storage);
        let index = Index {
            prefixes: vec![format!("{name}:")],
            name,
            ..index
        };
        let mut store = Store::over(&server, &index).await;
        for id in ["1", "2"] {
            index
                .put(
                    &mut store.con,
                    id,
                    &Mem::new("window", &[1.0, 0.0, 0.0, 0.0]),
                )
                .await;
        }
        store.merge_all("M1", ResultVector::OfSource(0)).await;
        index
            .put(
                &mut store.con,
                "3",
                &Mem::new("window", &[1.0, 0.0, 0.0, 0.0]),
            )
            .await;
        store
            .merge_all("M2", ResultVector::Numbers(vec![0.0, 0.6, 0.8, 0.0]))
            .await;

        let after = store.snapshot().await;
        let [memory] = &after.memories[..] else {
            panic!("{after:?}")
        };
        assert_eq!(memory.merge_id.as_deref(), Some("M2"));
        assert_eq!(after.vectors.row(0).to_vec(), [0.0, 0.6, 0.8, 0.0]);
        let source = load(
            &mut store.con,
            store.facts.storage,
            &store.layout,
            &[pin(memory)],
        )
        .await
        .unwrap()
        .remove(0);
        assert_eq!(
            metadata(&source.stored.record)["source_count"].as_u64(),
            Some(3)
        );
        let ids: Vec<_> = store
            .layout
            .leaves(&source)
            .into_iter()
            .map(|leaf| leaf.id)
            .collect();
        assert_eq!(ids, ["1", "2", "3"]);
    }
}

#[tokio::test]
async fn a_megabyte_of_metadata_goes_through() {
    let server = Server::start();
    let mut store = Store::over(&server, &Index::json()).await;
    let long = "é\"\\".repeat(200_000);
    let metadata_of = serde_json::json!({"long": long}).to_string();
    for (id, metadata) in [("1", metadata_of.as_str()), ("2", "{}")] {
        let memory = Mem {
            metadata: metadata.into(),
            ..Mem::new("window", &[1.0, 0.0, 0.0, 0.0])
        };
        Index::json().put(&mut store.con, id, &memory).await;
    }
    store.merge_all("M1", ResultVector::OfSource(0)).await;
    let after = store.snapshot().await;
    let sources = load(
        &mut store.con,
        store.facts.storage,
        &store.layout,
        &[pin(&after.memories[0])],
    )
    .await
    .unwrap();
    assert_eq!(metadata(&sources[0].stored.record)["long"], long);
}
