use super::Context;
use super::exit::Exit;

/// To come
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) async fn run(_args: &Args, _context: &Context) -> anyhow::Result<Exit> {
    Ok(Exit::Failed)
}
