//! One group and the LLM: question, answer, verification, vector. Writes nothing.

mod answers;
mod sources;
mod vectors;

pub(super) use self::sources::{Group, Sources, says_what};
pub(super) use self::vectors::Vectored;

use super::draft::{Candidate, Draft, Written};
use super::judged::Part;
use super::originals::{MOST_GENERATIONS, Said};
use super::{MergeError, Pipeline, Stations};
use crate::memory::{Author, GroupLeft, PlannedMerge, Reason};
use crate::summarize::llm::Llm;

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
    vectored: Vectored,
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
            return Ok(self.stations.keep(draft, candidate, kept));
        }
        self.stations.ask(draft, candidate, said).await
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
        let group = Group {
            draft,
            candidate,
            sources: &sources,
        };
        let accepted = match self.text_for(group).await? {
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

    fn merge_of(&self, draft: &Draft, candidate: &Candidate, accepted: Accepted) -> PlannedMerge {
        let parts = accepted.parts.iter().map(|&at| &candidate.parts[at]);
        let rows: Vec<usize> = parts.flat_map(Part::rows).collect();
        let prompt = self.llm.as_deref().map_or("", Llm::prompt_version);
        let written = Written {
            text: accepted.text,
            author: Author::Llm {
                model: accepted.model,
                prompt: prompt.to_owned(),
                tokens: accepted.tokens,
                calls: accepted.calls,
            },
            vectored: accepted.vectored,
        };
        draft.merge(self.clock.id(), &rows, written, candidate.findings.clone())
    }
}
