//! The pipeline for one user: it knows the stations, not their clients' details.
//!
//! ```text
//! draft:  snapshot → group → judge → what is lossless, what an LLM must decide, what stays
//! ask:    LLM → verification → vector                       (one group, no write)
//! commit: read again → compare → one atomic step            (one group)
//! ```
//!
//! [`Pipeline::plan`] runs all but the commits; [`Pipeline::apply`] commits a plan as it was
//! previewed; [`Pipeline::merge`] commits each group as soon as it is decided.

mod alike;
mod ask;
mod by_hand;
mod cap;
mod commit;
mod conflicts;
mod decide;
mod draft;
mod expiry;
mod grouping;
mod history;
mod judged;
mod known;
mod originals;
mod parallel;
mod quality;
mod recall;
mod run;
mod space;
mod stages;
mod tend;
mod vetoed;

use std::collections::BTreeSet;
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, TryStreamExt as _, stream};
use redis::aio::ConnectionManager;
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::embed::{EmbedError, Embedder, Nli};
use crate::layout::Layout;
use crate::memory::{GroupLeft, Plan, Threshold};
use crate::store::direct::Direct;
use crate::store::index::IndexFacts;
use crate::store::snapshot::{Pace, Snapshot};
use crate::store::{self, CommitError, Functions, Lease, LeaseError, StoreError};
use crate::summarize::llm::Llm;

use ask::Asked;
use draft::{Candidate, Draft};
use known::Known;
use originals::Said;
use run::{Run, sort};
use space::Space;

pub(crate) use history::replaced;
pub(crate) use space::stored_samples;

pub use by_hand::{Against, NotTaken};
pub use commit::Done;
pub use conflicts::Conflict;
pub use quality::Quality;
pub use stages::{Stage, Stages};
pub use tend::{LEAST_MEMORY, Tended, Told};

/// Which vectors the grouping compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Distance {
    /// The stored ones where they are proven to come from the configured model, else texts are
    /// embedded for grouping.
    #[default]
    Auto,
    /// The stored ones, whatever made them.
    Stored,
    /// The texts, embedded by the configured model.
    Onnx,
}

/// Where the vector of a text that no source has comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WriteVector {
    /// The configured model, if it is proven to match the index; else such groups stay.
    #[default]
    Auto,
    /// The normalised mean of the sources' vectors.
    Centroid,
}

/// How memories with an expiry meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TtlRule {
    /// Only memories that expire at about the same time are merged.
    #[default]
    KeepApart,
    /// The result expires with the first of its sources.
    Min,
    /// The result expires with the last of its sources; never, if one of them never does.
    Max,
}

/// What becomes of an old value and a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Conflicts {
    /// Both stay, and are listed.
    #[default]
    Keep,
    /// The newest one by the dates of the memories stays; the others become its history.
    Latest,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Cosine distance within which memories are looked at together.
    pub threshold: Threshold,
    /// Which vectors the grouping compares.
    pub distance: Distance,
    /// Where new vectors come from.
    pub write_vector: WriteVector,
    /// Distinct texts of a group at most; larger groups are split.
    pub max_members: usize,
    /// Characters that one group may send to the LLM.
    pub max_group_chars: usize,
    /// How memories with an expiry meet.
    pub ttl: TtlRule,
    /// Bytes that planning for one user may take; `None` = as many as there are.
    pub max_memory: Option<u64>,
    /// How fast memories are read.
    pub pace: Pace,
    /// Threads for comparing and judging.
    pub threads: NonZero<usize>,
    /// What becomes of old and new values.
    pub conflicts: Conflicts,
    /// Memories that an LLM's word may retire in one run; `None` = max(20, 30 % of the user's).
    pub max_retire: Option<usize>,
    /// The same for a day, of all runs; `None` = max(50, 50 % of the user's).
    pub max_retire_day: Option<usize>,
    /// Memories of the user that were retired today; `None` = no limit for the day, as by hand.
    pub retired_today: Option<usize>,
    /// How long a merge can be undone; zero = retired memories are deleted at once.
    pub undo_window: Duration,
    /// How long the record of a merge is kept.
    pub ledger_retention: Duration,
    /// How long a lease holds without renewal.
    pub lease_ttl: Duration,
    /// For servers that index in the background: look for the result after the commit.
    pub check_after: bool,
    /// LLM calls under way at once.
    pub llm_concurrency: usize,
    /// Groups that one run puts to the LLM, and no more memories than `max_retire`; the others wait
    /// for the next run. `None` = all, and too many refuse the run.
    pub llm_batch: Option<usize>,
    /// Ask the LLM also about groups that it decided before.
    pub ask_again: bool,
    /// The id of this run, a ULID.
    pub run_id: String,
    /// Set from outside to stop before the next group.
    pub stop: Arc<AtomicBool>,
}

impl MergeOptions {
    /// What decides which memories are merged. A setting that is added must be on one of the sides.
    fn deciding(&self) -> String {
        let Self {
            threshold,
            distance,
            write_vector,
            max_members,
            max_group_chars,
            ttl,
            conflicts,
            // What they put off or refuse stays open, and is looked at again anyway.
            max_memory: _,
            max_retire: _,
            max_retire_day: _,
            retired_today: _,
            llm_batch: _,
            ask_again: _,
            // How it is done, and how it is kept.
            pace: _,
            threads: _,
            undo_window: _,
            ledger_retention: _,
            lease_ttl: _,
            check_after: _,
            llm_concurrency: _,
            run_id: _,
            stop: _,
        } = self;
        let threshold = threshold.value;
        format!(
            "{threshold} {distance:?} {write_vector:?} {max_members} {max_group_chars} {ttl:?} \
             {conflicts:?}"
        )
    }
}

/// What goes on, for a progress display.
pub trait Progress: Send + Sync {
    /// A new phase with `total` steps (0 = unknown).
    fn phase(&self, name: &str, total: usize);
    /// One step done.
    fn step(&self);
    /// A stage is over and took this long.
    fn took(&self, _stage: Stage, _time: Duration) {}
}

/// No display.
impl Progress for () {
    fn phase(&self, _name: &str, _total: usize) {}
    fn step(&self) {}
}

/// What a run did for one user.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Report {
    /// The run.
    pub run_id: String,
    /// The plan as far as it was made: merges decided, groups and memories left.
    pub plan: Plan,
    /// The merges that were committed.
    pub merged: Vec<Done>,
    /// Merges that were decided and could not be committed; their originals are untouched.
    pub not_committed: Vec<GroupLeft>,
    /// What the committed merges did to their memories.
    pub quality: Quality,
    /// What the LLM was used for, for this user.
    pub llm: LlmUse,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
}

/// What the LLM was used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LlmUse {
    /// Requests sent, those that failed or were repeated included.
    pub calls: u64,
    /// Tokens as the server reports them.
    pub tokens: u64,
    /// Groups whose answer was accepted at once.
    pub accepted: u64,
    /// Groups whose second answer was accepted.
    pub retried: u64,
    /// Groups whose originals stay because of the LLM or its answers.
    pub kept: u64,
}

/// Why a run stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// Another process works on this user, or took over.
    #[error("another memfold works on this user: {0}")]
    Lease(#[source] LeaseError),
    /// No embedder where one is needed.
    #[error(
        "no embedding model is configured, so it cannot be proven where the stored vectors come \
         from; set --onnxruntime and --model-dir, or --embed-url and --embed-model, or trust the stored \
         vectors with --distance stored"
    )]
    NoEmbedder,
    /// More memories than allowed would be retired by an LLM's word.
    #[error(
        "the LLM would be asked to retire up to {proposed} of {memories} memories, the limit is \
         {limit}; nothing was done, raise it with --max-retire {proposed}"
    )]
    RetirementCap {
        /// Memories that the proposed groups would retire.
        proposed: usize,
        /// The user's memories.
        memories: usize,
        /// The limit in force.
        limit: usize,
    },
    /// The store is not in a state in which anything may be merged.
    #[error("{found}; {advice}")]
    NotNow {
        /// What was found.
        found: String,
        /// What to do.
        advice: String,
    },
    /// A commit failed in a way that must not be repeated.
    #[error(transparent)]
    Commit(CommitError),
    /// A plan that does not fit this store.
    #[error("this plan cannot be applied: {0}")]
    WrongPlan(String),
    /// The run ended after some merges.
    #[error("{error}; what was merged before stands (merges: {merges}), see `memfold history`")]
    Midway {
        /// Merges that stand.
        merges: usize,
        /// Memories that they retired.
        retired: usize,
        /// What ended the run.
        error: Box<MergeError>,
    },
    /// A bug.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<LeaseError> for MergeError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Store(error) => Self::Store(error),
            error => Self::Lease(error),
        }
    }
}

/// The pipeline, put together once per process. A copy shares its parts, but for the settings.
#[derive(Clone)]
pub struct Pipeline {
    /// The connection.
    pub conn: ConnectionManager,
    /// Where many records are read quicker.
    pub direct: Option<Direct>,
    /// The server-side functions.
    pub functions: Functions,
    /// Facts of the index.
    pub index: IndexFacts,
    /// How the store is laid out.
    pub layout: Arc<dyn Layout>,
    /// What decides between reading and writing.
    pub stations: Stations,
}

/// The stations between the two ends of the pipeline: they decide, and touch no store.
#[derive(Clone)]
pub struct Stations {
    /// The embedding model, if configured.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The guard by a model, if configured.
    pub nli: Option<Arc<Nli>>,
    /// The LLM, if configured.
    pub llm: Option<Arc<Llm>>,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// The settings.
    pub options: MergeOptions,
}

impl Stations {
    /// What would be done with the memories of `snapshot` if they were all there is: groups them,
    /// judges them, asks the LLM and verifies its answers.
    ///
    /// # Errors
    /// [`MergeError`]: the embedder, or none where one is needed.
    pub async fn plan(&self, index: &str, snapshot: Snapshot) -> Result<Plan, MergeError> {
        let drafted = self.draft(index, snapshot, Known::default());
        let mut draft = drafted.await?.draft;
        let candidates = std::mem::take(&mut draft.candidates);
        let asked: Vec<Asked> = stream::iter(&candidates)
            .map(|candidate| {
                let keeps = candidate.parts.iter().map(|part| part.keep);
                let said = keeps.map(|row| vec![Said::of(&draft.snapshot.memories[row])]);
                self.ask(&draft, candidate, said.collect())
            })
            .buffered(self.options.llm_concurrency.max(1))
            .try_collect()
            .await?;
        for asked in asked {
            draft.plan.merges.extend(asked.merges);
            draft.plan.groups_left.extend(asked.left);
        }
        sort(&mut draft.plan);
        Ok(draft.plan)
    }
}

impl Pipeline {
    /// The name under which a user's lease and state are kept.
    pub fn partition(&self, user: &str) -> String {
        store::partition_name(self.layout.name(), &self.index.name, user)
    }

    /// What would be done for `user`: LLM calls are made, nothing is written.
    ///
    /// # Errors
    /// [`MergeError`]; nothing was written.
    pub async fn plan(&self, user: &str, progress: &dyn Progress) -> Result<Plan, MergeError> {
        let mut draft = self.draft(user, progress).await?;
        let start = Instant::now();
        let state = store::state(&mut self.conn.clone(), &self.partition(user)).await?;
        self.recall(&mut draft, &state.unwrap_or_default().verdicts);
        self.check_retirement(&draft)?;
        let candidates = std::mem::take(&mut draft.candidates);
        progress.phase("asking the LLM", candidates.len());
        let mut outcomes = Vec::with_capacity(candidates.len());
        {
            let mut asked = pin!(self.answers(&draft, &candidates));
            while let Some(outcome) = asked.next().await {
                outcomes.push(outcome?.1);
                progress.step();
            }
        }
        let mut plan = draft.plan;
        for outcome in outcomes {
            plan.merges.extend(outcome.merges);
            plan.groups_left.extend(outcome.left);
        }
        sort(&mut plan);
        progress.took(Stage::Merging, start.elapsed());
        Ok(plan)
    }

    /// Merges the memories of `user`, group by group, under a lease.
    ///
    /// # Errors
    /// [`MergeError`]; what was committed before stays committed and can be undone.
    pub async fn merge(&self, user: &str, progress: &dyn Progress) -> Result<Report, MergeError> {
        self.under_lease(user, async |lease| {
            self.merge_under(lease, user, progress).await
        })
        .await
    }

    /// Commits a plan: exactly what was previewed, each source pinned by its digest.
    ///
    /// # Errors
    /// [`MergeError`]; what was committed before stays committed and can be undone.
    pub async fn apply(&self, plan: &Plan, progress: &dyn Progress) -> Result<Report, MergeError> {
        self.fits(plan)?;
        self.check_concerns().await?;
        self.under_lease(&plan.user, async |lease| {
            let mut run = Run::new(self, lease, plan).await?;
            progress.phase("merging", plan.merges.len());
            let end = run.commit_all(plan.merges.clone(), progress).await;
            run.end(end, plan.clone()).map(|ended| ended.report)
        })
        .await
    }

    /// The report of a run that was stopped before it had read the user's memories.
    fn nothing_done(&self, user: &str) -> Report {
        Report {
            run_id: self.stations.options.run_id.clone(),
            plan: self.stations.empty_plan(
                &self.index.name,
                &Snapshot {
                    user: user.to_owned(),
                    ..Snapshot::default()
                },
                &Space::default(),
            ),
            merged: Vec::new(),
            not_committed: Vec::new(),
            quality: Quality::default(),
            llm: LlmUse::default(),
            stopped: true,
        }
    }

    /// Asks the layout what speaks against merging now.
    async fn check_concerns(&self) -> Result<(), MergeError> {
        let conn = &mut self.conn.clone();
        for concern in store::concerns(conn, self.layout.as_ref()).await? {
            if concern.refuses {
                return Err(MergeError::NotNow {
                    found: concern.found,
                    advice: concern.advice,
                });
            }
            tracing::warn!(advice = concern.advice, "{}", concern.found);
        }
        Ok(())
    }

    fn fits(&self, plan: &Plan) -> Result<(), MergeError> {
        let wrong = |what: String| Err(MergeError::WrongPlan(what));
        if plan.version != PLAN_VERSION {
            return wrong(format!(
                "format version {}, expected {PLAN_VERSION}",
                plan.version
            ));
        }
        if plan.index != self.index.name {
            return wrong(format!(
                "made for index `{}`, not `{}`",
                plan.index, self.index.name
            ));
        }
        for merge in &plan.merges {
            let keys: BTreeSet<&str> = merge.sources.iter().map(|s| s.key.as_str()).collect();
            let whole = keys.len() == merge.sources.len() && keys.len() > 1;
            if merge.partition.user != plan.user || !whole {
                return wrong(format!("merge {} is damaged", merge.merge_id));
            }
            let is_ours = |key: &&str| self.index.covers(key) && self.layout.is_own_key(key);
            if let Some(key) = keys.into_iter().find(|key| !is_ours(key)) {
                return wrong(format!("{key} is no key of index `{}`", plan.index));
            }
        }
        Ok(())
    }

    /// Runs `work` while this process alone holds the user's lease, which is renewed meanwhile.
    async fn under_lease<T>(
        &self,
        user: &str,
        work: impl AsyncFnOnce(&Lease) -> Result<T, MergeError>,
    ) -> Result<T, MergeError> {
        let partition = self.partition(user);
        let (owner, ttl) = (self.stations.clock.id(), self.stations.options.lease_ttl);
        let mut conn = self.conn.clone();
        let lease = Lease::acquire(&mut conn, &self.functions, &partition, &owner, ttl).await?;
        // On a task of its own, since comparing thousands of memories holds this one for a while.
        // It ends with the set.
        let mut renewal = JoinSet::new();
        renewal.spawn(until_lost(
            lease.clone(),
            self.conn.clone(),
            self.functions.clone(),
            ttl,
        ));
        let result = tokio::select! {
            result = work(&lease) => result,
            Some(_) = renewal.join_next() => Err(LeaseError::Lost.into()),
        };
        renewal.shutdown().await;
        if let Err(error) = lease.release(&mut conn, &self.functions).await {
            tracing::debug!(%error, "the lease could not be released; it runs out by itself");
        }
        result
    }

    /// What becomes of each candidate, with its position, as the answers come: no group waits for the
    /// answer of another one. A stop ends it at once, whatever is being asked: an answer may take
    /// minutes.
    fn answers<'a>(
        &'a self,
        draft: &'a Draft,
        candidates: &'a [Candidate],
    ) -> impl Stream<Item = Result<(usize, Asked), MergeError>> + 'a {
        stream::iter(candidates.iter().enumerate())
            .map(async |(at, candidate)| Ok((at, self.ask(draft, candidate).await?)))
            .buffer_unordered(self.stations.options.llm_concurrency.max(1))
            .take_until(self.stop())
    }

    /// Returns when the run is to stop.
    async fn stop(&self) {
        while !self.stopped() {
            tokio::time::sleep(STOP_INTERVAL).await;
        }
    }

    fn stopped(&self) -> bool {
        self.stations.options.stop.load(Ordering::Relaxed)
    }
}

/// Renews a lease again and again; returns when it is lost.
async fn until_lost(
    lease: Lease,
    mut conn: ConnectionManager,
    functions: Functions,
    ttl: Duration,
) {
    loop {
        tokio::time::sleep(ttl / 3).await;
        match lease.renew(&mut conn, &functions, ttl).await {
            Err(LeaseError::Lost) => return,
            // Every commit checks the lease on the server; this only saves work.
            Err(error) => tracing::debug!(%error, "the lease could not be renewed"),
            Ok(()) => {}
        }
    }
}

/// How often a run that waits for the LLM looks whether it is to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Version of the plan format.
pub(crate) const PLAN_VERSION: u32 = 1;
