//! The command line: arguments in, the library called, text or JSON out. One file a command.

mod apply;
mod args;
mod bench;
mod calibrate;
mod check;
mod completions;
mod config;
mod conflicts;
mod doctor;
mod eval;
mod exit;
mod history;
mod inspect;
mod json;
mod looks;
mod man;
mod merge;
mod open;
mod output;
mod own_pairs;
mod pager;
mod plan_file;
mod priority;
mod progress;
mod propose;
mod reference;
mod render;
mod request;
mod results;
mod resume;
mod review;
mod self_check;
mod show;
mod status;
mod undo;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::{Color, Settings, Sources, misspelt_variables};
use crate::{telemetry, tls};
use args::{Common, SettingFlags};
use exit::Exit;
use output::Output;

/// Merges near-duplicate memories of LLM agents in Redis, accountably and undoably
///
/// memfold looks at the memories of one user at a time, finds those that say the same, and makes
/// one of each group. A merge happens only where nothing is lost; it is recorded, and can be
/// undone.
#[derive(Debug, Parser)]
#[command(
    name = "memfold",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    settings: SettingFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Merge(merge::Args),
    Apply(apply::Args),
    Review(review::Args),
    Undo(undo::Args),
    Conflicts(conflicts::Args),
    History(history::Args),
    Show(show::Args),
    Doctor(doctor::Args),
    Inspect(inspect::Args),
    Worker(worker::Args),
    Status(status::Args),
    Request(request::Args),
    Resume(resume::Args),
    Eval(eval::Args),
    Calibrate(calibrate::Args),
    SelfCheck(self_check::Args),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// What a command works with.
struct Context {
    settings: Settings,
    /// Where they come from, to read them again.
    sources: Sources,
    out: Output,
    /// Set by the first SIGINT or SIGTERM while a merge runs.
    stopping: Arc<AtomicBool>,
    /// When the process began.
    started: Instant,
}

const EXAMPLES: &str = "\
Start with (nothing is written):
  memfold inspect                           what is in this Redis
  memfold doctor                            is everything there, and what to do if not
  memfold merge --user alice --dry-run      what would be merged, before and after

Then:
  memfold merge --user alice                merge now
  memfold review --user alice               decide group by group
  memfold history --user alice              what was merged, when and why
  memfold undo MERGE_ID                     the originals back, byte for byte

For all users, day and night:
  memfold worker                            merge what is new, beside the agents
  memfold status                            workers, backlog, last runs

Only merge, apply, review, undo, worker, request and resume write to the store.

Every setting is a flag (--redis-url), a variable (MEMFOLD_REDIS_URL) and a key in memfold.toml
(redis_url); the first that is set wins. `memfold config show` lists them all.";

/// The whole command line, with what it teaches.
fn command() -> clap::Command {
    Cli::command().after_help(format!("{EXAMPLES}\n\nExit codes:\n{}", exit::help()))
}

/// Runs memfold on `args` (the program's name first) and returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let started = Instant::now();
    let parsed = command()
        .try_get_matches_from(args)
        .and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and are no failure; a closed pipe is none either.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            }
            .into();
        }
    };
    let sources = Sources::of_process(cli.settings.0, cli.common.config.as_deref());
    let settings = match Settings::load(&sources) {
        Ok(settings) => settings,
        Err(error) => {
            let out = Output::new(Color::Auto, false);
            out.error(&error.into());
            return Exit::Usage.into();
        }
    };
    let out = Output::new(settings.color, cli.common.verbose);
    for (name, closest) in misspelt_variables(&sources.env) {
        out.warn(&format!("{name} is no setting; did you mean {closest}?"));
    }
    let context = Context {
        settings,
        sources,
        out,
        stopping: Arc::new(AtomicBool::new(false)),
        started,
    };
    let result = telemetry::start(&context.settings)
        .map_err(anyhow::Error::from)
        .and_then(|_telemetry| dispatch(cli.command, &context));
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            context.out.error(&error);
            exit::of(&error).into()
        }
    }
}

fn dispatch(command: Command, context: &Context) -> anyhow::Result<Exit> {
    match command {
        Command::Config(args) => config::run(&args, context),
        Command::Completions(args) => completions::run(&args, context),
        Command::Man(args) => man::run(&args, context),
        Command::SelfCheck(args) => self_check::run(&args, context),
        Command::Merge(args) => block_on(context, !args.dry_run, merge::run(&args, context)),
        Command::Apply(args) => block_on(context, true, apply::run(&args, context)),
        Command::Review(args) => block_on(context, false, review::run(&args, context)),
        Command::Undo(args) => block_on(context, false, undo::run(&args, context)),
        Command::Conflicts(args) => block_on(context, false, conflicts::run(&args, context)),
        Command::History(args) => block_on(context, false, history::run(&args, context)),
        Command::Show(args) => block_on(context, false, show::run(&args, context)),
        Command::Doctor(args) => block_on(context, false, doctor::run(&args, context)),
        Command::Inspect(args) => block_on(context, false, inspect::run(&args, context)),
        Command::Worker(args) => worker::run(&args, context),
        Command::Status(args) => block_on(context, false, status::run(&args, context)),
        Command::Request(args) => block_on(context, false, request::run(&args, context)),
        Command::Resume(args) => block_on(context, false, resume::run(&args, context)),
        Command::Eval(args) => block_on(context, false, eval::run(&args, context)),
        Command::Calibrate(args) => block_on(context, false, calibrate::run(&args, context)),
    }
}

/// Runs `work` to its end. With `in_steps`, the first signal lets the step in hand finish.
///
/// Stopping at any moment is safe: what writes to the store is one atomic call on the server.
fn block_on(
    context: &Context,
    in_steps: bool,
    work: impl Future<Output = anyhow::Result<Exit>>,
) -> anyhow::Result<Exit> {
    tls::install_provider();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let stopping = Arc::clone(&context.stopping);
    let notes = context.out.notes;
    let result = runtime.block_on(async {
        tokio::spawn(watch(Signals::listen()?, in_steps, stopping, notes));
        work.await
    });
    // A model or name lookup that still runs must not hold up the exit.
    runtime.shutdown_background();
    if context.stopping.load(Ordering::Relaxed) {
        Ok(Exit::Interrupted)
    } else {
        result
    }
}

async fn watch(
    mut signals: Signals,
    in_steps: bool,
    stopping: Arc<AtomicBool>,
    style: render::Style,
) {
    if in_steps {
        signals.next().await;
        stopping.store(true, Ordering::Relaxed);
        let hint = style.yellow("stopping after the group in hand; again to stop at once");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\n{hint}\n").as_bytes());
    }
    signals.next().await;
    while pager::is_paging() {
        signals.next().await;
    }
    std::process::exit(Exit::Interrupted.code().into());
}

/// SIGINT and SIGTERM, caught from the moment of [`Signals::listen`] on.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
