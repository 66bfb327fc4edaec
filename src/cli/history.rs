use jiff::Timestamp;
use serde_json::{Value, json};

use super::exit::Exit;
use super::render::{escape, escape_json, moment, table, user};
use super::{Context, json, open, own_pairs};
use crate::store::{Entry, Event, history};

/// List what was merged, undone and forbidden, newest first
///
/// With --json: {"version": 1, "entries": [{merge_id, event, user, run_id, at, sources, reason}]}.
///
/// With --as-pairs: one labelled pair a line, as `memfold eval` and `memfold calibrate` read them.
/// The memories of a merge that stands are `same`; those of a merge that was undone, and those that
/// somebody forbade to merge or decided to keep apart, are `different`. Groups whose memories cannot
/// be read any more (the undo window has passed, they were changed, or the veto was lifted) are
/// left out.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Only this user, exactly as stored
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Most entries to list [default: 20, with --as-pairs all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Your own decisions as labelled pairs; they hold memory texts
    #[arg(long, conflicts_with = "json")]
    as_pairs: bool,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    let usual = if args.as_pairs { usize::MAX } else { 20 };
    let limit = args.limit.unwrap_or(usual);
    let entries = history(&mut conn, args.user.as_deref(), limit).await?;
    if args.as_pairs {
        let found = own_pairs::of(&mut conn, context, &entries).await?;
        for pair in &found.pairs {
            let line = pair.to_string();
            context.out.data(&format!("{}\n", escape_json(&line)))?;
        }
        if found.unreadable > 0 {
            let count = found.unreadable;
            let note =
                format!("{count} groups are left out: their memories cannot be read any more");
            context.out.note(&note);
        }
        return Ok(Exit::Done);
    }
    if args.json {
        context.out.json(&document(&entries))?;
    } else if entries.is_empty() {
        context.out.note(&match &args.user {
            Some(name) => format!("nothing of user {} was merged yet", user(name)),
            None => "nothing was merged yet".to_owned(),
        });
    } else {
        let rows = entries.iter().map(row).collect();
        context.out.page(&table(&HEADER, rows, context.out.style))?;
    }
    Ok(Exit::Done)
}

const HEADER: [&str; 7] = ["when", "what", "merge", "user", "memories", "run", "why"];

fn document(entries: &[Entry]) -> Value {
    let entry = |entry: &Entry| {
        json!({
            "merge_id": entry.merge_id,
            "event": entry.event,
            "user": entry.user,
            "run_id": entry.run_id,
            "at": Timestamp::from_millisecond(entry.at_ms).ok(),
            "sources": entry.retired,
            "reason": entry.reason,
        })
    };
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    json!({ "version": json::VERSION, "entries": entries })
}

fn row(entry: &Entry) -> Vec<String> {
    let at = Timestamp::from_millisecond(entry.at_ms);
    vec![
        at.map_or_else(|_| "?".to_owned(), moment),
        match entry.event {
            Event::Merged => "merged".to_owned(),
            Event::Undone => "undone".to_owned(),
            Event::Vetoed => "forbidden".to_owned(),
        },
        escape(&entry.merge_id),
        user(&entry.user),
        match entry.event {
            Event::Merged => format!("{} → 1", entry.retired),
            Event::Undone => format!("1 → {}", entry.retired),
            Event::Vetoed => format!("{} apart", entry.retired),
        },
        escape(&entry.run_id),
        escape(entry.reason.as_deref().unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::Style;

    #[test]
    fn entries_are_listed_and_told_in_json() {
        let entry = |event, user: &str| Entry {
            merge_id: "01K9MERGE00000000000000001".into(),
            event,
            user: user.into(),
            run_id: "01K9RUN0000000000000000000".into(),
            at_ms: 1_795_977_278_700,
            retired: 2,
            reason: (event == Event::Vetoed).then(|| "two houses".to_owned()),
        };
        let entries = [
            entry(Event::Vetoed, "bob"),
            entry(Event::Undone, "用户一"),
            entry(Event::Merged, " a\u{1b}b"),
        ];
        let style = Style {
            color: false,
            width: 80,
            verbose: false,
            whole: false,
        };
        let rows = entries.iter().map(row).collect();
        let text = table(&HEADER, rows, style);
        insta::assert_snapshot!(format!("{text}\n{:#}", document(&entries)));
    }
}
