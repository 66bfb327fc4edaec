//! Which memories are looked at together: by their distances, by their words, never across
//! partitions.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use ndarray::{Array2, ArrayView2, Axis};

use super::alike::{Alike, Chain, alike};
use super::decide::one_pinned;
use super::draft::{Draft, Drafted};
use super::known::Known;
use super::{MergeError, Stations, parallel};
use crate::group::{self, BYTES_A_PAIR, Compared, Rule, TooManyPairs};
use crate::memory::{LeftAlone, Partition, Reason};
use crate::store::StoreError;
use crate::store::snapshot::memory_needed;

/// The groups of a user's rows.
#[derive(Default)]
struct Grouped {
    groups: Vec<Vec<usize>>,
    conflicts: Conflicting,
    /// What was compared for them.
    compared: Compared,
    /// Rows that the model cannot read and that are in no group.
    unreadable: Vec<usize>,
}

/// Contradictions that the words of memories show.
#[derive(Default)]
pub(super) struct Conflicting {
    pub(super) chains: Vec<Chain>,
    pub(super) undated: Vec<Chain>,
}

impl Conflicting {
    /// Adds what was found among some rows, which it names by their places there.
    fn add(&mut self, chains: Vec<Chain>, undated: Vec<Chain>, rows: &[usize]) {
        let named = |chain: Chain| Chain {
            rows: chain.rows.iter().map(|&place| rows[place]).collect(),
            newest: rows[chain.newest],
            ..chain
        };
        self.chains.extend(chains.into_iter().map(named));
        self.undated.extend(undated.into_iter().map(named));
    }
}

impl Stations {
    /// Groups and judges.
    pub(super) fn compare(&self, mut draft: Draft, known: Known) -> Result<Drafted, MergeError> {
        let ids = (!known.is_empty()).then(|| draft.ids(self.options.threads));
        let threshold = draft.plan.threshold.value;
        let known_now = ids.as_deref().map(|ids| known.among(threshold, ids));
        let known_now = known_now.unwrap_or_default();
        let found = self.grouped(&draft, &known_now)?;
        self.report_unreadable(&mut draft, &found.unreadable);
        let grouped_at = Instant::now();
        let settled = self.settle(&mut draft, found.conflicts);
        let mut groups = Vec::new();
        for mut rows in found.groups {
            rows.retain(|row| !settled.contains(row));
            let rows = one_pinned(&mut draft, rows);
            groups.extend(self.split_by_expiry(&mut draft, rows));
        }
        // A panic over one group must not keep the user's other groups from being merged.
        let judge = |rows: &Vec<usize>| {
            let guard = self.nli.as_deref();
            let asks = self.llm.is_some();
            catch_unwind(AssertUnwindSafe(|| draft.judge(rows, guard, asks))).ok()
        };
        let judged = parallel::map(self.options.threads, &groups, judge);
        for (rows, judged) in groups.into_iter().zip(judged) {
            match judged {
                Some(judged) => self.decide(&mut draft, judged),
                None => {
                    let detail = "judging it failed; please report this as a bug";
                    let left = draft.left(rows, Reason::InternalError, detail, Vec::new());
                    draft.plan.groups_left.push(left);
                }
            }
        }
        Ok(Drafted {
            draft,
            known,
            ids,
            compared: found.compared,
            grouped_at,
        })
    }

    /// Groups of rows, never across partitions. Texts that the model cannot read are grouped by
    /// equality alone. Also the conflicts that the words of the memories show.
    fn grouped(&self, draft: &Draft, known: &Compared) -> Result<Grouped, MergeError> {
        let memories = &draft.snapshot.memories;
        let mut partitions: BTreeMap<&Partition, Vec<usize>> = BTreeMap::new();
        for (row, memory) in memories.iter().enumerate() {
            partitions.entry(&memory.partition).or_default().push(row);
        }
        let mut grouped = Grouped::default();
        for rows in partitions.values() {
            let Alike {
                classes,
                chains,
                undated,
            } = alike(memories, rows, self.options.threads);
            grouped.conflicts.add(chains, undated, rows);
            let readable: Vec<bool> = rows.iter().map(|&row| draft.space.readable[row]).collect();
            let vectors = select(draft.vectors(), rows);
            let (found, compared) = group::group_changed(
                vectors
                    .as_ref()
                    .map_or_else(|| draft.vectors(), |v| v.view()),
                &classes,
                &readable,
                &known.within(rows),
                self.rule(draft),
            )
            .map_err(|TooManyPairs(pairs)| self.too_dense(draft, pairs))?;
            grouped.compared.add(compared, rows);
            let mut alone: Vec<bool> = readable.iter().map(|readable| !readable).collect();
            for members in found {
                members.iter().for_each(|&m| alone[m as usize] = false);
                let members = members.iter().map(|&m| rows[m as usize]);
                grouped.groups.push(members.collect());
            }
            let unreadable = rows.iter().zip(alone).filter(|(_, alone)| *alone);
            grouped.unreadable.extend(unreadable.map(|(row, _)| row));
        }
        Ok(grouped)
    }

    fn report_unreadable(&self, draft: &mut Draft, rows: &[usize]) {
        let model = self.embedder.as_ref().map_or("the model", |e| e.model());
        let detail = format!(
            "{model} does not know most of its tokens, so distances mean nothing: it is merged only \
             with what is equal or says the same in another form"
        );
        let memories = &draft.snapshot.memories;
        let left = rows.iter().map(|&row| LeftAlone {
            key: memories[row].key.clone(),
            reason: Reason::Unreadable,
            detail: detail.clone(),
        });
        draft.plan.left_alone.extend(left);
    }

    /// How rows are grouped.
    fn rule(&self, draft: &Draft) -> Rule {
        let room = |limit: u64| limit.saturating_sub(memory_taken(draft)) / BYTES_A_PAIR;
        let most_pairs = self.options.max_memory.map(room);
        Rule {
            threshold: draft.plan.threshold.value,
            cap: self.options.max_members,
            threads: self.options.threads,
            most_pairs: most_pairs.map_or(usize::MAX, |most| most as usize),
        }
    }

    /// The refusal of a user whose memories are too many near each other.
    fn too_dense(&self, draft: &Draft, pairs: usize) -> MergeError {
        MergeError::Store(StoreError::TooLarge {
            memories: draft.snapshot.memories.len(),
            pairs: Some(pairs),
            needed: memory_taken(draft) + pairs as u64 * BYTES_A_PAIR,
            limit: self.options.max_memory.unwrap_or(u64::MAX),
        })
    }
}

/// What planning takes for the memories apart from their pairs.
fn memory_taken(draft: &Draft) -> u64 {
    memory_needed(draft.snapshot.memories.len(), draft.vectors().ncols())
}

/// The rows of one partition; `None` where they are all rows, so that nothing is copied.
fn select(vectors: ArrayView2<'_, f32>, rows: &[usize]) -> Option<Array2<f32>> {
    (rows.len() < vectors.nrows()).then(|| vectors.select(Axis(0), rows))
}
