//! What a full merge of many memories spends: questions to the LLM and texts that are embedded.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::support::model;

const MEMORIES: usize = 1_000;
const GROUPS: usize = 100;
/// Memories of a group.
const MEMBERS: usize = 3;
/// What a server of a model is asked for first: how many numbers its vectors have.
const PROBE: &str = "The user prefers window seats on flights.";
const ENDS: [&str; MEMBERS] = ["honey", "ginger", "lemon"];

/// Enough for a thousand directions that are far from each other.
const WIDE: usize = 256;

/// Texts of the memories: those of the groups first, then others.
fn texts() -> Vec<String> {
    let grouped = (0..GROUPS).flat_map(|group| {
        let subject = word(group);
        ENDS.map(|end| format!("Alice likes {subject} with {end}"))
    });
    let others = (GROUPS * MEMBERS..MEMORIES).map(|i| {
        let [a, b] = [i / 100, i % 100].map(word);
        format!("The {a} stands beside the {b}")
    });
    grouped.chain(others).collect()
}

/// What the model makes of a text: texts of one group, and what they become, are near each other.
fn vector(text: &str) -> Vec<f32> {
    let about = text.split(" with ").next().unwrap();
    let direction = |of: &str, scale: f32| -> Vec<f32> {
        let seed = of.bytes().fold(7_u64, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let random = &mut StdRng::seed_from_u64(seed);
        (0..WIDE)
            .map(|_| scale * random.random_range(-1.0..1.0))
            .collect()
    };
    let (mut near, aside) = (direction(about, 1.0), direction(text, 0.1));
    near.iter_mut().zip(aside).for_each(|(x, y)| *x += y);
    let length = near.iter().map(|x| x * x).sum::<f32>().sqrt();
    near.into_iter().map(|x| x / length).collect()
}

/// A server of the model.
async fn model_server() -> MockServer {
    let server = MockServer::start().await;
    let embeds = |request: &Request| model::embeddings(request, vector);
    let any = Mock::given(method("POST"));
    any.respond_with(embeds).mount(&server).await;
    server
}

/// The texts that were embedded since the last time.
async fn embedded(model: &MockServer, before: &mut usize) -> Vec<String> {
    let requests = model.received_requests().await.unwrap();
    let texts = requests[*before..].iter().flat_map(model::texts).collect();
    *before = requests.len();
    texts
}

#[tokio::test]
async fn a_thousand_memories_cost_a_question_and_an_embedding_a_group_and_then_nothing() {
    let mut case = Case::over(Index {
        dims: WIDE,
        ..Index::hash()
    })
    .await;
    let stored = texts();
    for (i, text) in stored.iter().enumerate() {
        let memory = Mem {
            created_at: format!("2026-03-{:02}T{:02}:00:00", 1 + i / 24 % 28, i % 24),
            ..Mem::new(text, &vector(text))
        };
        case.put(&format!("{i:04}"), &memory).await;
    }
    case.responds(good).await;
    let model = model_server().await;
    let cache = tempfile::tempdir().unwrap();
    let mut before = 0;
    let merge = async |case: &Case| {
        let mut command = case.command(&["merge", "--user", "alice", "--json"]);
        command
            .env_remove("MEMFOLD_DISTANCE")
            .env_remove("MEMFOLD_WRITE_VECTOR")
            .env("MEMFOLD_EMBED_URL", model.uri())
            .env("MEMFOLD_EMBED_MODEL", "the-model")
            .env("MEMFOLD_EMBED_CACHE", cache.path())
            .env("MEMFOLD_THRESHOLD", "0.1");
        run(command).await
    };
    let ended = merge(&case).await;
    ended.assert_exit(0);
    assert_eq!(ended.merged().len(), GROUPS);
    assert_eq!(ended.llm(), [GROUPS as u64, GROUPS as u64, 0, 0]);
    assert_eq!(case.questions().await.len(), GROUPS);
    let stored: BTreeSet<String> = stored.into_iter().collect();
    let (proof, mut new): (Vec<String>, Vec<String>) = embedded(&model, &mut before)
        .await
        .into_iter()
        .partition(|text| stored.contains(text));
    new.retain(|text| text != PROBE);
    assert_eq!(new.len(), GROUPS, "one embedding a merged text");
    // To prove that the model is that of the stored vectors.
    assert!(proof.len() <= 8, "{proof:?}");

    // The memories that prove the model may be others now, and are then in the cache.
    for most_embedded in [8, 0] {
        let again = merge(&case).await;
        again.assert_exit(0);
        assert_eq!(again.merged().len(), 0);
        assert_eq!(again.llm(), [0, 0, 0, 0]);
        assert_eq!(case.questions().await.len(), GROUPS);
        let mut embedded = embedded(&model, &mut before).await;
        embedded.retain(|text| text != PROBE);
        assert!(embedded.len() <= most_embedded, "{embedded:?}");
        assert!(embedded.iter().all(|text| stored.contains(text)));
    }
}
