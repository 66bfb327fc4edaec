//! Old values and new ones of one user: listed, and decided one by one.

use super::fingerprint::Fingerprint;
use super::{Against, Conflicts, MergeError, NotTaken, Pipeline, Report, vetoed};
use crate::memory::{Author, GroupLeft, Plan, PlanSource, PlannedMerge, Reason};
use crate::store::vetoes::{Forbids, Veto, forbid, vetoes};

/// Two or more memories that contradict each other, or of which one overtook another.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Conflict {
    /// Names it as long as none of its memories changes.
    pub id: String,
    /// The memories, and why they are in conflict.
    pub group: GroupLeft,
    /// Whether a person decided that all of them stay.
    pub kept: bool,
}

impl Conflict {
    fn of(group: GroupLeft, vetoes: &[Veto]) -> Self {
        Self {
            id: name(&group),
            kept: vetoed::of(&group.members, vetoes).is_some(),
            group,
        }
    }

    /// Whether dates tell which of the memories is the newest, so that it may win.
    pub fn has_order(&self) -> bool {
        self.group.reason == Reason::Conflict
    }

    /// The memories, oldest first; those without a date come first.
    pub fn by_date(&self) -> Vec<&PlanSource> {
        let mut members: Vec<&PlanSource> = self.group.members.iter().collect();
        members.sort_by_key(|member| member.created_at);
        members
    }
}

/// The digest of who is in conflict, each pinned as it was read.
fn name(group: &GroupLeft) -> String {
    let mut named = Fingerprint::default();
    named.add(&group.partition.user);
    named.add(&group.partition.memory_type);
    for member in &group.members {
        named.add(&member.key);
        named.add(&member.digest.0);
    }
    named.finish()
}

impl Pipeline {
    /// The same pipeline with no LLM, and this rule for old and new values.
    fn without_llm(&self, conflicts: Conflicts) -> Self {
        let mut pipeline = self.clone();
        pipeline.stations.llm = None;
        pipeline.stations.options.conflicts = conflicts;
        pipeline
    }

    /// What would be done for `user` without asking an LLM: nothing is spent and nothing written.
    ///
    /// # Errors
    /// [`MergeError`]
    pub async fn plan_offline(&self, user: &str) -> Result<Plan, MergeError> {
        self.without_llm(self.stations.options.conflicts)
            .plan(user, &())
            .await
    }

    /// The conflicts among the memories of `user`. Nothing is written and no LLM is asked.
    ///
    /// # Errors
    /// [`MergeError`]
    pub async fn conflicts(&self, user: &str) -> Result<Vec<Conflict>, MergeError> {
        let plan = self.without_llm(Conflicts::Keep).plan(user, &()).await?;
        let is_conflict =
            |group: &GroupLeft| matches!(group.reason, Reason::Conflict | Reason::ConflictUndated);
        let groups = plan.groups_left.into_iter().filter(is_conflict);
        let vetoes = vetoes(&mut self.conn.clone(), &self.partition(user)).await?;
        Ok(groups.map(|group| Conflict::of(group, &vetoes)).collect())
    }

    /// Lets the newest of the memories of one conflict win; the others become its history. `None`
    /// if the memories are not what they were when the conflict was listed, or have no order.
    ///
    /// # Errors
    /// [`MergeError`]
    pub async fn take_latest(
        &self,
        user: &str,
        conflict: &Conflict,
    ) -> Result<Option<Report>, MergeError> {
        let pipeline = self.without_llm(Conflicts::Latest);
        let mut plan = pipeline.plan(user, &()).await?;
        let pins = |sources: &[PlanSource]| -> Vec<_> {
            let pin = |s: &PlanSource| (s.key.clone(), s.digest.clone());
            sources.iter().map(pin).collect()
        };
        let wanted = pins(&conflict.group.members);
        let is_it = |merge: &PlannedMerge| {
            matches!(merge.author, Author::Latest { .. }) && pins(&merge.sources) == wanted
        };
        plan.merges.retain(is_it);
        if plan.merges.is_empty() {
            return Ok(None);
        }
        pipeline.apply(&plan, &()).await.map(Some)
    }

    /// Writes down that all memories of a conflict stay, whatever `conflicts` says, until one of them
    /// says something else. Answers the id by which `memfold undo --lift-veto` takes that back.
    ///
    /// # Errors
    /// [`MergeError`] of the store.
    pub async fn keep_all(
        &self,
        user: &str,
        conflict: &Conflict,
        reason: Option<&str>,
    ) -> Result<String, MergeError> {
        let id = self.stations.clock.id();
        let by = Forbids {
            partition: &self.partition(user),
            user,
            run_id: &id,
            ledger: self.stations.options.ledger_retention,
        };
        let veto = Veto::against(id.clone(), &conflict.group.members, reason);
        forbid(&mut self.conn.clone(), &by, veto).await?;
        Ok(id)
    }

    /// Makes the memories of a conflict one with a text that a person wrote, verified as an LLM's
    /// would be, unless the person takes it `against` that. The inner error says what is wrong with
    /// it, or what changed meanwhile.
    ///
    /// # Errors
    /// [`MergeError`]
    pub async fn write_by_hand(
        &self,
        user: &str,
        conflict: &Conflict,
        text: &str,
        against: Against,
    ) -> Result<Result<Report, NotTaken>, MergeError> {
        let group = &conflict.group;
        let merge = self
            .by_hand(user, &group.members, &group.findings, text, against)
            .await?;
        let merge = match merge {
            Ok(merge) => merge,
            Err(why) => return Ok(Err(why)),
        };
        let mut plan = self.without_llm(Conflicts::Keep).plan(user, &()).await?;
        plan.merges = vec![merge];
        self.apply(&plan, &()).await.map(Ok)
    }
}
