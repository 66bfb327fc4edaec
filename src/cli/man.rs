use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap_mangen::Man;

use super::exit::Exit;
use super::{Context, command};

/// Print the man page, or write those of all commands to a folder
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Folder for memfold.1, memfold-merge.1, …; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    match &args.out {
        Some(dir) => write_all(dir)?,
        None => {
            let mut page = Vec::new();
            Man::new(command()).render(&mut page)?;
            context
                .out
                .data(&String::from_utf8(page).map_err(io::Error::other)?)?;
        }
    }
    Ok(Exit::Done)
}

fn write_all(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    clap_mangen::generate_to(command(), dir)
        .with_context(|| format!("cannot write to {}", dir.display()))
}
