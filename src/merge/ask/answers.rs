//! The LLM's answers about one group, and what of them can be used.

use std::ops::ControlFlow;

use super::sources::{Group, says_what};
use super::vectors::Vectored;
use super::{Accepted, Kept};
use crate::memory::Reason;
use crate::merge::{MergeError, Stations};
use crate::summarize::llm::{Answer, LeftOut, LlmError, Reply, Request};

/// Questions about one group at most.
const MOST_CALLS: u32 = 2;

/// Parts of a candidate that are compared with each other at most, where a text is faulty.
pub(super) const MOST_COMPARED: usize = 24;

/// A text that passed verification, or a source in its place.
struct Usable {
    parts: Vec<usize>,
    text: String,
    vectored: Vectored,
    /// What was wrong with the text that a source stands in for.
    faults: Option<String>,
}

/// The questions about one group so far.
struct Asking<'a> {
    group: Group<'a>,
    calls: u32,
    tokens: u64,
    /// What was wrong with the last answer.
    fault: Option<String>,
    /// Why the originals would stay if that were the last question.
    reason: Reason,
}

/// Whether another question is worth it, or what the last one came to.
type Outcome = ControlFlow<Result<Accepted, Kept>>;

impl<'a> Asking<'a> {
    fn about(group: Group<'a>) -> Self {
        Self {
            group,
            calls: 0,
            tokens: 0,
            fault: None,
            reason: Reason::LlmFailed,
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            memory_type: &self.group.candidate.partition.memory_type,
            sources: &self.group.sources.texts,
            fault: self.fault.as_deref(),
        }
    }

    /// The answer cannot be used, but another one may be.
    fn again(&mut self, reason: Reason, fault: String) -> Outcome {
        self.reason = reason;
        self.fault = Some(fault);
        Outcome::Continue(())
    }

    fn kept(&self, reason: Reason, detail: String, settled: bool) -> Kept {
        Kept {
            reason,
            detail,
            calls: self.calls,
            settled,
        }
    }

    /// There was no answer.
    fn failed(&mut self, error: &LlmError) -> Outcome {
        match error {
            LlmError::BadAnswer { .. } | LlmError::Empty { reasoning: false } => {
                self.again(Reason::LlmFailed, error.to_string())
            }
            _ => {
                let kept = self.kept(failure(error), error.to_string(), error.is_answer());
                Outcome::Break(Err(kept))
            }
        }
    }

    /// The text is used.
    fn accepted(&self, usable: Usable, model: String, left_out: &[LeftOut]) -> Accepted {
        Accepted {
            parts: usable.parts,
            others: match usable.faults {
                Some(faults) => (Reason::VerificationFailed, faults),
                None => (Reason::LlmDeclined, reasons(left_out)),
            },
            text: usable.text,
            vectored: usable.vectored,
            model,
            tokens: self.tokens,
            calls: self.calls,
        }
    }

    /// No answer could be used.
    fn given_up(self) -> Kept {
        Kept {
            reason: self.reason,
            detail: self.fault.unwrap_or_default(),
            calls: self.calls,
            settled: true,
        }
    }
}

impl Stations {
    /// At most two answers: the second question names what was wrong with the first answer.
    pub(super) async fn text_for(
        &self,
        group: Group<'_>,
    ) -> Result<Result<Accepted, Kept>, MergeError> {
        let mut asking = Asking::about(group);
        let Some(llm) = &self.llm else {
            let detail = "no LLM is configured".to_owned();
            return Ok(Err(asking.kept(Reason::NeedsLlm, detail, false)));
        };
        while asking.calls < MOST_CALLS {
            if let Some(outage) = llm.outage() {
                let detail = format!("not asked after: {outage}");
                return Ok(Err(asking.kept(Reason::LlmFailed, detail, false)));
            }
            let answered = llm.summarize(&asking.request()).await;
            asking.calls += 1;
            let outcome = match answered {
                Ok(reply) => self.weigh(&mut asking, reply).await?,
                Err(error) => asking.failed(&error),
            };
            if let Outcome::Break(end) = outcome {
                return Ok(end);
            }
        }
        Ok(Err(asking.given_up()))
    }

    /// What an answer comes to.
    async fn weigh(&self, asking: &mut Asking<'_>, reply: Reply) -> Result<Outcome, MergeError> {
        let (text, left_out) = match reply.answer {
            Answer::Merged { text, left_out, .. } => (text, left_out),
            Answer::Declined { why } => {
                let kept = asking.kept(Reason::LlmDeclined, why, true);
                return Ok(Outcome::Break(Err(kept)));
            }
            Answer::Update { why } => {
                let kept = asking.kept(Reason::LlmUpdate, why, true);
                return Ok(Outcome::Break(Err(kept)));
            }
        };
        asking.tokens += reply.usage.prompt_tokens + reply.usage.completion_tokens;
        let parts = asking.group.sources.without(&left_out);
        Ok(match self.usable(asking.group, parts, text).await? {
            Ok(usable) => Outcome::Break(Ok(asking.accepted(usable, reply.model, &left_out))),
            Err(faults) => asking.again(Reason::VerificationFailed, faults),
        })
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
    async fn verified(
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
}

/// Why the originals stay after such an error.
fn failure(error: &LlmError) -> Reason {
    match error {
        LlmError::InputTooLarge { .. } => Reason::GroupTooLarge,
        LlmError::Private { .. } => Reason::PrivateData,
        _ => Reason::LlmFailed,
    }
}

/// Why sources were left out.
fn reasons(left_out: &[LeftOut]) -> String {
    let reasons: Vec<&str> = left_out.iter().map(|left| left.why.as_str()).collect();
    reasons.join("; ")
}
