//! Opens what a command needs from its settings.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::ConnectionManager;

use super::Context;
use super::exit::usage;
use crate::clock::{Clock, SystemClock};
use crate::config::Settings;
use crate::embed::{Cached, Embedder, HttpEmbedder, HttpSettings, Manifest, Nli, Onnx};
use crate::layout::{CustomOptions, Layout, Options};
use crate::merge::{Distance, MergeOptions, Pipeline, RunBy, Stations};
use crate::record::IndexFacts;
use crate::store::connect::{self, ConnectOptions, TlsFiles};
use crate::store::direct::Direct;
use crate::store::events::Changed;
use crate::store::index::index_facts;
use crate::store::listing::users;
use crate::store::snapshot::Pace;
use crate::store::{Functions, StoreError};
use crate::summarize::llm::{Llm, LlmError, LlmSettings};

/// Longest wait for the connection itself.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The connection to the store.
pub(super) async fn store(settings: &Settings) -> Result<ConnectionManager, StoreError> {
    Ok(store_with(settings, None).await?.0)
}

/// A connection that notes which keys change, once it is told which to follow.
pub(super) async fn events(
    settings: &Settings,
) -> Result<(Changed, ConnectionManager), StoreError> {
    let changed = Changed::default();
    let (conn, _) = store_with(settings, Some(changed.clone())).await?;
    Ok((changed, conn))
}

async fn store_with(
    settings: &Settings,
    changed: Option<Changed>,
) -> Result<(ConnectionManager, Option<Direct>), StoreError> {
    let options = ConnectOptions {
        changed,
        response_timeout: settings.redis_timeout,
        connect_timeout: settings.redis_timeout.min(CONNECT_TIMEOUT),
        password_file: settings.redis_password_file.clone(),
        tls: TlsFiles {
            ca: settings.redis_tls_ca.clone(),
            cert: settings.redis_tls_cert.clone(),
            key: settings.redis_tls_key.clone(),
        },
    };
    connect::open(&settings.redis_url.expose().into(), &options).await
}

/// The layout of the settings over an index.
pub(super) async fn layout(
    conn: &mut ConnectionManager,
    settings: &Settings,
    facts: &IndexFacts,
) -> Result<Arc<dyn Layout>, StoreError> {
    let (kind, options) = (settings.layout.kind(), layout_options(settings));
    let mut more = Vec::new();
    for name in (kind.more)(&options, &facts.name) {
        more.push(match index_facts(conn, &name).await {
            Ok(facts) => Some(facts),
            Err(StoreError::NoIndex { .. }) => None,
            Err(error) => return Err(error),
        });
    }
    Ok((kind.open)(&options, facts, &more)?)
}

fn layout_options(settings: &Settings) -> Options {
    Options {
        text: settings.fields_text.clone(),
        vector: settings.fields_vector.clone(),
        user: settings.fields_user.clone(),
        memory_type: settings.fields_memory_type.clone(),
        id: settings.fields_id.clone(),
        created_at: settings.fields_created_at.clone(),
        metadata: settings.fields_metadata.clone(),
        scope: settings.fields_scope.clone(),
        namespace: settings.namespace.clone(),
        vector_index: settings.vector_index.clone(),
        naive_zone: settings.timezone.clone(),
        custom: CustomOptions {
            storage: settings.custom_storage,
            key: settings.custom_key.clone(),
            created_at: settings.custom_created_at,
            metadata: settings.custom_metadata,
            rules: settings.custom_rules.0.clone(),
        },
    }
}

/// The fields that the layout needs in the index and that it has not: the flag that names each, and
/// the name.
pub(super) fn missing_fields(facts: &IndexFacts, layout: &dyn Layout) -> Vec<(String, String)> {
    let needed = layout.fields().into_iter().filter(|field| field.needed);
    needed
        .filter(|field| facts.field(&field.name).is_none())
        .map(|field| (flag(field.role), field.name))
        .collect()
}

/// The flag that names the field of a role.
pub(super) fn flag(role: &str) -> String {
    match role {
        "rules" => "--custom-rules".to_owned(),
        role => format!("--fields-{}", role.replace('_', "-")),
    }
}

/// The embedding model; `None` where neither a server nor an ONNX Runtime is configured.
pub(super) async fn embedder(settings: &Settings) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    let model: Arc<dyn Embedder> = match http_embedder(settings) {
        Some(server) => Arc::new(HttpEmbedder::connect(server).await?),
        None => match onnx(settings)? {
            Some(model) => model,
            None => return Ok(None),
        },
    };
    Ok(Some(match &settings.embed_cache {
        Some(dir) => Arc::new(Cached::new(model, dir, settings.embed_cache_mib << 20)),
        None => model,
    }))
}

/// How to reach the embedding server, if there is one.
fn http_embedder(settings: &Settings) -> Option<HttpSettings> {
    let (url, model) = (settings.embed_url.as_ref()?, settings.embed_model.as_ref()?);
    let defaults = HttpSettings::new(url.expose(), model);
    Some(HttpSettings {
        api_key: settings.embed_key.clone(),
        dims: settings.embed_dims,
        prefix: settings.embed_prefix.clone().unwrap_or_default(),
        batch: settings.embed_batch,
        timeout: settings.embed_timeout,
        total_time: defaults.total_time.max(settings.embed_timeout),
        ..defaults
    })
}

/// The model that runs in this process, if one is configured.
pub(super) fn onnx(settings: &Settings) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    let Some(runtime) = &settings.onnxruntime else {
        return Ok(None);
    };
    let Some(dir) = &settings.model_dir else {
        return Err(usage(
            "--onnxruntime is set, but not where the model is: set --model-dir",
        ));
    };
    let manifest = manifest(&settings.model)?;
    let model = Onnx::load(runtime, manifest, dir, settings.embed_threads())?;
    Ok(Some(Arc::new(model)))
}

/// The guard by a model, if one is configured.
pub(super) fn nli(settings: &Settings) -> anyhow::Result<Option<Arc<Nli>>> {
    let Some(dir) = &settings.nli_model_dir else {
        return Ok(None);
    };
    let Some(runtime) = &settings.onnxruntime else {
        return Err(usage(
            "--nli-model-dir is set, but not what runs it: set --onnxruntime",
        ));
    };
    let nli = Nli::load(runtime, dir, settings.embed_threads())?;
    Ok(Some(Arc::new(nli)))
}

/// A built-in manifest by name, or one's own by its path.
fn manifest(model: &str) -> anyhow::Result<Manifest> {
    Ok(if is_manifest_path(model) {
        Manifest::load(Path::new(model))?
    } else {
        Manifest::named(model)?
    })
}

/// Whether a model is named by the path of its manifest.
pub(super) fn is_manifest_path(model: &str) -> bool {
    model.ends_with(".toml") || model.contains(std::path::MAIN_SEPARATOR)
}

/// The LLM; `None` where none is to be asked.
pub(super) fn llm(settings: &Settings) -> Result<Option<Arc<Llm>>, LlmError> {
    let llm = llm_settings(settings).map(Llm::new).transpose()?;
    Ok(llm.map(Arc::new))
}

/// The LLM that grades results, whoever wrote them; `None` where no server is named.
pub(super) fn grader(settings: &Settings) -> Result<Option<Llm>, LlmError> {
    let named = server_settings(settings).map(|found| LlmSettings {
        judge_model: None,
        prompt: None,
        ..found
    });
    named.map(Llm::new).transpose()
}

/// How to reach the LLM; `None` where none is to be asked.
pub(super) fn llm_settings(settings: &Settings) -> Option<LlmSettings> {
    server_settings(settings).filter(|_| settings.uses_llm())
}

/// The LLM server and model that are named.
fn server_settings(settings: &Settings) -> Option<LlmSettings> {
    let model = settings
        .summary_model
        .as_ref()
        .or(settings.llm_model.as_ref());
    let (Some(url), Some(model)) = (&settings.llm_url, model) else {
        return None;
    };
    let defaults = LlmSettings::new(url.expose(), model);
    Some(LlmSettings {
        judge_model: settings.judge_model.clone(),
        api_key: settings.llm_key.clone(),
        timeout: settings.llm_timeout,
        total_time: defaults.total_time.max(settings.llm_timeout),
        max_calls: settings.llm_max_calls,
        max_concurrent: settings.llm_concurrency,
        max_output_tokens: settings.llm_max_tokens,
        pii: settings.pii,
        prompt: settings.prompt.clone(),
        max_input_chars: settings.max_group_chars,
        ..defaults
    })
}

/// A pipeline for the worker, with models that are loaded already.
pub(super) async fn worker_pipeline(
    settings: &Settings,
    embedder: Option<Arc<dyn Embedder>>,
    nli: Option<Arc<Nli>>,
) -> anyhow::Result<Pipeline> {
    let llm = llm(settings)?;
    let opened = opened(settings, settings.index(), true).await?;
    assemble(settings, opened, embedder, nli, llm).await
}

/// The embedding model, where the settings need one: loading it takes longer than planning 10,000
/// memories.
pub(super) async fn needed_embedder(
    settings: &Settings,
) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    if settings.distance != Distance::Stored || llm_settings(settings).is_some() {
        embedder(settings).await
    } else {
        Ok(None)
    }
}

/// The pipeline over `index`, with the embedder and the LLM that the settings name. Unless it
/// `writes`, nothing is loaded into the server, which may be a replica then.
pub(super) async fn pipeline(
    context: &Context,
    index: &str,
    writes: bool,
) -> anyhow::Result<Pipeline> {
    let settings = &context.settings;
    let llm = llm(settings)?;
    let opened = opened(settings, index, writes).await?;
    let embedder = needed_embedder(settings).await?;
    let nli = nli(settings)?;
    let mut pipeline = assemble(settings, opened, embedder, nli, llm).await?;
    pipeline.stations.options.stop = Arc::clone(&context.stopping);
    Ok(pipeline)
}

/// What a pipeline has of the server.
struct Opened {
    conn: ConnectionManager,
    direct: Option<Direct>,
    index: IndexFacts,
    functions: Functions,
}

async fn opened(settings: &Settings, index: &str, writes: bool) -> Result<Opened, StoreError> {
    let (mut conn, direct) = store_with(settings, None).await?;
    let index = index_facts(&mut conn, index).await?;
    let functions = if writes {
        Functions::load(&mut conn).await?
    } else {
        Functions::on_demand()
    };
    Ok(Opened {
        conn,
        direct,
        index,
        functions,
    })
}

async fn assemble(
    settings: &Settings,
    opened: Opened,
    embedder: Option<Arc<dyn Embedder>>,
    nli: Option<Arc<Nli>>,
    llm: Option<Arc<Llm>>,
) -> anyhow::Result<Pipeline> {
    let Opened {
        mut conn,
        direct,
        index,
        functions,
    } = opened;
    let layout = layout(&mut conn, settings, &index).await?;
    let check_after = indexes_in_background(&mut conn).await;
    let options = MergeOptions {
        check_after,
        ..merge_options(settings, embedder.as_deref())
    };
    Ok(Pipeline {
        conn,
        direct,
        functions,
        index,
        layout,
        stations: Stations {
            embedder,
            nli,
            llm,
            clock: Arc::new(SystemClock),
            options,
        },
    })
}

/// The settings of a run, with the threshold of the model where none is set.
pub(super) fn merge_options(settings: &Settings, model: Option<&dyn Embedder>) -> MergeOptions {
    MergeOptions {
        check_after: false,
        threshold: settings.threshold(model.and_then(|model| model.threshold())),
        distance: settings.distance,
        write_vector: settings.write_vector,
        max_members: settings.max_members,
        max_group_chars: settings.max_group_chars,
        ttl: settings.ttl,
        max_memory: settings.max_memory.map(|size| size.0),
        pace: Pace::Quick,
        threads: settings.threads(),
        conflicts: settings.conflicts,
        max_retire: settings.max_retire,
        max_retire_day: settings.max_retire_day,
        undo_window: settings.undo_window,
        ledger_retention: ledger_retention(settings),
        lease_ttl: settings.lease_ttl,
        llm_concurrency: settings.llm_concurrency,
        run_by: RunBy::Hand,
        ask_again: false,
        run_id: SystemClock.id(),
        stop: Arc::default(),
    }
}

/// Whether the search module has workers, so that a write may be found a moment later only.
async fn indexes_in_background(conn: &mut ConnectionManager) -> bool {
    let mut workers = redis::cmd("FT.CONFIG");
    workers.arg("GET").arg("WORKERS");
    match workers.query_async::<HashMap<String, String>>(conn).await {
        Ok(found) => found.values().any(|number| number != "0"),
        Err(_) => false,
    }
}

/// How long the ledger keeps its entries.
pub(super) fn ledger_retention(settings: &Settings) -> Duration {
    Duration::from_secs(u64::from(settings.ledger_days) * 86_400)
}

/// All users of the pipeline's index, sorted.
pub(super) async fn all_users(pipeline: &Pipeline) -> Result<Vec<String>, StoreError> {
    users(
        &mut pipeline.conn.clone(),
        &pipeline.index,
        pipeline.layout.as_ref(),
    )
    .await
}
