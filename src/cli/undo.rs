use clap::ArgGroup;
use redis::aio::ConnectionManager;
use serde_json::{Value, json};
use ulid::Ulid;

use super::exit::{self, Exit};
use super::render::{count, escape};
use super::{Context, json, open, output};
use crate::store::vetoes::lift_veto;
use crate::store::{Functions, UndoError, UndoOptions, Undone, merges_of_run, undo};

const HELP: &str = "\
A merge is undone as a whole or not at all: all its originals come back byte for byte, with their
vectors, metadata and expiry, or the reason why not is told and nothing is changed. With --run the
merges of the run are undone one by one, newest first; one that is refused stays, the others go on.

An undone group is not merged again until one of its memories says something else, or until
--lift-veto allows it.

With --json: {\"version\": 1, \"undone\": [{merge_id, restored, expired, kept_beside,
left_edited}], \"error\": …}.";

/// Bring the originals of a merge back, byte for byte
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
#[command(group(ArgGroup::new("what").args(["merge_id", "run", "lift_veto"]).required(true)))]
pub(super) struct Args {
    /// The merge (see `memfold history`)
    merge_id: Option<String>,
    /// Undo all merges of a run instead
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Undo nothing, but let the group be merged again that was undone, or forbidden in a review,
    /// under this id
    #[arg(long, value_name = "MERGE", conflicts_with_all = ["force", "cascade"])]
    lift_veto: Option<String>,
    /// Undo although the result was edited since; the edited memory is kept on a new key
    #[arg(long)]
    force: bool,
    /// If the result was merged again, undo that later merge first
    #[arg(long)]
    cascade: bool,
    /// Why; `history` and `show` tell it, and so does each run that keeps the group apart
    #[arg(long, value_name = "TEXT", conflicts_with = "lift_veto")]
    reason: Option<String>,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    if let Some(merge_id) = &args.lift_veto {
        return lift(args, context, &mut conn, merge_id).await;
    }
    let merges = match (&args.merge_id, &args.run) {
        (_, Some(run)) => merges_of_run(&mut conn, run).await?,
        (id, None) => id.iter().cloned().collect(),
    };
    if merges.is_empty() {
        let message = "there is no merge of this run left to undo; see `memfold history`";
        return finish(args, context, &[], Some(refusal(message)));
    }
    let functions = Functions::load(&mut conn).await?;
    let new_id = || Ulid::generate().to_string();
    let options = UndoOptions {
        force: args.force,
        cascade: args.cascade,
        new_id: &new_id,
        ledger: open::ledger_retention(&context.settings),
        reason: args.reason.as_deref(),
    };
    let mut undone = Vec::new();
    let mut refused = Vec::new();
    for merge in merges {
        match undo(&mut conn, &functions, &merge, &options).await {
            Ok(more) => undone.extend(more),
            // A cascade of the run's own merges came by already.
            Err(UndoError::Already(_)) if args.run.is_some() => {}
            Err(UndoError::Unknown(id)) if !merges_of_run(&mut conn, &id).await?.is_empty() => {
                let message = format!("{id} is a run; undo all its merges with --run {id}");
                return finish(args, context, &undone, Some(refusal(message)));
            }
            Err(error) => {
                refused.push(unfold(error, &mut undone));
                if let Some(UndoError::Store(_) | UndoError::Broken(_)) = refused.last() {
                    break;
                }
            }
        }
    }
    finish(args, context, &undone, gather(refused))
}

/// Lets a merge that was undone be made again.
async fn lift(
    args: &Args,
    context: &Context,
    conn: &mut ConnectionManager,
    merge_id: &str,
) -> anyhow::Result<Exit> {
    if !lift_veto(conn, merge_id).await? {
        let message = format!("nothing keeps merge {merge_id} from being made again");
        return Err(refusal(message));
    }
    if args.json {
        context
            .out
            .json(&json!({ "version": json::VERSION, "lifted": merge_id }))?;
    } else {
        let id = escape(merge_id);
        context
            .out
            .data(&format!("{id} may be made again; the next run decides\n"))?;
    }
    Ok(Exit::Done)
}

fn refusal(message: impl Into<String>) -> anyhow::Error {
    exit::stop(Exit::UndoRefused, message)
}

/// One error for all refusals; that of the store, which comes last, decides the exit code.
fn gather(mut refused: Vec<UndoError>) -> Option<anyhow::Error> {
    let last = anyhow::Error::from(refused.pop()?);
    if refused.is_empty() {
        return Some(last);
    }
    let exit = exit::of(&last);
    let mut messages: Vec<String> = refused.iter().map(ToString::to_string).collect();
    messages.push(output::message(&last));
    Some(exit::stop(exit, messages.join("; ")))
}

/// Why a cascade stopped, with what it had undone before added to `undone`.
fn unfold(error: UndoError, undone: &mut Vec<Undone>) -> UndoError {
    match error {
        UndoError::Partly {
            undone: before,
            error,
        } => {
            undone.extend(before);
            *error
        }
        other => other,
    }
}

fn finish(
    args: &Args,
    context: &Context,
    undone: &[Undone],
    error: Option<anyhow::Error>,
) -> anyhow::Result<Exit> {
    if args.json {
        context.out.json(&document(undone, error.as_ref()))?;
    } else {
        context
            .out
            .data(&undone.iter().map(text).collect::<String>())?;
    }
    error.map_or(Ok(Exit::Done), Err)
}

fn document(undone: &[Undone], error: Option<&anyhow::Error>) -> Value {
    let error = error.map(
        |error| json!({ "exit_code": exit::of(error).code(), "message": output::message(error) }),
    );
    json!({ "version": json::VERSION, "undone": undone, "error": error })
}

fn text(undone: &Undone) -> String {
    let restored = count(undone.restored.len(), "memory is back", "memories are back");
    let mut text = format!("undone {}: {restored}\n", escape(&undone.merge_id));
    for key in &undone.restored {
        text += &format!("  {}\n", escape(key));
    }
    for key in &undone.expired {
        text += &format!("  {} stays gone: it has expired by itself\n", escape(key));
    }
    if let Some(key) = &undone.kept_beside {
        text += &format!("  {} holds the edited result\n", escape(key));
    }
    for key in &undone.left_edited {
        text += &format!("  {} stays as it was edited since\n", escape(key));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    fn one(id: &str) -> Undone {
        Undone {
            merge_id: id.into(),
            restored: vec!["memory:1".into(), "memory:\u{1b}2".into()],
            expired: vec!["memory:3".into()],
            kept_beside: Some("memory:4".into()),
            left_edited: vec!["entity:1".into()],
        }
    }

    #[test]
    fn an_undo_tells_what_came_back() {
        insta::assert_snapshot!(text(&one("01A")));
    }

    #[test]
    fn what_a_cascade_undid_is_not_lost_with_its_error() {
        let refused = UndoError::Edited {
            merge_id: "01B".into(),
            key: "memory:1".into(),
        };
        let mut undone = vec![one("01D")];
        let partly = UndoError::Partly {
            undone: vec![one("01C")],
            error: Box::new(refused),
        };
        let error = anyhow::Error::from(unfold(partly, &mut undone));
        assert_eq!(exit::of(&error), Exit::UndoRefused);
        let document = document(&undone, Some(&error));
        assert_eq!(document["undone"][1]["merge_id"], "01C");
        assert_eq!(document["error"]["exit_code"], 7);
    }

    #[test]
    fn a_store_error_is_no_refusal() {
        let error = anyhow::Error::from(UndoError::Store(StoreError::NoSearch));
        assert_eq!(exit::of(&error), Exit::Store);
    }
}
