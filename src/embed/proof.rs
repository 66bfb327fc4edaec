//! The proof that an embedder makes the vectors of an index: stored texts are embedded again and
//! compared with what is stored.
//!
//! A model's name proves nothing: an index does not record it, and another model of the same length
//! would be mixed in without a sign.

use std::collections::HashSet;
use std::fmt;

use super::pool::distance;
use super::{EmbedError, Embedder};

/// How many texts are embedded again at most.
const SAMPLES: usize = 8;

/// Texts up to this many bytes surely fit into a model's window, so that it does not matter how
/// the one who stored the vector treated longer ones.
const SHORT: usize = 500;

/// The share of samples that must lie within the tolerance. Not all: a text may have been edited
/// without being embedded again. Fewer than 5 samples must all match.
const SHARE: f64 = 0.8;

/// A stored text and its stored vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// The Redis key; it decides the order.
    pub key: &'a str,
    /// The text.
    pub text: &'a str,
    /// The vector as stored, in f32; its length does not matter, only its direction.
    pub vector: &'a [f32],
}

/// What comparing stored vectors with the embedder's showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Proof {
    /// The embedder makes the index's vectors.
    Matches {
        /// Number of texts compared.
        samples: usize,
        /// The greatest cosine distance among them.
        worst: f64,
    },
    /// It does not.
    Differs {
        /// Number of texts compared.
        samples: usize,
        /// The median cosine distance.
        median: f64,
        /// The greatest cosine distance.
        worst: f64,
    },
    /// Its vectors have another length than those of the index.
    Dims {
        /// Length of the stored vectors.
        index: usize,
        /// Length of the model's.
        model: usize,
    },
    /// There was nothing to compare with.
    NoSamples,
}

impl Proof {
    /// Whether vectors of the embedder may be written to the index.
    pub fn matches(&self) -> bool {
        matches!(self, Self::Matches { .. })
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matches { samples, worst } => {
                write!(
                    f,
                    "matches ({samples} stored texts compared, distance up to {worst:.4})"
                )
            }
            Self::Differs {
                samples,
                median,
                worst,
            } => write!(
                f,
                "does not match ({samples} stored texts compared, distance {median:.4} in the \
                 median, up to {worst:.4})"
            ),
            Self::Dims { index, model } => {
                write!(
                    f,
                    "does not match ({model} numbers a vector, the index has {index})"
                )
            }
            Self::NoSamples => f.write_str("not proven (no stored text to compare with)"),
        }
    }
}

/// Chooses the samples for [`prove`] from `candidates`: up to 8, spread over the sorted keys, no
/// text twice. The same candidates in any order give the same choice.
///
/// Candidates should be texts that the model can read with vectors that an embedder made (not
/// centroids of merges). Short texts are preferred; only if there are none, the shortest are taken.
pub fn choose<'a>(candidates: &[Sample<'a>]) -> Vec<Sample<'a>> {
    let mut usable: Vec<Sample<'a>> = candidates
        .iter()
        .filter(|sample| !sample.text.trim().is_empty())
        .copied()
        .collect();
    usable.sort_by_key(|sample| sample.key);
    let mut seen = HashSet::new();
    usable.retain(|sample| seen.insert(sample.text));
    let short: Vec<Sample<'a>> = usable
        .iter()
        .filter(|sample| sample.text.len() <= SHORT)
        .copied()
        .collect();
    if short.is_empty() {
        usable.sort_by_key(|sample| sample.text.len());
        usable.truncate(SAMPLES);
        return usable;
    }
    if short.len() <= SAMPLES {
        return short;
    }
    (0..SAMPLES)
        .map(|at| short[at * (short.len() - 1) / (SAMPLES - 1)])
        .collect()
}

/// Embeds the samples' texts and compares the vectors with the stored ones.
///
/// They match if at least 80 % of the samples lie within the embedder's tolerance
/// ([`Embedder::match_tolerance`]) and the median within half of it: rounding, quantisation and
/// another precision of storage stay far below that, other models and other pooling far above.
///
/// # Errors
/// [`EmbedError`] of the embedder.
pub fn prove(embedder: &dyn Embedder, samples: &[Sample<'_>]) -> Result<Proof, EmbedError> {
    let model = embedder.dims();
    if let Some(other) = samples.iter().find(|sample| sample.vector.len() != model) {
        return Ok(Proof::Dims {
            index: other.vector.len(),
            model,
        });
    }
    let texts: Vec<&str> = samples.iter().map(|sample| sample.text).collect();
    let embeddings = if texts.is_empty() {
        Vec::new()
    } else {
        embedder.embed(&texts)?
    };
    let distances = embeddings
        .iter()
        .zip(samples)
        .map(|(embedding, sample)| distance(&embedding.vector, sample.vector))
        .collect();
    Ok(conclude(distances, embedder.match_tolerance()))
}

/// The proof from the distances between stored and own vectors.
fn conclude(mut distances: Vec<f64>, tolerance: f64) -> Proof {
    distances.sort_by(f64::total_cmp);
    let samples = distances.len();
    let Some(worst) = distances.last().copied() else {
        return Proof::NoSamples;
    };
    // Of an even number the greater of the two in the middle: the stricter reading.
    let median = distances[samples / 2];
    let within = distances
        .iter()
        .filter(|distance| **distance <= tolerance)
        .count();
    if within as f64 >= SHARE * samples as f64 && median <= tolerance / 2.0 {
        Proof::Matches { samples, worst }
    } else {
        Proof::Differs {
            samples,
            median,
            worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Embedding;

    /// Gives every text the same vector.
    struct Constant(Vec<f32>);

    impl Embedder for Constant {
        fn model(&self) -> &str {
            "constant"
        }
        fn dims(&self) -> usize {
            self.0.len()
        }
        fn threshold(&self) -> Option<f64> {
            None
        }
        fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
            let one = Embedding {
                vector: self.0.clone(),
                unknown: 0.0,
            };
            Ok(vec![one; texts.len()])
        }
        fn unknown(&self, _text: &str) -> Result<f32, EmbedError> {
            Ok(0.0)
        }
    }

    fn samples<'a>(vectors: &'a [Vec<f32>]) -> Vec<Sample<'a>> {
        vectors
            .iter()
            .map(|vector| Sample {
                key: "k",
                text: "t",
                vector,
            })
            .collect()
    }

    fn concluded(distances: &[f64]) -> bool {
        conclude(distances.to_vec(), 0.02).matches()
    }

    #[test]
    fn precision_of_storage_does_not_matter() {
        assert!(concluded(&[0.001]));
        assert!(concluded(&[
            0.0003, 0.0036, 0.001, 0.0, 0.0009, 0.0036, 0.0036, 0.0036
        ]));
    }

    #[test]
    fn one_edited_text_in_five_is_forgiven_but_none_in_four() {
        assert!(concluded(&[0.001, 0.001, 0.001, 0.001, 0.4]));
        assert!(concluded(&[
            0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.4
        ]));
        assert!(!concluded(&[0.001, 0.001, 0.001, 0.4]));
        assert!(!concluded(&[
            0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.4, 0.4
        ]));
    }

    #[test]
    fn another_space_does_not_match() {
        assert!(!concluded(&[0.9]));
        assert!(!concluded(&[0.035; 8]));
        // All within the tolerance, but systematically off.
        assert!(!concluded(&[0.015; 8]));
        assert!(!concluded(&[0.001, 0.4]));
        assert!(!concluded(&[f64::NAN]));
    }

    #[test]
    fn the_report_names_median_and_worst() {
        let proof = conclude(vec![0.5, 0.1, 0.9], 0.02);
        assert_eq!(
            proof,
            Proof::Differs {
                samples: 3,
                median: 0.5,
                worst: 0.9
            }
        );
        assert!(proof.to_string().contains("0.5000") && proof.to_string().contains("0.9000"));
    }

    #[test]
    fn stored_vectors_are_compared_by_direction() {
        let embedder = Constant(vec![0.6, 0.8]);
        let stored = vec![vec![6.0, 8.0]];
        let proof = prove(&embedder, &samples(&stored)).unwrap();
        assert!(
            matches!(proof, Proof::Matches { samples: 1, worst } if worst < 1e-6),
            "{proof}"
        );
        let stored = vec![vec![0.0, 0.0]];
        assert!(!prove(&embedder, &samples(&stored)).unwrap().matches());
    }

    #[test]
    fn other_dims_and_no_samples_are_told_apart() {
        let embedder = Constant(vec![0.6, 0.8]);
        let stored = vec![vec![0.6, 0.8], vec![1.0, 0.0, 0.0]];
        let proof = prove(&embedder, &samples(&stored)).unwrap();
        assert_eq!(proof, Proof::Dims { index: 3, model: 2 });
        assert_eq!(prove(&embedder, &[]).unwrap(), Proof::NoSamples);
    }

    #[test]
    fn the_choice_is_spread_and_does_not_depend_on_order() {
        let names: Vec<String> = (0..50).map(|at| format!("key {at:02}")).collect();
        let mut candidates: Vec<Sample<'_>> = names
            .iter()
            .map(|name| Sample {
                key: name,
                text: name,
                vector: &[],
            })
            .collect();
        let chosen = choose(&candidates);
        let keys: Vec<&str> = chosen.iter().map(|sample| sample.key).collect();
        assert_eq!(
            keys,
            [
                "key 00", "key 07", "key 14", "key 21", "key 28", "key 35", "key 42", "key 49"
            ]
        );
        candidates.reverse();
        assert_eq!(choose(&candidates), chosen);
    }

    #[test]
    fn the_choice_prefers_short_texts_and_leaves_out_twins_and_blanks() {
        let (long, longer) = ("x".repeat(501), "x".repeat(502));
        let sample = |key, text| Sample {
            key,
            text,
            vector: &[],
        };
        let candidates = [
            sample("a", long.as_str()),
            sample("b", "one"),
            sample("c", "one"),
            sample("d", " "),
        ];
        assert_eq!(choose(&candidates), [sample("b", "one")]);
        let candidates = [sample("a", longer.as_str()), sample("b", long.as_str())];
        assert_eq!(
            choose(&candidates),
            [sample("b", &long), sample("a", &longer)]
        );
        assert!(choose(&[]).is_empty());
    }
}
