//! The commits of one run, and what became of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};

use super::ask::Asked;
use super::{Done, LlmUse, MergeError, Pipeline, Progress, Quality, Report, vetoed};
use crate::memory::{GroupLeft, LeftAlone, Plan, PlannedMerge, Reason};
use crate::record::Storage;
use crate::store::vetoes::{self, Veto};
use crate::store::{Lease, Neighbours, Retire};

/// Where a result may appear in the index only after its commit, the originals must outlive the
/// look for it, even if nobody wants to undo.
const LEAST_WINDOW: Duration = Duration::from_secs(60);

/// What all merges of a run have in common.
pub(super) struct Ground {
    pub(super) retire: Retire,
    /// All indexes that may hold a source.
    pub(super) neighbours: Neighbours,
    pub(super) undo_window: Duration,
    pub(super) threshold: f64,
    pub(super) distance: String,
}

impl Ground {
    async fn of(pipeline: &Pipeline, plan: &Plan) -> Result<Self, MergeError> {
        let options = &pipeline.stations.options;
        let undo_window = if options.check_after {
            options.undo_window.max(LEAST_WINDOW)
        } else {
            options.undo_window
        };
        let conn = &mut pipeline.conn.clone();
        let neighbours = Neighbours::over(conn, &storages(pipeline)).await?;
        Ok(Self {
            retire: retire(&neighbours, undo_window),
            neighbours,
            undo_window,
            threshold: plan.threshold.value,
            distance: plan.distance.clone(),
        })
    }
}

/// How sources leave: by renaming, unless an index would catch them in the undo store.
fn retire(neighbours: &Neighbours, undo_window: Duration) -> Retire {
    if undo_window.is_zero() {
        Retire::Delete
    } else if neighbours.taking_undo().is_some() {
        Retire::Dump
    } else {
        Retire::Rename
    }
}

/// All kinds of keys that a merge may move.
fn storages(pipeline: &Pipeline) -> Vec<Storage> {
    let layout = &pipeline.layout;
    let companions = layout.companions().map(|found| found.index);
    let more = layout.vector_index().into_iter().chain(companions);
    let more = more.map(|facts| facts.storage);
    std::iter::once(pipeline.index.storage)
        .chain(more)
        .collect()
}

/// Calls and tokens of all users so far.
fn llm_spent(pipeline: &Pipeline) -> (u64, u64) {
    let llm = pipeline.stations.llm.as_ref();
    llm.map_or((0, 0), |llm| (llm.calls(), llm.tokens()))
}

/// The commits of one run and what became of them.
pub(super) struct Run<'a> {
    pipeline: &'a Pipeline,
    lease: &'a Lease,
    ground: Ground,
    merges: Vec<PlannedMerge>,
    merged: Vec<Done>,
    left: Vec<GroupLeft>,
    not_committed: Vec<GroupLeft>,
    llm: LlmUse,
    /// Calls and tokens that were spent before this run.
    before: (u64, u64),
    /// Groups that a later run may still merge.
    open: usize,
    /// What the LLM decided about groups that stay, by what it was asked.
    verdicts: BTreeMap<String, Reason>,
    /// The user's vetoes, read before the first commit.
    vetoes: Option<Vec<Veto>>,
}

/// How a run ended.
pub(super) struct Ended {
    pub(super) report: Report,
    pub(super) open: usize,
}

impl<'a> Run<'a> {
    pub(super) async fn new(
        pipeline: &'a Pipeline,
        lease: &'a Lease,
        plan: &Plan,
    ) -> Result<Self, MergeError> {
        Ok(Self {
            pipeline,
            lease,
            ground: Ground::of(pipeline, plan).await?,
            merges: Vec::new(),
            merged: Vec::new(),
            left: Vec::new(),
            not_committed: Vec::new(),
            llm: LlmUse::default(),
            before: llm_spent(pipeline),
            open: 0,
            verdicts: BTreeMap::new(),
            vetoes: None,
        })
    }

    /// Commits what the LLM decides, as it comes, each with the position of its question.
    pub(super) async fn take_all(
        &mut self,
        answers: impl Stream<Item = Result<(usize, Asked), MergeError>>,
        questions: &[String],
        progress: &dyn Progress,
    ) -> Result<(), MergeError> {
        let mut answers = pin!(answers);
        while let Some(answer) = answers.next().await {
            let (at, asked) = answer?;
            let question = &questions[at];
            if !asked.accepted && asked.settled {
                let reasons = asked
                    .left
                    .iter()
                    .map(|left| (question.clone(), left.reason));
                self.verdicts.extend(reasons);
            }
            self.open += usize::from(!asked.settled);
            self.take(asked).await?;
            progress.step();
        }
        Ok(())
    }

    async fn take(&mut self, asked: Asked) -> Result<(), MergeError> {
        self.llm.accepted += u64::from(asked.accepted && asked.calls <= 1);
        self.llm.retried += u64::from(asked.accepted && asked.calls > 1);
        self.llm.kept += u64::from(!asked.accepted);
        self.left.extend(asked.left);
        for merge in asked.merges {
            self.commit(merge).await?;
        }
        Ok(())
    }

    /// Commits one after the other, until the end or a stop.
    pub(super) async fn commit_all(
        &mut self,
        merges: Vec<PlannedMerge>,
        progress: &dyn Progress,
    ) -> Result<(), MergeError> {
        for merge in merges {
            if self.pipeline.stopped() {
                break;
            }
            self.commit(merge).await?;
            progress.step();
        }
        Ok(())
    }

    /// Lets what people keep apart stay apart, also where memfold merges one of it with another. The
    /// veto that forbids this merge, or one of fewer memories, is returned.
    ///
    /// A veto on exactly this group is looked for once more by the commit itself.
    async fn carry_vetoes(&mut self, merge: &PlannedMerge) -> Result<Option<Veto>, MergeError> {
        let conn = &mut self.pipeline.conn.clone();
        let partition = self.pipeline.partition(&merge.partition.user);
        if self.vetoes.is_none() {
            self.vetoes = Some(vetoes::vetoes(conn, &partition).await?);
        }
        let vetoes = self.vetoes.as_deref().unwrap_or_default();
        if let Some(veto) = vetoed::of(&merge.sources, vetoes) {
            return Ok(Some(veto.clone()));
        }
        vetoes::follow(conn, &partition, vetoes, merge).await?;
        Ok(None)
    }

    async fn commit(&mut self, merge: PlannedMerge) -> Result<(), MergeError> {
        let committed = match self.carry_vetoes(&merge).await? {
            Some(veto) => Err((Reason::Vetoed, vetoed::why_not(&veto))),
            None => {
                let commit = self.pipeline.commit(self.lease, &self.ground, &merge);
                commit.await?
            }
        };
        match committed {
            Ok(done) => {
                tracing::info!(
                    merge.id = %done.merge_id,
                    group.size = done.retired.len() + 1,
                    "merged a group"
                );
                self.merged.push(done);
            }
            Err((reason, detail)) => {
                tracing::warn!(merge.id = %merge.merge_id, %reason, "left a group as it is");
                tracing::debug!(merge.id = %merge.merge_id, detail, "why it was left");
                self.not_committed.push(left(&merge, reason, detail));
                // Others would be refused again.
                let passing = [Reason::Changed, Reason::NotVisible, Reason::WriteRefused];
                self.open += usize::from(passing.contains(&reason));
            }
        }
        self.merges.push(merge);
        Ok(())
    }

    /// What the LLM decided about groups that stay, by what it was asked.
    pub(super) fn take_verdicts(&mut self) -> BTreeMap<String, Reason> {
        std::mem::take(&mut self.verdicts)
    }

    /// The report, or the error that ended the run and what stands in spite of it.
    pub(super) fn end(self, end: Result<(), MergeError>, plan: Plan) -> Result<Ended, MergeError> {
        match (end, self.merged.len()) {
            (Ok(()), _) => Ok(Ended {
                open: self.open,
                report: self.report(plan),
            }),
            (Err(error), 0) => Err(error),
            (Err(error), merges) => Err(MergeError::Midway {
                merges,
                retired: self.merged.iter().map(|done| done.retired.len()).sum(),
                error: Box::new(error),
            }),
        }
    }

    fn report(mut self, mut plan: Plan) -> Report {
        plan.merges = self.merges;
        plan.groups_left.extend(self.left);
        sort(&mut plan);
        // The answers came in any order.
        let places = plan.merges.iter().zip(0..);
        let places: HashMap<&str, usize> = places.map(|(m, at)| (&*m.merge_id, at)).collect();
        self.merged
            .sort_by_key(|done| places.get(&*done.merge_id).copied());
        let committed: HashSet<&str> = self.merged.iter().map(|done| &*done.merge_id).collect();
        let is_committed = |merge: &&PlannedMerge| committed.contains(&*merge.merge_id);
        let quality = Quality::of(plan.merges.iter().filter(is_committed));
        let (calls, tokens) = llm_spent(self.pipeline);
        Report {
            quality,
            run_id: self.pipeline.stations.options.run_id.clone(),
            plan,
            merged: self.merged,
            not_committed: self.not_committed,
            llm: LlmUse {
                calls: calls - self.before.0,
                tokens: tokens - self.before.1,
                ..self.llm
            },
            stopped: self.pipeline.stopped(),
        }
    }
}

fn left(merge: &PlannedMerge, reason: Reason, detail: String) -> GroupLeft {
    GroupLeft {
        partition: merge.partition.clone(),
        members: merge.sources.clone(),
        reason,
        detail,
        findings: merge.findings.clone(),
    }
}

pub(super) fn sort(plan: &mut Plan) {
    plan.merges
        .sort_by(|a, b| (&a.partition, &a.sources[0].key).cmp(&(&b.partition, &b.sources[0].key)));
    plan.groups_left.sort_by(|a, b| {
        let first = |g: &GroupLeft| g.members.first().map(|m| m.key.clone());
        (&a.partition, first(a)).cmp(&(&b.partition, first(b)))
    });
    plan.left_alone
        .sort_by(|a: &LeftAlone, b| a.key.cmp(&b.key));
}
