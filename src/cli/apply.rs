use std::path::PathBuf;

use super::exit::{Exit, usage};
use super::plan_file::PlanFile;
use super::results::Results;
use super::{Context, open};
use crate::config::Origin;

const HELP: &str = "\
Only what the plan says is done, with the texts it holds; no LLM is asked. A merge whose sources
have changed since is left out and reported as `changed`; the exit code is 4 then.

With --json: the same document as `memfold merge --json`.";

/// Carry out a plan that `merge --dry-run --plan-out` saved
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The plan
    file: PathBuf,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let file = PlanFile::read(&args.file)?;
    let Some(index) = index(&file, context)? else {
        context.out.note("the plan is empty; nothing to do");
        return Ok(Exit::Done);
    };
    let pipeline = open::pipeline(context, &index, true).await?;
    let mut results = Results::new(context, &pipeline, args.json);
    for plan in &file.users {
        results.apply(plan).await?;
    }
    results.finish()
}

/// The plan's index, which a setting may confirm but not change.
fn index(file: &PlanFile, context: &Context) -> anyhow::Result<Option<String>> {
    let Some(first) = file.users.first() else {
        return Ok(None);
    };
    let index = &first.index;
    if let Some(other) = file.users.iter().find(|plan| plan.index != *index) {
        return Err(usage(format!(
            "the plan mixes indexes: {index} and {}",
            other.index
        )));
    }
    let set = context.settings.index();
    if context.settings.origin("index") != &Origin::Default && set != index {
        return Err(usage(format!(
            "the plan is for index {index}, the settings say {set}"
        )));
    }
    Ok(Some(index.clone()))
}
