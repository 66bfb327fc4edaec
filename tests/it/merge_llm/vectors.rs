//! Where the vector of a text that no source has comes from.

use std::sync::Arc;

use memfold::embed::{DEFAULT_MODEL, Embedder, Manifest, Onnx};

use super::*;

/// Texts of one user of whom the model knows enough to be proven by.
const TEXTS: [&str; 4] = [
    "Alice likes tea with honey",
    "Alice likes tea with ginger",
    "The deploys run on Fridays from the main branch",
    "Bob is afraid of dogs",
];

fn onnx() -> Arc<Onnx> {
    let (library, models) = model();
    let manifest = Manifest::named(DEFAULT_MODEL).unwrap();
    Arc::new(Onnx::load(&library, manifest, &models, 1).unwrap())
}

fn embed(onnx: &Onnx, text: &str) -> Vec<f32> {
    onnx.embed(&[text]).unwrap().remove(0).vector
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum()
    };
    1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// A store whose vectors are made by `vector`, and an LLM that unites.
async fn store(vector: impl Fn(usize, &str) -> Vec<f32>) -> Case {
    let mut case = Case::over(Index {
        dims: 384,
        ..Index::json()
    })
    .await;
    for (i, text) in TEXTS.iter().enumerate() {
        let memory = Mem {
            created_at: format!("2026-03-01T10:00:0{i}"),
            ..Mem::new(text, &vector(i, text))
        };
        case.put(&i.to_string(), &memory).await;
    }
    case.responds(good).await;
    case
}

/// Merges with the real model configured.
async fn merge(case: &Case, args: &[&str]) -> Ended {
    let (library, models) = model();
    let args = [
        &["merge", "--user", "alice", "--json", "--threshold", "0.3"],
        args,
    ]
    .concat();
    let mut command = case.command(&args);
    command
        .env_remove("MEMFOLD_DISTANCE")
        .env_remove("MEMFOLD_WRITE_VECTOR")
        .env("MEMFOLD_ONNXRUNTIME", library)
        .env("MEMFOLD_MODEL_DIR", models);
    run(command).await
}

async fn stored_vector(case: &mut Case, key: &str) -> Vec<f32> {
    let memory = case.memory(key).await;
    let numbers = memory["embedding"].as_array().unwrap();
    numbers.iter().map(|n| n.as_f64().unwrap() as f32).collect()
}

/// A vector that no model made, near `memory:0`'s for `memory:1`, elsewhere for the others.
fn foreign(i: usize, _text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; 384];
    vector[if i < 2 { 7 } else { 7 + i }] = 1.0;
    vector[100] = 0.1 * i as f32;
    vector
}

#[tokio::test]
async fn a_new_text_is_embedded_where_the_model_is_that_of_the_index() {
    let onnx = onnx();
    let mut case = store(|_, text| embed(&onnx, text)).await;
    let before = case.picture().await;
    let ended = merge(&case, &[]).await;
    ended.assert_exit(0);
    assert_eq!(ended.llm(), [1, 1, 0, 0], "{ended:?}");
    assert_eq!(ended.report()["plan"]["distance"], "stored");
    assert_eq!(
        ended.report()["plan"]["merges"][0]["vector_origin"],
        "embedded"
    );
    let memory = case.memory("memory:0").await;
    let text = memory["content"].as_str().unwrap().to_owned();
    assert_eq!(text, "Alice likes tea with honey, ginger");
    let vector = stored_vector(&mut case, "memory:0").await;
    assert!(distance(&vector, &embed(&onnx, &text)) < 1e-6);
    case.run(&["undo", &ended.merge_id(0)]).await.assert_exit(0);
    assert_eq!(case.picture().await, before);
}

#[tokio::test]
async fn no_vector_of_another_model_is_written_and_the_llm_is_not_asked() {
    let mut case = store(foreign).await;
    let before = case.picture().await;
    for distance in ["auto", "stored", "onnx"] {
        let ended = merge(&case, &["--distance", distance]).await;
        ended.assert_exit(0);
        assert_eq!(ended.reasons(), ["no-embedder"], "{distance}");
        let detail = ended.detail();
        assert!(
            detail.contains("does not match") && detail.contains("--write-vector centroid"),
            "{detail}"
        );
        assert!(case.questions().await.is_empty());
        assert_eq!(case.picture().await, before);
    }
}

#[tokio::test]
async fn the_mean_of_the_sources_is_written_where_that_is_asked_for() {
    let mut case = store(foreign).await;
    let ended = merge(&case, &["--write-vector", "centroid"]).await;
    ended.assert_exit(0);
    assert_eq!(ended.report()["plan"]["distance"], "onnx");
    assert_eq!(
        ended.report()["plan"]["merges"][0]["vector_origin"],
        "centroid"
    );
    let vector = stored_vector(&mut case, "memory:0").await;
    let [a, b] = [0, 1].map(|i| {
        let vector = foreign(i, "");
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.into_iter().map(|x| x / length).collect::<Vec<f32>>()
    });
    let mean: Vec<f32> = a.iter().zip(&b).map(|(x, y)| x + y).collect();
    assert!(distance(&vector, &mean) < 1e-6);
    let length: f32 = vector.iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5);
}

#[tokio::test]
async fn without_a_model_and_without_the_mean_the_llm_is_not_asked() {
    let mut case = Case::with_pairs(1).await;
    let before = case.picture().await;
    case.responds(good).await;
    let ended = case.merge(&["--write-vector", "auto"]).await;
    ended.assert_exit(0);
    assert_eq!(ended.reasons(), ["no-embedder"]);
    assert!(
        ended.detail().contains("no embedding model is configured"),
        "{ended:?}"
    );
    assert!(case.questions().await.is_empty());
    assert_eq!(case.picture().await, before);
}
