//! In which space distances are measured, and whether new vectors may be written to the index.

use std::sync::Arc;

use ndarray::Array2;

use super::{Distance, MergeError, MergeOptions, WriteVector};
use crate::embed::{EmbedError, Embedder, Proof, prove};
use crate::store::snapshot::Snapshot;

/// Most stored memories that the match proof embeds.
const SAMPLES: usize = 8;

/// The space of a run.
#[derive(Default)]
pub(super) struct Space {
    /// The texts embedded for grouping, one unit row a memory; `None` = the stored vectors count.
    pub(super) embedded: Option<Array2<f32>>,
    /// Rows whose vectors mean something.
    pub(super) readable: Vec<bool>,
    /// What is known of the embedder and the index; `None` = not looked at.
    pub(super) proof: Option<Proof>,
    /// Whether distances are those of the configured model.
    pub(super) of_model: bool,
}

impl Space {
    pub(super) fn name(&self) -> &'static str {
        if self.embedded.is_some() { "onnx" } else { "stored" }
    }

    pub(super) fn proven(&self) -> bool {
        matches!(self.proof, Some(Proof::Matches { .. }))
    }

    /// Why a new text cannot get a vector, with the choices.
    pub(super) fn cannot_write(&self, rule: WriteVector) -> Option<String> {
        if rule == WriteVector::Centroid || self.proven() {
            return None;
        }
        let why = match &self.proof {
            Some(proof) => proof.to_string(),
            None => "no embedding model is configured".to_owned(),
        };
        Some(format!(
            "{why}; configure the model that embedded this index, or accept the mean of the \
             sources' vectors with --write-vector centroid"
        ))
    }
}

/// Chooses the space by `options.distance` and proves the embedder where that matters.
pub(super) async fn choose(
    embedder: Option<Arc<dyn Embedder>>,
    options: &MergeOptions,
    writes_texts: bool,
    snapshot: &Snapshot,
) -> Result<Space, MergeError> {
    let everything = vec![true; snapshot.memories.len()];
    let Some(embedder) = embedder else {
        return match options.distance {
            Distance::Stored => Ok(Space { readable: everything, ..Space::default() }),
            Distance::Auto | Distance::Onnx => Err(MergeError::NoEmbedder),
        };
    };
    let prove_it = options.distance == Distance::Auto || writes_texts;
    let samples = if prove_it { samples(snapshot, embedder.as_ref())? } else { Vec::new() };
    let texts: Vec<String> = snapshot.memories.iter().map(|m| m.text.clone()).collect();
    let distance = options.distance;
    let work = move || -> Result<Space, EmbedError> {
        let proof = if prove_it { Some(prove(embedder.as_ref(), &samples)?) } else { None };
        let proven = matches!(proof, Some(Proof::Matches { .. }));
        let embed = match distance {
            Distance::Stored => false,
            Distance::Onnx => true,
            Distance::Auto => !proven && !texts.is_empty(),
        };
        let of_model = embed || proven;
        let readable = texts
            .iter()
            .map(|text| if of_model { embedder.readable(text) } else { Ok(true) })
            .collect::<Result<Vec<bool>, _>>()?;
        let embedded = if embed { Some(embed_all(embedder.as_ref(), &texts)?) } else { None };
        Ok(Space { embedded, readable, proof, of_model })
    };
    let space = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| MergeError::Internal(error.to_string()))??;
    Ok(space)
}

/// Stored texts and vectors for the match proof: readable ones, spread over the sorted keys.
fn samples(
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
) -> Result<Vec<(String, Vec<f32>)>, EmbedError> {
    let n = snapshot.memories.len();
    let step = (n / (4 * SAMPLES)).max(1);
    let mut samples = Vec::new();
    for row in (0..n).step_by(step) {
        let memory = &snapshot.memories[row];
        if samples.len() < SAMPLES && embedder.readable(&memory.text)? {
            samples.push((memory.text.clone(), snapshot.vectors.row(row).to_vec()));
        }
    }
    Ok(samples)
}

fn embed_all(embedder: &dyn Embedder, texts: &[String]) -> Result<Array2<f32>, EmbedError> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut matrix = Array2::zeros((texts.len(), embedder.dims()));
    for (row, embedding) in embedder.embed(&texts)?.into_iter().enumerate() {
        matrix.row_mut(row).iter_mut().zip(embedding.vector).for_each(|(to, from)| *to = from);
    }
    Ok(matrix)
}
