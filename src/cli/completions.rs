use std::io::{self, Write};

use clap_complete::{Shell, generate};

use super::exit::Exit;
use super::{Context, command};

/// Print the completions of a shell
///
/// bash: memfold completions bash > ~/.local/share/bash-completion/completions/memfold
/// zsh:  memfold completions zsh > "${fpath[1]}/_memfold"
/// fish: memfold completions fish > ~/.config/fish/completions/memfold.fish
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    generate(args.shell, &mut command(), "memfold", &mut script);
    script.flush()?;
    context
        .out
        .data(&String::from_utf8(script).map_err(io::Error::other)?)?;
    Ok(Exit::Done)
}
