//! Users whose names differ by case, a blank, a comma or a prefix share no group, in any layout.

use std::collections::{BTreeMap, BTreeSet};

use memfold::layout::NAMES;
use serde_json::{Map, Value, json};

use super::*;
use crate::support::store::blob;

const USERS: [&str; 20] = [
    "alice",
    "Alice",
    "ALICE",
    "alice ",
    " alice",
    "alice  ",
    "alice,bob",
    "alice,",
    "bob",
    "ali",
    "alices",
    "alice|x",
    "alice*",
    "{alice}",
    "用户",
    "用户一",
    "älice",
    "corp-alice",
    r"corp\-alice",
    r"corp\\-alice",
];

/// How a library lays out a store.
struct Store {
    layout: &'static str,
    json: bool,
    index: &'static str,
    prefix: &'static str,
    /// Fields of the index, each with its kind; the vector has four numbers.
    fields: &'static [(&'static str, &'static str)],
    vector: &'static str,
    /// What else memfold has to be told.
    settings: &'static [(&'static str, &'static str)],
    /// The members of a memory without its vector, by its user, the id in its key, and its text.
    members: fn(&str, &str, &str) -> Value,
}

const AT: i64 = 1_796_000_636;

const STORES: [Store; 9] = [
    redisvl(true),
    redisvl(false),
    Store {
        layout: "langgraph-store",
        json: true,
        index: "store",
        prefix: "store:",
        fields: &[
            ("prefix", "TEXT"),
            ("key", "TAG"),
            ("updated_at", "NUMERIC"),
        ],
        vector: "",
        settings: &[],
        members: |user, id, text| {
            json!({
                "prefix": escaped(user), "key": id, "value": {"content": text},
                "created_at": AT * 1_000_000, "updated_at": AT * 1_000_000,
            })
        },
    },
    Store {
        layout: "mem0",
        json: false,
        index: "mem0",
        prefix: "mem0:mem0:",
        fields: &[("memory_id", "TAG"), ("user_id", "TAG"), ("memory", "TEXT")],
        vector: "embedding",
        settings: &[],
        members: |user, id, text| {
            json!({
                "memory_id": id, "hash": "h", "memory": text, "user_id": user,
                "created_at": AT.to_string(), "metadata": "{}",
            })
        },
    },
    Store {
        layout: "agent-memory-server",
        json: false,
        index: "memory_records",
        prefix: "memory_idx:",
        fields: &[("id_", "TAG"), ("user_id", "TAG"), ("text", "TEXT")],
        vector: "vector",
        settings: &[],
        members: |user, id, text| {
            json!({
                "id_": id, "text": text, "user_id": user, "memory_type": "semantic",
                "created_at": AT.to_string(),
            })
        },
    },
    langchain_redis(true),
    langchain_redis(false),
    custom(true),
    custom(false),
];

const fn redisvl(json: bool) -> Store {
    Store {
        layout: "redisvl",
        json,
        index: "agent_memories",
        prefix: "memory:",
        fields: &[("content", "TEXT"), ("user_id", "TAG")],
        vector: "embedding",
        settings: &[],
        members: |user, id, text| json!({"content": text, "user_id": user, "memory_id": id}),
    }
}

const fn langchain_redis(json: bool) -> Store {
    Store {
        layout: "langchain-redis",
        json,
        index: "lc_mem",
        prefix: "lc_mem:",
        fields: &[
            ("text", "TEXT"),
            ("_index_name", "TEXT"),
            ("_metadata_json", "TEXT"),
            ("user_id", "TAG SEPARATOR |"),
        ],
        vector: "embedding",
        settings: &[("index", "lc_mem")],
        members: |user, _, text| {
            let metadata = json!({"user_id": user}).to_string();
            json!({
                "text": text, "_index_name": "lc_mem", "_metadata_json": metadata, "user_id": user,
            })
        },
    }
}

const fn custom(json: bool) -> Store {
    Store {
        layout: "custom",
        json,
        index: "notes",
        prefix: "note:",
        fields: &[("body", "TEXT"), ("owner", "TAG")],
        vector: "vec",
        settings: &[
            ("index", "notes"),
            ("fields_text", "body"),
            ("fields_user", "owner"),
            ("fields_vector", "vec"),
        ],
        members: |user, _, text| json!({"body": text, "owner": user}),
    }
}

/// A namespace as LangGraph stores it.
fn escaped(user: &str) -> String {
    let mut text = r"memories\.".to_owned();
    for c in user.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

async fn create(world: &mut World, json: bool, index: &str, prefix: &str, fields: &[(&str, &str)]) {
    let mut cmd = redis::cmd("FT.CREATE");
    cmd.arg(&[index, "ON", if json { "JSON" } else { "HASH" }]);
    cmd.arg(&["PREFIX", "1", prefix, "SCHEMA"]);
    for (name, kind) in fields {
        if json {
            cmd.arg(format!("$.{name}")).arg("AS");
        }
        cmd.arg(name).arg(kind.split(' ').collect::<Vec<_>>());
    }
    cmd.exec_async(&mut world.con).await.unwrap();
}

const VECTOR: &str = "VECTOR FLAT 6 TYPE FLOAT32 DIM 4 DISTANCE_METRIC COSINE";

impl Store {
    async fn world(&self) -> World {
        let server = Server::start();
        let con = server.connect().await;
        let mut cli = Cli::new(&server.url()).set("layout", self.layout);
        for (setting, value) in self.settings {
            cli = cli.set(setting, value);
        }
        let index = Index::json();
        let mut world = World {
            server,
            con,
            index,
            cli,
        };
        let vectors = [(self.vector, VECTOR)];
        let own: &[_] = if self.vector.is_empty() {
            &[]
        } else {
            &vectors
        };
        let fields = [self.fields, own].concat();
        create(&mut world, self.json, self.index, self.prefix, &fields).await;
        if own.is_empty() {
            let fields = [self.fields, &[("embedding", VECTOR)]].concat();
            create(&mut world, true, "store_vectors", "store_vectors:", &fields).await;
        }
        world
    }

    /// Writes a memory; all are near to each other.
    async fn put(&self, world: &mut World, user: &str, id: &str, text: &str) -> String {
        let key = format!("{}{id}", self.prefix);
        let Value::Object(mut members) = (self.members)(user, id, text) else {
            panic!("members")
        };
        if self.vector.is_empty() {
            let seconds = AT as f64;
            let vector = json!({
                "prefix": members["prefix"], "key": id, "field_name": "content",
                "embedding": [1, 0, 0, 0], "created_at": seconds, "updated_at": seconds,
            });
            let vector = vector.to_string();
            let other = format!("store_vectors:{id}");
            let () = world.command(&["JSON.SET", &other, "$", &vector]).await;
        }
        if self.json {
            if !self.vector.is_empty() {
                members.insert(self.vector.to_owned(), json!([1, 0, 0, 0]));
            }
            let text = Value::Object(members).to_string();
            let () = world.command(&["JSON.SET", &key, "$", &text]).await;
        } else {
            hset(world, &key, &members, self.vector).await;
        }
        key
    }
}

async fn hset(world: &mut World, key: &str, members: &Map<String, Value>, vector: &str) {
    let mut cmd = redis::cmd("HSET");
    cmd.arg(key);
    for (name, value) in members {
        cmd.arg(name).arg(value.as_str().unwrap());
    }
    cmd.arg(vector).arg(blob(&[1.0, 0.0, 0.0, 0.0], "FLOAT32"));
    cmd.exec_async(&mut world.con).await.unwrap();
}

#[tokio::test]
async fn users_that_look_alike_share_no_group_in_any_layout() {
    let tested: BTreeSet<&str> = STORES.iter().map(|store| store.layout).collect();
    assert_eq!(tested, BTreeSet::from(NAMES), "each layout is in the table");
    for store in &STORES {
        let what = format!("{} (JSON: {})", store.layout, store.json);
        let mut world = store.world().await;
        let mut keys: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (n, user) in USERS.into_iter().enumerate() {
            for (m, text) in ["Likes tea", "likes tea."].into_iter().enumerate() {
                let key = store
                    .put(&mut world, user, &format!("u{n}m{m}"), text)
                    .await;
                keys.entry(user).or_default().insert(key);
            }
        }
        let before = world.memories().await;

        world
            .run(&["merge", "--user", "aLICE", "--dry-run"])
            .ends(8);
        let done = world
            .run(&["merge", "--all-users", "--json"])
            .ends(0)
            .json();

        let mut seen = BTreeSet::new();
        for report in list(&done["users"]) {
            let user = report["user"].as_str().unwrap();
            let [merge] = list(&report["merged"]) else {
                panic!("{what}, {user:?}: {report:#}")
            };
            let key = |key: &Value| key.as_str().unwrap().to_owned();
            let mut merged: BTreeSet<String> = list(&merge["retired"]).iter().map(key).collect();
            merged.insert(key(&merge["result_key"]));
            assert_eq!(merged, keys[user], "{what}, {user:?}");
            seen.insert(user);
        }
        assert_eq!(seen, BTreeSet::from(USERS), "{what}");
        let run = run_id(&list(&done["users"])[0]).to_owned();
        world.run(&["undo", "--run", &run]).ends(0);
        assert_eq!(world.memories().await, before, "{what}");
    }
}
