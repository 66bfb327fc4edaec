//! `self-check`: whether this installation works, without any server.

use super::check::{self, Check};
use super::doctor::load_onnx;
use super::exit::Exit;
use super::{Context, command};
use crate::embed::Embedder;
use crate::judge::{Claim, judge};
use crate::memory::Verdict;

/// Check this installation: the binary, its judge, and the embedding model, without any server
///
/// Run it once after installing. `memfold doctor` checks the store. Exit code 1 if a check fails.
///
/// With --json: {"version": 1, "ok": bool, "checks": [{name, status, found, advice}]} with the
/// statuses ok, warn, fail and skipped.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let mut checks = vec![binary(), judging()];
    if context.settings.onnxruntime.is_none() {
        let found = "none configured; `--distance stored` and lossless merges need none";
        checks.push(Check::skipped("embedder", found));
    } else if let Some(model) = load_onnx(&context.settings, &mut checks) {
        checks.push(embedding(model.as_ref()));
    }
    check::report(&checks, args.json, &context.out)
}

fn embedding(model: &dyn Embedder) -> Check {
    match model.embed(&["Prefers window seats on flights"]) {
        Ok(embedded) => {
            let numbers = embedded.first().map_or(0, |one| one.vector.len());
            Check::ok("embedding", format!("a text became {numbers} numbers"))
        }
        Err(error) => Check::failed("embedding", error),
    }
}

fn binary() -> Check {
    let version = command().get_version().unwrap_or_default().to_owned();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    Check::ok("binary", format!("memfold {version}, {os} {arch}"))
}

/// A pair that is one fact and a pair that is two: a build that confuses them must not run.
fn judging() -> Check {
    let said = |text| Claim {
        text,
        said_at: None,
    };
    let seat = said("Prefers window seats on flights");
    let same = judge(seat, said("prefers window seats on flights.")).verdict;
    let rent = said("Rent is due on the 3rd of each month");
    let other = judge(rent, said("Rent is due on the 4th of each month")).verdict;
    if same == Verdict::Same && other != Verdict::Same {
        Check::ok("judge", "tells one fact from two")
    } else {
        let found = format!("calls one fact {same:?} and two facts {other:?}");
        Check::fail("judge", found, "this build is broken: do not use it")
    }
}
