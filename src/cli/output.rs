//! Where the command line prints: data to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::pager;
use super::render::{self, Style};
use crate::config::Color;

/// The two streams and how to dress what goes there.
#[derive(Debug)]
pub(crate) struct Output {
    /// Style of stdout.
    pub(crate) style: Style,
    /// Style of stderr.
    pub(crate) notes: Style,
    /// Nobody reads stdout any more; the work goes on, the printing stops.
    closed: AtomicBool,
}

impl Output {
    pub(crate) fn new(color: Color, verbose: bool) -> Self {
        let style = |terminal: bool| Style {
            color: color.on(terminal),
            width: width(terminal),
            verbose,
            whole: false,
        };
        Self {
            style: style(io::stdout().is_terminal()),
            notes: style(io::stderr().is_terminal()),
            closed: AtomicBool::new(false),
        }
    }

    /// Prints data. A reader that has gone away is no error: a merge must not stop half-way
    /// because its output is piped into `head`.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
        {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.store(true, Ordering::Relaxed);
                Ok(())
            }
            other => other,
        }
    }

    /// Prints data that a person may want to scroll through.
    pub(crate) fn page(&self, text: &str) -> io::Result<()> {
        if pager::page(text) {
            return Ok(());
        }
        self.data(text)
    }

    /// Prints one JSON document.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let document = serde_json::to_string_pretty(value)?;
        self.piece(&format!("{document}\n"))
    }

    /// Prints a piece of a JSON document.
    pub(crate) fn piece(&self, piece: &str) -> io::Result<()> {
        self.data(&render::escape_json(piece))
    }

    /// Prints a message for people.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints a warning.
    pub(crate) fn warn(&self, text: &str) {
        self.note(&format!("{} {text}", self.notes.yellow("warning:")));
    }

    /// Prints an error and its causes.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let text = render::escape(&message(error));
        self.note(&format!("{} {text}", self.notes.red("error:")));
    }
}

/// The error with its causes, each said once: many errors already quote their cause.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
    }
    message
}

/// Columns to fill: those of the terminal, `COLUMNS`, or 100 where the output is read later.
fn width(terminal: bool) -> usize {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let measured = || {
        let (width, _) = terminal_size::terminal_size().filter(|_| terminal)?;
        Some(usize::from(width.0)).filter(|width| *width > 0)
    };
    columns.or_else(measured).unwrap_or(100).max(40)
}
