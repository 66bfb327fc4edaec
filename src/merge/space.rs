//! In which space distances are measured, and whether new vectors may be written to the index.

use std::sync::Arc;

use ndarray::Array2;

use super::{Distance, MergeError, MergeOptions, WriteVector};
use crate::embed::{EmbedError, Embedder, Proof, Sample, choose as choose_samples, prove};
use crate::store::snapshot::Snapshot;

/// Most stored memories among which the match proof chooses.
const CANDIDATES: usize = 64;

/// The space of a run.
#[derive(Default)]
pub(super) struct Space {
    /// The texts embedded for grouping, one unit row a memory; `None` = the stored vectors count.
    pub(super) embedded: Option<Array2<f32>>,
    /// Rows whose vectors mean something.
    pub(super) readable: Vec<bool>,
    /// What is known of the embedder and the index; `None` = not looked at.
    pub(super) proof: Option<Proof>,
    /// Whether distances are those of the configured model; so wherever it is proven.
    pub(super) of_model: bool,
}

impl Space {
    pub(super) fn name(&self) -> &'static str {
        if self.embedded.is_some() {
            "onnx"
        } else {
            "stored"
        }
    }

    pub(super) fn proven(&self) -> bool {
        self.proof.is_some_and(|proof| proof.matches())
    }

    /// Why a new text cannot get a vector, with the choices.
    pub(super) fn cannot_write(&self, rule: WriteVector) -> Option<String> {
        if rule == WriteVector::Centroid || self.proven() {
            return None;
        }
        let why = match &self.proof {
            Some(proof) => format!("the embedding model {proof}"),
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
    let readable = vec![true; snapshot.memories.len()];
    let as_stored = Space {
        readable,
        ..Space::default()
    };
    // One memory has nothing to be compared with.
    if snapshot.memories.len() < 2 {
        return Ok(as_stored);
    }
    let Some(embedder) = embedder else {
        return match options.distance {
            Distance::Stored => Ok(as_stored),
            Distance::Auto | Distance::Onnx => Err(MergeError::NoEmbedder),
        };
    };
    let look = Look {
        prove: options.distance == Distance::Auto || writes_texts,
        distance: options.distance,
        samples: stored_samples(snapshot),
        texts: snapshot.memories.iter().map(|m| m.text.clone()).collect(),
        embedder,
    };
    let space = tokio::task::spawn_blocking(move || look.space()).await;
    Ok(space.map_err(|error| MergeError::Internal(error.to_string()))??)
}

/// What the choice is made from; owned, since embedding runs on a thread of its own.
struct Look {
    embedder: Arc<dyn Embedder>,
    distance: Distance,
    prove: bool,
    samples: Vec<(String, String, Vec<f32>)>,
    texts: Vec<String>,
}

impl Look {
    fn space(&self) -> Result<Space, EmbedError> {
        let proof = if self.prove {
            Some(self.proof()?)
        } else {
            None
        };
        let proven = proof.is_some_and(|proof| proof.matches());
        let embed = match self.distance {
            Distance::Stored => false,
            Distance::Onnx => true,
            Distance::Auto => !proven,
        };
        let of_model = embed || proven;
        let readable = |text: &String| Ok(!of_model || self.readable(text)?);
        Ok(Space {
            readable: self
                .texts
                .iter()
                .map(readable)
                .collect::<Result<_, EmbedError>>()?,
            embedded: if embed {
                Some(embed_all(self.embedder.as_ref(), &self.texts)?)
            } else {
                None
            },
            proof,
            of_model,
        })
    }

    fn proof(&self) -> Result<Proof, EmbedError> {
        let mut candidates = Vec::new();
        for (key, text, vector) in &self.samples {
            if self.readable(text)? {
                candidates.push(Sample { key, text, vector });
            }
        }
        prove(self.embedder.as_ref(), &choose_samples(&candidates))
    }

    fn readable(&self, text: &str) -> Result<bool, EmbedError> {
        Ok(self.embedder.unknown(text)? <= self.embedder.unknown_limit())
    }
}

/// Memories whose vectors may be looked at: key, text as it was embedded, and vector, spread over
/// the sorted keys. Results of merges only where there is nothing else, since their vectors may be
/// means of others.
pub(crate) fn stored_samples(snapshot: &Snapshot) -> Vec<(String, String, Vec<f32>)> {
    let rows = 0..snapshot.memories.len();
    let is_result = |row: &usize| snapshot.memories[*row].merge_id.is_some();
    let mut chosen: Vec<usize> = rows.clone().filter(|row| !is_result(row)).collect();
    if chosen.is_empty() {
        chosen = rows.collect();
    }
    let step = chosen.len().div_ceil(CANDIDATES).max(1);
    chosen
        .into_iter()
        .step_by(step)
        .map(|row| {
            let memory = &snapshot.memories[row];
            (
                memory.key.clone(),
                memory.embedded(&memory.text),
                snapshot.vectors.row(row).to_vec(),
            )
        })
        .collect()
}

fn embed_all(embedder: &dyn Embedder, texts: &[String]) -> Result<Array2<f32>, EmbedError> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut matrix = Array2::zeros((texts.len(), embedder.dims()));
    for (row, embedding) in embedder.embed(&texts)?.into_iter().enumerate() {
        matrix
            .row_mut(row)
            .iter_mut()
            .zip(embedding.vector)
            .for_each(|(to, from)| *to = from);
    }
    Ok(matrix)
}
