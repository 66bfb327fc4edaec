use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::exit::Exit;
use super::render::{Style, escape};
use super::{Context, json, open};
use crate::store::StoreError;
use crate::store::fleet::{
    Halt, Heartbeat, OwnMemory, RunEntry, halted, own_memory, runs, server_ms, workers,
};
use crate::store::requests::{Group, groups};

const HELP: &str = "\
Needs only Redis: the workers leave there what they do.

With --json: {\"version\": 1, \"at_ms\", \"halt\", \"workers\": […], \"backlog\": [{store, waiting,
pending}], \"runs\": […], \"memory\": {at_ms, bytes, kinds}}. Exit code 1 if a guard has stopped the
workers, or if requests wait and no worker lives.

Examples:
  memfold status
  memfold status --watch";

/// Show the workers, what waits, the last runs and errors
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Show it again every second until interrupted
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Runs to show
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    runs: usize,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// All that is shown.
struct Picture {
    at_ms: i64,
    halt: Option<Halt>,
    workers: Vec<Heartbeat>,
    groups: Vec<Group>,
    runs: Vec<RunEntry>,
    memory: Option<OwnMemory>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    loop {
        let picture = Picture {
            at_ms: server_ms(&mut conn).await?,
            halt: halted(&mut conn).await?,
            workers: workers(&mut conn).await?,
            groups: groups(&mut conn).await?,
            runs: runs(&mut conn, args.runs).await?,
            memory: optional(own_memory(&mut conn).await)?,
        };
        if args.json {
            context.out.json(&picture.document())?;
        } else {
            let text = picture.text(context.out.style);
            if args.watch {
                // To the top left, and nothing left of what stood there.
                std::io::stdout().write_all(b"\x1b[H\x1b[2J")?;
            }
            context.out.data(&text)?;
        }
        if !args.watch {
            return Ok(picture.exit());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn optional<T>(found: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Err(StoreError::Permission(_)) => Ok(None),
        other => other,
    }
}

impl Picture {
    fn exit(&self) -> Exit {
        let waiting: u64 = self.groups.iter().map(|group| group.backlog.waiting).sum();
        if self.halt.is_some() || (waiting > 0 && self.workers.is_empty()) {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    fn document(&self) -> Value {
        let backlog = |group: &Group| {
            json!({
                "store": group.name,
                "waiting": group.backlog.waiting,
                "pending": group.backlog.pending,
            })
        };
        let memory = self.memory.as_ref().map(|memory| {
            json!({ "at_ms": memory.at_ms, "bytes": memory.bytes(), "kinds": memory.kinds })
        });
        json!({
            "version": json::VERSION,
            "at_ms": self.at_ms,
            "halt": self.halt,
            "workers": self.workers,
            "backlog": self.groups.iter().map(backlog).collect::<Vec<_>>(),
            "runs": self.runs,
            "memory": memory,
        })
    }

    fn text(&self, style: Style) -> String {
        let mut text = String::new();
        if let Some(halt) = &self.halt {
            let why = escape(&halt.why);
            let _ = writeln!(text, "{} {why}\n", style.red("STOPPED:"));
        }
        if self.workers.is_empty() {
            text += "no worker lives; start one with `memfold worker`\n";
        } else {
            text += &self.worker_table(style);
        }
        for group in &self.groups {
            let _ = writeln!(
                text,
                "\n{}: {} waiting, {} in hand",
                escape(&group.name),
                group.backlog.waiting,
                group.backlog.pending
            );
        }
        if !self.runs.is_empty() {
            let _ = write!(
                text,
                "\nLast runs that did something:\n{}",
                self.run_table(style)
            );
        }
        if let Some(memory) = &self.memory {
            let kinds: Vec<String> = memory
                .kinds
                .iter()
                .map(|(kind, (keys, bytes))| format!("{} {} ({keys})", escape(kind), size(*bytes)))
                .collect();
            let _ = writeln!(
                text,
                "\nmemfold's own keys {} ago: {}: {}",
                ago(self.at_ms, memory.at_ms),
                size(memory.bytes()),
                kinds.join(", ")
            );
        }
        text
    }

    fn worker_table(&self, style: Style) -> String {
        let mut table = table(style);
        table.set_header([
            "worker", "store", "up", "in hand", "runs", "failed", "merged", "retired", "LLM",
            "memory", "state",
        ]);
        for worker in &self.workers {
            let llm = match &worker.breaker {
                Some(breaker) => format!("{} calls, {breaker}", worker.llm_calls),
                None => "–".to_owned(),
            };
            let state = match (
                &worker.waiting_for,
                &worker.last_error,
                worker.last_error_ms,
            ) {
                (Some(why), ..) => format!("waits: {}", escape(why)),
                (None, Some(error), Some(at)) => {
                    format!("{} ago: {}", ago(self.at_ms, at), escape(error))
                }
                _ => "ok".to_owned(),
            };
            table.add_row([
                escape(&worker.worker).to_string(),
                escape(&worker.store).to_string(),
                ago(self.at_ms, worker.started_ms),
                worker.running.len().to_string(),
                worker.runs.to_string(),
                worker.failed.to_string(),
                worker.merged.to_string(),
                worker.retired.to_string(),
                llm,
                worker.rss_bytes.map_or_else(|| "–".to_owned(), size),
                state,
            ]);
        }
        format!("{table}\n")
    }

    fn run_table(&self, style: Style) -> String {
        let mut table = table(style);
        table.set_header([
            "ago",
            "user",
            "why",
            "merged",
            "retired",
            "left",
            "LLM calls",
            "took",
            "error",
        ]);
        for run in &self.runs {
            table.add_row([
                ago(self.at_ms, run.at_ms),
                escape(&run.user).to_string(),
                escape(&run.cause).to_string(),
                run.merged.to_string(),
                run.retired.to_string(),
                run.left.to_string(),
                run.llm_calls.to_string(),
                format!("{:.1}s", run.took_ms as f64 / 1000.0),
                escape(run.error.as_deref().unwrap_or_default()).to_string(),
            ]);
        }
        format!("{table}\n")
    }
}

fn table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
    table
}

fn ago(now_ms: i64, at_ms: i64) -> String {
    let seconds = (now_ms - at_ms).max(0) / 1000;
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7199 => format!("{}m", seconds / 60),
        7200..=172_799 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_short() {
        assert_eq!(ago(200_000, 100_000), "100s");
        assert_eq!(ago(0, 5), "0s");
        assert_eq!(ago(86_400_000 * 3, 0), "3d");
        assert_eq!(size(512), "512 B");
        assert_eq!(size(12_345), "12 kB");
        assert_eq!(size(12_345_678), "12 MB");
    }

    #[test]
    fn waiting_requests_without_a_worker_are_a_failure() {
        let mut picture = Picture {
            at_ms: 0,
            halt: None,
            workers: Vec::new(),
            groups: Vec::new(),
            runs: Vec::new(),
            memory: None,
        };
        assert_eq!(picture.exit(), Exit::Done);
        picture.halt = Some(Halt {
            why: "too many".into(),
            worker: "w".into(),
            at_ms: 0,
        });
        assert_eq!(picture.exit(), Exit::Failed);
        assert!(picture.document()["halt"]["why"] == "too many");
    }
}
