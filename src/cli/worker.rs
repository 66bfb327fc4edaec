use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::exit::{Exit, usage};
use super::priority::step_back;
use super::{Context, open};
use crate::clock::{Clock, SystemClock};
use crate::config::{SETTINGS, Settings};
use crate::embed::{Embedder, Nli};
use crate::server::{self, Access, Desk};
use crate::store::StoreError;
use crate::tls;
use crate::worker::limits::MassGuard;
use crate::worker::schedule::Rules;
use crate::worker::{Failure, LlmLimits, Orders, Shared, Site, WorkerOptions};

/// The wait after a first failure, and the longest.
const BACKOFF: Duration = Duration::from_secs(60);
const BACKOFF_MOST: Duration = Duration::from_secs(3600);
/// The guard against mass deletion lets so many pass in any case.
const MASS_LEAST: u64 = 1000;
/// Entries that the ledger keeps at most.
const LEDGER_ENTRIES: usize = 100_000;

const HELP: &str = "\
The worker finds the users that were written to, merges what is new, and goes on until it is told to
stop. Any number of workers may run, on any number of machines: they share the users through Redis.
A user is due when the index shows that it was written to, when much is new (--after-new), when it
was not read for a day (--full-every), or when it was asked for:

  memfold request --user alice                                 by hand
  FCALL memfold_request 1 memfold:requests alice               by any client of the server
  XADD memfold:requests * user alice reason failures failures 3   an agent that fails reports it

SIGTERM ends it after the groups in hand, within 10 seconds. SIGHUP makes it read its settings again.
Whatever happens to it, memories are whole: each merge is one step on the server.

With --listen it answers HTTP at that address: /healthz, /readyz, /metrics, and the dashboard
with its API. At an address of this machine alone (127.0.0.1, [::1]) the dashboard needs no token
and changes nothing. With a token (--http-token-file or MEMFOLD_HTTP_TOKEN, 16 characters or more)
whoever has it may also undo and decide; at other addresses there is no dashboard without one.
--http off: none anywhere.

Examples:
  memfold worker --listen 127.0.0.1:9464         the dashboard is at http://127.0.0.1:9464/
  openssl rand -hex 32 > token; memfold worker --listen 0.0.0.0:9464 --http-token-file token
  memfold worker --off-peak '* 1-5 * * * Europe/Berlin' --llm-day-calls 5000
  memfold worker --user alice --user bob";

/// Merge what is new for all users, until told to stop
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Work on this user only, exactly as stored; can be given several times [default: all users,
    /// except the shared ids "" and "system"]
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    tls::install_provider();
    step_back();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let result = runtime.block_on(work(args, context));
    // A model that still runs must not hold up the exit.
    runtime.shutdown_background();
    result
}

async fn work(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let orders = Orders::default();
    tokio::spawn(obey(super::Signals::listen()?, orders.clone()));
    reload_on_hangup(&orders)?;
    let shared = Arc::new(Shared::new(&Shared::fresh_id(&SystemClock.id())));
    let desk = Desk::default();
    if let Some(listen) = context.settings.listen {
        let mut routes = server::router(Arc::clone(&shared));
        if context.settings.serves_http() {
            let access = access(&context.settings)?;
            routes = routes.merge(server::site(Arc::clone(&shared), desk.clone(), access));
        }
        let stop = orders.clone();
        // An address that is not to be had is said at once, before any work.
        drop(std::net::TcpListener::bind(listen)?);
        tokio::spawn(async move {
            if let Err(error) = server::serve(listen, routes, stop.stopped()).await {
                tracing::error!("nothing answers HTTP at {listen}: {error}");
            }
        });
    }
    // What is wrong with the settings is said at once; what is wrong with the store may pass.
    let mut model = Model::default();
    if context.settings.embed_url.is_none() {
        model.of(&context.settings).await?;
    }
    open::llm(&context.settings)?;
    let mut settings: Option<Settings> = None;
    crate::worker::run(&shared, &orders, async || {
        match Settings::load(&context.sources) {
            Ok(read) => settings = Some(read),
            Err(error) => tracing::error!("the settings stay as they were: {error}"),
        }
        let settings = settings.as_ref().unwrap_or(&context.settings);
        let site = site(settings, &mut model).await.map_err(failure)?;
        desk.open(site.pipeline.clone());
        Ok((site, options(args, settings)))
    })
    .await;
    Ok(Exit::Done)
}

fn failure(error: anyhow::Error) -> Failure {
    Failure {
        trouble: error.downcast_ref().and_then(StoreError::trouble),
        why: format!("{error:#}"),
    }
}

/// Who may use the dashboard and the API.
fn access(settings: &Settings) -> anyhow::Result<Access> {
    let file = settings.http_token_file.as_deref();
    Access::new(settings.http_token.clone(), file).map_err(|error| usage(error.to_string()))
}

async fn site(settings: &Settings, model: &mut Model) -> anyhow::Result<Site> {
    let Loaded { embedder, nli } = model.of(settings).await?;
    Ok(Site {
        pipeline: open::worker_pipeline(settings, embedder, nli).await?,
        waiting: open::store(settings).await?,
        events: open::events(settings).await?,
    })
}

/// The models in this process, loaded again only if their settings change.
#[derive(Default)]
struct Model {
    settings: BTreeMap<&'static str, Option<String>>,
    loaded: Loaded,
}

#[derive(Clone, Default)]
struct Loaded {
    embedder: Option<Arc<dyn Embedder>>,
    nli: Option<Arc<Nli>>,
}

impl Model {
    async fn of(&mut self, settings: &Settings) -> anyhow::Result<Loaded> {
        let decide = |name: &str| {
            name.starts_with("embed_")
                || matches!(
                    name,
                    "model"
                        | "model_dir"
                        | "nli_model_dir"
                        | "onnxruntime"
                        | "threads"
                        | "distance"
                        | "llm_url"
                        | "summarizer"
                )
        };
        let now: BTreeMap<_, _> = SETTINGS
            .iter()
            .filter(|setting| decide(setting.name))
            .map(|setting| (setting.name, settings.show(setting)))
            .collect();
        if now != self.settings {
            self.loaded = Loaded {
                embedder: open::needed_embedder(settings).await?,
                nli: open::nli(settings)?,
            };
            self.settings = now;
        }
        Ok(self.loaded.clone())
    }
}

/// A list has no way to hold the empty id but by its quotes.
fn shared_id(name: &str) -> String {
    match name {
        "\"\"" => String::new(),
        name => name.to_owned(),
    }
}

fn options(args: &Args, settings: &Settings) -> WorkerOptions {
    WorkerOptions {
        rules: Rules {
            period: settings.period,
            full_every: settings.full_every,
            after_new: settings.after_new,
            backoff: BACKOFF,
            backoff_most: BACKOFF_MOST,
        },
        probe_every: settings.probe_every,
        after_failures: settings.after_failures,
        off_peak: settings.off_peak.clone(),
        only: (!args.user.is_empty()).then(|| args.user.iter().cloned().collect()),
        shared: settings
            .shared_users
            .iter()
            .map(|name| shared_id(name))
            .collect(),
        concurrency: settings.concurrency,
        llm: LlmLimits {
            run_calls: settings.llm_max_calls,
            run_tokens: settings.llm_run_tokens,
            user_calls: settings.llm_user_calls,
            user_tokens: settings.llm_user_tokens,
            day_calls: settings.llm_day_calls,
            day_tokens: settings.llm_day_tokens,
            input_price: settings.llm_input_price.0,
            output_price: settings.llm_output_price.0,
        },
        mass: MassGuard {
            percent: settings.mass_percent,
            least: MASS_LEAST,
        },
        max_latency: settings.max_latency,
        max_memory_percent: settings.max_memory_percent,
        lease_ttl: settings.lease_ttl,
        ledger_entries: LEDGER_ENTRIES,
    }
}

/// The first signal stops the worker after the groups in hand, the second at once.
async fn obey(mut signals: super::Signals, orders: Orders) {
    signals.next().await;
    tracing::info!("stopping after the groups in hand");
    orders.stop.store(true, Ordering::Relaxed);
    signals.next().await;
    std::process::exit(Exit::Interrupted.code().into());
}

#[cfg(unix)]
fn reload_on_hangup(orders: &Orders) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut hangup, orders) = (signal(SignalKind::hangup())?, orders.clone());
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            orders.reload.store(true, Ordering::Relaxed);
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn reload_on_hangup(_orders: &Orders) -> std::io::Result<()> {
    Ok(())
}
