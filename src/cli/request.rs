use serde_json::json;

use super::exit::Exit;
use super::render::escape;
use super::{Context, json, open};
use crate::store::requests::{Id, Request, request};

const HELP: &str = "\
The request waits in the stream memfold:requests until a worker takes it. Any client can put one
there: FCALL memfold_request 1 memfold:requests USER, or XADD memfold:requests * user USER.

With --json: {\"version\": 1, \"requests\": [{user, id}]}.

Examples:
  memfold request --user alice
  memfold request --user alice --failures 3    its agent failed three times in a row";

/// Ask the workers to look after a user soon
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The user, exactly as stored; can be given several times
    #[arg(long, value_name = "NAME", required = true)]
    user: Vec<String>,
    /// How many times in a row the user's agent has failed; fewer than --after-failures are no reason
    #[arg(long, value_name = "COUNT")]
    failures: Option<u32>,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    let one = |user: &String| Request {
        user: user.clone(),
        index: Some(context.settings.index().to_owned()),
        reason: if args.failures.is_some() {
            "failures"
        } else {
            "request"
        }
        .to_owned(),
        failures: args.failures.unwrap_or(0),
        probe: None,
    };
    let requests: Vec<Request> = args.user.iter().map(one).collect();
    let ids = request(&mut conn, &requests).await?;
    let asked = args.user.iter().zip(&ids);
    if args.json {
        let asked: Vec<_> = asked
            .map(|(user, id)| json!({ "user": user, "id": id.to_string() }))
            .collect();
        context
            .out
            .json(&json!({ "version": json::VERSION, "requests": asked }))?;
    } else {
        let line = |(user, id): (&String, &Id)| format!("asked for {}: {id}\n", escape(user));
        context.out.data(&asked.map(line).collect::<String>())?;
    }
    Ok(Exit::Done)
}
