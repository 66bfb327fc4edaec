//! Long output on a terminal, through the pager that the user has.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// While a pager runs, an interrupt is for it: it shares the terminal.
static PAGING: AtomicBool = AtomicBool::new(false);

/// Whether a pager has the terminal.
pub(super) fn is_paging() -> bool {
    PAGING.load(Ordering::Relaxed)
}

/// Shows a text that is longer than the terminal by `PAGER` (`less` where that is unset; empty =
/// none) and says whether it did so. Only where a person sits at both ends.
pub(super) fn page(text: &str) -> bool {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return false;
    }
    let rows = terminal_size::terminal_size().map_or(0, |(_, height)| usize::from(height.0));
    if rows == 0 || text.lines().count() < rows {
        return false;
    }
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less 2> /dev/null".to_owned());
    !pager.trim().is_empty() && run(&pager, text).is_ok()
}

fn run(pager: &str, text: &str) -> io::Result<()> {
    // By the shell, for the variable may hold arguments.
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Colours as they are, no pager for less than a screen, and what was shown stays on it.
        command.env("LESS", "FRX");
    }
    PAGING.store(true, Ordering::Relaxed);
    let ended = command.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // Whoever quits early has seen enough.
            let _ = stdin.write_all(text.as_bytes());
        }
        child.wait()
    });
    PAGING.store(false, Ordering::Relaxed);
    match ended?.code() {
        // The shell's word for a program that is not there, or cannot be run.
        Some(126 | 127) => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}
