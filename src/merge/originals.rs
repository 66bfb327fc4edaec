//! A merge of merges starts from the originals, as long as the undo store has them: a summary of
//! summaries drifts.

use jiff::Timestamp;

use super::{MergeError, Pipeline};
use crate::memory::{Author, Memory};
use crate::store::{self, State};

/// A text and when it was said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) at: Option<Timestamp>,
}

impl Said {
    /// What a memory says by itself.
    pub(super) fn of(memory: &Memory) -> Self {
        Self {
            text: memory.text.clone(),
            at: memory.said_at,
        }
    }
}

/// Times that an LLM may rewrite what it wrote itself, once the originals are gone.
pub(super) const MOST_GENERATIONS: usize = 3;

impl Pipeline {
    /// How many LLM texts stand between `memory` and its originals; 0 where its own text is one.
    pub(super) async fn generations(&self, memory: &Memory) -> Result<usize, MergeError> {
        let mut deepest = 0;
        let first = memory.merge_id.iter().map(|id| (id.clone(), 0));
        let mut open: Vec<(String, usize)> = first.collect();
        while let Some((merge_id, above)) = open.pop() {
            // Where the record is gone too, its text counts as written by an LLM.
            let stored = store::show(&mut self.conn.clone(), &merge_id).await?;
            let by_llm = stored
                .as_ref()
                .is_none_or(|s| matches!(s.merge.author, Author::Llm { .. }));
            let depth = above + usize::from(by_llm);
            deepest = deepest.max(depth);
            if depth < MOST_GENERATIONS {
                let parents = stored.map(|s| s.merge.parents).unwrap_or_default();
                open.extend(parents.into_iter().map(|parent| (parent, depth)));
            }
        }
        Ok(deepest)
    }

    /// What `memory` stands for: its own text, or, where an LLM wrote that, the texts of which it
    /// was made, over all generations.
    pub(super) async fn said(&self, memory: &Memory) -> Result<Vec<Said>, MergeError> {
        let mut said: Vec<Said> = Vec::new();
        let mut open = vec![memory.clone()];
        while let Some(memory) = open.pop() {
            if let Some(originals) = self.originals(&memory).await? {
                open.extend(originals);
            } else if said.iter().all(|known| known.text != memory.text) {
                said.push(Said::of(&memory));
            }
        }
        Ok(said)
    }

    /// The originals of a text that an LLM wrote; `None` where it is an original itself, was edited
    /// since, or where not all of its originals are there any more.
    async fn originals(&self, memory: &Memory) -> Result<Option<Vec<Memory>>, MergeError> {
        let Some(merge_id) = &memory.merge_id else {
            return Ok(None);
        };
        let mut conn = self.conn.clone();
        let Some(stored) = store::show(&mut conn, merge_id).await? else {
            return Ok(None);
        };
        let wrote_it = stored.state == State::Merged
            && stored.merge.result_key == memory.key
            && stored.result_digest == memory.digest
            && stored.merge.partition == memory.partition;
        if !wrote_it || !matches!(stored.merge.author, Author::Llm { .. }) {
            return Ok(None);
        }
        let records = store::originals(&mut conn, &stored).await?;
        let originals = stored.merge.sources.iter().zip(records);
        Ok(originals
            .map(|(source, record)| Some(self.layout.read(&source.key, &record?).ok()?.memory))
            .collect())
    }
}
