//! Merges that were undone or forbidden are not proposed again.

use std::collections::{BTreeMap, HashMap};

use super::draft::Draft;
use super::judged::Part;
use super::{MergeError, Pipeline};
use crate::memory::{Digest, PlanSource, PlannedMerge, Reason};
use crate::store::snapshot::Snapshot;
use crate::store::vetoes::{self, Veto, said_digest, vetoes};

impl Pipeline {
    /// Merges that were undone are not proposed again while their members say the same, nor larger
    /// ones that hold all of them.
    pub(super) async fn drop_vetoed(&self, draft: &mut Draft) -> Result<(), MergeError> {
        if draft.plan.merges.is_empty() && draft.candidates.is_empty() {
            return Ok(());
        }
        let partition = self.partition(&draft.snapshot.user);
        let vetoes = vetoes(&mut self.conn.clone(), &partition).await?;
        if !vetoes.is_empty() {
            draft.drop_vetoed(&vetoes);
        }
        Ok(())
    }

    /// Drops the user's vetoes whose members are gone or say something else.
    pub(super) async fn trim_vetoes(&self, snapshot: &Snapshot) -> Result<(), MergeError> {
        let said = said(snapshot.memories.iter().map(|m| (&*m.key, &*m.text)));
        let set = vetoes::set_of(&self.partition(&snapshot.user));
        let conn = &mut self.conn.clone();
        let window = self.stations.options.undo_window;
        Ok(vetoes::trim_vetoes(conn, &set, window, |veto| veto.is_within(&said)).await?)
    }
}

impl Draft {
    fn drop_vetoed(&mut self, vetoes: &[Veto]) {
        let mut merges = std::mem::take(&mut self.plan.merges);
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut left = Vec::new();
        let mut is_vetoed = |rows: Vec<usize>| {
            let memories = rows.iter().map(|&row| &self.snapshot.memories[row]);
            let vetoed = first(vetoes, memories.map(|m| (&*m.key, &*m.text)));
            if let Some(veto) = vetoed {
                left.push(self.left(rows, Reason::Vetoed, why_not(veto), Vec::new()));
            }
            vetoed.is_some()
        };
        let row_of = self.rows_by_key();
        let rows = |merge: &PlannedMerge| -> Vec<usize> {
            let keys = merge.sources.iter().map(|source| source.key.as_str());
            keys.filter_map(|key| row_of.get(key).copied()).collect()
        };
        merges.retain(|merge| !is_vetoed(rows(merge)));
        candidates.retain(|c| !is_vetoed(c.parts.iter().flat_map(Part::rows).collect()));
        (self.plan.merges, self.candidates) = (merges, candidates);
        self.plan.groups_left.extend(left);
    }

    fn rows_by_key(&self) -> HashMap<&str, usize> {
        let memories = self.snapshot.memories.iter().enumerate();
        memories.map(|(row, m)| (m.key.as_str(), row)).collect()
    }
}

/// The veto that keeps these memories apart, or some of them.
pub(super) fn of<'v>(sources: &[PlanSource], vetoes: &'v [Veto]) -> Option<&'v Veto> {
    first(vetoes, sources.iter().map(|s| (&*s.key, &*s.text)))
}

/// The first veto within memories of these keys and texts.
fn first<'v, 'm>(
    vetoes: &'v [Veto],
    memories: impl Iterator<Item = (&'m str, &'m str)>,
) -> Option<&'v Veto> {
    let said = said(memories);
    vetoes.iter().find(|veto| veto.is_within(&said))
}

/// What memories of these keys and texts say, by key.
fn said<'m>(memories: impl Iterator<Item = (&'m str, &'m str)>) -> BTreeMap<&'m str, Digest> {
    memories
        .map(|(key, text)| (key, said_digest(text)))
        .collect()
}

/// What a veto says to those who see the group again.
pub(super) fn why_not(veto: &Veto) -> String {
    let why = match &veto.reason {
        Some(reason) => format!("a person keeps these apart: {reason}"),
        None => "this merge was undone, or forbidden in a review".to_owned(),
    };
    let id = &veto.merge_id;
    format!(
        "{why}; it is proposed again when a member says something else, or after `memfold undo \
         --lift-veto {id}`"
    )
}
