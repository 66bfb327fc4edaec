//! The vector of a merged text, and whether the text speaks of what its sources speak of.

use std::sync::Arc;

use super::sources::Group;
use crate::embed::{Embedder, distance};
use crate::memory::VectorOrigin;
use crate::merge::draft::Draft;
use crate::merge::{MergeError, Stations, WriteVector};

/// Farthest cosine distance of a merged text from any of its sources.
///
/// Paraphrases of one fact lie within 0.2 of each other in MiniLM; a text beyond 0.35 speaks of
/// something else.
const FARTHEST: f64 = 0.35;

/// A vector and where it comes from.
pub(in crate::merge) type Vectored = (VectorOrigin, Vec<f32>);

impl Stations {
    /// The vector to write with a text for these parts, and what is wrong with the text by its
    /// meaning. The inner error says why there is no vector.
    pub(in crate::merge) async fn vectored(
        &self,
        group: Group<'_>,
        parts: &[usize],
        text: &str,
    ) -> Result<Result<(Vectored, Option<String>), String>, MergeError> {
        let Group {
            draft, candidate, ..
        } = group;
        let keeps: Vec<usize> = parts.iter().map(|&at| candidate.parts[at].keep).collect();
        // What the index would hold, and what is compared with the sources where they are compared by
        // texts of their own.
        let rows = parts.iter().flat_map(|&at| candidate.parts[at].rows());
        let survivor = draft.survivor(rows);
        let in_index = survivor.map_or_else(|| text.to_owned(), |memory| memory.embedded(text));
        let embedder = self.embedder.as_ref().filter(|_| draft.space.of_model);
        let embedded = match embedder {
            Some(embedder) => Some(embed(Arc::clone(embedder), in_index.clone()).await?),
            None => None,
        };
        let compared = match embedder {
            Some(embedder) if draft.space.embedded.is_some() && in_index != text => {
                Some(embed(Arc::clone(embedder), text.to_owned()).await?)
            }
            _ => embedded.clone(),
        };
        let far = compared.and_then(|vector| too_far(draft, &keeps, &vector));
        let is_sources = |&row: &usize| draft.snapshot.memories[row].text == text;
        let vectored = match (self.options.write_vector, embedded) {
            _ if keeps.iter().any(is_sources) => Ok((VectorOrigin::Source, Vec::new())),
            (WriteVector::Auto, Some(vector)) => Ok((VectorOrigin::Embedded, vector)),
            (WriteVector::Auto, None) => Err("no vector can be had for it".to_owned()),
            (WriteVector::Centroid, _) => centroid(draft, &keeps)
                .map(|vector| (VectorOrigin::Centroid, vector))
                .ok_or_else(|| "the sources' vectors cancel each other out".to_owned()),
        };
        Ok(vectored.map(|vectored| (vectored, far)))
    }
}

/// What is wrong with a text of this vector, if it is far from any of its sources.
fn too_far(draft: &Draft, rows: &[usize], vector: &[f32]) -> Option<String> {
    let vectors = draft.vectors();
    let far = rows
        .iter()
        .map(|&row| distance(vector, &vectors.row(row).to_vec()))
        .fold(0.0, f64::max);
    (far > FARTHEST).then(|| format!("the text speaks of something else (distance {far:.2})"))
}

async fn embed(embedder: Arc<dyn Embedder>, text: String) -> Result<Vec<f32>, MergeError> {
    let mut embedded = tokio::task::spawn_blocking(move || embedder.embed(&[&text]))
        .await
        .map_err(|error| MergeError::Internal(error.to_string()))??;
    embedded
        .pop()
        .map(|embedding| embedding.vector)
        .ok_or_else(|| MergeError::Internal("the embedder returned no vector".to_owned()))
}

/// The normalised mean of the stored vectors, if it is not zero.
fn centroid(draft: &Draft, rows: &[usize]) -> Option<Vec<f32>> {
    let vectors = &draft.snapshot.vectors;
    let mut sum = vec![0.0f64; vectors.ncols()];
    for &row in rows {
        sum.iter_mut()
            .zip(vectors.row(row))
            .for_each(|(s, v)| *s += f64::from(*v));
    }
    let norm = sum.iter().map(|s| s * s).sum::<f64>().sqrt();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an index holds f32 at most"
    )]
    let unit = || sum.iter().map(|s| (s / norm) as f32).collect();
    (norm > 1e-6).then(unit)
}
