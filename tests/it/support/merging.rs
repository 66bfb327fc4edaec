//! Merges made by hand, without the pipeline: what the tests of commit and undo work with.

use std::time::Duration;

use jiff::Timestamp;
use memfold::memory::{Author, Partition, VectorOrigin};
use memfold::record::{Record, Storage, Stored, record_digest};
use memfold::store::{
    Commit, CommitError, Committed, Functions, MergeRecord, RECORD_VERSION, Retire, SourceRecord,
    UndoError, UndoOptions, Undone, Wrapper, commit, undo,
};
use redis::aio::ConnectionManager;

use super::server::{Server, connect};
use super::store::{Index, Mem, blob};

/// Seven days.
pub(crate) const WINDOW: Duration = Duration::from_secs(7 * 24 * 3600);
/// Ninety days.
pub(crate) const LEDGER: Duration = Duration::from_secs(90 * 24 * 3600);
/// The vector of results, unless a test says otherwise.
pub(crate) const VECTOR: [f32; 4] = [0.9, 0.1, 0.0, 0.0];

/// What the tests run over: storage, and functions or scripts.
pub(crate) const KINDS: [(Storage, bool); 4] = [
    (Storage::Json, true),
    (Storage::Json, false),
    (Storage::Hash, true),
    (Storage::Hash, false),
];

/// A server with an index and memfold's functions.
pub(crate) struct Case {
    pub(crate) server: Server,
    /// As the account under test: without the permission for functions where scripts are tested.
    pub(crate) con: ConnectionManager,
    pub(crate) functions: Functions,
    pub(crate) index: Index,
    pub(crate) window: Duration,
}

impl Case {
    /// An empty index of this storage.
    pub(crate) async fn new((storage, library): (Storage, bool)) -> Self {
        Self::over(
            Index {
                storage,
                ..Index::json()
            },
            library,
            Server::start(),
        )
        .await
    }

    /// This index on this server.
    pub(crate) async fn over(index: Index, library: bool, server: Server) -> Self {
        let mut con = server.connect().await;
        index.create(&mut con).await;
        if !library {
            let mut cmd = redis::cmd("ACL");
            cmd.arg(&["SETUSER", "scripts", "on", ">secret", "~*", "+@all"]);
            cmd.arg(&["-function", "-fcall", "-fcall_ro"])
                .exec_async(&mut con)
                .await
                .unwrap();
            con = connect(&server.url_as("scripts", "secret")).await;
        }
        let functions = Functions::load(&mut con).await.unwrap();
        assert_eq!(
            functions.wrapper() == &Wrapper::Library,
            library,
            "{functions:?}"
        );
        Self {
            server,
            con,
            functions,
            index,
            window: WINDOW,
        }
    }

    /// `n` memories near [`VECTOR`], `memory:1` …
    pub(crate) async fn put(&mut self, n: usize) -> Vec<String> {
        let mut keys = Vec::new();
        for i in 1..=n {
            let memory = Mem::new(&format!("fact {i}"), &[1.0, i as f32 / 100.0, 0.0, 0.3]);
            keys.push(self.index.put(&mut self.con, &i.to_string(), &memory).await);
        }
        keys
    }

    /// Reads a record as the snapshot does.
    pub(crate) async fn read(&mut self, key: &str) -> Record {
        self.try_read(key).await.unwrap()
    }

    async fn try_read(&mut self, key: &str) -> redis::RedisResult<Record> {
        Ok(match self.index.storage {
            Storage::Json => Record::Json(
                redis::cmd("JSON.GET")
                    .arg(key)
                    .query_async(&mut self.con)
                    .await?,
            ),
            Storage::Hash => Record::Hash(
                redis::cmd("HGETALL")
                    .arg(key)
                    .query_async(&mut self.con)
                    .await?,
            ),
        })
    }

    /// The record of a merge of these keys as they are now; the result goes on the first one.
    pub(crate) async fn plan(&mut self, merge_id: &str, keys: &[String]) -> MergeRecord {
        self.try_plan(merge_id, keys).await.unwrap()
    }

    /// The same on a server that may be gone.
    pub(crate) async fn try_plan(
        &mut self,
        merge_id: &str,
        keys: &[String],
    ) -> redis::RedisResult<MergeRecord> {
        let mut sources = Vec::new();
        for key in keys {
            let record = self.try_read(key).await?;
            let at: i64 = redis::cmd("PEXPIRETIME")
                .arg(key)
                .query_async(&mut self.con)
                .await?;
            sources.push(SourceRecord {
                key: key.clone(),
                digest: record_digest(&record),
                text_digest: None,
                created_at: None,
                distance: 0.05,
                leaves: vec![key.clone()],
                expires_at_ms: (at >= 0).then_some(at),
                keys: vec![],
                identity: vec![],
            });
        }
        Ok(MergeRecord {
            version: RECORD_VERSION,
            merge_id: merge_id.to_owned(),
            run_id: "run-1".to_owned(),
            layout: "redisvl".to_owned(),
            index: self.index.name.clone(),
            storage: self.index.storage,
            partition: Partition {
                user: "alice".to_owned(),
                scope: vec![],
                memory_type: "semantic".to_owned(),
            },
            result_key: keys[0].clone(),
            sources,
            companions: vec![],
            parents: vec![],
            findings: vec![],
            threshold: 0.1,
            distance: "stored".to_owned(),
            author: Author::Extractive {
                kept: keys[0].clone(),
            },
            vector_origin: VectorOrigin::Source,
            merged_at: Timestamp::UNIX_EPOCH,
            retire: Retire::Rename,
            undo_until: None,
        })
    }

    /// A result record: `text` with `vector`, in the recipe's shape.
    pub(crate) fn result(&self, text: &str, vector: &[f32]) -> Record {
        let memory = Mem::new(text, vector);
        match self.index.storage {
            Storage::Json => Record::Json(memory.to_json("1").to_string()),
            Storage::Hash => {
                let fields = memory.to_fields("1", self.index.dtype).into_iter();
                Record::Hash(fields.map(|(name, value)| (name.into(), value)).collect())
            }
        }
    }

    /// Commits with the text `merged` and [`VECTOR`].
    pub(crate) async fn commit(&mut self, record: &MergeRecord) -> Result<Committed, CommitError> {
        self.commit_with(record, &VECTOR, |_| ()).await
    }

    /// Commits with this vector, after changes to the rest.
    pub(crate) async fn commit_with<'a>(
        &mut self,
        record: &'a MergeRecord,
        vector: &[f32],
        change: impl FnOnce(&mut Commit<'a>),
    ) -> Result<Committed, CommitError> {
        // Leaked: they must live as long as what a test's closure puts in.
        let result: &'a Stored = Box::leak(Box::new(self.result("merged", vector).into()));
        let vector: &'a [u8] = blob(vector, self.index.dtype).leak();
        let mut call = Commit {
            record,
            result,
            companions: &[],
            companion_index: "",
            vector,
            vector_field: "embedding",
            vector_index: None,
            expires_at_ms: None,
            window: self.window,
            ledger: LEDGER,
            lease: None,
            check_after: false,
        };
        change(&mut call);
        commit(&mut self.con, &self.functions, &call).await
    }

    /// Undoes with these options.
    pub(crate) async fn undo(
        &mut self,
        merge_id: &str,
        force: bool,
        cascade: bool,
    ) -> Result<Vec<Undone>, UndoError> {
        let new_id = || "01K00000000000000000000000".to_owned();
        let options = UndoOptions {
            force,
            cascade,
            new_id: &new_id,
            ledger: LEDGER,
            reason: None,
        };
        undo(&mut self.con, &self.functions, merge_id, &options).await
    }

    /// Runs one command of words.
    pub(crate) async fn run<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut cmd = redis::cmd(words[0]);
        cmd.arg(&words[1..])
            .query_async(&mut self.con)
            .await
            .unwrap()
    }

    /// The keys that the index returns for all documents, sorted.
    pub(crate) async fn indexed(&mut self) -> Vec<String> {
        let mut cmd = redis::cmd("FT.SEARCH");
        cmd.arg(&self.index.name)
            .arg("*")
            .arg("NOCONTENT")
            .arg("LIMIT")
            .arg(0)
            .arg(1000);
        let reply: redis::Value = cmd.query_async(&mut self.con).await.unwrap();
        let redis::Value::Map(parts) = reply else {
            panic!("{reply:?}")
        };
        let mut keys = Vec::new();
        for (name, value) in parts {
            if name == redis::Value::BulkString(b"results".to_vec())
                || name == redis::Value::SimpleString("results".to_owned())
            {
                let redis::Value::Array(items) = value else {
                    panic!("{value:?}")
                };
                for item in items {
                    let item: std::collections::HashMap<String, redis::Value> =
                        redis::from_redis_value(item).unwrap();
                    keys.push(redis::from_redis_value(item["id"].clone()).unwrap());
                }
            }
        }
        keys.sort();
        keys
    }
}
