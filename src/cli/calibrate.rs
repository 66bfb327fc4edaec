use std::path::{Path, PathBuf};

use serde_json::json;

use super::bench::{self, Bench};
use super::exit::{Exit, usage};
use super::render::table;
use super::{Context, json, open};
use crate::embed::Manifest;
use crate::eval::calibration::{evidence, in_manifest};
use crate::eval::curve::{at, largest_within};
use crate::eval::run::Cases;
use crate::eval::{input, pairs, report};

const HELP: &str = "\
The threshold only decides which memories are looked at together; guards and judge decide the rest.
calibrate looks for the largest threshold at which the share of false merges, among the pairs that
are not one fact, is within the budget. It is never larger than the distance of the farthest merge
that the pairs show. The threshold and the rates at it are written into the model's manifest: into
the file that --model names, or, for a built-in model, into a new file NAME.toml here (--out says
where else), to be used with --model. An LLM, if configured, is asked as `merge` would.

Examples:
  memfold calibrate pairs.jsonl --budget 0.01
  memfold calibrate pairs.jsonl --budget 0.01 --at-most 0.2
  memfold history --as-pairs > own.jsonl && memfold calibrate own.jsonl --out models/own.toml";

/// Find the threshold for a budget of false merges
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Labelled pairs, one JSON object a line, as for `memfold eval`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Share of false merges to allow among the pairs that are not one fact
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    budget: f64,
    /// Largest threshold to take, whatever the budget allows: what is near but not provably one fact
    /// goes to an LLM, where one is configured
    #[arg(long, value_name = "DISTANCE", default_value_t = 2.0)]
    at_most: f64,
    /// Manifest to write
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    if !(0.0..=1.0).contains(&args.budget) {
        return Err(usage("--budget is a share, 0 … 1, such as 0.01"));
    }
    if !(0.0..=2.0).contains(&args.at_most) {
        return Err(usage("--at-most is a cosine distance, 0 … 2, such as 0.2"));
    }
    let text = bench::read(&args.file)?;
    let pairs = input::pairs(&text).map_err(|e| usage(format!("{}: {e}", args.file.display())))?;
    let bench = Bench::open(context).await?;
    if bench.embedder.is_none() {
        return Err(usage(
            "a threshold is calibrated for an embedding model: set --onnxruntime and --model-dir",
        ));
    }
    let cases = bench.embed(Cases::of_pairs(&pairs))?;
    let decided = bench.decide_wide(&cases).await?;
    let wide = pairs::decisions(&pairs, &cases, &decided);
    let Some(threshold) = largest_within(&pairs, &wide, args.budget) else {
        let message = format!(
            "no threshold keeps false merges within {}, or no pair is merged at any",
            args.budget
        );
        return Err(super::exit::stop(Exit::Failed, message));
    };
    let threshold = threshold.min(args.at_most);
    let rows = pairs::table(&pairs, &at(&pairs, &wide, threshold));
    let calibration = evidence(args.budget, &rows);
    let (manifest, path) = manifest(args, context)?;
    let written = in_manifest(&manifest, threshold, &calibration);
    Manifest::parse(&written, &path.display().to_string())?;
    bench::write(&path, &written)?;
    if args.json {
        let document = json!({
            "version": json::VERSION,
            "threshold": threshold,
            "budget": args.budget,
            "manifest": path,
            "rows": rows,
        });
        context.out.json(&document)?;
    } else {
        let shown = rows
            .iter()
            .filter(|row| row.by == "all" || row.by == "source");
        let cells = shown.map(|row| report::cells(row).to_vec()).collect();
        context
            .out
            .data(&table(&report::HEADER, cells, context.out.style))?;
        context.out.note(&format!(
            "threshold {threshold} written to {}; use it with --model {0}",
            path.display()
        ));
    }
    Ok(Exit::Done)
}

/// The text of the manifest in use, and where the new one goes.
fn manifest(args: &Args, context: &Context) -> anyhow::Result<(String, PathBuf)> {
    let model = &context.settings.model;
    let (text, path) = if open::is_manifest_path(model) {
        let path = Path::new(model);
        (bench::read(path)?, path.to_owned())
    } else {
        let text = Manifest::text(model)?.to_owned();
        (text, PathBuf::from(format!("./{model}.toml")))
    };
    Ok((text, args.out.clone().unwrap_or(path)))
}
