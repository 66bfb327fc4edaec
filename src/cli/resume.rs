use serde_json::json;

use super::exit::Exit;
use super::render::escape;
use super::{Context, json, open};
use crate::store::fleet::{resume, server_ms};
use crate::store::{Counter, Spent};

const HELP: &str = "\
The workers stop when more memories were retired in a day than --mass-percent allows. Look at what
was merged (`memfold history`), undo what is wrong, then resume: the count of the day begins anew.

With --json: {\"version\": 1, \"halt\": {why, worker, at_ms} or null}.";

/// Let the workers go on after a guard has stopped them
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    let now = server_ms(&mut conn).await?;
    let retired = Counter::of_day(Spent::Retired, None, now);
    let count = retired.get(&mut conn).await?;
    retired.give_back(&mut conn, count).await?;
    let halt = resume(&mut conn).await?;
    if args.json {
        context
            .out
            .json(&json!({ "version": json::VERSION, "halt": halt }))?;
    } else {
        context.out.data(&match halt {
            Some(halt) => format!(
                "the workers go on; they had stopped: {}\n",
                escape(&halt.why)
            ),
            None => "the workers were not stopped\n".to_owned(),
        })?;
    }
    Ok(Exit::Done)
}
