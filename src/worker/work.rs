//! One request: is the user due, what may the run spend, the run itself, and what is to be
//! remembered of it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use jiff::Timestamp;
use tokio::sync::Mutex;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::breaker::{Outcome, Permit};
use super::budget::Budget;
use super::schedule::Cause;
use super::session::{InHand, Session};
use super::shared::now_ms;
use super::user_hash;
use crate::merge::{MergeError, Pipeline, RunBy, Tended, Told};
use crate::store::fleet::{Halt, RunEntry, Running, halt, record_run, server_ms};
use crate::store::requests::{Queue, Request, Taken, request};
use crate::store::snapshot::Pace;
use crate::store::{Counter, LeaseError, Spent, StoreError, Trouble, UserState, state};

/// A request that was taken so often takes its worker down with it.
const DELIVERIES_MOST: u64 = 10;

/// How often a user is tried that another run works on, and the wait between.
const HELD_TRIES: u32 = 20;
const HELD_WAIT: Duration = Duration::from_millis(500);

/// What became of a request.
pub(super) enum Worked {
    /// It is done, or another will do it.
    Done,
    /// The store failed; the request waits.
    StoreFailed(Box<Taken>, StoreError),
}

/// What a run is made with, apart from the pipeline.
struct Means {
    permit: Permit,
    budget: Option<Budget>,
    batch: usize,
}

impl Session {
    /// Does what a request asks for.
    pub(super) async fn work(&self, ours: &Mutex<Queue>, in_hand: InHand) -> Worked {
        let InHand { taken, hand: _hand } = in_hand;
        let done = match self.try_work(ours, &taken).await {
            Ok(true) => ours.lock().await.done(&taken.id).await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => Worked::Done,
            Err(error) => Worked::StoreFailed(Box::new(taken), error),
        }
    }

    /// Whether the request is done; else it stays pending.
    async fn try_work(&self, ours: &Mutex<Queue>, taken: &Taken) -> Result<bool, StoreError> {
        let Some(request) = &taken.request else {
            self.shared.warn(
                "request",
                "a request without a user was put into the stream",
            );
            return Ok(true);
        };
        let Some(cause) = self.cause(request) else {
            return Ok(true);
        };
        let mut conn = self.site.pipeline.conn.clone();
        let user = &request.user;
        let now = server_ms(&mut conn).await?;
        let partition = self.site.pipeline.partition(user);
        let known = state(&mut conn, &partition).await?.unwrap_or_default();
        // Somebody came by since it was asked for, or the user waits after a failure.
        let rules = &self.options.rules;
        if rules.came_by(&known, taken.at_ms(), now) || rules.backs_off(&known, now) {
            return Ok(true);
        }
        let deliveries = ours.lock().await.deliveries(&taken.id).await?;
        if deliveries > DELIVERIES_MOST {
            let error = format!("given up: it was begun {deliveries} times and never ended");
            self.failed(user, cause, &error, known.failures, now).await;
            return Ok(true);
        }
        let running = Running {
            user: user_hash(user),
            cause: cause.name().to_owned(),
            since_ms: now_ms(),
        };
        self.shared.began(&taken.id, running);
        let span = tracing::info_span!(
            "run",
            run.id = Empty,
            user.hash = %user_hash(user),
            cause = cause.name()
        );
        let worked = self
            .run_user((request, taken.at_ms()), cause, &known, now)
            .instrument(span)
            .await;
        self.shared.ended(&taken.id);
        worked
    }

    /// Why the user is to be worked on, if it is.
    fn cause(&self, request: &Request) -> Option<Cause> {
        let other = |index: &String| *index != self.site.pipeline.index.name;
        if request.index.as_ref().is_some_and(other) || !self.options.takes(&request.user) {
            return None;
        }
        let cause = Cause::of_name(&request.reason).unwrap_or(Cause::Request);
        match cause {
            Cause::Failures if request.failures < self.options.after_failures => None,
            Cause::Failures | Cause::Request => Some(cause),
            scheduled => {
                let times = self.options.off_peak.as_ref();
                let open = times.is_none_or(|times| times.contains(Timestamp::now()));
                open.then_some(scheduled)
            }
        }
    }

    async fn run_user(
        &self,
        (asked, asked_ms): (&Request, i64),
        cause: Cause,
        known: &UserState,
        now: i64,
    ) -> Result<bool, StoreError> {
        let user = &asked.user;
        let began = Instant::now();
        let (pipeline, means) = self.prepare(user, now).await?;
        Span::current().record("run.id", &pipeline.stations.options.run_id);
        let told = Told {
            probe: asked.probe,
            now_ms: now,
            full: cause == Cause::Full,
        };
        // A bug met on one user must not end the worker.
        let mut tries = 0;
        let result = loop {
            let run = AssertUnwindSafe(pipeline.tend(user, &told)).catch_unwind();
            let result = run.await;
            let result = result.unwrap_or_else(|_| Err(MergeError::Internal("a panic".to_owned())));
            // Somebody is at it who may have read the user before it was asked for.
            let held = matches!(&result, Err(MergeError::Lease(LeaseError::Held { .. })));
            let asked_for = matches!(cause, Cause::Request | Cause::Failures);
            tries += 1;
            if !held || !asked_for || tries > HELD_TRIES || self.closed() {
                break result;
            }
            tokio::time::sleep(HELD_WAIT).await;
        };
        let batch = means.batch;
        self.settle(&pipeline, means, &result).await?;
        if let Err(MergeError::Midway {
            merges, retired, ..
        }) = &result
        {
            self.shared.metrics.merged(*merges as u64, *retired as u64);
            self.count_retired(user, *retired as u64, now).await?;
        }
        let mut entry = RunEntry {
            run_id: pipeline.stations.options.run_id.clone(),
            worker: self.shared.worker(),
            store: self.store(),
            user: user.clone(),
            cause: cause.name().to_owned(),
            at_ms: now,
            took_ms: began.elapsed().as_millis() as u64,
            ..RunEntry::default()
        };
        match result {
            Ok(tended) => {
                // By this machine's clock, as the merges.
                let asked_ms = asked_ms + now_ms() - (now + entry.took_ms as i64);
                let way = (batch, asked_ms);
                self.ended(asked, known, &mut entry, &tended, way).await
            }
            // Whoever has it does the work.
            Err(MergeError::Lease(LeaseError::Held { .. })) => {
                Ok(!matches!(cause, Cause::Request | Cause::Failures))
            }
            // It was held up for too long: whoever takes the request over does the rest.
            Err(error) if lost_lease(&error) => {
                self.shared.warn("lease", &error.to_string());
                Ok(false)
            }
            Err(error) => {
                let error = match self.of_store(error).await {
                    Ok(error) => return Err(error),
                    Err(error) => error.to_string(),
                };
                self.failed(user, cause, &error, known.failures, now).await;
                entry.error = Some(error);
                record_run(&mut self.site.pipeline.conn.clone(), &entry).await?;
                Ok(true)
            }
        }
    }

    /// The pipeline for one run, with what it may spend.
    async fn prepare(&self, user: &str, now: i64) -> Result<(Pipeline, Means), StoreError> {
        let mut pipeline = self.site.pipeline.clone();
        let mut conn = pipeline.conn.clone();
        let partition = pipeline.partition(user);
        pipeline.stations.options.run_id = pipeline.stations.clock.id();
        pipeline.stations.options.pace = Pace::Gentle;
        let retired = Counter::of_day(Spent::Retired, Some(&partition), now);
        let retired = retired.get(&mut conn).await?;
        let batch = self.shared.batch().size();
        let mut means = Means {
            permit: Permit::Free,
            budget: None,
            batch,
        };
        if let Some(llm) = pipeline.stations.llm.take() {
            let limits = &self.options.llm;
            let budget = Budget::take(&mut conn, limits, &partition, now).await?;
            means.permit = self.shared.breaker().permit(self.shared.clock_ms());
            means.batch = match means.permit {
                Permit::Free => batch,
                Permit::Trial => 1,
                // Merges that need no LLM are still made.
                Permit::Closed { .. } => 0,
            };
            if budget.is_spent() {
                means.batch = 0;
            }
            // With nothing to spend, what needs the LLM is put off and not refused.
            pipeline.stations.llm = Some(Arc::new(llm.for_run(budget.calls, budget.tokens)));
            means.budget = Some(budget);
        }
        pipeline.stations.options.run_by = RunBy::Worker {
            batch: means.batch,
            retired_today: usize::try_from(retired).unwrap_or(usize::MAX),
        };
        Ok((pipeline, means))
    }

    /// Books what the run has spent, and learns from how the LLM did.
    async fn settle(
        &self,
        pipeline: &Pipeline,
        means: Means,
        result: &Result<Tended, MergeError>,
    ) -> Result<(), StoreError> {
        let Some(llm) = &pipeline.stations.llm else {
            return Ok(());
        };
        let outcome = match llm.outage() {
            Some(outage) if !outage.is_own_limit() => Outcome::Outage,
            _ if llm.is_silent() => Outcome::Silent,
            _ if llm.calls() > 0 => Outcome::Answered,
            _ => Outcome::Unknown,
        };
        let now_ms = self.shared.clock_ms();
        self.shared.breaker().ended(means.permit, outcome, now_ms);
        if let Ok(tended) = result {
            let (asked, failed) = tended.asked;
            self.shared.batch().ended(asked, failed);
        }
        let cost = self.options.llm.cost(llm.usage());
        self.shared.metrics.llm(llm.calls(), llm.usage(), cost);
        self.shared.tell(|beat| {
            beat.llm_calls += llm.calls();
            beat.llm_tokens += llm.tokens();
        });
        let mut conn = pipeline.conn.clone();
        if let Some(budget) = means.budget {
            let limits = &self.options.llm;
            budget
                .book(&mut conn, limits, llm.calls(), llm.tokens())
                .await?;
        }
        Ok(())
    }

    /// Remembers and tells how a run went that did not fail.
    async fn ended(
        &self,
        asked: &Request,
        known: &UserState,
        entry: &mut RunEntry,
        tended: &Tended,
        (batch, asked_ms): (usize, i64),
    ) -> Result<bool, StoreError> {
        let mut conn = self.site.pipeline.conn.clone();
        let user = &asked.user;
        let retired: usize = tended.merged.iter().map(|done| done.retired.len()).sum();
        entry.merged = tended.merged.len() as u64;
        entry.retired = retired as u64;
        entry.left = tended.left.values().sum::<usize>() as u64;
        (entry.llm_calls, entry.llm_tokens) = (tended.llm.calls, tended.llm.tokens);
        self.shared.tell(|beat| {
            beat.runs += 1;
            beat.merged += entry.merged;
            beat.retired += entry.retired;
            beat.last_success_ms = Some(now_ms());
        });
        let metrics = &self.shared.metrics;
        metrics.run_ended(tended, entry.took_ms, asked_ms);
        if retired > 0 {
            self.count_retired(user, entry.retired, entry.at_ms).await?;
        }
        let failing = tended.open > tended.deferred || (tended.deferred > 0 && batch == 0);
        if failing {
            let failures = known.failures + 1;
            self.back_off(user, failures, entry.at_ms).await;
        } else if tended.deferred > 0 && !tended.stopped {
            let again = Request {
                reason: Cause::Retry.name().to_owned(),
                index: Some(self.site.pipeline.index.name.clone()),
                probe: None,
                ..asked.clone()
            };
            request(&mut conn, &[again]).await?;
        }
        if !tended.unchanged && (entry.merged > 0 || tended.llm.calls > 0 || failing) {
            record_run(&mut conn, entry).await?;
        }
        tracing::info!(
            run.id = %entry.run_id,
            memories = tended.memories,
            merged = entry.merged,
            retired,
            left = entry.left,
            llm.calls = entry.llm_calls,
            llm.tokens = entry.llm_tokens,
            duration_ms = entry.took_ms,
            unchanged = tended.unchanged,
            "looked after a user"
        );
        // What was stopped goes on elsewhere.
        Ok(!tended.stopped)
    }

    /// Counts memories as retired; the guard over all users stops the workers if they are too many.
    async fn count_retired(&self, user: &str, retired: u64, now: i64) -> Result<(), StoreError> {
        let pipeline = &self.site.pipeline;
        let mut conn = pipeline.conn.clone();
        let partition = pipeline.partition(user);
        Counter::of_day(Spent::Retired, Some(&partition), now)
            .add(&mut conn, retired)
            .await?;
        let all = Counter::of_day(Spent::Retired, None, now);
        let sum = all.add(&mut conn, retired).await?;
        let facts = crate::store::index::index_facts(&mut conn, &pipeline.index.name).await?;
        let limit = self.options.mass.limit(facts.docs.saturating_add(sum));
        if sum > limit {
            let why = format!(
                "{sum} memories were retired today, the limit is {limit} (--mass-percent); look at \
                 `memfold history`, undo what is wrong, then let the workers go on with `memfold \
                 resume`"
            );
            tracing::error!("all workers stop: {why}");
            self.shared.set_halted(true);
            let halt_now = Halt {
                why,
                worker: self.shared.worker(),
                at_ms: now,
            };
            halt(&mut conn, &halt_now).await?;
        }
        Ok(())
    }

    /// Remembers and tells that a run has failed.
    async fn failed(&self, user: &str, cause: Cause, error: &str, failures: u32, now: i64) {
        self.shared.metrics.run_failed();
        self.shared.tell(|beat| {
            beat.runs += 1;
            beat.failed += 1;
        });
        self.shared.failed(error);
        let hash = user_hash(user);
        self.shared
            .warn(error, &format!("user {hash} ({}): {error}", cause.name()));
        self.back_off(user, failures + 1, now).await;
    }

    async fn back_off(&self, user: &str, failures: u32, now: i64) {
        let not_before_ms = self.options.rules.not_before(user, failures, now);
        let change = async |state: &mut UserState| {
            state.open = true;
            state.run_at_ms = now;
            state.failures = failures;
            state.not_before_ms = not_before_ms;
        };
        if let Err(error) = self.site.pipeline.back_off(user, change).await {
            tracing::debug!(%error, "a failure could not be remembered");
        }
    }

    /// The error of a store that cannot be used for any user at the moment; the inner error is this
    /// user's alone.
    async fn of_store(&self, error: MergeError) -> Result<StoreError, MergeError> {
        let error = match error {
            MergeError::Midway { error, .. } => return Box::pin(self.of_store(*error)).await,
            MergeError::Store(error) => error,
            other => return Err(other),
        };
        let is_all = match error.trouble() {
            None => false,
            // One answer may be too slow or too large, one key out of bounds, while others are well.
            Some(Trouble::Timeout | Trouble::Connection) => {
                server_ms(&mut self.site.pipeline.conn.clone())
                    .await
                    .is_err()
            }
            Some(Trouble::NoPermission) => false,
            Some(_) => true,
        };
        if is_all { Ok(error) } else { Err(error.into()) }
    }
}

fn lost_lease(error: &MergeError) -> bool {
    match error {
        MergeError::Lease(LeaseError::Lost) => true,
        MergeError::Midway { error, .. } => lost_lease(error),
        _ => false,
    }
}
