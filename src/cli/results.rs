//! Plans and merges for several users, printed as they come: one user's failure does not stop the
//! others, and decides the exit code.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::exit::{self, Exit};
use super::progress::Line;
use super::{Context, json, open, output, render};
use crate::memory::{GroupLeft, LeftAlone, Plan, Reason};
use crate::merge::{MergeError, Pipeline, Quality, Report};
use crate::store::Cost;

pub(super) struct Results<'a> {
    context: &'a Context,
    pipeline: &'a Pipeline,
    json: bool,
    progress: Line,
    document: json::Users,
    /// Whether nothing was printed yet.
    first: bool,
    /// Memories that were read.
    memories: usize,
    /// What the merges did to their memories.
    quality: Quality,
    /// The figures of the run, if asked.
    stats: Option<json::Stats>,
    /// Whether the next user was named: it is no error if one that the index named is gone by now.
    pub(super) named: bool,
    /// Shared ids that were found and left out.
    left_out: Vec<String>,
    exit: Exit,
    /// The store failed: it would fail for every further user too.
    over: bool,
}

impl<'a> Results<'a> {
    pub(super) fn new(context: &'a Context, pipeline: &'a Pipeline, json: bool) -> Self {
        let progress = Line::new();
        Self {
            context,
            pipeline,
            json,
            progress,
            document: json::Users::default(),
            first: true,
            memories: 0,
            quality: Quality::default(),
            stats: None,
            named: true,
            left_out: Vec::new(),
            exit: Exit::Done,
            over: false,
        }
    }

    /// Plans for a user and shows the plan.
    ///
    /// One that comes `alone` may go through a pager.
    pub(super) async fn plan(&mut self, user: &str, alone: bool) -> anyhow::Result<Option<Plan>> {
        let Some(plan) = self.planned(user).await? else {
            return Ok(None);
        };
        let style = self.context.out.style;
        if self.json {
            self.tell(&json::User::plan(&plan))?;
        } else {
            self.show(&render::plan(&plan, style), alone)?;
        }
        Ok(Some(plan))
    }

    /// Plans for a user and shows nothing; `None` where that failed or the run is to stop.
    pub(super) async fn planned(&mut self, user: &str) -> anyhow::Result<Option<Plan>> {
        if self.over || self.stopping() {
            return Ok(None);
        }
        let plan = match self.pipeline.plan(user, &self.progress).await {
            Ok(plan) => plan,
            Err(error) => return self.failed(user, error.into()).map(|()| None),
        };
        if is_absent(&plan) && !self.named {
            return Ok(None);
        }
        if is_absent(&plan) {
            let error = self.no_such_user(user).await;
            return self.failed(user, error).map(|()| None);
        }
        if let Some(error) = self.misread(&plan) {
            return self.failed(user, error).map(|()| None);
        }
        self.end_with(groups_exit(&plan.groups_left));
        self.memories += plan.memories;
        self.quality.add(Quality::of(&plan.merges));
        Ok(Some(plan))
    }

    /// Merges for a user and shows what was done.
    pub(super) async fn merge(&mut self, user: &str) -> anyhow::Result<()> {
        if self.over || self.stopping() {
            return Ok(());
        }
        let report = self.pipeline.merge(user, &self.progress).await;
        if let Ok(report) = &report {
            self.end_with(groups_exit(&report.plan.groups_left));
        }
        self.report(user, report).await
    }

    /// Carries out a plan and shows what was done. The groups that the plan leaves decide nothing:
    /// the command that made it told them.
    pub(super) async fn apply(&mut self, plan: &Plan) -> anyhow::Result<()> {
        if self.over || self.stopping() {
            return Ok(());
        }
        let report = self.pipeline.apply(plan, &self.progress).await;
        if report
            .as_ref()
            .is_ok_and(|report| !report.not_committed.is_empty())
        {
            self.end_with(Exit::SomeNotMerged);
        }
        self.report(&plan.user, report).await
    }

    /// Tells what the run cost the server, what its merges did to their memories, and where the time went.
    pub(super) fn cost(&mut self, cost: Cost, starting: Duration) {
        let stats = json::Stats {
            server: json::Server::new(cost, self.memories),
            quality: self.quality,
            seconds: json::Seconds {
                starting: starting.as_secs_f64(),
                stages: self.progress.stages(),
            },
        };
        self.note(&stats.quality.to_string());
        self.note(&stats.server.to_string());
        self.note(&stats.seconds.to_string());
        self.stats = Some(stats);
    }

    /// Tells which shared ids are left out.
    pub(super) fn leave_out(&mut self, shared: Vec<String>) {
        if !shared.is_empty() {
            let names: Vec<String> = shared.iter().map(|name| render::user(name)).collect();
            let names = names.join(" and ");
            self.note(&format!(
                "left out, as ids that several may share: {names}; --user takes one in"
            ));
        }
        self.left_out = shared;
    }

    /// A message for people, left out with `--json`.
    pub(super) fn note(&self, text: &str) {
        if !self.json {
            self.progress.aside(|| self.context.out.note(text));
        }
    }

    /// Prints what is still to be printed; the exit code is that of the first failure.
    pub(super) fn finish(self) -> anyhow::Result<Exit> {
        self.progress.clear();
        if self.json {
            self.context
                .out
                .piece(&self.document.end(self.stats, &self.left_out)?)?;
        }
        Ok(self.exit)
    }

    async fn report(
        &mut self,
        user: &str,
        report: Result<Report, MergeError>,
    ) -> anyhow::Result<()> {
        let report = match report {
            Ok(report) => report,
            Err(error) => return self.failed(user, error.into()),
        };
        if is_absent(&report.plan) && !self.named {
            return Ok(());
        }
        if is_absent(&report.plan) && !report.stopped {
            let error = self.no_such_user(user).await;
            return self.failed(user, error);
        }
        if let Some(error) = self.misread(&report.plan) {
            return self.failed(user, error);
        }
        self.end_with(groups_exit(&report.not_committed));
        self.memories += report.plan.memories;
        self.quality.add(report.quality);
        let style = self.context.out.style;
        if self.json {
            self.tell(&json::User::report(report))
        } else {
            self.show(&render::report(&report, style), false)
        }
    }

    /// Prints a user's part of the JSON document.
    fn tell(&mut self, user: &json::User<'_>) -> anyhow::Result<()> {
        let piece = self.document.user(user)?;
        self.progress.aside(|| self.context.out.piece(&piece))?;
        Ok(())
    }

    /// Prints what is to be told of a user.
    fn show(&mut self, text: &str, paged: bool) -> anyhow::Result<()> {
        let gap = if self.first { "" } else { "\n" };
        self.first = false;
        let (out, text) = (&self.context.out, format!("{gap}{text}"));
        self.progress.aside(|| match paged {
            true => out.page(&text),
            false => out.data(&text),
        })?;
        Ok(())
    }

    /// Notes a user's failure.
    fn failed(&mut self, user: &str, error: anyhow::Error) -> anyhow::Result<()> {
        let exit = exit::of(&error);
        self.over |= exit == Exit::Store;
        self.end_with(exit);
        if self.json {
            let message = output::message(&error);
            self.tell(&json::User::failure(user, exit.code(), &message))?;
        }
        let error = error.context(format!("user {}", render::user(user)));
        self.progress.aside(|| self.context.out.error(&error));
        Ok(())
    }

    fn stopping(&self) -> bool {
        self.context.stopping.load(Ordering::Relaxed)
    }

    fn end_with(&mut self, exit: Exit) {
        if self.exit == Exit::Done {
            self.exit = exit;
        }
    }

    /// The error where not one record could be read and a field's name is unknown to the index.
    fn misread(&self, plan: &Plan) -> Option<anyhow::Error> {
        if plan.memories > 0 || plan.left_alone.is_empty() {
            return None;
        }
        let (flag, name) =
            open::missing_fields(&self.pipeline.index, self.pipeline.layout.as_ref())
                .into_iter()
                .next()?;
        let message = format!(
            "none of {} records could be read, and index {} has no field `{name}` ({flag}); \
             `memfold inspect` lists its fields",
            plan.left_alone.len(),
            plan.index
        );
        Some(exit::stop(Exit::Store, message))
    }

    /// The error for a user without memories, with the users whose names are near.
    async fn no_such_user(&self, user: &str) -> anyhow::Error {
        let users = open::all_users(self.pipeline).await.unwrap_or_default();
        let near = near_names(user, users.into_iter());
        let hint = match near.as_slice() {
            [] => "`memfold inspect` lists the indexes and their users".to_owned(),
            near => {
                let names: Vec<String> = near.iter().map(|name| render::user(name)).collect();
                format!("did you mean {}?", names.join(" or "))
            }
        };
        let message = format!(
            "no memories of this user in {}; {hint}",
            self.context.settings.index()
        );
        exit::stop(Exit::NoSuchUser, message)
    }
}

/// Not one record is this user's: all that the index gave belongs to others of a similar name.
fn is_absent(plan: &Plan) -> bool {
    let others = |memory: &LeftAlone| memory.reason == Reason::ForeignUser;
    plan.memories == 0 && plan.left_alone.iter().all(others)
}

/// [`Exit::SomeNotMerged`] if an error, and not a decision, kept a group from being merged.
fn groups_exit(groups: &[GroupLeft]) -> Exit {
    let error = |group: &GroupLeft| {
        matches!(
            group.reason,
            Reason::LlmFailed | Reason::WriteRefused | Reason::NotVisible
        )
    };
    if groups.iter().any(error) {
        Exit::SomeNotMerged
    } else {
        Exit::Done
    }
}

/// At most three names that differ in case, spaces, or an edit or two.
fn near_names(name: &str, known: impl Iterator<Item = String>) -> Vec<String> {
    let fold = |name: &str| name.trim().to_lowercase();
    let mut near: Vec<(usize, String)> = known
        .filter(|other| other != name)
        .map(|other| (crate::config::edits(&fold(name), &fold(&other)), other))
        .filter(|(edits, other)| *edits <= 2 && (*edits == 0 || 2 * edits < other.chars().count()))
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_few_and_near() {
        let known = ["Alice", " alice ", "alicia", "bob", "a", "用户一"].map(str::to_owned);
        assert_eq!(
            near_names("alice", known.clone().into_iter()),
            [" alice ", "Alice", "alicia"]
        );
        assert_eq!(near_names("bob", known.clone().into_iter()), [""; 0]);
        assert_eq!(near_names("用户", known.clone().into_iter()), ["用户一"]);
        assert_eq!(
            near_names("zoe", known.clone().into_iter()),
            Vec::<String>::new()
        );
        assert_eq!(near_names("carol", known.into_iter()), Vec::<String>::new());
    }
}
