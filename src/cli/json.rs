//! The JSON documents on stdout. Their names are stable; a new name is no break, a changed one is.

use std::fmt;

use serde::Serialize;
use serde_json::json;

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
    pub(crate) fn user(&mut self, user: &User) -> serde_json::Result<String> {
        let user = indented(user, "    ")?;
        let text = match self.begun {
            true => format!(",\n    {user}"),
            false => format!("{}[\n    {user}", begin()),
        };
        self.begun = true;
        Ok(text)
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
            for (name, figures) in [
                ("server", indented(&stats.server, "  ")?),
                ("quality", indented(&stats.quality, "  ")?),
                ("seconds", indented(&stats.seconds, "  ")?),
            ] {
                text.push_str(&format!(",\n  \"{name}\": {figures}"));
            }
        }
        if !left_out.is_empty() {
            text.push_str(",\n  \"left_out\": ");
            text.push_str(&indented(&left_out, "  ")?);
        }
        text.push_str("\n}\n");
        Ok(text)
    }
}

fn begin() -> String {
    format!("{{\n  \"version\": {VERSION},\n  \"users\": ")
}

/// The JSON text of a value that stands this far to the right. No string in it has a line break.
fn indented(value: &impl Serialize, by: &str) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(text.replace('\n', &format!("\n{by}")))
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
pub(crate) enum User {
    /// What would be done.
    Plan(Plan),
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

impl User {
    /// A plan without its vectors, which only `apply` needs.
    pub(crate) fn plan(plan: &Plan) -> Self {
        Self::Plan(without_vectors(plan))
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
            plan: without_vectors(&report.plan),
        }))
    }

    pub(crate) fn failure(user: &str, code: u8, message: &str) -> Self {
        Self::Failure(json!({ "user": user, "error": { "exit_code": code, "message": message } }))
    }
}

fn without_vectors(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.merges
        .iter_mut()
        .for_each(|merge| merge.vector.clear());
    plan
}
