use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::bench::{self, Bench};
use super::exit::{Exit, usage};
use super::render::{escape, table};
use super::{Context, json, open};
use crate::eval::curve::{Point, curve, grid};
use crate::eval::groups::{self, FaultKind, Scores};
use crate::eval::input;
use crate::eval::llm_judge::{self, Opinion};
use crate::eval::pairs::{self, Row};
use crate::eval::report::{self, Report};
use crate::eval::run::Cases;
use crate::summarize::llm::GradePrompt;

const HELP: &str = "\
FILE has one pair a line: {\"id\", \"a\", \"b\", \"label\": \"same|different|update\"}, and where known
\"kind\", \"lang\", \"source\", \"a_created_at\", \"b_created_at\", \"memory_type\". With --groups one group
a line: {\"id\", \"members\": [{\"id\", \"content\", \"created_at\", \"metadata\"}], \"facts\", \"forbidden\",
\"partition\", \"block_actions\"}. Other fields are passed over. `memfold history --as-pairs` gives your
own decisions in that form.

Every pair and every group goes through what `merge` runs, under the same settings, as if nothing
else were stored; no Redis is needed. False merges are told with Wilson's 95 % interval.

Decisions, one line a pair:  {\"id\", \"verdict\", \"merged\", \"distance\", \"reasons\"}
With --groups, one a group:  {\"id\", \"partition\", \"merged\": [{\"ids\", \"text\", \"history\"}],
                              \"skipped\": [{\"id\", \"reason\"}]}; with --llm-judge a result has \"grades\"

Examples:
  memfold eval pairs.jsonl
  memfold eval pairs.jsonl --threshold 0.2 --decisions decisions.jsonl --report report.html
  memfold eval pairs.jsonl --llm-url http://localhost:11434/v1 --llm-model qwen3
  memfold eval groups.jsonl --groups
  memfold eval groups.jsonl --groups --summarizer extractive --llm-judge --llm-url http://localhost:11434/v1 --llm-model qwen3";

/// Measure merges on labelled pairs or groups
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Labelled pairs, one JSON object a line
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// FILE has groups of memories instead of pairs
    #[arg(long)]
    groups: bool,
    /// Also ask the LLM of --llm-url how right, brief, whole and dense each result is; decides nothing
    #[arg(long, requires = "groups")]
    llm_judge: bool,
    /// File with a prompt template for that, instead of the built-in one
    #[arg(long, value_name = "FILE", requires = "llm_judge")]
    judge_prompt: Option<PathBuf>,
    /// Write each decision to a file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    decisions: Option<PathBuf>,
    /// Write a report with curves over the threshold, as Markdown (.md) or HTML (.html)
    #[arg(long, value_name = "FILE", conflicts_with = "groups")]
    report: Option<PathBuf>,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    if let Some(path) = &args.report
        && !is_html(path)
        && !has_extension(path, &["md", "markdown"])
    {
        return Err(usage("--report takes a file that ends with .md or .html"));
    }
    let text = bench::read(&args.file)?;
    let bench = Bench::open(context).await?;
    if let Some(shortcoming) = bench.shortcoming() {
        context.out.warn(shortcoming);
    }
    if args.groups {
        of_groups(args, context, &bench, &text).await
    } else {
        of_pairs(args, context, &bench, &text).await
    }
}

async fn of_pairs(
    args: &Args,
    context: &Context,
    bench: &Bench,
    text: &str,
) -> anyhow::Result<Exit> {
    let pairs = input::pairs(text).map_err(|e| usage(format!("{}: {e}", args.file.display())))?;
    let cases = bench.embed(Cases::of_pairs(&pairs))?;
    let decisions = pairs::decisions(&pairs, &cases, &bench.decide(&cases).await?);
    if let Some(path) = &args.decisions {
        bench::write(path, &lines(&decisions)?)?;
    }
    let rows = pairs::table(&pairs, &decisions);
    let points = match (&args.report, args.json, &bench.llm) {
        (None, false, _) => Vec::new(),
        // Asked once only.
        (_, _, Some(_)) => curve(&pairs, &decisions, &grid(bench.reach())),
        (_, _, None) => {
            let wide = bench.decide_wide(&cases).await?;
            let wide = pairs::decisions(&pairs, &cases, &wide);
            curve(&pairs, &wide, &grid(bench.reach()))
        }
    };
    let facts = facts(args, context, bench, &format!("{} pairs", pairs.len()));
    if let Some(path) = &args.report {
        let report = Report {
            facts: &facts,
            rows: &rows,
            curve: &points,
            threshold: bench.options.threshold.value,
        };
        let text = if is_html(path) {
            report.html()
        } else {
            report.markdown()
        };
        bench::write(path, &text)?;
    }
    if args.json {
        context
            .out
            .json(&document(bench, pairs.len(), &rows, &points))?;
    } else {
        context.out.data(&shown(context, &facts, &rows))?;
    }
    Ok(Exit::Done)
}

async fn of_groups(
    args: &Args,
    context: &Context,
    bench: &Bench,
    text: &str,
) -> anyhow::Result<Exit> {
    let cases = input::groups(text).map_err(|e| usage(format!("{}: {e}", args.file.display())))?;
    let memories = bench.embed(Cases::of_groups(&cases))?;
    let mut decisions = groups::decisions(&cases, &memories, &bench.decide(&memories).await?);
    let opinion = match args.llm_judge {
        true => Some(opinion(args, context, bench, &cases, &mut decisions).await?),
        false => None,
    };
    if let Some(path) = &args.decisions {
        bench::write(path, &lines(&decisions)?)?;
    }
    let scores = groups::score(&cases, &decisions);
    if args.json {
        context.out.json(&json!({
            "version": json::VERSION,
            "threshold": bench.options.threshold,
            "model": bench.embedder.as_ref().map(|model| model.model()),
            "scores": scores,
            "brevity": scores.brevity(),
            "density": scores.density(),
            "llm_judge": opinion,
        }))?;
    } else {
        let facts = facts(args, context, bench, &format!("{} groups", cases.len()));
        let mut text = shown_scores(context, &facts, &scores);
        if let Some(opinion) = &opinion {
            text += &format!("\n{}", shown_opinion(context, opinion));
        }
        context.out.data(&text)?;
    }
    Ok(Exit::Done)
}

/// What the LLM thinks of the results.
async fn opinion(
    args: &Args,
    context: &Context,
    bench: &Bench,
    cases: &[input::GroupCase],
    decisions: &mut [groups::GroupDecision],
) -> anyhow::Result<Opinion> {
    let Some(llm) = open::grader(&context.settings)? else {
        return Err(usage(
            "--llm-judge needs a server: set --llm-url and --llm-model",
        ));
    };
    let prompt = GradePrompt::load(args.judge_prompt.as_deref())?;
    let at_once = context.settings.llm_concurrency;
    let step = || bench.step();
    bench.phase(
        "grading",
        decisions.iter().map(|decision| decision.merged.len()).sum(),
    );
    let opinion = llm_judge::grade(&llm, &prompt, cases, decisions, at_once, step).await;
    bench.clear();
    Ok(opinion)
}

fn shown_opinion(context: &Context, opinion: &Opinion) -> String {
    let mut text = format!(
        "graded by {} ({}), 1 to 5: {} results\n",
        escape(&opinion.model),
        opinion.prompt,
        opinion.graded
    );
    if let Some(means) = opinion.means {
        let row = |name: &str, mean: f64| vec![name.to_owned(), format!("{mean:.2}")];
        let rows = vec![
            row("accuracy", means.accuracy),
            row("brevity", means.brevity),
            row("completeness", means.completeness),
            row("density", means.density),
        ];
        text += &table(&["", ""], rows, context.out.style);
    }
    for (error, count) in &opinion.failed {
        text += &format!("{count} not graded: {}\n", escape(error));
    }
    text
}

/// What was measured, and how.
fn facts(args: &Args, context: &Context, bench: &Bench, what: &str) -> Vec<(String, String)> {
    let threshold = &bench.options.threshold;
    let model = bench
        .embedder
        .as_ref()
        .map_or("none", |model| model.model());
    let llm = match (&bench.llm, &context.settings.llm_model) {
        (Some(_), Some(model)) => model,
        _ => "none",
    };
    let fact = |name: &str, value: String| (name.to_owned(), value);
    vec![
        fact("cases", format!("{what} of {}", args.file.display())),
        fact(
            "threshold",
            format!("{} ({})", threshold.value, threshold.origin),
        ),
        fact("embedding model", model.to_owned()),
        fact("LLM", llm.to_owned()),
    ]
}

fn document(bench: &Bench, pairs: usize, rows: &[Row], points: &[Point]) -> Value {
    json!({
        "version": json::VERSION,
        "pairs": pairs,
        "threshold": bench.options.threshold,
        "model": bench.embedder.as_ref().map(|model| model.model()),
        "rows": rows,
        "curve": points,
    })
}

fn heading(facts: &[(String, String)]) -> String {
    let shown = facts
        .iter()
        .map(|(name, value)| format!("{name}: {}", escape(value)));
    shown.collect::<Vec<_>>().join("; ") + "\n"
}

fn shown(context: &Context, facts: &[(String, String)], rows: &[Row]) -> String {
    let cells = rows.iter().map(|row| {
        let by = if row.by == "all" { "" } else { row.by };
        let mut cells = vec![by.to_owned()];
        cells.extend(report::cells(row).map(|cell| escape(&cell)));
        cells
    });
    let mut header = vec![""];
    header.extend(report::HEADER);
    heading(facts) + "\n" + &table(&header, cells.collect(), context.out.style)
}

fn shown_scores(context: &Context, facts: &[(String, String)], scores: &Scores) -> String {
    let [before, after] = scores.memories;
    let [sparse, dense] = scores.density();
    let line =
        |name: &str, value: String, meaning: &str| vec![name.to_owned(), value, meaning.to_owned()];
    let rows = vec![
        line(
            "accuracy",
            report::shown(scores.accuracy),
            "results without mixed members or false words",
        ),
        line(
            "brevity",
            format!("{:.1} % shorter", 100.0 * scores.brevity()),
            "characters saved",
        ),
        line(
            "completeness",
            report::shown(scores.completeness),
            "facts still there",
        ),
        line(
            "density",
            format!("{sparse:.2} → {dense:.2}"),
            "facts per 100 characters",
        ),
        line(
            "formed",
            report::shown(scores.formed),
            "sets that belong together, made one",
        ),
        line("memories", format!("{before} → {after}"), ""),
    ];
    let mut text = heading(facts) + "\n" + &table(&["", "", ""], rows, context.out.style);
    for fault in &scores.faults {
        let what = match fault.what {
            FaultKind::Mixed => "mixes members that belong apart",
            FaultKind::Forbidden => "says what it must not",
            FaultKind::Lost => "loses a fact",
        };
        text += &format!("{}: {what}: {}\n", escape(&fault.id), escape(&fault.detail));
    }
    text
}

fn lines(decisions: &[impl Serialize]) -> serde_json::Result<String> {
    let lines: Result<Vec<String>, _> = decisions.iter().map(serde_json::to_string).collect();
    Ok(lines?.join("\n") + "\n")
}

fn is_html(path: &Path) -> bool {
    has_extension(path, &["html", "htm"])
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    known.iter().any(|k| extension.eq_ignore_ascii_case(k))
}
