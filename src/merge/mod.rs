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
mod error;
mod expiry;
mod fingerprint;
mod grouping;
mod history;
mod judged;
mod known;
mod leased;
mod options;
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
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, TryStreamExt as _, stream};
use redis::aio::ConnectionManager;

use crate::clock::Clock;
use crate::embed::{Embedder, Nli};
use crate::layout::Layout;
use crate::memory::{GroupLeft, Plan};
use crate::record::IndexFacts;
use crate::store::direct::Direct;
use crate::store::snapshot::Snapshot;
use crate::store::{self, Functions};
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
pub use error::MergeError;
pub use options::{Conflicts, Distance, MergeOptions, RunBy, TtlRule, WriteVector};
pub use quality::Quality;
pub use stages::{Stage, Stages};
pub use tend::{LEAST_MEMORY, Tended, Told};

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

/// How often a run that waits for the LLM looks whether it is to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Version of the plan format.
pub(crate) const PLAN_VERSION: u32 = 1;
