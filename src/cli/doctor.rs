//! `doctor`: what memfold needs, checked one by one. Nothing is written.

mod embedding;
mod llm;
mod permissions;
mod server;

use serde::Serialize;
use serde_json::json;

use super::exit::Exit;
use super::render::{Style, escape};
use super::{Context, json, open, output};
use crate::config::Settings;
use crate::layout::Layout;
use crate::store::StoreError;
use crate::store::index::{FieldKind, IndexFacts, index_facts};
use crate::store::vector_field::Metric;

/// Check everything that memfold needs, and say what to do where something is missing
///
/// Nothing is written, and no memory text leaves the machine. Exit code 1 if a check fails.
///
/// With --json: {"version": 1, "ok": bool, "checks": [{name, status, found, advice}]} with the
/// statuses ok, warn, fail and skipped.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
    Skipped,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    /// The stable name, such as `server`.
    name: &'static str,
    status: Status,
    /// What was found.
    found: String,
    /// What to do, where there is something to do.
    advice: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Ok,
            found: found.into(),
            advice: None,
        }
    }

    fn warn(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Warn,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    fn fail(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Fail,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    /// A failure whose error says what to do.
    fn failed(name: &'static str, error: impl ToString) -> Self {
        Self {
            name,
            status: Status::Fail,
            found: error.to_string(),
            advice: None,
        }
    }

    fn skipped(name: &'static str, why: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Skipped,
            found: why.into(),
            advice: None,
        }
    }
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let checks = checks(&context.settings).await;
    let ok = checks.iter().all(|check| check.status != Status::Fail);
    if args.json {
        let document = json!({ "version": json::VERSION, "ok": ok, "checks": checks });
        context.out.json(&document)?;
    } else {
        context.out.data(&text(&checks, context.out.style))?;
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

async fn checks(settings: &Settings) -> Vec<Check> {
    let mut checks = Vec::new();
    let embedder = embedding::load(settings, &mut checks);
    checks.push(llm::check(settings).await);
    let mut conn = match open::store(settings).await {
        Ok(conn) => conn,
        Err(error) => {
            checks.insert(0, Check::failed("server", error));
            return checks;
        }
    };
    let mut of_store = server::checks(&mut conn).await;
    let facts = match index_facts(&mut conn, &settings.index).await {
        Ok(facts) => facts,
        Err(error) => {
            of_store.push(no_facts(&error));
            if matches!(error, StoreError::Permission(_)) {
                of_store.extend(permissions::checks(&mut conn, &settings.index, None).await);
            }
            of_store.append(&mut checks);
            return of_store;
        }
    };
    of_store.extend(index(settings, &facts));
    of_store.push(server::undo_store(&mut conn, facts.storage).await);
    of_store.extend(permissions::checks(&mut conn, &settings.index, Some(&facts)).await);
    of_store.append(&mut checks);
    let layout = open::layout(settings, &facts);
    if let (Some(embedder), Ok(layout)) = (embedder, layout) {
        let layout: &dyn Layout = layout.as_ref();
        of_store.push(embedding::proof(&mut conn, &facts, layout, embedder).await);
    }
    of_store
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
fn index(settings: &Settings, facts: &IndexFacts) -> Vec<Check> {
    let mut checks = vec![vectors(settings, facts), fields(settings, facts)];
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

fn vectors(settings: &Settings, facts: &IndexFacts) -> Check {
    let field = match facts.vector(&settings.fields_vector) {
        Ok(field) => field,
        Err(error) => {
            let advice = "`memfold inspect` shows the index's fields and the flags to use";
            return Check::fail("index", error.to_string(), advice);
        }
    };
    let storage = facts.storage.name();
    let vector = match facts
        .field(&settings.fields_vector)
        .map(|field| &field.kind)
    {
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

/// Text and user must be in the index; what else is not in it is read from the records.
fn fields(settings: &Settings, facts: &IndexFacts) -> Check {
    let missing = |names: &[&String]| -> Vec<String> {
        let gone = names.iter().filter(|name| facts.field(name).is_none());
        gone.map(|name| format!("`{name}`")).collect()
    };
    let needed = missing(&[&settings.fields_text, &settings.fields_user]);
    if !needed.is_empty() {
        let found = format!("{} has no field {}", facts.name, needed.join(", "));
        let advice = "name the fields with --fields-text, --fields-user; `memfold inspect` lists \
                      those of the index";
        return Check::fail("fields", found, advice);
    }
    let others = [
        &settings.fields_memory_type,
        &settings.fields_id,
        &settings.fields_created_at,
        &settings.fields_metadata,
    ];
    let others = missing(
        &others
            .into_iter()
            .chain(&settings.fields_scope)
            .collect::<Vec<_>>(),
    );
    if others.is_empty() {
        return Check::ok("fields", "all are in the index");
    }
    let found = format!("not in the index: {}", others.join(", "));
    let advice = "they are read from the records; if they have other names there, set --fields-…";
    Check::warn("fields", found, advice)
}

fn text(checks: &[Check], style: Style) -> String {
    let line = |check: &Check| {
        let status = match check.status {
            Status::Ok => style.green("ok  "),
            Status::Warn => style.yellow("warn"),
            Status::Fail => style.red("FAIL"),
            Status::Skipped => style.dim("–   "),
        };
        let advice = check.advice.as_ref().map_or_else(String::new, |advice| {
            format!("{:20}{} {}\n", "", style.cyan("→"), escape(advice))
        });
        let name = style.bold(&format!("{:12}", check.name));
        format!("{status}  {name}  {}\n{advice}", escape(&check.found))
    };
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let sum = format!(
        "{} failed, {} warned\n",
        count(Status::Fail),
        count(Status::Warn)
    );
    checks.iter().map(line).collect::<String>() + &sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_told_with_what_to_do() {
        let checks = [
            Check::ok("server", "Redis 8.2.3, primary"),
            Check::warn(
                "eviction",
                "allkeys-lru \u{1b}[31m",
                "set maxmemory-policy noeviction",
            ),
            Check::failed("index", "there is no index `x`; the server has: none"),
            Check::skipped("llm", "none configured"),
        ];
        let style = Style {
            color: false,
            width: 80,
            verbose: false,
        };
        insta::assert_snapshot!(text(&checks, style));
    }
}
