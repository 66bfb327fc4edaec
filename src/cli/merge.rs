use std::path::PathBuf;

use clap::ArgGroup;

use super::exit::Exit;
use super::plan_file::PlanFile;
use super::priority::step_back;
use super::results::Results;
use super::{Context, open};
use crate::config::Origin;
use crate::judge;
use crate::layout::FieldUse;
use crate::merge::Pipeline;
use crate::store::cost;
use crate::store::records::sample;
use crate::worker::SHARED_USERS;

/// Records that are looked at for names of fields.
const SAMPLES: usize = 100;

const HELP: &str = "\
What is safe: a merge is one atomic step on the server, made only if every source is still what was
read. The originals stay in the undo store for --undo-window; a run can be undone as a whole
(`memfold undo --run RUN`). Interrupting at any moment leaves whole merges or none.

With --json: {\"version\": 1, \"users\": […]}, one entry a user in the order given; with --dry-run an
entry is the plan, else {user, run_id, merged, not_committed, quality, llm, stopped, plan}; a user that
failed has {user, error}. --all-users adds {left_out: [shared ids that were found]}, --stats
{server: {…}, quality: {…}, seconds: {…}}. The file of --plan-out has the vectors as well.

Examples:
  memfold merge --user alice --dry-run
  memfold merge --user alice --user bob
  memfold merge --all-users --summarizer extractive
  memfold merge --user alice --dry-run --plan-out plan.json && memfold apply plan.json";

/// Merge the near-duplicate memories of users
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
#[command(group(ArgGroup::new("who").args(["user", "all_users"]).required(true).multiple(true)))]
pub(super) struct Args {
    /// A user whose memories to merge, exactly as stored; can be given several times
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
    /// All users that the index names, except the shared ids "" (nobody) and "system" unless --user names them
    #[arg(long)]
    all_users: bool,
    /// Only show what would be done; write nothing (an LLM, if configured, is asked)
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Ask the LLM also about groups that it decided to leave before
    #[arg(long)]
    ask_again: bool,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Also tell what the merges kept and saved, what the run cost the server (CPU time and commands, of all its clients), and
    /// where the time went
    #[arg(long)]
    stats: bool,
    /// Save the plan for `memfold apply`; the file holds memory texts and only you can read it
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    plan_out: Option<PathBuf>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    if let Some(path) = &args.plan_out {
        PlanFile::can_be_at(path)?;
    }
    // Beside the connecting and the reading, which come first. What is needed before it is there is waited
    // for, and without a thread it is done then.
    drop(std::thread::Builder::new().spawn(|| {
        if cfg!(target_os = "linux") {
            step_back();
        }
        judge::prepare();
    }));
    let mut pipeline = open::pipeline(context, context.settings.index(), !args.dry_run).await?;
    pipeline.stations.options.ask_again = args.ask_again;
    warn_of_names(context, &pipeline).await?;
    let mut results = Results::new(context, &pipeline, args.json);
    let mut conn = pipeline.conn.clone();
    let before = match args.stats {
        true => Some(cost(&mut conn).await?),
        false => None,
    };
    let mut plans = Vec::new();
    let mut some_merge = false;
    let users = users(args, &pipeline, &mut results).await?;
    let alone = users.len() == 1;
    let starting = context.started.elapsed();
    for (user, named) in users {
        results.named = named;
        if !args.dry_run {
            results.merge(&user).await?;
        } else if let Some(plan) = results.plan(&user, alone).await? {
            some_merge |= !plan.merges.is_empty();
            plans.extend(args.plan_out.is_some().then_some(plan));
        }
    }
    let mut saved = Ok(());
    if let Some(path) = &args.plan_out {
        saved = PlanFile::new(plans).write(path);
        let path = path.display();
        if saved.is_ok() {
            results.note(&format!(
                "plan saved; carry it out with: memfold apply {path}"
            ));
        }
    } else if some_merge {
        results.note("nothing was written; run without --dry-run to merge");
    }
    if let Some(before) = before {
        results.cost(cost(&mut conn).await?.since(before), starting);
    }
    let exit = results.finish()?;
    saved.map(|()| exit)
}

/// Names fields that were configured and that neither the index nor any of some records has: a
/// misspelt one would be taken for absent everywhere.
async fn warn_of_names(context: &Context, pipeline: &Pipeline) -> anyhow::Result<()> {
    let (settings, facts) = (&context.settings, &pipeline.index);
    let configured = |field: &FieldUse| {
        let setting = format!("fields_{}", field.role);
        field.role == "rules" || *settings.origin(&setting) != Origin::Default
    };
    let mut fields = pipeline.layout.fields();
    fields.retain(|field| configured(field) && facts.field(&field.name).is_none());
    if fields.is_empty() {
        return Ok(());
    }
    let records = sample(&mut pipeline.conn.clone(), facts, SAMPLES).await?;
    for field in fields {
        if !records.is_empty()
            && !records
                .iter()
                .any(|(_, record)| record.mentions(&field.name))
        {
            context.out.warn(&format!(
                "no record looked at has a field `{}` ({}), and the index has none",
                field.name,
                open::flag(field.role)
            ));
        }
    }
    Ok(())
}

/// The users named, then all others if asked for; each once, with whether it was named.
async fn users(
    args: &Args,
    pipeline: &Pipeline,
    results: &mut Results<'_>,
) -> anyhow::Result<Vec<(String, bool)>> {
    let mut users: Vec<(String, bool)> = Vec::new();
    for user in &args.user {
        if users.iter().all(|(known, _)| known != user) {
            users.push((user.clone(), true));
        }
    }
    if args.all_users {
        let mut others = open::all_users(pipeline).await?;
        others.retain(|user| !args.user.contains(user));
        let (shared, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|user| SHARED_USERS.contains(&user.as_str()));
        users.extend(others.into_iter().map(|user| (user, false)));
        if users.is_empty() && shared.is_empty() {
            results.note("the index names no users; `memfold doctor` says what is in it");
        }
        results.leave_out(shared);
    }
    Ok(users)
}
