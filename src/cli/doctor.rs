//! `doctor`: what memfold needs, checked one by one. Nothing is written.

mod embedding;
mod llm;
mod memories;
mod permissions;
mod server;

pub(super) use self::embedding::load_onnx;

use super::check::{self, Check};
use super::exit::Exit;
use super::{Context, open, output};
use crate::config::Settings;
use crate::layout::{FieldUse, Layout, kind};
use crate::record::{FieldKind, IndexFacts, Metric};
use crate::store::StoreError;
use crate::store::index::index_facts;

/// Check everything that memfold needs, and say what to do where something is missing
///
/// Nothing is written, and no memory text leaves the machine. Exit code 1 if a check fails.
///
/// With --json: {"version": 1, "ok": bool, "checks": [{name, status, found, advice}]} with the
/// statuses ok, warn, fail and skipped.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Only print the smallest ACL for an account that merges, undoes and runs workers
    #[arg(long, conflicts_with = "json")]
    acl: bool,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    if args.acl {
        return print_acl(context).await;
    }
    let checks = checks(&context.settings).await;
    check::report(&checks, args.json, &context.out)
}

/// The command that makes an account with no more than it takes.
async fn print_acl(context: &Context) -> anyhow::Result<Exit> {
    let settings = &context.settings;
    let mut conn = open::store(settings).await?;
    let facts = index_facts(&mut conn, settings.index()).await?;
    let layout = open::layout(&mut conn, settings, &facts).await?;
    let companions = layout.companions().map(|companions| companions.index);
    let indexes = [Some(&facts), layout.vector_index(), companions];
    let indexes: Vec<&IndexFacts> = indexes.into_iter().flatten().collect();
    context
        .out
        .data(&format!("{}\n", permissions::acl(&indexes)))?;
    Ok(Exit::Done)
}

async fn checks(settings: &Settings) -> Vec<Check> {
    let mut checks = Vec::new();
    let embedder = embedding::load(settings, &mut checks).await;
    checks.extend(nli(settings));
    checks.push(llm::check(settings).await);
    let mut conn = match open::store(settings).await {
        Ok(conn) => conn,
        Err(error) => {
            checks.insert(0, Check::failed("server", error));
            return checks;
        }
    };
    let mut of_store = server::checks(&mut conn).await;
    let facts = match index_facts(&mut conn, settings.index()).await {
        Ok(facts) => facts,
        Err(error) => {
            of_store.push(no_facts(&error));
            if matches!(error, StoreError::Permission(_)) {
                of_store.extend(permissions::checks(&mut conn, settings.index(), None).await);
            }
            of_store.append(&mut checks);
            return of_store;
        }
    };
    let layout = open::layout(&mut conn, settings, &facts).await;
    of_store.extend(index(settings, &facts, layout.as_deref()));
    of_store.push(server::undo_store(&mut conn, facts.storage).await);
    of_store.extend(permissions::checks(&mut conn, settings.index(), Some(&facts)).await);
    of_store.append(&mut checks);
    if let Ok(layout) = &layout {
        of_store.extend(memories::checks(&mut conn, &facts, layout.as_ref()).await);
    }
    if let (Some(embedder), Ok(layout)) = (embedder, layout) {
        of_store.extend(embedding::proof(&mut conn, &facts, layout.as_ref(), embedder).await);
    }
    of_store
}

/// The guard by a model, where one is configured.
fn nli(settings: &Settings) -> Option<Check> {
    match open::nli(settings) {
        Ok(None) => None,
        Ok(Some(nli)) => Some(Check::ok("nli", format!("{}, a further guard", nli.name()))),
        Err(error) => Some(Check::failed("nli", error)),
    }
}

fn no_facts(error: &StoreError) -> Check {
    match error {
        StoreError::NoIndex { .. } => {
            let advice = "name the index with --index; `memfold inspect` lists them";
            Check::fail("index", error.to_string(), advice)
        }
        error => Check::failed("index", error),
    }
}

/// The index: its vectors, its fields, and whether it is complete.
fn index(
    settings: &Settings,
    facts: &IndexFacts,
    layout: Result<&dyn Layout, &StoreError>,
) -> Vec<Check> {
    let mut checks = match layout {
        Ok(layout) => vec![vectors(settings, facts, layout), fields(facts, layout)],
        Err(error) => {
            let advice = "`memfold inspect` shows the index's fields and the flags to use";
            vec![Check::fail("index", error.to_string(), advice)]
        }
    };
    checks.push(if facts.indexing {
        let found = format!("being built, {:.0} % done", facts.percent * 100.0);
        Check::fail(
            "indexing",
            found,
            "wait until it is done; nothing is merged before",
        )
    } else if facts.failures > 0 {
        let advice = "look for records under the prefix that FT.SEARCH does not find; they take \
                      no part in merges";
        Check::warn(
            "indexing",
            format!("{} records were rejected", facts.failures),
            advice,
        )
    } else {
        Check::ok("indexing", format!("complete, {} documents", facts.docs))
    });
    checks
}

fn vectors(settings: &Settings, facts: &IndexFacts, layout: &dyn Layout) -> Check {
    let holder = layout.vector_index().unwrap_or(facts);
    let field = match holder.vector(layout.vector_field()) {
        Ok(field) => field,
        Err(error) => return Check::failed("index", error),
    };
    let storage = facts.storage.name();
    let vector = match holder.field(layout.vector_field()).map(|field| &field.kind) {
        Some(FieldKind::Vector(v)) => format!(", {} × {}, {}", v.dims, v.data_type, v.metric),
        _ => String::new(),
    };
    let mut found = format!("{} ({storage}{vector})", facts.name);
    if field.metric != Metric::Cosine {
        let distance = settings.threshold(None).value;
        found += &format!(
            "; thresholds are cosine distances: {distance} is {} in this index, for vectors of \
             length 1, and others are left alone",
            field.metric.of_cosine(distance)
        );
    }
    Check::ok("index", found)
}

/// What the layout needs must be in the index; what else is not in it is read from the records.
fn fields(facts: &IndexFacts, layout: &dyn Layout) -> Check {
    let missing = open::missing_fields(facts, layout);
    if !missing.is_empty() {
        let names: Vec<String> = missing
            .iter()
            .map(|(_, name)| format!("`{name}`"))
            .collect();
        let flags: Vec<&str> = missing.iter().map(|(flag, _)| flag.as_str()).collect();
        let found = format!("{} has no field {}", facts.name, names.join(", "));
        let advice = format!(
            "name the fields with {}; `memfold inspect` lists those of the index",
            flags.join(", ")
        );
        return Check::fail("fields", found, advice);
    }
    let has = |facts: &IndexFacts, field: &FieldUse| facts.field(&field.name).is_some();
    let beside = layout.vector_index();
    let unknown = |field: &FieldUse| !has(facts, field) && !beside.is_some_and(|f| has(f, field));
    let others: Vec<String> = layout
        .fields()
        .iter()
        .filter(|field| unknown(field))
        .map(|field| format!("`{}`", field.name))
        .collect();
    if others.is_empty() {
        return Check::ok("fields", "all are in the index");
    }
    let found = format!(
        "not in the index, so read from the records: {}",
        others.join(", ")
    );
    if kind(layout.name()).is_some_and(|kind| !kind.named) {
        return Check::ok("fields", found);
    }
    let advice = "if they have other names there, set --fields-…";
    Check::warn("fields", found, advice)
}
