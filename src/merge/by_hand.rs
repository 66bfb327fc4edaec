//! A text that a person writes for a group: verified as an LLM's would be. Writes nothing.

use super::ask::{Group, Sources};
use super::draft::{Candidate, Draft};
use super::judged::Part;
use super::space;
use super::{MergeError, Pipeline};
use crate::memory::{Author, Finding, PlanSource, PlannedMerge, VectorOrigin};

impl Pipeline {
    /// The merge of `members` (memories of `user` as a plan showed them) under `text`, ready for
    /// [`Self::apply`]. `findings` are what the guards said of the group, for the record.
    ///
    /// The inner error says what is wrong with the text, or which member is not what was shown.
    ///
    /// # Errors
    /// [`MergeError`] of the store or the embedder; nothing was written.
    pub async fn by_hand(
        &self,
        user: &str,
        members: &[PlanSource],
        findings: &[Finding],
        text: &str,
    ) -> Result<Result<PlannedMerge, String>, MergeError> {
        let snapshot = self.read(user, &()).await?;
        let mut rows = Vec::new();
        for member in members {
            let is_it =
                |m: &crate::memory::Memory| m.key == member.key && m.digest == member.digest;
            match snapshot.memories.iter().position(is_it) {
                Some(row) => rows.push(row),
                None => {
                    return Ok(Err(format!(
                        "{} has changed since it was shown",
                        member.key
                    )));
                }
            }
        }
        let stations = self.stations();
        let space = space::choose(self.embedder.clone(), &self.options, true, &snapshot).await?;
        let draft = Draft {
            plan: stations.empty_plan(&self.index.name, &snapshot, &space),
            candidates: Vec::new(),
            snapshot,
            space,
        };
        let memory = |row: usize| &draft.snapshot.memories[row];
        let Some(partition) = rows.first().map(|&row| memory(row).partition.clone()) else {
            return Ok(Err("there is nothing to merge".to_owned()));
        };
        if rows.len() < 2 || rows.iter().any(|&row| memory(row).partition != partition) {
            return Ok(Err("these are not several memories of one kind".to_owned()));
        }
        let is_new = rows.iter().all(|&row| memory(row).text != text);
        if is_new && let Some(why) = draft.space.cannot_write(self.options.write_vector) {
            return Ok(Err(why));
        }
        let mut said = Vec::new();
        for &row in &rows {
            said.push(self.said(memory(row)).await?);
        }
        let part = |&keep: &usize| Part {
            keep,
            absorbed: Vec::new(),
        };
        let candidate = Candidate {
            partition,
            parts: rows.iter().map(part).collect(),
            findings: findings.to_vec(),
        };
        let group = Group {
            draft: &draft,
            candidate: &candidate,
            sources: &Sources::of(said),
        };
        let all: Vec<usize> = (0..rows.len()).collect();
        let vectored = stations.verified(group, &all, text).await?;
        Ok(vectored.map(|(vector_origin, vector)| {
            self.written(&draft, candidate.clone(), text, vector_origin, vector)
        }))
    }

    fn written(
        &self,
        draft: &Draft,
        candidate: Candidate,
        text: &str,
        vector_origin: VectorOrigin,
        vector: Vec<f32>,
    ) -> PlannedMerge {
        let rows = || candidate.parts.iter().map(|part| part.keep);
        PlannedMerge {
            merge_id: self.clock.id(),
            sources: draft.sources(rows()),
            result_key: draft.oldest(rows()),
            partition: candidate.partition.clone(),
            text: text.to_owned(),
            author: Author::Person,
            vector_origin,
            vector,
            findings: candidate.findings.clone(),
        }
    }
}
