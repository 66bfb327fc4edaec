use serde_json::{Value, json};

use super::exit::Exit;
use super::render::{date, escape, show_findings, user};
use super::{Context, json, open};
use crate::memory::{GroupLeft, PlanSource, Reason};
use crate::merge::{Conflicts, MergeOptions, Pipeline};

const HELP: &str = "\
A conflict is an old value and a new one of the same thing (`Rent is 1,200 EUR`, `Rent went up to
1,300 EUR`), or a fact and its denial. Nothing is written and no LLM is asked. What is listed under
`conflict` has an order by the dates of the memories: `memfold merge --conflicts latest` keeps the
newest and makes the others its history. Under `conflict-undated` a date is missing or both have the
same; nothing ever wins there.

With --json: {\"version\": 1, \"user\": …, \"conflicts\": [{reason, detail, scope, memory_type,
members: [{key, text, created_at}], findings: [{guard, left, right}]}]}; members are oldest first.

Examples:
  memfold conflicts --user alice
  memfold conflicts --user alice --json | jq '.conflicts[].members[].text'";

/// List memories of a user that contradict each other or were overtaken
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The user whose memories to compare, exactly as stored
    #[arg(long, value_name = "NAME")]
    user: String,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let pipeline = open::pipeline(context, context.settings.index(), false).await?;
    let pipeline = Pipeline {
        llm: None,
        options: MergeOptions {
            conflicts: Conflicts::Keep,
            ..pipeline.options.clone()
        },
        ..pipeline
    };
    let plan = pipeline.plan(&args.user, &()).await?;
    let conflicts: Vec<&GroupLeft> = plan
        .groups_left
        .iter()
        .filter(|group| is_conflict(group))
        .collect();
    if args.json {
        context.out.json(&document(&args.user, &conflicts))?;
    } else if conflicts.is_empty() {
        let name = user(&args.user);
        context
            .out
            .note(&format!("no memories of user {name} contradict each other"));
    } else {
        let lines: Vec<String> = conflicts.iter().map(|group| text(group, context)).collect();
        context.out.page(&lines.join("\n"))?;
    }
    Ok(Exit::Done)
}

fn is_conflict(group: &GroupLeft) -> bool {
    matches!(group.reason, Reason::Conflict | Reason::ConflictUndated)
}

/// The members, oldest first; those without a date come first.
fn by_date(group: &GroupLeft) -> Vec<&PlanSource> {
    let mut members: Vec<&PlanSource> = group.members.iter().collect();
    members.sort_by_key(|member| member.created_at);
    members
}

fn document(user: &str, conflicts: &[&GroupLeft]) -> Value {
    let conflict = |group: &&GroupLeft| {
        let member = |source: &PlanSource| {
            json!({
                "key": source.key,
                "text": source.text,
                "created_at": source.created_at,
            })
        };
        json!({
            "reason": group.reason,
            "detail": group.detail,
            "scope": group.partition.scope,
            "memory_type": group.partition.memory_type,
            "members": by_date(group).into_iter().map(member).collect::<Vec<_>>(),
            "findings": group.findings,
        })
    };
    let conflicts: Vec<Value> = conflicts.iter().map(conflict).collect();
    json!({ "version": json::VERSION, "user": user, "conflicts": conflicts })
}

fn text(group: &GroupLeft, context: &Context) -> String {
    let style = context.out.style;
    let mut lines = vec![style.yellow(&format!("{}: {}", group.reason, group.detail))];
    for member in by_date(group) {
        let said = date(member.created_at);
        let room = style.width.saturating_sub(14);
        lines.push(format!("  {said}  {}", style.fit(&member.text, room)));
        lines.push(format!("              {}", escape(&member.key)));
    }
    lines.extend(show_findings(&group.findings, style));
    lines.push(String::new());
    lines.join("\n")
}
