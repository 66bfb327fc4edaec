//! The layout `custom`: stores of somebody's own, described by a file that `inspect` proposes.

use std::fs;

use redis::aio::ConnectionManager;
use serde_json::{Value, json};

use crate::support::cli::Cli;
use crate::support::picture;
use crate::support::server::Server;
use crate::support::store::{Index, Mem, blob};

/// A store that no library made.
struct Own {
    server: Server,
    con: ConnectionManager,
    cli: Cli,
    json: bool,
}

impl Own {
    async fn new(json: bool) -> Self {
        let server = Server::start();
        let mut con = server.connect().await;
        let fields: &[(&str, &str)] = &[
            ("about.body", "TEXT"),
            ("owner", "TAG"),
            ("topics", "TAG SEPARATOR ,"),
            ("uses", "NUMERIC"),
            ("ts", "NUMERIC"),
            ("vec", "VECTOR FLAT 6 TYPE FLOAT32 DIM 4 DISTANCE_METRIC L2"),
        ];
        let mut create = redis::cmd("FT.CREATE");
        create.arg("notes").arg("ON");
        create.arg(if json { "JSON" } else { "HASH" });
        create.arg(&["PREFIX", "1", "note", "SCHEMA"]);
        for (name, kind) in fields {
            if json {
                create.arg(format!("$.{name}")).arg("AS");
            }
            create.arg(name.rsplit('.').next().unwrap());
            create.arg(kind.split(' ').collect::<Vec<_>>());
        }
        create.exec_async(&mut con).await.unwrap();
        let cli = Cli::new(&server.url());
        Self {
            server,
            con,
            cli,
            json,
        }
    }

    /// A note of `user`, newer the greater `n`.
    async fn put(&mut self, key: &str, user: &str, n: i64) {
        let ts = 1_795_977_278_000 + n;
        let (topics, uses) = (format!("a,t{n}"), n + 1);
        let seen = format!("2026-11-2{n}");
        if self.json {
            let document = json!({
                "about": {"body": "Ana likes tea", "mood": n}, "owner": user, "topics": topics,
                "uses": uses, "ts": ts, "vec": [0.6, 0.8, 0, 0], "last_seen": seen,
                "meta": {"source": n},
            });
            let mut set = redis::cmd("JSON.SET");
            set.arg(key).arg("$").arg(document.to_string());
            set.exec_async(&mut self.con).await.unwrap();
        } else {
            let mut set = redis::cmd("HSET");
            set.arg(key).arg(&["body", "Ana likes tea", "owner", user]);
            set.arg("topics").arg(topics).arg("uses").arg(uses);
            set.arg("ts").arg(ts).arg("last_seen").arg(seen);
            set.arg("meta").arg(json!({"source": n}).to_string());
            set.arg("vec").arg(blob(&[0.6, 0.8, 0.0, 0.0], "FLOAT32"));
            set.exec_async(&mut self.con).await.unwrap();
        }
    }

    /// What a note has in a field, as text.
    async fn field(&mut self, key: &str, name: &str) -> String {
        if self.json {
            let mut get = redis::cmd("JSON.GET");
            get.arg(key).arg(format!("$.{name}"));
            let text: String = get.query_async(&mut self.con).await.unwrap();
            let [value] = &serde_json::from_str::<Vec<Value>>(&text).unwrap()[..] else {
                panic!("{text}")
            };
            return value.as_str().map_or(value.to_string(), str::to_owned);
        }
        let mut get = redis::cmd("HGET");
        get.arg(key).arg(name);
        get.query_async(&mut self.con).await.unwrap()
    }

    /// Has `inspect` write the file, by which memfold works from then on.
    fn configure(&mut self) -> String {
        let path = self.cli.path("memfold.toml");
        let file = path.to_str().unwrap().to_owned();
        self.cli.run(&["inspect", "--write-config", &file]).ends(0);
        let again = self.cli.run(&["inspect", "--write-config", &file]);
        again.ends(1).says(&["nothing is overwritten"]);
        let cli = std::mem::replace(&mut self.cli, Cli::new(&self.server.url()));
        self.cli = cli.set("config", &file);
        fs::read_to_string(path).unwrap()
    }

    fn merge(&self, user: &str) -> Value {
        let done = self.cli.run(&["merge", "--user", user, "--json"]).ends(0);
        done.json()["users"][0].clone()
    }
}

#[tokio::test]
async fn a_store_of_ones_own_is_merged_by_the_file_that_inspect_writes() {
    for json in [true, false] {
        let mut own = Own::new(json).await;
        own.put("note:ana:1", "ana", 1).await;
        own.put("note:ana:2", "ana", 2).await;
        own.put("note:Ana:1", "Ana", 3).await;
        let file = own.configure();
        for line in [
            "layout = \"custom\"",
            "key = \"note:{user}:{id}\"",
            "created_at = \"ms\"",
            "uses = \"sum\"",
        ] {
            assert!(file.contains(line), "{line} is not in\n{file}");
        }
        // Not memories: another user in the key than on the record, another shape.
        own.put("note:bob:9", "ana", 4).await;
        own.put("notes-of:ana", "ana", 5).await;
        own.cli.run(&["doctor", "--distance", "stored"]).ends(0);
        let before = picture::memories(&mut own.con).await;

        let report = own.merge("ana");
        let merged = report["merged"].as_array().unwrap();
        assert_eq!(merged.len(), 1, "{report:#}");
        assert_eq!(merged[0]["result_key"], "note:ana:1");
        assert_eq!(merged[0]["retired"], json!(["note:ana:2"]));
        let left = report["plan"]["left_alone"].as_array().unwrap();
        let of_bob = left.iter().find(|left| left["key"] == "note:bob:9");
        assert_eq!(of_bob.unwrap()["reason"], "malformed");
        for (name, value) in [
            ("topics", "a,t1,t2"),
            ("uses", "5"),
            ("last_seen", "2026-11-22"),
            ("ts", "1795977278001"),
        ] {
            assert_eq!(own.field("note:ana:1", name).await, value, "{name}");
        }
        let meta: Value = serde_json::from_str(&own.field("note:ana:1", "meta").await).unwrap();
        assert_eq!(meta["memfold"]["values"]["source"][1]["value"], 2);
        let after = picture::memories(&mut own.con).await;
        assert_eq!(after.len(), before.len() - 1);

        own.cli
            .run(&["undo", "--run", report["run_id"].as_str().unwrap()])
            .ends(0);
        assert_eq!(picture::memories(&mut own.con).await, before);
    }
}

#[tokio::test]
async fn users_that_look_alike_share_no_note() {
    let users = [
        "ana", "Ana", "ana ", " ana", "ana,b", "b", "an", "ana:b", "{ana}", "an*",
    ];
    let mut own = Own::new(true).await;
    for user in users {
        own.put(&format!("note:{user}:1"), user, 1).await;
        own.put(&format!("note:{user}:2"), user, 2).await;
    }
    own.configure();
    for user in users {
        let report = own.merge(user);
        let merged = report["merged"].as_array().unwrap();
        assert_eq!(merged.len(), 1, "{user:?}: {report:#}");
        let keys = json!([format!("note:{user}:1"), [format!("note:{user}:2")]]);
        assert_eq!(json!([merged[0]["result_key"], merged[0]["retired"]]), keys);
    }
    assert_eq!(picture::memories(&mut own.con).await.len(), users.len());
}

#[tokio::test]
async fn the_recipes_store_can_be_described_as_well() {
    for index in [Index::json(), Index::hash()] {
        let server = Server::start();
        let mut con = server.connect().await;
        index.create(&mut con).await;
        for (n, day) in [(1, "02"), (2, "01")] {
            let memory = Mem {
                created_at: format!("2026-03-{day}T10:00:00.5"),
                ..Mem::new("Ana likes tea", &[1.0, 0.0, 0.0, 0.0])
            };
            index.put(&mut con, &n.to_string(), &memory).await;
        }
        let cli = Cli::new(&server.url());
        let file = cli.run(&["inspect", "--write-config", "-"]).ends(0);
        file.shows(&[
            "created_at = \"iso\"",
            "metadata = \"json\"",
            "key = \"memory:{id}\"",
        ]);
        let path = cli.path("own.toml");
        let written = cli.run(&["inspect", "--write-config", path.to_str().unwrap()]);
        written.ends(0);
        let cli = cli.set("config", path.to_str().unwrap());
        let done = cli.run(&["merge", "--user", "alice", "--json"]).ends(0);
        let merged = done.json()["users"][0]["merged"].clone();
        assert_eq!(merged[0]["result_key"], "memory:2");
    }
}

#[tokio::test]
async fn an_index_without_vectors_is_not_described() {
    let server = Server::start();
    let mut create = redis::cmd("FT.CREATE");
    create.arg(&["notes", "ON", "HASH", "PREFIX", "1", "note:"]);
    create.arg(&["SCHEMA", "user", "TAG", "text", "TEXT"]);
    let mut con = server.connect().await;
    create.exec_async(&mut con).await.unwrap();
    let cli = Cli::new(&server.url());
    let refused = cli.run(&["inspect", "--index", "notes", "--write-config", "-"]);
    refused
        .ends(3)
        .says(&["index `notes` does not fit", "vector"]);
}

#[tokio::test]
async fn mistakes_are_told_and_misspelt_fields_too() {
    let mut own = Own::new(true).await;
    own.put("note:ana:1", "ana", 1).await;
    own.put("note:ana:2", "ana", 2).await;
    let cli = Cli::new(&own.server.url())
        .set("layout", "custom")
        .set("index", "notes");
    let done = cli.run(&[
        "merge",
        "--user",
        "ana",
        "--custom-storage",
        "hash",
        "--fields-text",
        "contents",
    ]);
    done.ends(3).says(&[
        "custom.storage says HASH, but the index is over JSON",
        "fields.text says `contents`: the index has body (TEXT)",
        "fields.vector is not set",
        "fields.user is not set",
    ]);
    let fields = [
        "--fields-text",
        "body",
        "--fields-vector",
        "vec",
        "--fields-user",
        "owner",
    ];
    let merge = [
        "merge",
        "--user",
        "ana",
        "--dry-run",
        "--fields-created-at",
        "tss",
        "--fields-metadata",
        "meta",
    ];
    let done = cli.run(&[&merge[..], &fields].concat());
    let done = done
        .ends(0)
        .says(&["no record looked at has a field `tss` (--fields-created-at)"]);
    assert!(!done.stderr.contains("`meta`"));
}

#[tokio::test]
async fn a_date_of_another_form_than_the_others_is_left_alone_and_counted() {
    for json in [true, false] {
        let mut own = Own::new(json).await;
        for n in 1..=4 {
            own.put(&format!("note:ana:{n}"), "ana", n).await;
        }
        own.configure();
        // Nanoseconds, where all are milliseconds.
        for key in ["note:ana:3", "note:ana:4"] {
            let (command, field) = if json {
                ("JSON.SET", "$.ts")
            } else {
                ("HSET", "ts")
            };
            let mut set = redis::cmd(command);
            set.arg(&[key, field, "1795977278000000000"]);
            set.exec_async(&mut own.con).await.unwrap();
        }
        let doctor = own.cli.run(&["doctor", "--distance", "stored"]).ends(0);
        doctor.shows(&[
            "2 malformed: `ts` is no date in milliseconds since 1970",
            "note:ana:3",
        ]);
        let report = own.merge("ana");
        assert_eq!(report["merged"][0]["retired"], json!(["note:ana:2"]));
        let left = report["plan"]["left_alone"].as_array().unwrap();
        let told: Vec<_> = left.iter().map(|l| (&l["key"], &l["reason"])).collect();
        let [three, four] = ["note:ana:3", "note:ana:4"].map(|key| json!(key));
        let malformed = json!("malformed");
        assert_eq!(told, [(&three, &malformed), (&four, &malformed)]);
    }
}
