//! How many memories may retire by an LLM's word.

use super::draft::{Candidate, Draft};
use super::{MergeError, Pipeline, RunBy};

impl Pipeline {
    /// Memories of a user with `memories` that the LLM's word may retire in one run.
    pub(super) fn retirement_limit(&self, memories: usize) -> usize {
        let options = &self.stations.options;
        let run = options
            .max_retire
            .unwrap_or_else(|| 20.max(memories * 3 / 10));
        let RunBy::Worker { retired_today, .. } = options.run_by else {
            return run;
        };
        let day = options
            .max_retire_day
            .unwrap_or_else(|| 50.max(memories / 2));
        run.min(day.saturating_sub(retired_today))
    }

    /// The deletion cap, computed before the first LLM call. Lossless merges don't count.
    pub(super) fn check_retirement(&self, draft: &Draft) -> Result<(), MergeError> {
        let memories = draft.snapshot.memories.len();
        let proposed: usize = draft.candidates.iter().map(Candidate::retires).sum();
        let limit = self.retirement_limit(memories);
        if proposed > limit {
            return Err(MergeError::RetirementCap {
                proposed,
                memories,
                limit,
            });
        }
        Ok(())
    }
}

impl Candidate {
    /// Memories that the LLM's word would retire.
    pub(super) fn retires(&self) -> usize {
        self.parts.len() - 1
    }
}
