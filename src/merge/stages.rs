//! How long the stages of runs took.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The memories are read.
    Reading,
    /// Those that are near each other are found.
    Comparing,
    /// Each group is judged: what is lossless, what an LLM must decide, what stays.
    Judging,
    /// The LLM is asked, and what was decided is written.
    Merging,
}

/// Seconds that the stages of one or more runs took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stages {
    /// [`Stage::Reading`].
    pub reading: f64,
    /// [`Stage::Comparing`].
    pub comparing: f64,
    /// [`Stage::Judging`].
    pub judging: f64,
    /// [`Stage::Merging`].
    pub merging: f64,
}

impl Stages {
    /// Adds what a stage took.
    pub fn add(&mut self, stage: Stage, time: Duration) {
        let seconds = match stage {
            Stage::Reading => &mut self.reading,
            Stage::Comparing => &mut self.comparing,
            Stage::Judging => &mut self.judging,
            Stage::Merging => &mut self.merging,
        };
        *seconds += time.as_secs_f64();
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.3} s reading, {:.3} s comparing, {:.3} s judging, {:.3} s asking and writing",
            self.reading, self.comparing, self.judging, self.merging
        )
    }
}
