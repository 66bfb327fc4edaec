//! How good merges are, measured: golden pairs and groups through the pipeline, without an LLM and
//! with stubs that play bad ones. The figures stand in tests/golden/quality.json; a figure that gets
//! worse fails, and a better one is to be recorded (scripts/quality --record).
//!
//! Without a model all memories of a case count as near each other: the figures are those of judge
//! and verification alone. "as shipped" is with the model and its threshold.

#![allow(clippy::print_stdout)]

mod injection;
mod stubs;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use memfold::clock::SystemClock;
use memfold::embed::{DEFAULT_MODEL, Embedder, Manifest, Onnx};
use memfold::eval::run::Cases;
use memfold::eval::{groups, input, pairs, rate::Rate};
use memfold::memory::Threshold;
use memfold::merge::{Conflicts, Distance, MergeOptions, RunBy, Stations, TtlRule, WriteVector};
use memfold::summarize::llm::Llm;
use serde::{Deserialize, Serialize};

use crate::support::server::parts;

/// Figures by case set and by who decides.
type Recorded = BTreeMap<String, BTreeMap<String, Figures>>;

/// What came of some cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Figures {
    /// Pairs of one fact, or sets of members that belong together.
    good: usize,
    /// Those of them that were merged.
    merged: usize,
    /// Pairs that are not one fact; all results of groups.
    bad: usize,
    /// Those of them that were merged; results that mix members or say something forbidden.
    wrong: usize,
    /// Facts that were lost.
    lost: usize,
}

/// The stations with nothing but judge and verification, or with a model.
pub(super) fn stations(llm: Option<Arc<Llm>>, embedder: Option<Arc<dyn Embedder>>) -> Stations {
    let threshold = embedder.as_ref().and_then(|model| model.threshold());
    let options = MergeOptions {
        threshold: Threshold {
            value: threshold.unwrap_or(memfold::config::DEFAULT_THRESHOLD),
            origin: "default".to_owned(),
        },
        distance: if embedder.is_some() {
            Distance::Auto
        } else {
            Distance::Stored
        },
        write_vector: WriteVector::Centroid,
        max_members: 100,
        max_group_chars: 20_000,
        ttl: TtlRule::KeepApart,
        max_memory: None,
        pace: memfold::store::snapshot::Pace::Quick,
        threads: NonZero::<usize>::MIN,
        conflicts: Conflicts::Keep,
        max_retire: None,
        max_retire_day: None,
        undo_window: Duration::ZERO,
        ledger_retention: Duration::ZERO,
        lease_ttl: Duration::from_secs(60),
        check_after: false,
        llm_concurrency: 4,
        run_by: RunBy::Hand,
        ask_again: false,
        run_id: "run".to_owned(),
        stop: Arc::new(AtomicBool::new(false)),
    };
    Stations {
        embedder,
        nli: None,
        llm,
        clock: Arc::new(SystemClock),
        options,
    }
}

async fn of_pairs(text: &str, stations: Stations) -> Figures {
    let cases = input::pairs(text).unwrap();
    let mut memories = Cases::of_pairs(&cases);
    if let Some(embedder) = &stations.embedder {
        memories.embed(embedder.as_ref(), |_| ()).unwrap();
    }
    let decided = memories.decide(stations).await.unwrap();
    let decisions = pairs::decisions(&cases, &memories, &decided);
    if std::env::var_os("MEMFOLD_VERBOSE").is_some() {
        for (case, decision) in cases.iter().zip(&decisions) {
            println!(
                "{:?}\t{}\t{}\t{} | {} | {decision:?}",
                case.label, case.source, case.kind, case.a, case.b
            );
        }
    }
    let rates = &pairs::table(&cases, &decisions)[0].rates;
    Figures {
        good: rates.recall.of,
        merged: rates.recall.hits,
        bad: rates.false_merges.of,
        wrong: rates.false_merges.hits,
        lost: 0,
    }
}

async fn of_groups(text: &str, mut stations: Stations) -> Figures {
    stations.options.conflicts = Conflicts::Latest;
    let cases = input::groups(text).unwrap();
    let mut memories = Cases::of_groups(&cases);
    if let Some(embedder) = &stations.embedder {
        memories.embed(embedder.as_ref(), |_| ()).unwrap();
    }
    let decided = memories.decide(stations).await.unwrap();
    let decisions = groups::decisions(&cases, &memories, &decided);
    let scores = groups::score(&cases, &decisions);
    for fault in &scores.faults {
        println!("FAULT {fault:?}");
    }
    Figures {
        good: scores.formed.of,
        merged: scores.formed.hits,
        bad: scores.accuracy.of,
        wrong: scores.accuracy.of - scores.accuracy.hits,
        lost: scores.completeness.of - scores.completeness.hits,
    }
}

async fn of_file(text: &str, stations: Stations) -> Figures {
    if text
        .lines()
        .next()
        .unwrap_or_default()
        .contains("\"members\"")
    {
        of_groups(text, stations).await
    } else {
        of_pairs(text, stations).await
    }
}

/// All who decide, over one file.
async fn measure(text: &str) -> BTreeMap<String, Figures> {
    let mut figures = BTreeMap::new();
    let mut note = |who: &str, found: Figures| figures.insert(who.to_owned(), found);
    note("no LLM", of_file(text, stations(None, None)).await);
    let manifest = Manifest::named(DEFAULT_MODEL).unwrap();
    let library = parts().join("onnxruntime/libonnxruntime.so");
    let model = Onnx::load(&library, manifest, &parts().join("models"), 1).unwrap();
    note(
        "as shipped",
        of_file(text, stations(None, Some(Arc::new(model)))).await,
    );
    let (_server, llm) = stubs::playing(stubs::obliging).await;
    note(
        "obliging LLM",
        of_file(text, stations(Some(llm), None)).await,
    );
    let (_server, llm) = stubs::playing(stubs::lazy).await;
    note("lazy LLM", of_file(text, stations(Some(llm), None)).await);
    let (_server, llm) = stubs::playing(stubs::lazy_but_long).await;
    note(
        "lazy LLM, longest text",
        of_file(text, stations(Some(llm), None)).await,
    );
    figures
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn recorded() -> Recorded {
    let text = std::fs::read_to_string(root().join("tests/golden/quality.json"));
    text.map_or_else(
        |_| Recorded::new(),
        |text| serde_json::from_str(&text).unwrap(),
    )
}

fn show(set: &str, figures: &BTreeMap<String, Figures>) {
    println!("\n{set}");
    println!("{:<24} {:>12} {:>12} {:>5}", "", "merged", "wrong", "lost");
    for (who, f) in figures {
        let of = |hits: usize, of: usize| format!("{hits} of {of}");
        println!(
            "{who:<24} {:>12} {:>12} {:>5}",
            of(f.merged, f.good),
            of(f.wrong, f.bad),
            f.lost
        );
    }
}

#[tokio::test]
async fn no_figure_gets_worse() {
    let mut found = Recorded::new();
    for set in ["memcases", "groups"] {
        let path = root().join("tests/golden").join(format!("{set}.jsonl"));
        let figures = measure(&std::fs::read_to_string(path).unwrap()).await;
        show(set, &figures);
        found.insert(set.to_owned(), figures);
    }
    if std::env::var_os("MEMFOLD_QUALITY_RECORD").is_some() {
        let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
        std::fs::write(root().join("tests/golden/quality.json"), text).unwrap();
    }
    let recorded = recorded();
    for (set, who, now) in found
        .iter()
        .flat_map(|(set, all)| all.iter().map(move |(who, f)| (set, who, f)))
    {
        let then = recorded[set][who];
        let worse = now.merged < then.merged || now.wrong > then.wrong || now.lost > then.lost;
        assert!(!worse, "{set}, {who}: {now:?} is worse than {then:?}");
        assert_eq!(now.lost, 0, "{set}, {who}");
    }
    for who in ["obliging LLM", "lazy LLM", "lazy LLM, longest text"] {
        let figures = found["memcases"][who];
        assert!(100 * figures.wrong <= figures.bad, "{who}: {figures:?}");
    }
}

/// `MEMFOLD_QUALITY_DATA=FOLDER` prints the same tables for other files of pairs or groups.
#[tokio::test]
async fn other_files() {
    let Some(folder) = std::env::var_os("MEMFOLD_QUALITY_DATA") else {
        return;
    };
    let entries = std::fs::read_dir(PathBuf::from(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        show(&path.display().to_string(), &measure(&text).await);
    }
}

const BEGIN: &str = "<!-- quality:begin (scripts/quality --record) -->\n";
const END: &str = "<!-- quality:end -->";

/// The table of the README, from the recorded figures.
fn table(recorded: &Recorded) -> String {
    let mut lines = vec![
        "| | pairs: merged | pairs: false merges | groups formed | results that mix | facts lost |"
            .to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    let (pairs, groups) = (&recorded["memcases"], &recorded["groups"]);
    for (who, p) in pairs {
        let g = groups[who];
        let rate = Rate {
            hits: p.wrong,
            of: p.bad,
        };
        let high = rate.interval().map_or(1.0, |(_, high)| high);
        lines.push(format!(
            "| {who} | {} of {} | {} of {} (at most {:.1} %) | {} of {} | {} of {} | {} |",
            p.merged,
            p.good,
            p.wrong,
            p.bad,
            100.0 * high,
            g.merged,
            g.good,
            g.wrong,
            g.bad,
            p.lost + g.lost,
        ));
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_readme_shows_the_recorded_figures() {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let table = table(&recorded());
    if std::env::var_os("MEMFOLD_QUALITY_RECORD").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(shown, table, "run scripts/quality --record");
    }
}
