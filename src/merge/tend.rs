//! A user's memories under a lease: merged, and what was learned remembered for the next run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::draft::Drafted;
use super::fingerprint::Fingerprint;
use super::known::Known;
use super::run::{Ended, Run};
use super::{Done, LlmUse, MergeError, Pipeline, Progress, Quality, Report, RunBy, Stage};
use crate::memory::{Digest, GroupLeft, Memory, Reason};
use crate::store::snapshot::Snapshot;
use crate::store::vetoes::{Veto, vetoes};
use crate::store::{self, Lease, LeaseError, Probe, UserState};

/// Passes of one run: a result may lie near another memory, or an agent writes meanwhile.
const MAX_PASSES: usize = 3;

/// What a worker knows of a user when it begins.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What the index said of it a moment ago.
    pub probe: Option<Probe>,
    /// The time, by the server's clock, in ms since the epoch.
    pub now_ms: i64,
    /// Whether the user is due for a full reading, which is to be remembered.
    pub full: bool,
}

/// What a worker's run did for one user.
#[derive(Clone, Debug, Default)]
pub struct Tended {
    /// Memories that were read and can take part.
    pub memories: usize,
    /// The merges that were committed.
    pub merged: Vec<Done>,
    /// Groups left as they are, with their reasons.
    pub left: BTreeMap<Reason, usize>,
    /// What these merges did to their memories.
    pub quality: Quality,
    /// What the LLM was used for.
    pub llm: LlmUse,
    /// Groups that were put to the LLM, and those among them that got no usable answer.
    pub asked: (usize, usize),
    /// Groups that a later run may merge.
    pub open: usize,
    /// Groups among them that only wait for their turn.
    pub deferred: usize,
    /// Whether all was as the last run had left it.
    pub unchanged: bool,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
}

impl Tended {
    fn take(&mut self, report: &Report, open: usize, deferred: usize) {
        self.memories = report.plan.memories;
        self.merged.extend(report.merged.iter().cloned());
        self.quality.add(report.quality);
        self.left = BTreeMap::new();
        let left = report.plan.groups_left.iter().chain(&report.not_committed);
        for group in left {
            *self.left.entry(group.reason).or_default() += 1;
        }
        let LlmUse {
            calls,
            tokens,
            accepted,
            retried,
            kept,
        } = report.llm;
        self.llm.calls += calls;
        self.llm.tokens += tokens;
        self.llm.accepted += accepted;
        self.llm.retried += retried;
        self.llm.kept += kept;
        self.asked.0 += (accepted + retried + kept) as usize;
        let failed = |group: &&GroupLeft| group.reason == Reason::LlmFailed;
        self.asked.1 += report.plan.groups_left.iter().filter(failed).count();
        self.open = open + deferred;
        self.deferred = deferred;
        self.stopped = report.stopped;
    }
}

/// How one reading of a user ended.
enum Pass {
    /// All is as the last run left it.
    Unchanged,
    Stopped,
    Done {
        digest: Digest,
        ended: Box<Ended>,
        deferred: usize,
    },
}

impl Pipeline {
    /// Merges once, and remembers what the LLM decided.
    #[tracing::instrument(level = "debug", name = "run", skip_all, fields(run.id = %self.stations.options.run_id))]
    pub(super) async fn merge_under(
        &self,
        lease: &Lease,
        user: &str,
        progress: &dyn Progress,
    ) -> Result<Report, MergeError> {
        let before = self.state(user).await?;
        let mut state = before.clone();
        let pass = self.pass(lease, user, &mut state, None, progress).await;
        self.remember(lease, user, &before, &state).await?;
        Ok(match pass? {
            Pass::Done { ended, .. } => ended.report,
            Pass::Unchanged | Pass::Stopped => self.nothing_done(user),
        })
    }

    /// What a worker does for a user: nothing if nothing has changed, else merging until nothing
    /// more is to be done. Whatever it learns is remembered.
    ///
    /// # Errors
    /// [`MergeError`]; what was committed before stays committed and can be undone.
    pub async fn tend(&self, user: &str, told: &Told) -> Result<Tended, MergeError> {
        self.under_lease(user, async |lease| self.tend_under(lease, user, told).await)
            .await
    }

    async fn tend_under(
        &self,
        lease: &Lease,
        user: &str,
        told: &Told,
    ) -> Result<Tended, MergeError> {
        let before = self.state(user).await?;
        let mut state = before.clone();
        let mut tended = Tended::default();
        let mut probe = match &told.probe {
            Some(probe) => Some(*probe),
            None => self.probe(user).await?,
        };
        for pass in 0..MAX_PASSES {
            if pass > 0 {
                probe = self.probe(user).await?;
            }
            let known = state.digest.clone().filter(|_| !state.open || pass > 0);
            let passed = self
                .pass(lease, user, &mut state, known.as_ref(), &())
                .await;
            let passed = match passed {
                Ok(passed) => passed,
                Err(error) => {
                    // What the LLM decided until then was paid for.
                    self.remember(lease, user, &before, &state).await?;
                    return Err(error);
                }
            };
            match passed {
                Pass::Stopped => {
                    tended.stopped = true;
                    break;
                }
                Pass::Unchanged => {
                    tended.unchanged = pass == 0;
                    (state.open, state.probe) = (false, probe);
                    break;
                }
                Pass::Done {
                    digest,
                    ended,
                    deferred,
                } => {
                    tended.take(&ended.report, ended.open, deferred);
                    let merged = !ended.report.merged.is_empty();
                    state.open = ended.open + deferred > 0 || merged || ended.report.stopped;
                    state.digest = (!state.open).then_some(digest);
                    state.probe = probe;
                    if !merged || ended.report.stopped || self.stopped() {
                        break;
                    }
                }
            }
        }
        (state.failures, state.not_before_ms) = (0, 0);
        if let Some(probe) = &state.probe {
            state.counts.note(store::day_of(told.now_ms), probe.count);
        }
        if told.full || state != before {
            (state.run_at_ms, state.full_at_ms) = (told.now_ms, told.now_ms);
        }
        self.remember(lease, user, &before, &state).await?;
        Ok(tended)
    }

    /// Reads, groups, judges, asks and commits once. With `known`, nothing is done if what was read
    /// is just that.
    async fn pass(
        &self,
        lease: &Lease,
        user: &str,
        state: &mut UserState,
        known: Option<&Digest>,
        progress: &dyn Progress,
    ) -> Result<Pass, MergeError> {
        let drafted = tokio::select! {
            biased;
            drafted = self.draft_unless(user, known, progress) => drafted?,
            () = self.stop() => return Ok(Pass::Stopped),
        };
        let (digest, Some(drafted)) = drafted else {
            return Ok(Pass::Unchanged);
        };
        let start = Instant::now();
        if let Some(known) = drafted.to_remember(self.stations.options.threads) {
            self.remember_compared(lease, user, &known).await?;
        }
        let mut draft = drafted.draft;
        let recalled = self.recall(&mut draft, &state.verdicts);
        let mut deferred = 0;
        match self.stations.options.run_by {
            RunBy::Worker { batch, .. } => deferred = self.defer(&mut draft, batch),
            RunBy::Hand => self.check_retirement(&draft)?,
        }
        let candidates = std::mem::take(&mut draft.candidates);
        let question = |candidate| self.question(&draft, candidate);
        let questions: Vec<String> = candidates.iter().map(question).collect();
        let lossless = std::mem::take(&mut draft.plan.merges);
        let mut run = Run::new(self, lease, &draft.plan).await?;
        progress.phase("merging", lossless.len() + candidates.len());
        let mut end = run.commit_all(lossless, progress).await;
        if end.is_ok() {
            let answers = self.answers(&draft, &candidates);
            end = run.take_all(answers, &questions, progress).await;
        }
        // Only what still stands: a verdict goes with the memories that it is about.
        state.verdicts = recalled;
        state.verdicts.extend(run.take_verdicts());
        progress.took(Stage::Merging, start.elapsed());
        let ended = run.end(end, draft.plan)?;
        Ok(Pass::Done {
            digest,
            ended: Box::new(ended),
            deferred,
        })
    }

    /// Reads the user; groups and judges unless all is as `known`.
    async fn draft_unless(
        &self,
        user: &str,
        known: Option<&Digest>,
        progress: &dyn Progress,
    ) -> Result<(Digest, Option<Drafted>), MergeError> {
        let snapshot = self.read(user, progress).await?;
        let vetoes = vetoes(&mut self.conn.clone(), &self.partition(user)).await?;
        let digest = self.digest(&snapshot, &vetoes);
        if known == Some(&digest) {
            return Ok((digest, None));
        }
        if self.stations.options.run_by != RunBy::Hand {
            self.trim_vetoes(&snapshot).await?;
        }
        let drafted = self.draft_of(snapshot, progress).await?;
        Ok((digest, Some(drafted)))
    }

    /// The digest of all that a run over the user would see: the memories as the layout reads them,
    /// and the settings that decide what becomes of them.
    fn digest(&self, snapshot: &Snapshot, vetoes: &[Veto]) -> Digest {
        let llm = self.stations.llm.as_deref();
        let (embedder, nli) = (self.stations.embedder.as_ref(), self.stations.nli.as_ref());
        let mut seen = Fingerprint::default();
        let mut add = |part: &str| seen.add(part);
        add(env!("CARGO_PKG_VERSION"));
        add(llm.map_or("", |llm| llm.model()));
        add(llm.map_or("", |llm| llm.prompt_version()));
        let (unknown, tolerance) = embedder.map_or((0.0, 0.0), |model| {
            (model.unknown_limit(), model.match_tolerance())
        });
        add(&embedder.map_or(String::new(), |model| model.identity()));
        add(&format!("{unknown} {tolerance}"));
        add(&nli.map_or(String::new(), |nli| nli.identity()));
        add(&self.stations.options.deciding());
        // Another vector may be read from the same bytes.
        add(self.layout.vector_index().map_or("", |index| &index.name));
        for field in self.layout.fields() {
            add(field.role);
            add(&field.name);
        }
        add(&self.layout.rules());
        let mut undone: Vec<&str> = vetoes.iter().map(|v| v.merge_id.as_str()).collect();
        undone.sort_unstable();
        undone.into_iter().for_each(&mut add);
        for memory in &snapshot.memories {
            let Memory {
                key,
                partition,
                text,
                created_at,
                said_at,
                expires_at_ms,
                digest,
                pinned,
                // The bytes and the fields decide them.
                merge_id: _,
                frame: _,
            } = memory;
            let scope = partition.scope.iter();
            [key, &digest.0, &partition.memory_type, text]
                .into_iter()
                .chain(scope)
                .for_each(|part| add(part));
            add(&format!(
                "{created_at:?} {said_at:?} {expires_at_ms:?} {pinned}"
            ));
        }
        Digest(seen.finish())
    }

    async fn probe(&self, user: &str) -> Result<Option<Probe>, MergeError> {
        let conn = &mut self.conn.clone();
        Ok(store::probe(conn, &self.index, self.layout.as_ref(), user).await?)
    }

    async fn state(&self, user: &str) -> Result<UserState, MergeError> {
        let found = store::state(&mut self.conn.clone(), &self.partition(user)).await?;
        Ok(found.unwrap_or_default())
    }

    /// Remembers a state that differs from the one before.
    async fn remember(
        &self,
        lease: &Lease,
        user: &str,
        before: &UserState,
        state: &UserState,
    ) -> Result<(), MergeError> {
        if state == before {
            return Ok(());
        }
        let (conn, partition) = (&mut self.conn.clone(), self.partition(user));
        let keep = self.stations.options.ledger_retention.max(LEAST_MEMORY);
        let functions = &self.functions;
        unless_lost(store::remember(conn, functions, lease, &partition, state, keep).await)
    }

    /// Remembers what was compared.
    async fn remember_compared(
        &self,
        lease: &Lease,
        user: &str,
        known: &Known,
    ) -> Result<(), MergeError> {
        let (conn, partition) = (&mut self.conn.clone(), self.partition(user));
        let keep = self.stations.options.ledger_retention.max(LEAST_MEMORY);
        let (functions, bytes) = (&self.functions, known.to_bytes());
        unless_lost(
            store::remember_compared(conn, functions, lease, &partition, &bytes, keep).await,
        )
    }

    /// Remembers, after a failure, not to try again before some time.
    ///
    /// # Errors
    /// [`MergeError`] if the lease cannot be had, or the state not be read.
    pub async fn back_off(
        &self,
        user: &str,
        change: impl AsyncFnOnce(&mut UserState),
    ) -> Result<(), MergeError> {
        self.under_lease(user, async |lease| {
            let before = self.state(user).await?;
            let mut state = before.clone();
            change(&mut state).await;
            self.remember(lease, user, &before, &state).await
        })
        .await
    }
}

/// What is remembered saves work, and nothing depends on it: only a lost lease is an error.
fn unless_lost(remembered: Result<(), LeaseError>) -> Result<(), MergeError> {
    match remembered {
        Ok(()) => Ok(()),
        Err(LeaseError::Store(error)) => {
            tracing::warn!(%error, "what was learned could not be remembered");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// States live at least this long, however short the ledger.
pub const LEAST_MEMORY: Duration = Duration::from_secs(7 * 24 * 3600);
