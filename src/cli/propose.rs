//! `inspect --write-config`: a configuration file for one index, proposed from what is in it.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use redis::aio::ConnectionManager;
use serde::Serialize;

use super::exit::{Exit, usage};
use super::{Context, looks};
use crate::config::shown;
use crate::layout::{Kind, Options, kind, propose, propose_namespace};
use crate::record::IndexFacts;
use crate::store::index::{index_facts, indexes};
use crate::store::records::sample;

/// Records that are looked at.
const SAMPLES: usize = 100;

/// The file. Tables come last, as TOML wants it.
#[derive(Debug, Serialize)]
struct File {
    layout: &'static str,
    index: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_index: Option<String>,
    #[serde(skip_serializing_if = "Fields::is_empty")]
    fields: Fields,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom: Option<Custom>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scope: Vec<String>,
}

impl Fields {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn of(options: &Options) -> Self {
        let options = options.clone();
        Self {
            text: options.text,
            vector: options.vector,
            user: options.user,
            memory_type: options.memory_type,
            id: options.id,
            created_at: options.created_at,
            metadata: options.metadata,
            scope: options.scope,
        }
    }
}

#[derive(Debug, Serialize)]
struct Custom {
    #[serde(skip_serializing_if = "Option::is_none")]
    storage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    rules: BTreeMap<String, String>,
}

/// Writes the proposal to `path`, or to stdout where that is `-`.
pub(super) async fn write(
    conn: &mut ConnectionManager,
    context: &Context,
    path: &Path,
) -> anyhow::Result<Exit> {
    let facts = index(conn, context).await?;
    let (file, doubts) = proposed(conn, &facts).await?;
    let text = text(&file, &doubts)?;
    if path == Path::new("-") {
        context.out.data(&text)?;
    } else {
        let mut target = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .with_context(|| format!("cannot write {} (nothing is overwritten)", path.display()))?;
        target.write_all(text.as_bytes())?;
        context.out.note(&format!(
            "{} written: look it over, then: memfold doctor",
            path.display()
        ));
    }
    for doubt in &doubts {
        context.out.warn(doubt);
    }
    Ok(Exit::Done)
}

/// The index of the settings, else the only one that may hold memories.
async fn index(conn: &mut ConnectionManager, context: &Context) -> anyhow::Result<IndexFacts> {
    if let Some(name) = &context.settings.index {
        return Ok(index_facts(conn, name).await?);
    }
    let mut likely = indexes(conn).await?;
    likely.retain(|facts| match looks::known_layout(facts) {
        Ok(Some(_)) => true,
        Ok(None) => facts.vectors().next().is_some(),
        Err(_) => false,
    });
    match likely.len() {
        1 => Ok(likely.remove(0)),
        0 => Err(usage(
            "no index looks as if it held memories; name one with --index",
        )),
        _ => {
            let names: Vec<&str> = likely.iter().map(|facts| facts.name.as_str()).collect();
            Err(usage(format!(
                "several indexes may hold memories: name one with --index ({})",
                names.join(", ")
            )))
        }
    }
}

/// The file, and what is to be looked over.
async fn proposed(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
) -> anyhow::Result<(File, Vec<String>)> {
    let name = match looks::known_layout(facts) {
        Ok(name) => name,
        Err(what) => {
            let name = &facts.name;
            return Err(usage(format!(
                "index {name} looks like {what}: nothing to merge there"
            )));
        }
    };
    if let Some(kind) = name.and_then(kind) {
        let user = looks::user_field(facts).filter(|user| *user != "user_id");
        let fields = Fields {
            user: user.map(str::to_owned),
            ..Fields::default()
        };
        let mut file = File {
            layout: kind.name,
            index: facts.name.clone(),
            namespace: None,
            vector_index: None,
            fields,
            custom: None,
        };
        let mut doubts = Vec::new();
        if kind.name == "langgraph-store" {
            doubts.extend(find_namespace(conn, facts, &mut file).await?);
            doubts.extend(find_vectors(conn, kind, &mut file).await?);
        }
        return Ok((file, doubts));
    }
    let samples = sample(conn, facts, SAMPLES).await?;
    let proposal = propose(facts, &samples)?;
    let custom = &proposal.options.custom;
    let rules = custom.rules.iter();
    let file = File {
        layout: "custom",
        index: facts.name.clone(),
        namespace: None,
        vector_index: None,
        fields: Fields::of(&proposal.options),
        custom: Some(Custom {
            storage: shown(&custom.storage),
            key: shown(&custom.key),
            created_at: shown(&custom.created_at),
            metadata: shown(&custom.metadata),
            rules: rules
                .map(|(name, rule)| (name.clone(), rule.to_string()))
                .collect(),
        }),
    };
    Ok((file, proposal.doubts))
}

/// Where the users' memories are, by some items; else what to look over.
async fn find_namespace(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    file: &mut File,
) -> anyhow::Result<Option<String>> {
    let samples = sample(conn, facts, SAMPLES).await?;
    file.namespace = propose_namespace(&samples);
    let doubt = "namespace: the items do not tell which label of their namespaces is the user; say \
                 it, such as namespace = \"memories/{user}\"";
    Ok(file.namespace.is_none().then(|| doubt.to_owned()))
}

/// The index with the vectors, where it has not the usual name; else what to look over.
async fn find_vectors(
    conn: &mut ConnectionManager,
    kind: &Kind,
    file: &mut File,
) -> anyhow::Result<Option<String>> {
    let usual = (kind.more)(&Options::default(), &file.index);
    let mut names: Vec<String> = indexes(conn)
        .await?
        .iter()
        .filter(|facts| looks::holds_vectors_of_items(facts))
        .map(|facts| facts.name.clone())
        .collect();
    if names.iter().any(|name| usual.contains(name)) {
        return Ok(None);
    }
    let doubt = match names.len() {
        0 => "vector_index: there is no index with the vectors of the items".to_owned(),
        1 => {
            file.vector_index = names.pop();
            return Ok(None);
        }
        _ => format!("vector_index: one of {}", names.join(", ")),
    };
    Ok(Some(doubt))
}

fn text(file: &File, doubts: &[String]) -> anyhow::Result<String> {
    let head = format!(
        "# Proposed by `memfold inspect --write-config` from what is in the index. Look it over:\n\
         # docs/layouts.md says what each line means.\n{}\n",
        doubts
            .iter()
            .map(|doubt| format!("# TO DO: {doubt}\n"))
            .collect::<String>()
    );
    Ok(head + &toml::to_string(file)?)
}
