//! Progress on a terminal.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::merge::{Progress, Stage, Stages};

/// A progress line on stderr; silent where stderr is no terminal, the log tells the story there.
pub(crate) struct Line {
    bar: ProgressBar,
    stages: Mutex<Stages>,
}

impl Line {
    pub(crate) fn new() -> Self {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        bar.enable_steady_tick(Duration::from_millis(120));
        Self {
            bar,
            stages: Mutex::default(),
        }
    }

    /// Runs `print` with the line out of the way.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// How long the stages took so far.
    pub(crate) fn stages(&self) -> Stages {
        *self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears the line, so that what is printed next stands alone.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Line {
    fn phase(&self, name: &str, total: usize) {
        let template = match total {
            0 => "{spinner} {msg} [{elapsed}]",
            _ => "{spinner} {msg} {pos}/{len} [{elapsed}] {rate}, {eta} left",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let rate = |state: &ProgressState, text: &mut dyn Write| {
                let _ = write!(text, "{:.1}/s", state.per_sec());
            };
            self.bar.set_style(style.with_key("rate", rate));
        }
        self.bar.reset();
        self.bar.set_position(0);
        self.bar.set_length(total as u64);
        self.bar.set_message(name.to_owned());
    }

    fn step(&self) {
        self.bar.inc(1);
    }

    fn took(&self, stage: Stage, time: Duration) {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.add(stage, time);
    }
}
