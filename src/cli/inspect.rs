use std::path::PathBuf;

use redis::aio::ConnectionManager;
use serde_json::{Value, json};

use super::exit::Exit;
use super::looks::{Look, look};
use super::render::{columns, count, escape, user};
use super::{Context, json, open, propose};
use crate::record::{Field, FieldKind, IndexFacts, VectorFacts};
use crate::store::index::indexes;
use crate::store::listing::users_by;

/// User ids shown without --verbose.
const FEW: usize = 5;

/// List the indexes of the server, what they look like, and the flags to use for each
///
/// Nothing is written. An index with vectors is not by itself an index of memories: caches and
/// transcripts have vectors too, and memfold never touches one that it is not pointed at.
///
/// With --json: {"version": 1, "indexes": [{name, storage, prefixes, docs, indexing, failures,
/// fields, vectors, look, served, flags, users}]}.
///
/// With --write-config, a memfold.toml for the index of --index (or the only one with vectors) is
/// proposed from its fields and some of its records, to be looked over; nothing is overwritten.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Propose a configuration file for one index; `-` writes it to stdout
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "memfold.toml")]
    write_config: Option<PathBuf>,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// One index with what was made of it.
struct Seen {
    facts: IndexFacts,
    look: Look,
    /// The users, if they could be listed.
    users: Option<Vec<String>>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    if let Some(path) = &args.write_config {
        return propose::write(&mut conn, context, path).await;
    }
    let mut seen = Vec::new();
    for facts in indexes(&mut conn).await? {
        let look = look(&facts);
        let users = users_of(&mut conn, &facts, &look).await;
        seen.push(Seen { facts, look, users });
    }
    if args.json {
        let all: Vec<Value> = seen.iter().map(document).collect();
        context
            .out
            .json(&json!({ "version": json::VERSION, "indexes": all }))?;
    } else if seen.is_empty() {
        context.out.note("this server has no search index");
    } else {
        let all: Vec<String> = seen.iter().map(|one| text(one, context)).collect();
        context.out.page(&all.join("\n"))?;
    }
    Ok(Exit::Done)
}

/// The users of an index that memfold serves; an index being built cannot be asked.
async fn users_of(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    look: &Look,
) -> Option<Vec<String>> {
    let field = look.user_field.as_deref()?;
    users_by(conn, facts, field, |user| user.map(str::to_owned))
        .await
        .ok()
}

fn document(seen: &Seen) -> Value {
    let facts = &seen.facts;
    let vector = |(name, vector): (&str, &VectorFacts)| {
        json!({
            "field": name,
            "algorithm": vector.algorithm,
            "dims": vector.dims,
            "data_type": vector.data_type,
            "metric": vector.metric,
        })
    };
    let field = |field: &Field| {
        let kind = kind(&field.kind).unwrap_or("VECTOR");
        json!({ "name": field.attribute, "path": field.path, "kind": kind })
    };
    json!({
        "name": facts.name,
        "storage": facts.storage,
        "prefixes": facts.prefixes,
        "docs": facts.docs,
        "indexing": facts.indexing,
        "failures": facts.failures,
        "fields": facts.fields.iter().map(field).collect::<Vec<_>>(),
        "vectors": facts.vectors().map(vector).collect::<Vec<_>>(),
        "look": seen.look.name,
        "served": seen.look.flags.is_some(),
        "flags": seen.look.flags,
        "users": seen.users,
    })
}

fn text(seen: &Seen, context: &Context) -> String {
    let style = context.out.style;
    let Seen { facts, look, .. } = seen;
    let prefixes: Vec<String> = facts
        .prefixes
        .iter()
        .map(|prefix| format!("\"{}\"", escape(prefix)))
        .collect();
    let title = format!(
        "{} under {}, {}",
        facts.storage.name(),
        prefixes.join(", "),
        count(facts.docs as usize, "document", "documents")
    );
    let mut lines = vec![format!(
        "{}  {}",
        style.bold(&escape(&facts.name)),
        style.dim(&title)
    )];
    let mut add = |name: &str, value: String| {
        let pad = " ".repeat(8usize.saturating_sub(columns(name)));
        lines.push(format!("  {}{pad}  {value}", style.dim(name)));
    };
    for (name, vector) in facts.vectors() {
        let VectorFacts {
            algorithm,
            data_type,
            dims,
            metric,
        } = vector;
        add(
            "vector",
            format!(
                "{} {dims} × {data_type}, {algorithm}, {metric}",
                escape(name)
            ),
        );
    }
    add("fields", fields(facts));
    let served = if look.flags.is_some() {
        style.green(look.name)
    } else {
        look.name.into()
    };
    add("looks", format!("like {served}"));
    if facts.indexing {
        add("state", style.yellow("being built: answers are partial"));
    }
    if facts.failures > 0 {
        let failures = count(facts.failures as usize, "document", "documents");
        add(
            "state",
            style.yellow(&format!("{failures} could not be indexed")),
        );
    }
    if let Some(users) = &seen.users {
        add("users", some(users, context.out.style.verbose));
    }
    match &look.flags {
        Some(flags) => add("use", style.cyan(flags)),
        None => add("use", look.advice.to_owned()),
    }
    lines.join("\n") + "\n"
}

/// The fields other than vectors, with what they are indexed as.
fn fields(facts: &IndexFacts) -> String {
    let fields: Vec<String> = facts
        .fields
        .iter()
        .filter_map(|field| {
            Some(format!(
                "{} {}",
                escape(&field.attribute),
                kind(&field.kind)?
            ))
        })
        .collect();
    if fields.is_empty() {
        "no others".to_owned()
    } else {
        fields.join(", ")
    }
}

fn kind(kind: &FieldKind) -> Option<&str> {
    Some(match kind {
        FieldKind::Text => "TEXT",
        FieldKind::Tag { .. } => "TAG",
        FieldKind::Numeric => "NUMERIC",
        FieldKind::Vector(_) => return None,
        FieldKind::Other { name } => name,
    })
}

fn some(users: &[String], all: bool) -> String {
    let shown = if all {
        users.len()
    } else {
        FEW.min(users.len())
    };
    let names: Vec<String> = users[..shown].iter().map(|name| user(name)).collect();
    let rest = if shown < users.len() {
        ", … (all with -v)"
    } else {
        ""
    };
    format!("{}: {}{rest}", users.len(), names.join(", "))
}
