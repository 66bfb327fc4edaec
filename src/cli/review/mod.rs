//! Decides group by group what is merged: a dialog in the terminal, or answers that are read.

mod dialog;
mod saved;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::exit::{Exit, usage};
use super::results::Results;
use super::{Context, json, open, render};
use crate::memory::{Finding, GroupLeft, Plan, PlanSource, PlannedMerge, Reason};
use crate::merge::{Against, Done, MergeError, Pipeline};
use crate::store::vetoes::{Forbids, Veto, forbid};

use dialog::{Answer, Dialog, Offer};
use saved::Saved;

const HELP: &str = "\
Each planned merge is shown with its texts whole, the distances, and what the guards saw; then:

  a  accept   merge it now, as `memfold merge` does: one atomic step, made only if every source is
              still what is shown, and undone by `memfold undo`
  e  edit     write the text yourself, in $VISUAL or $EDITOR if one is set; it is taken only if it
              keeps every number, date, name and negation of the sources and adds none. Where it
              does not, you are told what is wrong, and may write another one, or answer `anyway`
              (the whole word): then it is shown and can be accepted all the same. The record names
              what was overridden, and the result keeps the sources' texts as its history
  r  reject   leave it as it is; this review does not ask again, a later one does
  n  never    leave it, and never merge these memories while they say the same. You are asked why;
              `memfold history` and `memfold show` tell it, `memfold undo --lift-veto` allows it again
  s  skip     ask again the next time
  q  quit     what was decided is done; the next review goes on with the rest

With --left also the groups that memfold leaves as they are, to write one text for or forbid.

The groups that are still open are kept in $XDG_STATE_HOME/memfold (~/.local/state/memfold) until
they are decided, readable by you only: they hold memory texts. No LLM is asked about them again.

With --answers, each line of the file is one answer, in the order of the questions; a line after
`edit` is the text, a line after `never` the reason. With --json, stdout has {\"version\": 1, \"user\",
\"run_id\", \"merged\": [{merge_id, result_key, retired}], \"not_committed\", \"forbidden\": [{id,
members, reason}], \"rejected\", \"open\"}, and the dialog goes to stderr.

Examples:
  memfold review --user alice
  memfold review --user alice --left
  printf 'accept\\nnever\\ntwo different houses\\n' | memfold review --user alice --answers -";

/// Decide about each merge of a user: accept, edit, reject, forbid
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The user whose memories to merge, exactly as stored
    #[arg(long, value_name = "NAME")]
    user: String,
    /// Also the groups that are left as they are
    #[arg(long)]
    left: bool,
    /// Plan anew instead of going on with the last review
    #[arg(long)]
    new: bool,
    /// Read the answers from a file, `-` = stdin, instead of asking on the terminal
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// One JSON document of what was decided
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let dialog = Dialog::open(context, args.answers.as_deref(), args.json)?;
    let pipeline = open::pipeline(context, context.settings.index(), true).await?;
    let saved = Saved::of(context, &pipeline.partition(&args.user));
    let resumed = if args.new { None } else { saved.read()? };
    let plan = match resumed {
        Some(plan) => {
            let open = plan.merges.len() + plan.groups_left.len();
            let groups = render::count(open, "group", "groups");
            dialog.note(&format!(
                "going on with the last review, {groups} open; --new plans anew"
            ));
            plan
        }
        None => {
            let mut results = Results::new(context, &pipeline, false);
            let plan = results.planned(&args.user).await?;
            let exit = results.finish()?;
            match plan {
                Some(plan) => reviewable(plan, args.left),
                None => return Ok(exit),
            }
        }
    };
    let mut review = Review {
        context,
        pipeline: &pipeline,
        dialog,
        saved,
        plan,
        told: Told::default(),
    };
    let ended = review.run().await;
    // What was done is told even if an error ended it.
    review.finish(args)?;
    ended.map(|()| match review.told.not_committed.is_empty() {
        true => Exit::Done,
        false => Exit::SomeNotMerged,
    })
}

/// Keeps of a plan what a person can decide.
fn reviewable(mut plan: Plan, left: bool) -> Plan {
    let decides = |group: &GroupLeft| left && group.members.len() > 1 && is_open(group.reason);
    plan.groups_left.retain(decides);
    plan.left_alone.clear();
    plan
}

/// Whether a text by hand, or a veto, would change what becomes of a group left for this reason.
fn is_open(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::Vetoed | Reason::Pinned | Reason::DifferentExpiry | Reason::Unwritable
    )
}

/// What was decided.
#[derive(Default)]
struct Told {
    merged: Vec<Done>,
    not_committed: Vec<GroupLeft>,
    forbidden: Vec<Veto>,
    rejected: usize,
}

/// A group that is asked about.
#[derive(Clone)]
enum Group {
    Merge(PlannedMerge),
    Left(GroupLeft),
}

impl Group {
    fn members(&self) -> &[PlanSource] {
        match self {
            Self::Merge(merge) => &merge.sources,
            Self::Left(left) => &left.members,
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Merge(merge) => &merge.findings,
            Self::Left(left) => &left.findings,
        }
    }

    /// What an edit starts from.
    fn text(&self) -> &str {
        match self {
            Self::Merge(merge) => &merge.text,
            Self::Left(left) => left.members.last().map_or("", |member| &member.text),
        }
    }
}

struct Review<'a> {
    context: &'a Context,
    pipeline: &'a Pipeline,
    dialog: Dialog<'a>,
    saved: Saved,
    /// The groups that are open, which are what is saved.
    plan: Plan,
    told: Told,
}

/// What becomes of a text of the user's own.
enum Edited {
    Taken(Box<PlannedMerge>),
    /// The verification objects; the user may know better.
    Refused,
    No,
}

/// Whether the dialog goes on.
enum Next {
    Group,
    Quit,
}

impl Review<'_> {
    async fn run(&mut self) -> anyhow::Result<()> {
        let groups: Vec<Group> = self
            .plan
            .merges
            .iter()
            .cloned()
            .map(Group::Merge)
            .chain(self.plan.groups_left.iter().cloned().map(Group::Left))
            .collect();
        self.save()?;
        for (number, group) in (1..).zip(&groups) {
            let title = format!("{number} of {}", groups.len());
            if let Next::Quit = self.decide(&title, group.clone()).await? {
                break;
            }
        }
        Ok(())
    }

    /// Asks about one group until something is decided.
    async fn decide(&mut self, title: &str, mut group: Group) -> anyhow::Result<Next> {
        let first = group.clone();
        self.show(title, &group)?;
        let mut refused = None;
        loop {
            let offer = Offer {
                text: matches!(group, Group::Merge(_)),
                refused: refused.is_some(),
            };
            match self.dialog.ask(offer).await? {
                Answer::Accept => {
                    let Group::Merge(merge) = &group else {
                        continue;
                    };
                    self.accept(merge.clone()).await?;
                    return self.close(&first);
                }
                Answer::Edit => {
                    let Some(text) = self.dialog.text(group.text()).await? else {
                        self.dialog.note("the text stays as it was");
                        continue;
                    };
                    let edited = self.edit(&group, &text, Against::Never).await?;
                    refused = matches!(edited, Edited::Refused).then_some(text);
                    if let Edited::Taken(merge) = edited {
                        group = Group::Merge(*merge);
                        self.show(title, &group)?;
                    }
                }
                Answer::Anyway => {
                    let Some(text) = refused.take() else {
                        continue;
                    };
                    let edited = self.edit(&group, &text, Against::Anyway).await?;
                    if let Edited::Taken(merge) = edited {
                        group = Group::Merge(*merge);
                        self.show(title, &group)?;
                    }
                }
                Answer::Reject => {
                    self.told.rejected += 1;
                    return self.close(&first);
                }
                Answer::Never => {
                    let reason = self.dialog.line("why (may be empty): ").await?;
                    self.never(&first, reason.as_deref().unwrap_or_default())
                        .await?;
                    return self.close(&first);
                }
                Answer::Skip => return Ok(Next::Group),
                Answer::Quit => return Ok(Next::Quit),
            }
        }
    }

    fn show(&self, title: &str, group: &Group) -> anyhow::Result<()> {
        let style = self.dialog.style();
        let text = match group {
            Group::Merge(merge) => render::merge(&format!("merge {title}"), merge, style),
            Group::Left(left) => render::group_left(&format!("left alone {title}"), left, style),
        };
        self.dialog.say(&text)
    }

    /// Commits one merge as `apply` does.
    async fn accept(&mut self, merge: PlannedMerge) -> anyhow::Result<()> {
        let plan = Plan {
            merges: vec![merge],
            groups_left: Vec::new(),
            left_alone: Vec::new(),
            ..self.plan.clone()
        };
        let report = self.pipeline.apply(&plan, &()).await?;
        for done in &report.merged {
            self.dialog.note(&format!("merged as {}", done.merge_id));
        }
        for left in &report.not_committed {
            let why = render::escape(&left.detail);
            self.dialog
                .note(&format!("not merged, {}: {why}", left.reason));
        }
        self.told.merged.extend(report.merged);
        self.told.not_committed.extend(report.not_committed);
        Ok(())
    }

    /// The merge with a text of the user's own, if it is taken; else why not is told.
    async fn edit(&self, group: &Group, text: &str, against: Against) -> anyhow::Result<Edited> {
        let (user, members) = (&self.plan.user, group.members());
        let edited = self
            .pipeline
            .by_hand(user, members, group.findings(), text, against)
            .await;
        match edited {
            Ok(Ok(merge)) => Ok(Edited::Taken(Box::new(merge))),
            Ok(Err(why)) => {
                let may = why.may_be_overridden();
                let why = render::escape(&why.to_string());
                self.dialog.note(&format!("this text is not taken: {why}"));
                Ok(if may { Edited::Refused } else { Edited::No })
            }
            Err(MergeError::NoEmbedder) => {
                self.dialog.note(&MergeError::NoEmbedder.to_string());
                Ok(Edited::No)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Forbids to merge the members, for as long as they say the same.
    async fn never(&mut self, group: &Group, reason: &str) -> anyhow::Result<()> {
        let reason = Some(reason.trim()).filter(|reason| !reason.is_empty());
        let id = match group {
            Group::Merge(merge) => merge.merge_id.clone(),
            Group::Left(_) => self.pipeline.stations.clock.id(),
        };
        let veto = Veto::against(id, group.members(), reason);
        let by = Forbids {
            partition: &self.pipeline.partition(&self.plan.user),
            user: &self.plan.user,
            run_id: &self.pipeline.stations.options.run_id,
            ledger: open::ledger_retention(&self.context.settings),
        };
        forbid(&mut self.pipeline.conn.clone(), &by, veto.clone()).await?;
        let id = &veto.merge_id;
        self.dialog.note(&format!(
            "never merged while they say this; allow it again with: memfold undo --lift-veto {id}"
        ));
        self.told.forbidden.push(veto);
        Ok(())
    }

    /// Takes a decided group off what is saved.
    fn close(&mut self, group: &Group) -> anyhow::Result<Next> {
        match group {
            Group::Merge(merge) => self
                .plan
                .merges
                .retain(|other| other.merge_id != merge.merge_id),
            Group::Left(left) => self.plan.groups_left.retain(|other| other != left),
        }
        self.save()?;
        Ok(Next::Group)
    }

    fn open(&self) -> usize {
        self.plan.merges.len() + self.plan.groups_left.len()
    }

    fn save(&self) -> anyhow::Result<()> {
        match self.open() {
            0 => self.saved.remove(),
            _ => self.saved.write(self.plan.clone()),
        }
    }

    fn finish(&self, args: &Args) -> anyhow::Result<()> {
        if args.json {
            self.context.out.json(&self.document())?;
            return Ok(());
        }
        self.dialog.note(&self.summary(args));
        Ok(())
    }

    fn summary(&self, args: &Args) -> String {
        let told = &self.told;
        let decided =
            told.merged.len() + told.not_committed.len() + told.forbidden.len() + told.rejected;
        if decided == 0 && self.open() == 0 {
            return match args.left {
                true => "nothing to review".to_owned(),
                false => {
                    "nothing to review; --left also asks about groups that are left".to_owned()
                }
            };
        }
        let mut lines = vec![format!(
            "{} made, {} forbidden, {} rejected; {} open",
            render::count(told.merged.len(), "merge", "merges"),
            told.forbidden.len(),
            told.rejected,
            self.open(),
        )];
        if !told.merged.is_empty() {
            let run = &self.pipeline.stations.options.run_id;
            lines.push(format!("undo with: memfold undo --run {run}"));
        }
        if self.open() > 0 {
            lines.push("run the same again to go on".to_owned());
        }
        lines.join("\n")
    }

    fn document(&self) -> Value {
        let veto = |veto: &Veto| {
            json!({
                "id": veto.merge_id,
                "members": veto.members.keys().collect::<Vec<_>>(),
                "reason": veto.reason,
            })
        };
        json!({
            "version": json::VERSION,
            "user": self.plan.user,
            "run_id": self.pipeline.stations.options.run_id,
            "merged": self.told.merged,
            "not_committed": self.told.not_committed,
            "forbidden": self.told.forbidden.iter().map(veto).collect::<Vec<_>>(),
            "rejected": self.told.rejected,
            "open": self.open(),
        })
    }
}

/// A usage error that says how to answer without a terminal.
fn no_terminal() -> anyhow::Error {
    usage(
        "review asks questions, and stdin is no terminal; run it in one, or give the answers with \
         --answers FILE (`-` for stdin), one a line",
    )
}
