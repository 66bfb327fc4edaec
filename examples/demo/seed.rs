//! Loads memories from a JSON Lines file into an index as the LangGraph + redisvl recipe lays it
//! out, embedded by the default model: the demo's store.
//!
//! ```sh
//! eval "$(scripts/env)" && cargo run --features demo --bin memfold-seed -- examples/demo/memories.jsonl
//! ```

use std::path::Path;

use anyhow::{Context, Result};
use memfold::embed::{Embedder, Manifest, Onnx};
use serde_json::{Map, Value, json};

fn main() -> Result<()> {
    let file = std::env::args().nth(1).context("usage: seed FILE.jsonl")?;
    let memories = read(Path::new(&file))?;
    let model = model()?;
    let texts: Vec<&str> = memories
        .iter()
        .filter_map(|m| m["content"].as_str())
        .collect();
    let vectors = model.embed(&texts)?;

    let client = redis::Client::open(std::env::var("MEMFOLD_REDIS_URL")?)?;
    let mut redis = client.get_connection()?;
    let index = std::env::var("MEMFOLD_INDEX").unwrap_or_else(|_| "agent_memories".to_owned());
    create_index(&mut redis, &index, model.dims())?;
    for (number, (mut memory, embedding)) in memories.into_iter().zip(vectors).enumerate() {
        memory.insert("memory_id".to_owned(), json!(ulid(number, 1)));
        memory.insert("embedding".to_owned(), json!(embedding.vector));
        let text = serde_json::to_string(&memory)?;
        redis::cmd("JSON.SET")
            .arg(format!("memory:{}", ulid(number, 0)))
            .arg("$")
            .arg(text)
            .exec(&mut redis)?;
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<Map<String, Value>>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let line = |(i, line)| {
        serde_json::from_str(line).with_context(|| format!("{}:{}", file.display(), i + 1))
    };
    text.lines().enumerate().map(line).collect()
}

fn model() -> Result<Onnx> {
    let manifest = Manifest::named("all-MiniLM-L6-v2-int8")?;
    let runtime = std::env::var("MEMFOLD_ONNXRUNTIME").context("MEMFOLD_ONNXRUNTIME is not set")?;
    let models = std::env::var("MEMFOLD_MODEL_DIR").context("MEMFOLD_MODEL_DIR is not set")?;
    Ok(Onnx::load(
        Path::new(&runtime),
        manifest,
        Path::new(&models),
        2,
    )?)
}

/// Fixed ids that look like real ones, so that two demos print the same.
fn ulid(number: usize, kind: u128) -> String {
    let spread = (number as u128 * 2 + kind + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060);
    ulid::Ulid::from_parts(1_790_000_000_000 + number as u64, spread).to_string()
}

#[rustfmt::skip]
fn create_index(redis: &mut redis::Connection, index: &str, dims: usize) -> Result<()> {
    redis::cmd("FT.CREATE").arg(index)
        .arg(&["ON", "JSON", "PREFIX", "1", "memory", "SCORE", "1.0", "SCHEMA"])
        .arg(&["$.content", "AS", "content", "TEXT", "WEIGHT", "1"])
        .arg(&["$.memory_type", "AS", "memory_type", "TAG", "SEPARATOR", ","])
        .arg(&["$.metadata", "AS", "metadata", "TEXT", "WEIGHT", "1"])
        .arg(&["$.created_at", "AS", "created_at", "TEXT", "WEIGHT", "1"])
        .arg(&["$.user_id", "AS", "user_id", "TAG", "SEPARATOR", ","])
        .arg(&["$.memory_id", "AS", "memory_id", "TAG", "SEPARATOR", ","])
        .arg(&["$.embedding", "AS", "embedding", "VECTOR", "FLAT", "6"])
        .arg(&["TYPE", "FLOAT32", "DISTANCE_METRIC", "COSINE", "DIM"]).arg(dims)
        .exec(redis)
        .context("cannot create the index")
}
