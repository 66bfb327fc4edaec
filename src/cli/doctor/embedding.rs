//! The embedding model, and the proof that the index's vectors come from it.

use std::sync::Arc;

use redis::aio::ConnectionManager;

use super::{Check, open};
use crate::config::Settings;
use crate::embed::{Embedder, Proof, Sample, choose, prove};
use crate::layout::Layout;
use crate::merge::Distance;
use crate::store::StoreError;
use crate::store::index::IndexFacts;
use crate::store::listing::users;
use crate::store::snapshot::{Snapshot, snapshot};

/// Users whose memories are looked at, at most, to find samples.
const USERS: usize = 5;

/// Loads the model, or connects to it, with all the checks that this makes, and notes how that went.
pub(super) async fn load(
    settings: &Settings,
    checks: &mut Vec<Check>,
) -> Option<Arc<dyn Embedder>> {
    note(open::embedder(settings).await, settings, checks)
}

/// The same without a server.
pub(in crate::cli) fn load_onnx(
    settings: &Settings,
    checks: &mut Vec<Check>,
) -> Option<Arc<dyn Embedder>> {
    note(open::onnx(settings), settings, checks)
}

fn note(
    model: anyhow::Result<Option<Arc<dyn Embedder>>>,
    settings: &Settings,
    checks: &mut Vec<Check>,
) -> Option<Arc<dyn Embedder>> {
    let (check, embedder) = match model {
        Ok(None) if settings.distance == Distance::Stored => {
            let advice = "set --onnxruntime and --model-dir, or --embed-url, to have new texts \
                          embedded; without a model only texts that exist are kept";
            (Check::warn("embedder", "none configured", advice), None)
        }
        Ok(None) => {
            let advice = "set --onnxruntime and --model-dir, or --embed-url, or trust the stored \
                          vectors with --distance stored; then only texts that exist are kept";
            (Check::fail("embedder", "none configured", advice), None)
        }
        Ok(Some(embedder)) => {
            let found = format!(
                "{}, {} dimensions, {}",
                embedder.model(),
                embedder.dims(),
                embedder.origin()
            );
            (Check::ok("embedder", found), Some(embedder))
        }
        Err(error) => (Check::failed("embedder", error), None),
    };
    checks.push(check);
    embedder
}

/// Embeds a few stored texts again and compares.
pub(super) async fn proof(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
    embedder: Arc<dyn Embedder>,
) -> Check {
    let snapshot = match sampled(conn, facts, layout).await {
        Ok(Some(snapshot)) => snapshot,
        Ok(None) => return verdict(&Proof::NoSamples),
        Err(error) => return Check::failed("match", error),
    };
    let proof = tokio::task::spawn_blocking(move || {
        prove(embedder.as_ref(), &choose(&candidates(&snapshot)))
    });
    match proof.await {
        Ok(Ok(proof)) => verdict(&proof),
        Ok(Err(error)) => Check::failed("match", error),
        Err(error) => Check::failed("match", error),
    }
}

fn verdict(proof: &Proof) -> Check {
    match proof {
        Proof::Matches { .. } => Check::ok("match", format!("the model {proof}")),
        Proof::NoSamples => Check::skipped("match", format!("the model is {proof}")),
        Proof::Differs { .. } | Proof::Dims { .. } => {
            let advice = "configure the model that the index's vectors come from (--model, or \
                          --embed-url and --embed-model), or accept --write-vector centroid";
            Check::warn("match", format!("the model {proof}"), advice)
        }
    }
}

/// The memories of the first user that has some.
async fn sampled(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
) -> Result<Option<Snapshot>, StoreError> {
    for user in users(conn, facts, layout).await?.iter().take(USERS) {
        let snapshot = snapshot(conn, facts, layout, user).await?;
        if !candidates(&snapshot).is_empty() {
            return Ok(Some(snapshot));
        }
    }
    Ok(None)
}

/// What an embedder made: the vector of a merge may be the mean of others.
fn candidates(snapshot: &Snapshot) -> Vec<Sample<'_>> {
    let memories = snapshot.memories.iter().zip(snapshot.vectors.rows());
    memories
        .filter(|(memory, _)| memory.merge_id.is_none())
        .filter_map(|(memory, vector)| {
            Some(Sample {
                key: &memory.key,
                text: &memory.text,
                vector: vector.to_slice()?,
            })
        })
        .collect()
}
