use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use comfy_table::{Table, presets};

use super::exit::Exit;
use super::render::{Style, escape};
use super::{Context, open};
use crate::store::{Status, status};

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

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut conn = open::store(&context.settings).await?;
    loop {
        let status = status(&mut conn, args.runs).await?;
        if args.json {
            context.out.json(&status.document())?;
        } else {
            let text = text(&status, context.out.style);
            if args.watch {
                // To the top left, and nothing left of what stood there.
                std::io::stdout().write_all(b"\x1b[H\x1b[2J")?;
            }
            context.out.data(&text)?;
        }
        if !args.watch {
            return Ok(exit(&status));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn exit(status: &Status) -> Exit {
    if status.halt.is_some() || (status.waiting() > 0 && status.workers.is_empty()) {
        Exit::Failed
    } else {
        Exit::Done
    }
}

fn text(status: &Status, style: Style) -> String {
    let mut text = String::new();
    if let Some(halt) = &status.halt {
        let why = escape(&halt.why);
        let _ = writeln!(text, "{} {why}\n", style.red("STOPPED:"));
    }
    if status.workers.is_empty() {
        text += "no worker lives; start one with `memfold worker`\n";
    } else {
        text += &worker_table(status, style);
    }
    for group in &status.groups {
        let _ = writeln!(
            text,
            "\n{}: {} waiting, {} in hand",
            escape(&group.name),
            group.backlog.waiting,
            group.backlog.pending
        );
    }
    if !status.runs.is_empty() {
        let _ = write!(
            text,
            "\nLast runs that did something:\n{}",
            run_table(status, style)
        );
    }
    if let Some(memory) = &status.memory {
        let kinds: Vec<String> = memory
            .kinds
            .iter()
            .map(|(kind, (keys, bytes))| format!("{} {} ({keys})", escape(kind), size(*bytes)))
            .collect();
        let _ = writeln!(
            text,
            "\nmemfold's own keys {} ago: {}: {}",
            ago(status.at_ms, memory.at_ms),
            size(memory.bytes()),
            kinds.join(", ")
        );
    }
    text
}

fn worker_table(status: &Status, style: Style) -> String {
    let mut table = table(style);
    table.set_header([
        "worker", "store", "up", "in hand", "runs", "failed", "merged", "retired", "LLM", "memory",
        "state",
    ]);
    for worker in &status.workers {
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
                format!("{} ago: {}", ago(status.at_ms, at), escape(error))
            }
            _ => "ok".to_owned(),
        };
        table.add_row([
            escape(&worker.worker).to_string(),
            escape(&worker.store).to_string(),
            ago(status.at_ms, worker.started_ms),
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

fn run_table(status: &Status, style: Style) -> String {
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
    for run in &status.runs {
        table.add_row([
            ago(status.at_ms, run.at_ms),
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
    use crate::store::fleet::Halt;

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
        let mut status = Status::default();
        assert_eq!(exit(&status), Exit::Done);
        status.halt = Some(Halt {
            why: "too many".into(),
            worker: "w".into(),
            at_ms: 0,
        });
        assert_eq!(exit(&status), Exit::Failed);
        assert!(status.document()["halt"]["why"] == "too many");
    }
}
