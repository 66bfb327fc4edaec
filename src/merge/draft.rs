//! From the snapshot to decisions: what is lossless, what an LLM must decide, what stays.

use std::num::NonZero;
use std::time::Instant;

use jiff::Timestamp;
use ndarray::ArrayView2;

use super::ask::Vectored;
use super::judged::Part;
use super::known::{self, Id, Known};
use super::space::{self, Space};
use super::{MergeError, PLAN_VERSION, Pipeline, Progress, Stage, Stations};
use crate::group::{self, Compared};
use crate::memory::{
    Author, Finding, GroupLeft, Memory, Partition, Plan, PlanSource, PlannedMerge, Reason,
    VectorOrigin,
};
use crate::store;
use crate::store::snapshot::{ReadOptions, Snapshot, snapshot_within};

/// A group that only an LLM can merge.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) partition: Partition,
    pub(super) parts: Vec<Part>,
    pub(super) findings: Vec<Finding>,
}

/// What the result of a merge says, who wrote that, and its vector.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) author: Author,
    pub(super) vectored: Vectored,
}

/// A plan whose LLM questions are still open.
pub(super) struct Draft {
    pub(super) plan: Plan,
    pub(super) candidates: Vec<Candidate>,
    pub(super) snapshot: Snapshot,
    pub(super) space: Space,
}

/// A draft, and the comparison that it was made from.
pub(super) struct Drafted {
    pub(super) draft: Draft,
    /// What was remembered of the comparison before.
    pub(super) known: Known,
    /// The memories as they were compared, by row, where anything was known of them.
    pub(super) ids: Option<Vec<Id>>,
    pub(super) compared: Compared,
    /// When the groups were known and their judging began.
    pub(super) grouped_at: Instant,
}

impl Drafted {
    /// What is to be remembered of the comparison: nothing where that is not worth it or remembered
    /// already.
    pub(super) fn to_remember(&self, threads: NonZero<usize>) -> Option<Known> {
        if self.draft.snapshot.memories.len() < Known::WORTH_IT {
            return None;
        }
        let threshold = self.draft.plan.threshold.value;
        let now_known = match &self.ids {
            Some(ids) => Known::of(threshold, ids, &self.compared),
            None => Known::of(threshold, &self.draft.ids(threads), &self.compared),
        };
        (now_known != self.known).then_some(now_known)
    }
}

impl Draft {
    /// Unit vectors of the space in which distances are measured, one row a memory.
    pub(super) fn vectors(&self) -> ArrayView2<'_, f32> {
        self.space
            .embedded
            .as_ref()
            .unwrap_or(&self.snapshot.vectors)
            .view()
    }

    /// The names under which its memories are compared, by row.
    pub(super) fn ids(&self, threads: NonZero<usize>) -> Vec<Id> {
        known::ids(&self.snapshot.memories, self.vectors(), threads)
    }

    /// The rows as plan sources, sorted by key. Rows that the model cannot read are together
    /// because of their text alone: they count as at distance 0.
    pub(super) fn sources(&self, rows: impl IntoIterator<Item = usize>) -> Vec<PlanSource> {
        let mut rows: Vec<usize> = rows.into_iter().collect();
        rows.sort_unstable();
        let readable = |row: usize| self.space.readable[row];
        let compared: Vec<u32> = rows
            .iter()
            .copied()
            .filter(|&row| readable(row))
            .map(|row| row as u32)
            .collect();
        let mut distances = group::distances(self.vectors(), &compared).into_iter();
        rows.iter()
            .map(|&row| {
                let distance = if readable(row) {
                    distances.next()
                } else {
                    None
                };
                source(&self.snapshot.memories[row], distance.unwrap_or_default())
            })
            .collect()
    }

    /// The merge that keeps the text of `part.keep`; needs no LLM and no embedder.
    pub(super) fn lossless(&self, merge_id: String, part: &Part) -> PlannedMerge {
        let rows: Vec<usize> = part.rows().collect();
        let written = self.kept(part.keep, |kept| Author::Extractive { kept });
        self.merge(merge_id, &rows, written, Vec::new())
    }

    /// The merge that keeps the text of `newest` and makes the other rows its history.
    pub(super) fn latest(
        &self,
        merge_id: String,
        rows: &[usize],
        newest: usize,
        findings: Vec<Finding>,
    ) -> PlannedMerge {
        let written = self.kept(newest, |kept| Author::Latest { kept });
        self.merge(merge_id, rows, written, findings)
    }

    /// The text of a row as it is, with the vector that it has.
    fn kept(&self, row: usize, author: impl FnOnce(String) -> Author) -> Written {
        let kept = &self.snapshot.memories[row];
        Written {
            text: kept.text.clone(),
            author: author(kept.key.clone()),
            vectored: (VectorOrigin::Source, Vec::new()),
        }
    }

    /// The merge of some rows of one partition.
    pub(super) fn merge(
        &self,
        merge_id: String,
        rows: &[usize],
        written: Written,
        findings: Vec<Finding>,
    ) -> PlannedMerge {
        let survivor = self.survivor(rows.iter().copied());
        let (vector_origin, vector) = written.vectored;
        PlannedMerge {
            merge_id,
            partition: survivor.map(|m| m.partition.clone()).unwrap_or_default(),
            result_key: survivor.map(|m| m.key.clone()).unwrap_or_default(),
            sources: self.sources(rows.iter().copied()),
            text: written.text,
            author: written.author,
            vector_origin,
            vector,
            findings,
        }
    }

    /// The memory whose key the result of a merge of `rows` takes: the oldest, since its key is the
    /// one that agents have known for longest. A pinned memory comes first; memories without a date
    /// come last; ties go to the smaller key.
    pub(super) fn survivor(&self, rows: impl Iterator<Item = usize>) -> Option<&Memory> {
        rows.map(|row| &self.snapshot.memories[row])
            .min_by_key(|memory| age(memory))
    }

    /// A group of one partition's rows that stays as it is.
    pub(super) fn left(
        &self,
        rows: impl IntoIterator<Item = usize>,
        reason: Reason,
        detail: impl Into<String>,
        findings: Vec<Finding>,
    ) -> GroupLeft {
        let rows: Vec<usize> = rows.into_iter().collect();
        let first = rows.first().map(|&row| &self.snapshot.memories[row]);
        GroupLeft {
            partition: first.map(|m| m.partition.clone()).unwrap_or_default(),
            members: self.sources(rows),
            reason,
            detail: detail.into(),
            findings,
        }
    }
}

/// Orders memories by who keeps its key in a merge.
pub(super) fn age(memory: &Memory) -> (bool, bool, Option<Timestamp>, String) {
    let undated = memory.created_at.is_none();
    (
        !memory.pinned,
        undated,
        memory.created_at,
        memory.key.clone(),
    )
}

fn source(memory: &Memory, distance: f64) -> PlanSource {
    PlanSource {
        key: memory.key.clone(),
        digest: memory.digest.clone(),
        text: memory.text.clone(),
        created_at: memory.created_at,
        distance,
    }
}

impl Pipeline {
    /// Reads, groups and judges; calls no LLM and writes nothing.
    pub(super) async fn draft(
        &self,
        user: &str,
        progress: &dyn Progress,
    ) -> Result<Draft, MergeError> {
        let snapshot = self.read(user, progress).await?;
        Ok(self.draft_of(snapshot, progress).await?.draft)
    }

    /// Reads the user.
    #[tracing::instrument(level = "debug", name = "read", skip_all)]
    pub(super) async fn read(
        &self,
        user: &str,
        progress: &dyn Progress,
    ) -> Result<Snapshot, MergeError> {
        progress.phase("reading memories", 0);
        let start = Instant::now();
        let (conn, layout) = (&mut self.conn.clone(), self.layout.as_ref());
        let options = ReadOptions {
            max_memory: self.stations.options.max_memory,
            pace: self.stations.options.pace,
            direct: self.direct.as_ref(),
        };
        let snapshot = snapshot_within(conn, &self.index, layout, user, options).await?;
        progress.took(Stage::Reading, start.elapsed());
        Ok(snapshot)
    }

    /// Groups and judges what was read, unless the layout objects to merging now.
    #[tracing::instrument(level = "debug", name = "compare", skip_all, fields(memories = snapshot.memories.len()))]
    pub(super) async fn draft_of(
        &self,
        snapshot: Snapshot,
        progress: &dyn Progress,
    ) -> Result<Drafted, MergeError> {
        progress.phase("comparing", 0);
        let start = Instant::now();
        self.check_concerns().await?;
        let mut known = Known::default();
        if snapshot.memories.len() >= Known::WORTH_IT {
            let partition = self.partition(&snapshot.user);
            let bytes = store::compared(&mut self.conn.clone(), &partition).await?;
            known = Known::from_bytes(&bytes.unwrap_or_default());
        }
        let drafted = self.stations.draft(&self.index.name, snapshot, known);
        let mut drafted = drafted.await?;
        self.drop_vetoed(&mut drafted.draft).await?;
        let grouped_at = drafted.grouped_at;
        progress.took(Stage::Comparing, grouped_at.duration_since(start));
        progress.took(Stage::Judging, grouped_at.elapsed());
        Ok(drafted)
    }
}

impl Stations {
    /// Groups and judges the memories of a snapshot, of which some comparisons are `known`.
    pub(super) async fn draft(
        &self,
        index: &str,
        snapshot: Snapshot,
        known: Known,
    ) -> Result<Drafted, MergeError> {
        let draft = self.begun(index, snapshot, self.llm.is_some()).await?;
        // On a thread of its own: comparing thousands of memories takes seconds, in which a task
        // would hold up whatever else this thread has to do, such as renewing leases.
        let this = self.clone();
        let compared = tokio::task::spawn_blocking(move || this.compare(draft, known)).await;
        compared.map_err(|error| MergeError::Internal(error.to_string()))?
    }

    /// A draft in which nothing is decided, for memories of which new texts may be written.
    pub(super) async fn begun(
        &self,
        index: &str,
        snapshot: Snapshot,
        writes_texts: bool,
    ) -> Result<Draft, MergeError> {
        let embedder = self.embedder.clone();
        let space = space::choose(embedder, &self.options, writes_texts, &snapshot).await?;
        Ok(Draft {
            plan: self.empty_plan(index, &snapshot, &space),
            candidates: Vec::new(),
            snapshot,
            space,
        })
    }

    pub(super) fn empty_plan(&self, index: &str, snapshot: &Snapshot, space: &Space) -> Plan {
        Plan {
            version: PLAN_VERSION,
            index: index.to_owned(),
            user: snapshot.user.clone(),
            memories: snapshot.memories.len(),
            threshold: self.options.threshold.clone(),
            distance: space.name().to_owned(),
            merges: Vec::new(),
            groups_left: Vec::new(),
            left_alone: snapshot.left_alone.clone(),
        }
    }
}
