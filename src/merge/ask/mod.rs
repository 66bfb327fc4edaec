//! One group and the LLM: question, answer, verification, vector. Writes nothing.

use std::sync::Arc;

use super::draft::{Candidate, Draft};
use super::judged::Part;
use super::originals::{MOST_GENERATIONS, Said};
use super::{MergeError, Pipeline, Stations, WriteVector};
use crate::embed::{Embedder, distance};
use crate::memory::{Author, GroupLeft, PlannedMerge, Reason, VectorOrigin};
use crate::summarize::SourceText;
use crate::summarize::llm::{Answer, LeftOut, Llm, LlmError, Reply, Request};
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
    /// Positions of the candidate's parts that it stands for, ascending.
    parts: Vec<usize>,
    /// Why it does not stand for the others, where there are others.
    others: (Reason, String),
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
    #[tracing::instrument(level = "debug", name = "ask", skip_all, fields(group.parts = candidate.parts.len()))]
    pub(super) async fn ask(
        &self,
        draft: &Draft,
        candidate: &Candidate,
    ) -> Result<Asked, MergeError> {
        let (mut said, mut oldest) = (Vec::new(), 0);
        for part in &candidate.parts {
            let memory = &draft.snapshot.memories[part.keep];
            let texts = self.said(memory).await?;
            if texts.iter().any(|said| said.text == memory.text) {
                oldest = oldest.max(self.generations(memory).await?);
            }
            said.push(texts);
        }
        if oldest >= MOST_GENERATIONS {
            let detail = format!(
                "an LLM wrote a text over {oldest} generations, and the originals are gone"
            );
            let kept = Kept {
                reason: Reason::Generations,
                detail,
                calls: 0,
                settled: true,
            };
            return Ok(self.stations().keep(draft, candidate, kept));
        }
        self.stations().ask(draft, candidate, said).await
    }
}

impl Stations {
    /// Asks for one text that says what `said` says (for each part of the candidate what it stands
    /// for). Parts that it does not stand for are still merged as far as they are lossless.
    pub(super) async fn ask(
        &self,
        draft: &Draft,
        candidate: &Candidate,
        said: Vec<Vec<Said>>,
    ) -> Result<Asked, MergeError> {
        let sources = Sources::of(said);
        let accepted = match self.text_for(draft, candidate, &sources).await? {
            Ok(accepted) => accepted,
            Err(kept) => return Ok(self.keep(draft, candidate, kept)),
        };
        let (calls, (reason, detail)) = (accepted.calls, accepted.others.clone());
        let stands_for = |at: &usize| accepted.parts.contains(at);
        let others: Vec<&Part> = (0..candidate.parts.len())
            .filter(|at| !stands_for(at))
            .map(|at| &candidate.parts[at])
            .collect();
        let mut left = Vec::new();
        if !others.is_empty() {
            let keeps = candidate.parts.iter().map(|part| part.keep);
            left.push(draft.left(keeps, reason, detail, candidate.findings.clone()));
        }
        let mut merges = self.lossless(draft, others);
        merges.push(self.merge_of(draft, candidate, accepted));
        Ok(Asked {
            merges,
            left,
            accepted: true,
            calls,
            settled: true,
        })
    }

    /// No text was accepted: the originals stay, but for what is lossless.
    fn keep(&self, draft: &Draft, candidate: &Candidate, kept: Kept) -> Asked {
        let keeps = candidate.parts.iter().map(|part| part.keep);
        let findings = candidate.findings.clone();
        Asked {
            merges: self.lossless(draft, candidate.parts.iter()),
            left: vec![draft.left(keeps, kept.reason, kept.detail, findings)],
            accepted: false,
            calls: kept.calls,
            settled: kept.settled,
        }
    }

    fn lossless<'a>(
        &self,
        draft: &Draft,
        parts: impl IntoIterator<Item = &'a Part>,
    ) -> Vec<PlannedMerge> {
        let absorbing = parts.into_iter().filter(|part| !part.absorbed.is_empty());
        absorbing
            .map(|part| draft.lossless(self.clock.id(), part))
            .collect()
    }

    fn merge_of(&self, draft: &Draft, candidate: &Candidate, accepted: Accepted) -> PlannedMerge {
        let parts = || accepted.parts.iter().map(|&at| &candidate.parts[at]);
        let rows = || parts().flat_map(Part::rows);
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
        sources: &Sources,
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
                sources: &sources.texts,
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
                    answer: Answer::Update { why },
                    ..
                }) => {
                    return kept(Reason::LlmUpdate, why, calls, true);
                }
                Ok(Reply {
                    answer: Answer::Merged { text, left_out, .. },
                    model,
                    usage,
                }) => {
                    tokens += usage.prompt_tokens + usage.completion_tokens;
                    let parts = sources.without(&left_out);
                    let group = Group {
                        draft,
                        candidate,
                        sources,
                    };
                    match self.usable(group, parts, text).await? {
                        Ok(Usable {
                            parts,
                            text,
                            vectored: (vector_origin, vector),
                            faults,
                        }) => {
                            return Ok(Ok(Accepted {
                                parts,
                                others: match faults {
                                    Some(faults) => (Reason::VerificationFailed, faults),
                                    None => (Reason::LlmDeclined, reasons(&left_out)),
                                },
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

    /// The text and the parts that it stands for: all of `parts`. Where that is faulty, the source
    /// that says all that most others say, and those: an LLM that rightly says "same" may write
    /// badly. Else the faults of the text.
    async fn usable(
        &self,
        group: Group<'_>,
        parts: Vec<usize>,
        text: String,
    ) -> Result<Result<Usable, String>, MergeError> {
        if parts.len() < 2 {
            return Ok(Err("it leaves nothing to merge".to_owned()));
        }
        let faults = match self.verified(group, &parts, &text).await? {
            Ok(vectored) => {
                return Ok(Ok(Usable {
                    parts,
                    text,
                    vectored,
                    faults: None,
                }));
            }
            Err(faults) => faults,
        };
        let mut covering: Vec<(Vec<usize>, &String)> = parts
            .iter()
            .take(MOST_COMPARED)
            .map(|&at| (group.covered_by(at, &parts), group.text(at)))
            .filter(|(covered, _)| covered.len() > 1)
            .collect();
        // The most first, then the shortest text, then the order of the parts.
        covering.sort_by_key(|(covered, text)| {
            (std::cmp::Reverse(covered.len()), text.chars().count())
        });
        for (covered, text) in covering {
            if let Ok(vectored) = self.verified(group, &covered, text).await? {
                return Ok(Ok(Usable {
                    parts: covered,
                    text: text.clone(),
                    vectored,
                    faults: Some(faults),
                }));
            }
        }
        Ok(Err(faults))
    }

    /// Whether the text may stand for these parts, and the vector to write with it.
    pub(super) async fn verified(
        &self,
        group: Group<'_>,
        parts: &[usize],
        text: &str,
    ) -> Result<Result<Vectored, String>, MergeError> {
        let memory_type = &group.candidate.partition.memory_type;
        if let Err(faults) = says_what(&group.sources.of_parts(parts), memory_type, text) {
            return Ok(Err(faults));
        }
        let found = self.vectored(group, parts, text).await?;
        Ok(found.and_then(|(vectored, far)| far.map_or(Ok(vectored), Err)))
    }

    /// The vector to write with a text for these parts, and what is wrong with the text by its
    /// meaning. The inner error says why there is no vector.
    pub(super) async fn vectored(
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
        let far = compared.and_then(|vector| {
            let vectors = draft.vectors();
            let far = keeps
                .iter()
                .map(|&row| distance(&vector, &vectors.row(row).to_vec()))
                .fold(0.0, f64::max);
            (far > FARTHEST)
                .then(|| format!("the text speaks of something else (distance {far:.2})"))
        });
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

/// Parts of a candidate that are compared with each other at most, where a text is faulty.
const MOST_COMPARED: usize = 24;

/// A text that passed verification, or a source in its place.
struct Usable {
    parts: Vec<usize>,
    text: String,
    vectored: Vectored,
    /// What was wrong with the text that a source stands in for.
    faults: Option<String>,
}

fn reasons(left_out: &[LeftOut]) -> String {
    let reasons: Vec<&str> = left_out.iter().map(|left| left.why.as_str()).collect();
    reasons.join("; ")
}

/// A candidate with what it was made of.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) draft: &'a Draft,
    pub(super) candidate: &'a Candidate,
    pub(super) sources: &'a Sources,
}

impl<'a> Group<'a> {
    fn text(self, at: usize) -> &'a String {
        &self.draft.snapshot.memories[self.candidate.parts[at].keep].text
    }

    /// The parts, `at` among them, that the text of the part `at` stands for.
    fn covered_by(self, at: usize, parts: &[usize]) -> Vec<usize> {
        let memory_type = &self.candidate.partition.memory_type;
        let stands_for = |other: usize| {
            let sources = self.sources.of_parts(&[at, other]);
            verify(&sources, memory_type, self.text(at)).is_ok()
        };
        let compared = parts.iter().copied().take(MOST_COMPARED);
        compared
            .filter(|&other| other == at || stands_for(other))
            .collect()
    }
}

/// The texts that the LLM sees, oldest first, under ids made for this call.
pub(super) struct Sources {
    texts: Vec<SourceText>,
    /// For each part of the candidate, the positions of the texts that it stands for.
    of_part: Vec<Vec<usize>>,
}

impl Sources {
    pub(super) fn of(said: Vec<Vec<Said>>) -> Self {
        let mut all: Vec<&Said> = said.iter().flatten().collect();
        all.sort_by(|a, b| (a.at, &a.text).cmp(&(b.at, &b.text)));
        all.dedup();
        let place = |said: &Said| all.iter().position(|known| **known == *said);
        let of_part = said
            .iter()
            .map(|said| said.iter().filter_map(place).collect())
            .collect();
        let numbered = all.iter().zip(1..);
        let texts = numbered
            .map(|(said, number)| SourceText {
                id: format!("m{number}"),
                text: said.text.clone(),
                said_at: said.at,
            })
            .collect();
        Self { texts, of_part }
    }

    /// The texts that some parts stand for.
    pub(super) fn of_parts(&self, parts: &[usize]) -> Vec<SourceText> {
        let wanted = |at: &usize| parts.iter().any(|&part| self.of_part[part].contains(at));
        let places = (0..self.texts.len()).filter(wanted);
        places.map(|at| self.texts[at].clone()).collect()
    }

    /// The parts none of whose texts is left out.
    fn without(&self, left_out: &[LeftOut]) -> Vec<usize> {
        let is_out = |at: &usize| left_out.iter().any(|left| left.id == self.texts[*at].id);
        let parts = 0..self.of_part.len();
        parts
            .filter(|&part| !self.of_part[part].iter().any(is_out))
            .collect()
    }
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
