//! Users as they are shown, and what is asked about one of them.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::desk::{Desk, Person};
use super::problem::Problem;
use super::trends::Trends;
use crate::memory::{GroupLeft, LeftAlone, Plan, Reason};
use crate::merge::{Against, Conflict, Done, Pipeline};
use crate::store::requests::{Request, request};
use crate::store::{Functions, UndoOptions, Undone, states, undo};

/// The kind of problem that is none where a text is taken `anyway`.
pub(super) const NOT_VERIFIED: &str = "not-verified";

/// Reading and comparing a user may take so long.
const LOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// One user in a list.
#[derive(Clone, Debug, Serialize)]
pub(super) struct UserRow {
    pub(super) id: String,
    pub(super) user: String,
    /// Memories, as the index counts them.
    pub(super) memories: u64,
    /// When a worker came by last.
    pub(super) last_run: Option<Timestamp>,
    /// Whether something was left that a later run may do.
    pub(super) open: bool,
    /// Runs that failed since the last that did not.
    pub(super) failures: u32,
    /// Memories fewer by merges, for each of the last 30 days.
    pub(super) saved: Vec<u64>,
    /// Memories at the end of each of the last 30 days, from the first on which they were counted.
    pub(super) counts: Vec<Option<u64>>,
}

/// What takes no part, and why.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Skipped {
    /// How many groups and memories each reason keeps, the most frequent first.
    pub(super) reasons: Vec<(Reason, usize)>,
    pub(super) groups: Vec<GroupLeft>,
    pub(super) memories: Vec<LeftAlone>,
}

impl UserRow {
    /// The rows of these users, in their order.
    pub(super) async fn of(
        pipeline: &Pipeline,
        people: &[Person],
        trends: &Trends,
    ) -> Result<Vec<Self>, Problem> {
        let names: Vec<String> = people.iter().map(|p| pipeline.partition(&p.user)).collect();
        let states = states(&mut pipeline.conn.clone(), &names).await?;
        let row = |(person, state): (&Person, Option<_>)| {
            let state: crate::store::UserState = state.unwrap_or_default();
            let ran = (state.run_at_ms > 0).then_some(state.run_at_ms);
            Self {
                id: person.id.clone(),
                user: person.user.clone(),
                memories: person.probe.count,
                last_run: ran.and_then(|ms| Timestamp::from_millisecond(ms).ok()),
                open: state.open,
                failures: state.failures,
                saved: trends
                    .saved_by_user
                    .get(&person.id)
                    .cloned()
                    .unwrap_or_else(|| vec![0; trends.days.len()]),
                counts: trends.memories(&state.counts, person.probe.count),
            }
        };
        Ok(people.iter().zip(states).map(row).collect())
    }
}

impl Skipped {
    /// What a plan leaves as it is.
    pub(super) fn of(plan: Plan) -> Self {
        let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
        let groups = plan.groups_left.iter().map(|group| group.reason);
        let memories = plan.left_alone.iter().map(|memory| memory.reason);
        for reason in groups.chain(memories) {
            *counts.entry(reason).or_default() += 1;
        }
        let mut reasons: Vec<(Reason, usize)> = counts.into_iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        Self {
            reasons,
            groups: plan.groups_left,
            memories: plan.left_alone,
        }
    }
}

/// What becomes of a conflict.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "decision", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Decision {
    /// All its memories stay.
    Keep {
        /// Why, for whoever asks later.
        #[serde(default)]
        reason: Option<String>,
    },
    /// The newest memory wins; the others become its history.
    Latest,
    /// They become one with this text, if it leaves nothing out and adds nothing.
    Text {
        /// The text.
        text: String,
        /// Whether it is taken against what the verification finds wrong with it.
        #[serde(default)]
        anyway: bool,
    },
}

/// What came of a decision.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Decided {
    /// The id under which it is written down that they stay.
    pub(super) kept: Option<String>,
    /// The merge that was made.
    pub(super) merged: Vec<Done>,
}

/// What a person or program does with a user.
impl Desk {
    /// What would be done, without an LLM and without writing anything.
    pub(super) async fn plan(&self, user: &str) -> Result<Plan, Problem> {
        let _permit = self.reader().await?;
        let pipeline = self.pipeline()?;
        let mut plan = in_time(async { Ok(pipeline.plan_offline(user).await?) }).await?;
        // The index folds names, so it gives memories of others too: their keys are nothing to show
        // under this user.
        plan.left_alone
            .retain(|memory| memory.reason != Reason::ForeignUser);
        Ok(plan)
    }

    /// The conflicts of a user.
    pub(super) async fn conflicts(&self, user: &str) -> Result<Vec<Conflict>, Problem> {
        let _permit = self.reader().await?;
        let pipeline = self.pipeline()?;
        in_time(async { Ok(pipeline.conflicts(user).await?) }).await
    }

    /// The conflict of this id among those of a user.
    pub(super) async fn conflict(&self, user: &str, id: &str) -> Result<Conflict, Problem> {
        let found = self.conflicts(user).await?;
        let wanted = found.into_iter().find(|conflict| conflict.id == id);
        wanted.ok_or_else(|| {
            Problem::not_found(
                "there is no such conflict any more: one of its memories has changed since; look \
                 at the conflicts again",
            )
        })
    }

    /// Decides a conflict, as long as its memories are what they were when it was shown.
    pub(super) async fn decide(
        &self,
        user: &str,
        conflict: &Conflict,
        decision: &Decision,
    ) -> Result<Decided, Problem> {
        let pipeline = self.pipeline()?;
        if conflict.kept {
            return Err(Problem::conflict(
                "kept",
                "it was decided that these memories stay; `memfold history` names that decision, and \
                 `memfold undo --lift-veto` takes it back",
            ));
        }
        let _permit = self.reader().await?;
        let report = match decision {
            Decision::Keep { reason } => {
                let reason = reason.as_deref().filter(|reason| !reason.trim().is_empty());
                let id = pipeline.keep_all(user, conflict, reason).await?;
                return Ok(Decided {
                    kept: Some(id),
                    merged: Vec::new(),
                });
            }
            Decision::Latest if !conflict.has_order() => {
                return Err(Problem::conflict(
                    "no-order",
                    "which of these memories is the newest is not known, so none can win; keep them, \
                     or write what is true",
                ));
            }
            Decision::Latest => pipeline.take_latest(user, conflict).await?.ok_or_else(|| {
                Problem::conflict(
                    "changed",
                    "these memories cannot be made one: they changed since, or they are pinned or \
                     expire at different times; look at the conflicts again",
                )
            })?,
            Decision::Text { text, anyway } => {
                let against = if *anyway {
                    Against::Anyway
                } else {
                    Against::Never
                };
                let written = pipeline
                    .write_by_hand(user, conflict, text, against)
                    .await?;
                written.map_err(|why| match why.may_be_overridden() {
                    true => Problem::conflict(NOT_VERIFIED, why.to_string()),
                    false => Problem::conflict("not-written", why.to_string()),
                })?
            }
        };
        match report.not_committed.first() {
            Some(left) => Err(Problem::conflict("changed", &left.detail)),
            None => Ok(Decided {
                kept: None,
                merged: report.merged,
            }),
        }
    }

    /// Asks the workers to look after a user soon; gives the id of the request.
    pub(super) async fn request(&self, user: &str) -> Result<String, Problem> {
        let pipeline = self.pipeline()?;
        let asked = Request {
            user: user.to_owned(),
            index: Some(pipeline.index.name.clone()),
            reason: "request".to_owned(),
            ..Request::default()
        };
        let ids = request(&mut pipeline.conn.clone(), &[asked]).await?;
        Ok(ids.first().map_or_else(String::new, ToString::to_string))
    }

    /// Undoes a merge, as `memfold undo` does.
    pub(super) async fn undo(
        &self,
        merge_id: &str,
        force: bool,
        cascade: bool,
        reason: Option<&str>,
    ) -> Result<Vec<Undone>, Problem> {
        let pipeline = self.pipeline()?;
        let mut conn = pipeline.conn.clone();
        let functions = Functions::load(&mut conn).await?;
        let new_id = || pipeline.stations.clock.id();
        let options = UndoOptions {
            force,
            cascade,
            reason: reason.filter(|reason| !reason.trim().is_empty()),
            new_id: &new_id,
            ledger: pipeline.stations.options.ledger_retention,
        };
        Ok(undo(&mut conn, &functions, merge_id, &options).await?)
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    tokio::time::timeout(LOOK_TIMEOUT, work)
        .await
        .unwrap_or_else(|_| {
            Err(Problem::unavailable(
                "reading and comparing this user's memories takes longer than a minute; use \
                 `memfold merge --dry-run`",
            ))
        })
}

/// A plan as programs get it: without the vectors.
pub(super) fn plan_document(plan: &Plan) -> Value {
    let mut document = json!(plan);
    let merges = document.get_mut("merges").and_then(Value::as_array_mut);
    for merge in merges.into_iter().flatten() {
        if let Some(merge) = merge.as_object_mut() {
            merge.remove("vector");
        }
    }
    document
}
