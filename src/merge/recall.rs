//! What the LLM decided before: a group that it leaves as it is, is not put to it again until one of
//! its memories says something else.

use std::collections::BTreeMap;

use super::draft::{Candidate, Draft};
use super::fingerprint::Fingerprint;
use super::{Pipeline, RunBy};
use crate::memory::Reason;

impl Pipeline {
    /// Decides the candidates that the LLM decided before, by `verdicts`; their lossless parts are
    /// still merged. Answers what was recalled.
    pub(super) fn recall(
        &self,
        draft: &mut Draft,
        verdicts: &BTreeMap<String, Reason>,
    ) -> BTreeMap<String, Reason> {
        let mut recalled = BTreeMap::new();
        if self.stations.options.ask_again || verdicts.is_empty() {
            return recalled;
        }
        for candidate in std::mem::take(&mut draft.candidates) {
            let question = self.question(draft, &candidate);
            // Unusable answers are asked for again by hand, but not by the worker each time.
            let by_hand = self.stations.options.run_by == RunBy::Hand;
            let stands = |reason: &&Reason| !(by_hand && **reason == Reason::LlmFailed);
            match verdicts.get(&question).filter(stands) {
                Some(&reason) => {
                    recalled.insert(question, reason);
                    let detail = "decided by the LLM in an earlier run; it is asked again when a \
                                  memory says something else (or by --ask-again)";
                    self.keep(draft, candidate, reason, detail);
                }
                None => draft.candidates.push(candidate),
            }
        }
        recalled
    }

    /// Leaves the candidates that one run may not put to the LLM any more for the next one. Answers
    /// how many.
    pub(super) fn defer(&self, draft: &mut Draft, batch: usize) -> usize {
        let limit = self.retirement_limit(draft.snapshot.memories.len());
        let (mut asked, mut retired, mut deferred) = (0, 0, 0);
        for candidate in std::mem::take(&mut draft.candidates) {
            if asked < batch && retired + candidate.retires() <= limit {
                asked += 1;
                retired += candidate.retires();
                draft.candidates.push(candidate);
            } else {
                deferred += 1;
                let detail = "one run may not ask more, or retire more by the LLM's word";
                self.keep(draft, candidate, Reason::Deferred, detail);
            }
        }
        deferred
    }

    fn keep(&self, draft: &mut Draft, candidate: Candidate, reason: Reason, detail: &str) {
        let Candidate {
            parts, findings, ..
        } = candidate;
        self.stations.leave(draft, &parts, reason, detail, findings);
    }

    /// Names what the LLM is asked about a candidate: the texts with their dates, whatever else
    /// stands on the records, and who is asked how.
    pub(super) fn question(&self, draft: &Draft, candidate: &Candidate) -> String {
        let memories = candidate
            .parts
            .iter()
            .map(|part| &draft.snapshot.memories[part.keep]);
        let mut said: Vec<String> = memories
            .map(|memory| format!("{:?} {}", memory.said_at, memory.text))
            .collect();
        said.sort();
        let llm = self.stations.llm.as_deref();
        let asked = [
            llm.map_or("", |llm| llm.model()),
            llm.map_or("", |llm| llm.prompt_version()),
            &candidate.partition.memory_type,
            &self.stations.options.threshold.value.to_string(),
        ];
        let mut question = Fingerprint::default();
        let said = said.iter().map(String::as_str);
        asked
            .into_iter()
            .chain(said)
            .for_each(|part| question.add(part));
        question.finish()
    }
}
