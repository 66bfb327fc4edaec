//! An index as redisvl makes it for the LangGraph recipe, and memories in it.

use memfold::record::Storage;
use redis::aio::ConnectionManager;
use serde_json::json;

/// An index over memories. Start from [`Index::json`] or [`Index::hash`] and change fields.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) name: String,
    /// String prefixes of the keys; none = all keys.
    pub(crate) prefixes: Vec<String>,
    pub(crate) storage: Storage,
    pub(crate) dims: usize,
    /// `FLOAT32`, `FLOAT64`, `FLOAT16` or `BFLOAT16`.
    pub(crate) dtype: &'static str,
    /// `FLAT` or `HNSW`.
    pub(crate) algorithm: &'static str,
    /// `COSINE`, `L2` or `IP`.
    pub(crate) metric: &'static str,
}

impl Index {
    /// `agent_memories` over JSON at `memory:`, 4 dims, FLAT, FLOAT32, COSINE.
    pub(crate) fn json() -> Self {
        Self {
            name: "agent_memories".to_owned(),
            prefixes: vec!["memory:".to_owned()],
            storage: Storage::Json,
            dims: 4,
            dtype: "FLOAT32",
            algorithm: "FLAT",
            metric: "COSINE",
        }
    }

    /// The same over HASH.
    pub(crate) fn hash() -> Self {
        Self {
            storage: Storage::Hash,
            ..Self::json()
        }
    }

    /// `FT.CREATE`, with the recipe's fields.
    pub(crate) async fn create(&self, con: &mut ConnectionManager) {
        let json = self.storage == Storage::Json;
        let mut cmd = redis::cmd("FT.CREATE");
        cmd.arg(&self.name)
            .arg("ON")
            .arg(if json { "JSON" } else { "HASH" });
        if !self.prefixes.is_empty() {
            cmd.arg("PREFIX")
                .arg(self.prefixes.len())
                .arg(&self.prefixes);
        }
        cmd.arg("SCHEMA");
        let fields = [
            ("content", "TEXT"),
            ("memory_type", "TAG"),
            ("metadata", "TEXT"),
            ("created_at", "TEXT"),
            ("user_id", "TAG"),
            ("memory_id", "TAG"),
        ];
        for (name, kind) in fields {
            if json {
                cmd.arg(format!("$.{name}")).arg("AS");
            }
            cmd.arg(name).arg(kind);
            if kind == "TAG" {
                cmd.arg("SEPARATOR").arg(",");
            }
        }
        if json {
            cmd.arg("$.embedding").arg("AS");
        }
        cmd.arg("embedding")
            .arg("VECTOR")
            .arg(self.algorithm)
            .arg(6);
        cmd.arg("TYPE").arg(self.dtype).arg("DIM").arg(self.dims);
        cmd.arg("DISTANCE_METRIC").arg(self.metric);
        cmd.exec_async(con).await.unwrap();
    }

    /// Writes a memory under `<first prefix><id>` and gives that key.
    pub(crate) async fn put(&self, con: &mut ConnectionManager, id: &str, memory: &Mem) -> String {
        let key = format!("{}{id}", self.prefixes.first().map_or("", String::as_str));
        match self.storage {
            Storage::Json => {
                let text = memory.to_json(id).to_string();
                let mut cmd = redis::cmd("JSON.SET");
                cmd.arg(&key)
                    .arg("$")
                    .arg(text)
                    .exec_async(con)
                    .await
                    .unwrap();
            }
            Storage::Hash => {
                let mut cmd = redis::cmd("HSET");
                cmd.arg(&key);
                for (name, value) in memory.to_fields(id, self.dtype) {
                    cmd.arg(name).arg(value);
                }
                cmd.exec_async(con).await.unwrap();
            }
        }
        key
    }
}

/// One memory of the recipe. [`Mem::new`] fills in what a test does not care about.
#[derive(Clone, Debug)]
pub(crate) struct Mem {
    pub(crate) user: String,
    pub(crate) text: String,
    pub(crate) vector: Vec<f32>,
    pub(crate) memory_type: String,
    pub(crate) created_at: String,
    pub(crate) metadata: String,
}

impl Mem {
    /// A semantic memory of `alice`.
    pub(crate) fn new(text: &str, vector: &[f32]) -> Self {
        Self {
            user: "alice".to_owned(),
            text: text.to_owned(),
            vector: vector.to_vec(),
            memory_type: "semantic".to_owned(),
            created_at: "2026-03-01T10:00:00".to_owned(),
            metadata: r#"{"source": "chat"}"#.to_owned(),
        }
    }

    /// The JSON document.
    pub(crate) fn to_json(&self, id: &str) -> serde_json::Value {
        json!({
            "content": self.text,
            "memory_type": self.memory_type,
            "metadata": self.metadata,
            "created_at": self.created_at,
            "user_id": self.user,
            "memory_id": id,
            "thread_id": null,
            "embedding": self.vector,
        })
    }

    /// The fields of the HASH.
    pub(crate) fn to_fields(&self, id: &str, dtype: &str) -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("content", self.text.clone().into_bytes()),
            ("memory_type", self.memory_type.clone().into_bytes()),
            ("metadata", self.metadata.clone().into_bytes()),
            ("created_at", self.created_at.clone().into_bytes()),
            ("user_id", self.user.clone().into_bytes()),
            ("memory_id", id.as_bytes().to_vec()),
            ("embedding", blob(&self.vector, dtype)),
        ]
    }
}

/// A vector in the bytes of the index's data type, little-endian.
pub(crate) fn blob(vector: &[f32], dtype: &str) -> Vec<u8> {
    let number = |&x: &f32| match dtype {
        "FLOAT32" => x.to_le_bytes().to_vec(),
        "FLOAT64" => f64::from(x).to_le_bytes().to_vec(),
        "FLOAT16" => half::f16::from_f32(x).to_le_bytes().to_vec(),
        "BFLOAT16" => half::bf16::from_f32(x).to_le_bytes().to_vec(),
        other => panic!("unknown data type {other}"),
    };
    vector.iter().flat_map(number).collect()
}

/// Key and digest of a memory, as a commit pins it.
pub(crate) fn pin(memory: &memfold::memory::Memory) -> (&str, &memfold::memory::Digest) {
    (&memory.key, &memory.digest)
}
