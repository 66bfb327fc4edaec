//! The JSON documents on stdout. Their names are stable; a new name is no break, a changed one is.

use std::borrow::Cow;
use std::{fmt, io};

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::json;
use serde_json::ser::{Formatter as _, PrettyFormatter};

use crate::memory::{GroupLeft, Plan};
use crate::merge::{Done, LlmUse, Quality, Report, Stages};
use crate::store::Cost;

/// Version of all documents; it changes when a name or a meaning does.
pub(crate) const VERSION: u32 = 1;

/// The document `{"version", "users": […]}`, a list also for one user, in pieces: the plans for all
/// users of a store would fill the memory.
#[derive(Debug, Default)]
pub(crate) struct Users {
    begun: bool,
}

impl Users {
    /// The text up to the end of a user.
    pub(crate) fn user(&mut self, user: &User<'_>) -> serde_json::Result<String> {
        let before = match self.begun {
            true => ",\n    ".to_owned(),
            false => format!("{}[\n    ", begin()),
        };
        self.begun = true;
        after(before, user, 2)
    }

    /// The text after the last user.
    pub(crate) fn end(
        &self,
        stats: Option<Stats>,
        left_out: &[String],
    ) -> serde_json::Result<String> {
        let mut text = match self.begun {
            true => "\n  ]".to_owned(),
            false => format!("{}[]", begin()),
        };
        if let Some(stats) = stats {
            text = after(text + ",\n  \"server\": ", &stats.server, 1)?;
            text = after(text + ",\n  \"quality\": ", &stats.quality, 1)?;
            text = after(text + ",\n  \"seconds\": ", &stats.seconds, 1)?;
        }
        if !left_out.is_empty() {
            text = after(text + ",\n  \"left_out\": ", &left_out, 1)?;
        }
        text.push_str("\n}\n");
        Ok(text)
    }
}

fn begin() -> String {
    format!("{{\n  \"version\": {VERSION},\n  \"users\": ")
}

/// The text, and after it the JSON text of a value that stands inside so many others.
fn after(text: String, value: &impl Serialize, depth: usize) -> serde_json::Result<String> {
    let mut document = text.into_bytes();
    let mut form = PrettyFormatter::new();
    // The brackets of those others are in the text.
    for _ in 0..depth {
        form.begin_array(&mut io::sink())
            .map_err(serde_json::Error::io)?;
    }
    let mut to = serde_json::Serializer::with_formatter(&mut document, form);
    value.serialize(&mut to)?;
    String::from_utf8(document).map_err(serde_json::Error::custom)
}

/// The figures of a run that are told on request.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) server: Server,
    pub(crate) quality: Quality,
    pub(crate) seconds: Seconds,
}

/// Where the time went, of all users.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Seconds {
    /// From the start of the process to the first user: settings, the connection, the index, who the users are.
    pub(crate) starting: f64,
    #[serde(flatten)]
    pub(crate) stages: Stages,
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "time: {:.3} s starting, {}", self.starting, self.stages)
    }
}

/// What the run cost the server, as far as its counters can tell: they count all its clients.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Server {
    /// Always true: the figures are of the whole server.
    all_clients: bool,
    memories: usize,
    cpu_seconds: f64,
    commands: u64,
    cpu_seconds_per_1000_memories: f64,
    commands_per_1000_memories: f64,
}

impl Server {
    pub(crate) fn new(cost: Cost, memories: usize) -> Self {
        let per_1000 = |figure: f64| figure * 1000.0 / memories.max(1) as f64;
        Self {
            all_clients: true,
            memories,
            cpu_seconds: cost.cpu_seconds,
            commands: cost.commands,
            cpu_seconds_per_1000_memories: per_1000(cost.cpu_seconds),
            commands_per_1000_memories: per_1000(cost.commands as f64),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the server, for all its clients: {:.3} s of CPU time, {} commands; for 1,000 memories \
             {:.4} s and {:.1} commands",
            self.cpu_seconds,
            self.commands,
            self.cpu_seconds_per_1000_memories,
            self.commands_per_1000_memories,
        )
    }
}

/// What there is to tell of one user.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum User<'a> {
    /// What would be done.
    Plan(Cow<'a, Plan>),
    /// What was done.
    Report(Box<Merged>),
    /// Why nothing came about.
    Failure(serde_json::Value),
}

/// What was done for one user: the merges made, those that could not be, the plan, and the cost.
#[derive(Serialize)]
pub(crate) struct Merged {
    user: String,
    run_id: String,
    merged: Vec<Done>,
    not_committed: Vec<GroupLeft>,
    quality: Quality,
    llm: LlmUse,
    stopped: bool,
    plan: Plan,
}

impl<'a> User<'a> {
    /// A plan without its vectors, which only `apply` needs.
    pub(crate) fn plan(plan: &'a Plan) -> Self {
        let bare = plan.merges.iter().all(|merge| merge.vector.is_empty());
        Self::Plan(match bare {
            true => Cow::Borrowed(plan),
            false => Cow::Owned(without_vectors(plan.clone())),
        })
    }

    pub(crate) fn report(report: Report) -> Self {
        Self::Report(Box::new(Merged {
            user: report.plan.user.clone(),
            run_id: report.run_id,
            merged: report.merged,
            not_committed: report.not_committed,
            quality: report.quality,
            llm: report.llm,
            stopped: report.stopped,
            plan: without_vectors(report.plan),
        }))
    }

    pub(crate) fn failure(user: &str, code: u8, message: &str) -> Self {
        Self::Failure(json!({ "user": user, "error": { "exit_code": code, "message": message } }))
    }
}

fn without_vectors(mut plan: Plan) -> Plan {
    plan.merges
        .iter_mut()
        .for_each(|merge| merge.vector.clear());
    plan
}
