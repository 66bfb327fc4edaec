use redis::aio::ConnectionManager;
use serde_json::{Value, json};

use super::exit::{Exit, stop};
use super::render::{columns, escape, moment, show_author, show_findings, table, user};
use super::{Context, json, open};
use crate::store::index::index_facts;
use crate::store::vetoes::{Veto, find_veto};
use crate::store::{State, StoredRecord, original_texts, show};

/// Show the record of a merge: its sources, the evidence, who wrote the text
///
/// The originals' texts are shown while the undo store has them.
///
/// Also shows what a review forbade to merge.
///
/// With --json: {"version": 1, "state", "result_digest", "merge": {…}, "texts": [text or null, one
/// for each of merge.sources], "reason"}; of what was forbidden {"version": 1, "state", "id",
/// "members", "reason"}.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The merge (see `memfold history`)
    merge_id: String,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    let Some(stored) = show(&mut conn, &args.merge_id).await? else {
        // What a review forbade was never merged.
        if let Some(veto) = find_veto(&mut conn, &args.merge_id).await? {
            return forbidden(&veto, args, context);
        }
        let message = format!(
            "there is no record of merge {} (any more); see `memfold history`",
            escape(&args.merge_id)
        );
        return Err(stop(Exit::Failed, message));
    };
    let texts = texts(&mut conn, &stored, context).await;
    // Why it was undone, for as long as that keeps it from being made again.
    let veto = match stored.state {
        State::Undone => find_veto(&mut conn, &args.merge_id).await?,
        State::Merged => None,
    };
    let reason = veto.and_then(|veto| veto.reason);
    if args.json {
        context
            .out
            .json(&document(&stored, &texts, reason.as_deref()))?;
    } else {
        context
            .out
            .page(&text(&stored, &texts, reason.as_deref(), context))?;
    }
    Ok(Exit::Done)
}

fn forbidden(veto: &Veto, args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let members: Vec<&String> = veto.members.keys().collect();
    if args.json {
        context.out.json(&json!({
            "version": json::VERSION,
            "state": "forbidden",
            "id": veto.merge_id,
            "members": members,
            "reason": veto.reason,
        }))?;
        return Ok(Exit::Done);
    }
    let style = context.out.style;
    let why = veto
        .reason
        .as_deref()
        .map_or("no reason was given", |why| why);
    let id = &veto.merge_id;
    let mut text = format!(
        "{id} ({}): these are not merged while they say the same\nwhy: {}\n",
        style.yellow("forbidden"),
        escape(why)
    );
    for key in members {
        text += &format!("  {}\n", escape(key));
    }
    text += &format!("allow it again with: memfold undo --lift-veto {id}\n");
    context.out.data(&text)?;
    Ok(Exit::Done)
}

/// The originals' texts as far as they can still be had; the record stands without them.
async fn texts(
    conn: &mut ConnectionManager,
    stored: &StoredRecord,
    context: &Context,
) -> Vec<Option<String>> {
    let merge = &stored.merge;
    let nothing = vec![None; merge.sources.len()];
    let Ok(facts) = index_facts(conn, &merge.index).await else {
        return nothing;
    };
    let Ok(layout) = open::layout(conn, &context.settings, &facts).await else {
        return nothing;
    };
    let texts = original_texts(conn, layout.as_ref(), stored).await;
    texts.unwrap_or(nothing)
}

fn document(stored: &StoredRecord, texts: &[Option<String>], reason: Option<&str>) -> Value {
    json!({
        "version": json::VERSION,
        "state": stored.state,
        "result_digest": stored.result_digest,
        "merge": stored.merge,
        "texts": texts,
        "reason": reason,
    })
}

fn text(
    stored: &StoredRecord,
    texts: &[Option<String>],
    reason: Option<&str>,
    context: &Context,
) -> String {
    let style = context.out.style;
    let merge = &stored.merge;
    let state = match stored.state {
        State::Merged => style.green("merged"),
        State::Undone => style.yellow("undone"),
    };
    let mut facts = vec![
        ("merge", format!("{} ({state})", merge.merge_id)),
        ("why", reason.map(escape).unwrap_or_default()),
        ("run", merge.run_id.clone()),
        ("when", moment(merge.merged_at)),
        ("user", user(&merge.partition.user)),
        ("type", escape(&merge.partition.memory_type)),
        ("scope", escape(&merge.partition.scope.join(", "))),
        (
            "index",
            format!("{} ({})", escape(&merge.index), escape(&merge.layout)),
        ),
        ("result", escape(&merge.result_key)),
        (
            "text",
            show_author(&merge.author, merge.vector_origin, escape),
        ),
        (
            "distance",
            format!("≤ {} ({})", merge.threshold, escape(&merge.distance)),
        ),
        ("parents", merge.parents.join(", ")),
        (
            "undo until",
            merge
                .undo_until
                .map_or_else(|| "not at all".to_owned(), moment),
        ),
    ];
    let undone = stored.state == State::Undone;
    facts.retain(|(name, value)| !value.is_empty() && (!undone || *name != "undo until"));
    let width = facts
        .iter()
        .map(|(name, _)| columns(name))
        .max()
        .unwrap_or(0);
    let mut text: String = facts
        .iter()
        .map(|(name, value)| format!("{}  {value}\n", style.bold(&format!("{name:width$}"))))
        .collect();
    for line in show_findings(&merge.findings, style) {
        text += &format!("{line}\n");
    }
    let rows = merge.sources.iter().zip(texts).map(|(source, text)| {
        let created = source
            .created_at
            .map_or_else(|| "no date".to_owned(), moment);
        let said = match text {
            Some(text) => style.fit(text, style.width / 2),
            None if undone => "(brought back)".to_owned(),
            None => "(no longer in the undo store)".to_owned(),
        };
        vec![
            escape(&source.key),
            created,
            format!("{:.3}", source.distance),
            said,
        ]
    });
    text + "\n"
        + &table(
            &["source", "created", "distance", "text"],
            rows.collect(),
            style,
        )
}
