use serde_json::{Value, json};

use super::exit::Exit;
use super::render::{date, escape, show_findings, user};
use super::{Context, json, open};
use crate::memory::PlanSource;
use crate::merge::Conflict;

const HELP: &str = "\
A conflict is an old value and a new one of the same thing (`Rent is 1,200 EUR`, `Rent went up to
1,300 EUR`), or a fact and its denial. Nothing is written and no LLM is asked. What is listed under
`conflict` has an order by the dates of the memories: `memfold merge --conflicts latest` keeps the
newest and makes the others its history. Under `conflict-undated` a date is missing or both have the
same; nothing ever wins there. What a person decided to keep as it is, on the dashboard or through
the API, is not listed again until one of its memories says something else.

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
    let mut conflicts = pipeline.conflicts(&args.user).await?;
    conflicts.retain(|conflict| !conflict.kept);
    if args.json {
        context.out.json(&document(&args.user, &conflicts))?;
    } else if conflicts.is_empty() {
        let name = user(&args.user);
        context
            .out
            .note(&format!("no memories of user {name} contradict each other"));
    } else {
        let lines: Vec<String> = conflicts.iter().map(|c| text(c, context)).collect();
        context.out.page(&lines.join("\n"))?;
    }
    Ok(Exit::Done)
}

fn document(user: &str, conflicts: &[Conflict]) -> Value {
    let conflict = |conflict: &Conflict| {
        let group = &conflict.group;
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
            "members": conflict.by_date().into_iter().map(member).collect::<Vec<_>>(),
            "findings": group.findings,
        })
    };
    let conflicts: Vec<Value> = conflicts.iter().map(conflict).collect();
    json!({ "version": json::VERSION, "user": user, "conflicts": conflicts })
}

fn text(conflict: &Conflict, context: &Context) -> String {
    let style = context.out.style;
    let group = &conflict.group;
    let mut lines = vec![style.yellow(&format!("{}: {}", group.reason, group.detail))];
    for member in conflict.by_date() {
        let said = date(member.created_at);
        let room = style.width.saturating_sub(14);
        lines.push(format!("  {said}  {}", style.fit(&member.text, room)));
        lines.push(format!("              {}", escape(&member.key)));
    }
    lines.extend(show_findings(&group.findings, style));
    lines.push(String::new());
    lines.join("\n")
}
