//! One group and the LLM: question, answer, verification, vector. Writes nothing.

use std::sync::Arc;

use super::draft::{Candidate, Draft};
use super::judged::Part;
use super::originals::Said;
use super::{MergeError, Pipeline, Stations, WriteVector};
use crate::embed::{Embedder, distance};
use crate::memory::{Author, GroupLeft, PlannedMerge, Reason, VectorOrigin};
use crate::summarize::SourceText;
use crate::summarize::llm::{Answer, Llm, LlmError, Reply, Request};
use crate::summarize::verify::verify;

/// Farthest cosine distance of a merged text from any of its sources.
///
/// Paraphrases of one fact lie within 0.2 of each other in MiniLM; a text beyond 0.35 speaks of
/// something else.
const FARTHEST: f64 = 0.35;

/// A vector and where it comes from.
type Vectored = (VectorOrigin, Vec<f32>);

/// What came of a question.
pub(super) struct Asked {
    pub(super) merges: Vec<PlannedMerge>,
    pub(super) left: Vec<GroupLeft>,
    /// Whether the LLM's text is used.
    pub(super) accepted: bool,
    /// Answers that were looked at.
    pub(super) calls: u32,
    /// Whether that is the LLM's word on these memories, and not for want of an answer.
    pub(super) settled: bool,
}

/// A text that passed verification.
struct Accepted {
    text: String,
    vector_origin: VectorOrigin,
    vector: Vec<f32>,
    model: String,
    tokens: u64,
    calls: u32,
}

/// Why no text was accepted.
struct Kept {
    reason: Reason,
    detail: String,
    calls: u32,
    settled: bool,
}

impl Pipeline {
    /// Asks for one text for `candidate`, which starts from the originals of what an LLM wrote.
    pub(super) async fn ask(
        &self,
        draft: &Draft,
        candidate: &Candidate,
    ) -> Result<Asked, MergeError> {
        let mut said = Vec::new();
        for part in &candidate.parts {
            said.extend(self.said(&draft.snapshot.memories[part.keep]).await?);
        }
        self.stations().ask(draft, candidate, said).await
    }
}

impl Stations {
    /// Asks for one text that says what `said` says, for `candidate`. Where there is none, its
    /// lossless parts are still merged.
    pub(super) async fn ask(
        &self,
        draft: &Draft,
        candidate: &Candidate,
        said: Vec<Said>,
    ) -> Result<Asked, MergeError> {
        let sources = source_texts(said);
        let kept = match self.text_for(draft, candidate, &sources).await? {
            Ok(accepted) => {
                return Ok(Asked {
                    calls: accepted.calls,
                    merges: vec![self.merge_of(draft, candidate, accepted)],
                    left: Vec::new(),
                    accepted: true,
                    settled: true,
                });
            }
            Err(kept) => kept,
        };
        let lossless = candidate
            .parts
            .iter()
            .filter(|part| !part.absorbed.is_empty());
        let keeps = candidate.parts.iter().map(|part| part.keep);
        let findings = candidate.findings.clone();
        Ok(Asked {
            merges: lossless
                .map(|part| draft.lossless(self.clock.id(), part))
                .collect(),
            left: vec![draft.left(keeps, kept.reason, kept.detail, findings)],
            accepted: false,
            calls: kept.calls,
            settled: kept.settled,
        })
    }

    fn merge_of(&self, draft: &Draft, candidate: &Candidate, accepted: Accepted) -> PlannedMerge {
        let rows = || candidate.parts.iter().flat_map(Part::rows);
        PlannedMerge {
            merge_id: self.clock.id(),
            partition: candidate.partition.clone(),
            sources: draft.sources(rows()),
            result_key: draft.oldest(rows()),
            text: accepted.text,
            author: Author::Llm {
                model: accepted.model,
                prompt: self
                    .llm
                    .as_deref()
                    .map_or("", Llm::prompt_version)
                    .to_owned(),
                tokens: accepted.tokens,
                calls: accepted.calls,
            },
            vector_origin: accepted.vector_origin,
            vector: accepted.vector,
            findings: candidate.findings.clone(),
        }
    }

    /// At most two answers: the second question names what was wrong with the first answer.
    async fn text_for(
        &self,
        draft: &Draft,
        candidate: &Candidate,
        sources: &[SourceText],
    ) -> Result<Result<Accepted, Kept>, MergeError> {
        let kept = |reason, detail: String, calls, settled| {
            Ok(Err(Kept {
                reason,
                detail,
                calls,
                settled,
            }))
        };
        let Some(llm) = &self.llm else {
            return kept(
                Reason::NeedsLlm,
                "no LLM is configured".to_owned(),
                0,
                false,
            );
        };
        let memory_type = &candidate.partition.memory_type;
        let (mut fault, mut reason) = (None::<String>, Reason::LlmFailed);
        let mut tokens = 0;
        for calls in 1..=2 {
            if let Some(outage) = llm.outage() {
                let detail = format!("not asked after: {outage}");
                return kept(Reason::LlmFailed, detail, calls - 1, false);
            }
            let request = Request {
                memory_type,
                sources,
                fault: fault.as_deref(),
            };
            match llm.summarize(&request).await {
                Ok(Reply {
                    answer: Answer::Declined { why },
                    ..
                }) => {
                    return kept(Reason::LlmDeclined, why, calls, true);
                }
                Ok(Reply {
                    answer: Answer::Merged { text, .. },
                    model,
                    usage,
                }) => {
                    tokens += usage.prompt_tokens + usage.completion_tokens;
                    match self.usable(draft, candidate, sources, text).await? {
                        Ok((text, (vector_origin, vector))) => {
                            return Ok(Ok(Accepted {
                                text,
                                vector_origin,
                                vector,
                                model,
                                tokens,
                                calls,
                            }));
                        }
                        Err(faults) => {
                            reason = Reason::VerificationFailed;
                            fault = Some(faults);
                        }
                    }
                }
                Err(
                    error @ (LlmError::BadAnswer { .. } | LlmError::Empty { reasoning: false }),
                ) => {
                    reason = Reason::LlmFailed;
                    fault = Some(error.to_string());
                }
                Err(error) => {
                    let settled = error.is_answer();
                    return kept(failure(&error), error.to_string(), calls, settled);
                }
            }
        }
        kept(reason, fault.unwrap_or_default(), 2, true)
    }

    /// The text, or, where that is faulty, the source that says all that the others say: an LLM
    /// that rightly says "same" may write badly. Else the faults of the text.
    async fn usable(
        &self,
        draft: &Draft,
        candidate: &Candidate,
        sources: &[SourceText],
        text: String,
    ) -> Result<Result<(String, Vectored), String>, MergeError> {
        let faults = match self.verified(draft, candidate, sources, &text).await? {
            Ok(vectored) => return Ok(Ok((text, vectored))),
            Err(faults) => faults,
        };
        let keeps = candidate.parts.iter().map(|part| part.keep);
        let mut texts: Vec<&String> = keeps
            .map(|row| &draft.snapshot.memories[row].text)
            .collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.chars().count()));
        for text in texts {
            if let Ok(vectored) = self.verified(draft, candidate, sources, text).await? {
                return Ok(Ok((text.clone(), vectored)));
            }
        }
        Ok(Err(faults))
    }

    /// Whether the text may stand for the sources, and the vector to write with it.
    async fn verified(
        &self,
        draft: &Draft,
        candidate: &Candidate,
        sources: &[SourceText],
        text: &str,
    ) -> Result<Result<Vectored, String>, MergeError> {
        if let Err(faults) = says_what(sources, &candidate.partition.memory_type, text) {
            return Ok(Err(faults));
        }
        let keeps: Vec<usize> = candidate.parts.iter().map(|part| part.keep).collect();
        let embedded = match (&self.embedder, draft.space.of_model) {
            (Some(embedder), true) => Some(embed(Arc::clone(embedder), text.to_owned()).await?),
            _ => None,
        };
        if let Some(vector) = &embedded {
            let vectors = draft.vectors();
            let far = keeps
                .iter()
                .map(|&row| distance(vector, &vectors.row(row).to_vec()))
                .fold(0.0, f64::max);
            if far > FARTHEST {
                return Ok(Err(format!(
                    "the text speaks of something else (distance {far:.2})"
                )));
            }
        }
        if keeps
            .iter()
            .any(|&row| draft.snapshot.memories[row].text == text)
        {
            return Ok(Ok((VectorOrigin::Source, Vec::new())));
        }
        match (self.options.write_vector, embedded) {
            (WriteVector::Auto, Some(vector)) => Ok(Ok((VectorOrigin::Embedded, vector))),
            (WriteVector::Auto, None) => Ok(Err("no vector can be had for it".to_owned())),
            (WriteVector::Centroid, _) => Ok(centroid(draft, &keeps)
                .map(|vector| (VectorOrigin::Centroid, vector))
                .ok_or_else(|| "the sources' vectors cancel each other out".to_owned())),
        }
    }
}

/// The texts that the LLM sees, oldest first, under ids made for this call.
fn source_texts(mut said: Vec<Said>) -> Vec<SourceText> {
    said.sort_by(|a, b| (a.at, &a.text).cmp(&(b.at, &b.text)));
    said.dedup_by(|a, b| a == b);
    let numbered = said.into_iter().zip(1..);
    numbered
        .map(|(said, number)| SourceText {
            id: format!("m{number}"),
            text: said.text,
            said_at: said.at,
        })
        .collect()
}

/// Whether a text says what its sources say, and nothing else; else all faults, as the second
/// question names them.
pub(super) fn says_what(
    sources: &[SourceText],
    memory_type: &str,
    text: &str,
) -> Result<(), String> {
    verify(sources, memory_type, text).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        faults.join("; ")
    })
}

fn failure(error: &LlmError) -> Reason {
    match error {
        LlmError::InputTooLarge { .. } => Reason::GroupTooLarge,
        LlmError::Private { .. } => Reason::PrivateData,
        _ => Reason::LlmFailed,
    }
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
