//! The embedding model, and the proof that the index's vectors come from it.

use std::sync::Arc;

use redis::aio::ConnectionManager;

use super::{Check, open};
use crate::config::Settings;
use crate::embed::{EmbedError, Embedder, MULTILINGUAL_MODEL, Proof, Sample, choose, prove};
use crate::layout::Layout;
use crate::merge::{Distance, stored_samples};
use crate::record::IndexFacts;
use crate::store::StoreError;
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

/// Embeds a few stored texts again and compares; and whether the model can read the texts at all.
pub(super) async fn proof(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
    embedder: Arc<dyn Embedder>,
) -> Vec<Check> {
    let snapshot = match sampled(conn, facts, layout).await {
        Ok(Some(snapshot)) => snapshot,
        Ok(None) => return vec![verdict(&Proof::NoSamples)],
        Err(error) => return vec![Check::failed("match", error)],
    };
    let looked_at = tokio::task::spawn_blocking(move || {
        let stored = stored_samples(&snapshot);
        let samples: Vec<Sample<'_>> = stored
            .iter()
            .map(|(key, text, vector)| Sample { key, text, vector })
            .collect();
        let proof = prove(embedder.as_ref(), &choose(&samples))?;
        let texts = snapshot.memories.iter().map(|memory| &*memory.text);
        Ok::<_, EmbedError>([verdict(&proof), language(embedder.as_ref(), texts)?])
    });
    match looked_at.await {
        Ok(Ok(checks)) => checks.into(),
        Ok(Err(error)) => vec![Check::failed("match", error)],
        Err(error) => vec![Check::failed("match", error)],
    }
}

/// Whether the model knows the words of most texts.
fn language<'a>(
    embedder: &dyn Embedder,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Check, EmbedError> {
    let (mut all, mut unread) = (0, 0);
    for text in texts.filter(|text| !text.trim().is_empty()) {
        all += 1;
        unread += usize::from(embedder.unknown(text)? > embedder.unknown_limit());
    }
    let model = embedder.model();
    let found = format!(
        "{model} knows the words of {} of {all} memories looked at",
        all - unread
    );
    Ok(if unread * 2 > all {
        let advice = format!(
            "the others are merged only where they are equal or say the same in another form; a model \
             of many languages reads them: scripts/setup e5 and --model {MULTILINGUAL_MODEL} (with \
             --distance onnx where the index's vectors come from another model), or --embed-url"
        );
        Check::warn("language", found, advice)
    } else {
        Check::ok("language", found)
    })
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

/// The memories of the first user that has some which are no results, else of the first that has any.
async fn sampled(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
) -> Result<Option<Snapshot>, StoreError> {
    let mut results = None;
    for user in users(conn, facts, layout).await?.iter().take(USERS) {
        let snapshot = snapshot(conn, facts, layout, user).await?;
        if snapshot.memories.iter().any(|m| m.merge_id.is_none()) {
            return Ok(Some(snapshot));
        }
        results = results.or_else(|| Some(snapshot).filter(|s| !s.memories.is_empty()));
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::check::Status;
    use crate::embed::Embedding;

    /// Knows no character but those of ASCII.
    struct Ascii;

    impl Embedder for Ascii {
        fn model(&self) -> &'static str {
            "ascii"
        }
        fn dims(&self) -> usize {
            1
        }
        fn threshold(&self) -> Option<f64> {
            None
        }
        fn embed(&self, _: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
            Ok(Vec::new())
        }
        fn unknown(&self, text: &str) -> Result<f32, EmbedError> {
            Ok(if text.is_ascii() { 0.0 } else { 1.0 })
        }
    }

    #[test]
    fn a_model_of_another_language_is_told_with_one_that_reads_it() {
        let check = |texts: &[&str]| language(&Ascii, texts.iter().copied()).unwrap();
        let found = check(&["用户喜欢茶", "用户的猫叫米米", "likes tea", " "]);
        assert_eq!(found.status, Status::Warn);
        assert_eq!(
            found.found,
            "ascii knows the words of 1 of 3 memories looked at"
        );
        assert!(found.advice.unwrap().contains(MULTILINGUAL_MODEL));
        assert_eq!(check(&["用户喜欢茶", "likes tea"]).status, Status::Ok);
        assert_eq!(check(&[]).status, Status::Ok);
    }
}
