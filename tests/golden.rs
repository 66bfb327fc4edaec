//! Golden cases: labelled pairs and groups of memories (`tests/golden/*.jsonl`).
//!
//! The hard rule: no pair that is not one fact is ever judged `same`. The bounds on false
//! objections and missed merges are measured figures and may only get better.
//!
//! `MEMFOLD_PAIRS=FILE` prints the same table for another file of pairs.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;

use memfold::judge::{Claim, compatible_parts, judge};
use memfold::memory::Verdict;
use memfold::summarize::SourceText;
use memfold::summarize::extractive::fold;
use memfold::summarize::verify::verify;
use serde::Deserialize;

#[derive(Deserialize)]
struct Pair {
    id: String,
    a: String,
    b: String,
    label: String,
    kind: String,
    lang: String,
    a_created_at: Option<jiff::Timestamp>,
    b_created_at: Option<jiff::Timestamp>,
}

impl Pair {
    fn claims(&self) -> [Claim<'_>; 2] {
        [
            Claim {
                text: &self.a,
                said_at: self.a_created_at,
            },
            Claim {
                text: &self.b,
                said_at: self.b_created_at,
            },
        ]
    }
}

#[derive(Deserialize)]
struct Group {
    id: String,
    members: Vec<Member>,
    partition: Vec<Vec<String>>,
    block_actions: Vec<String>,
}

#[derive(Deserialize)]
struct Member {
    id: String,
    content: String,
    metadata: serde_json::Map<String, serde_json::Value>,
    created_at: Option<jiff::Timestamp>,
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Vec<T> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
        .collect()
}

fn golden<T: for<'de> Deserialize<'de>>(name: &str) -> Vec<T> {
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(name),
    )
}

/// `[same, update, different, unsure]` by label and language, printed as a table.
fn table(pairs: &[Pair]) -> BTreeMap<(String, String), [usize; 4]> {
    let mut table: BTreeMap<(String, String), [usize; 4]> = BTreeMap::new();
    for pair in pairs {
        let [a, b] = pair.claims();
        let judgement = judge(a, b);
        let column = match judgement.verdict {
            Verdict::Same => 0,
            Verdict::Update => 1,
            Verdict::Different => 2,
            Verdict::Unsure => 3,
        };
        for lang in [&pair.lang, "all"] {
            table
                .entry((pair.label.clone(), lang.to_owned()))
                .or_default()[column] += 1;
        }
        if std::env::var_os("MEMFOLD_VERBOSE").is_some() {
            let findings: Vec<String> =
                judgement.findings.iter().map(ToString::to_string).collect();
            println!(
                "{:?}\t{}\t{}\t{} | {} | {}",
                judgement.verdict,
                pair.label,
                pair.kind,
                pair.a,
                pair.b,
                findings.join("; ")
            );
        }
    }
    println!("label      lang   same  update  different  unsure");
    for ((label, lang), [same, update, different, unsure]) in &table {
        println!("{label:<10} {lang:<6} {same:>4} {update:>7} {different:>10} {unsure:>7}");
    }
    table
}

#[test]
fn memcases() {
    let pairs: Vec<Pair> = golden("memcases.jsonl");
    let table = table(&pairs);
    for pair in &pairs {
        let [a, b] = pair.claims();
        let verdict = judge(a, b).verdict;
        assert_eq!(
            verdict,
            judge(b, a).verdict,
            "{}: the order matters",
            pair.id
        );
        if pair.label != "same" {
            assert_ne!(
                verdict,
                Verdict::Same,
                "{}: {} | {}",
                pair.id,
                pair.a,
                pair.b
            );
            assert!(fold(&pair.claims()).is_empty(), "{}", pair.id);
        }
    }
    let of = |label: &str| table[&(label.to_owned(), "all".to_owned())];
    // Measured. Of the 130 pairs of one fact, 93 differ by form only and 37 by their wording. What was overtaken is told from what is another fact without one of
    // these taken for that; guards object to pairs of one fact where one of them denies.
    let [same, updated, objected, _] = of("same");
    assert!(
        same >= 100 && updated <= 1,
        "{same} pairs merged, {updated} taken for updates"
    );
    assert!(
        objected <= 5,
        "guards object to {objected} pairs that are one fact"
    );
    let [_, updated, objected, _] = of("different");
    assert!(updated == 0 && objected >= 142, "{updated} {objected}");
    let [_, updated, objected, _] = of("update");
    assert!(
        updated >= 35 && updated + objected >= 56,
        "{updated} {objected}"
    );
}

/// Pairs of other domains, written after the judge was tuned: what it knows must not be those of
/// `memcases` alone.
#[test]
fn fresh() {
    let pairs: Vec<Pair> = golden("fresh.jsonl");
    let verdict = |pair: &Pair| {
        let [a, b] = pair.claims();
        judge(a, b).verdict
    };
    let mut shares: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for pair in &pairs {
        let (found, right) = (verdict(pair), &pair.label);
        if right == "same" {
            let share = shares.entry(&pair.kind).or_default();
            share[0] += usize::from(found == Verdict::Same);
            share[1] += 1;
        } else {
            assert_ne!(found, Verdict::Same, "{}: {} | {}", pair.id, pair.a, pair.b);
        }
    }
    for (kind, [merged, of]) in shares {
        assert!(merged * 10 >= of * 7, "{kind}: {merged} of {of}");
    }
    let updates: Vec<&Pair> = pairs.iter().filter(|p| p.label == "update").collect();
    let found = updates.iter().filter(|p| verdict(p) == Verdict::Update);
    assert!(found.count() >= 29, "of {} updates", updates.len());
}

#[test]
fn forms() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/forms.txt");
    let said_at = "2024-05-01T12:00:00Z".parse().ok();
    let mut wrong = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [expected, a, b] = fields[..] else {
            assert!(line.is_empty() || line.starts_with('#'), "{line}");
            continue;
        };
        let [a, b] = [a, b].map(|text| Claim { text, said_at });
        for (a, b) in [(a, b), (b, a)] {
            if (judge(a, b).verdict == Verdict::Same) != (expected == "same") {
                wrong.push(line.to_owned());
            }
        }
    }
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn groups() {
    let groups: Vec<Group> = golden("groups.jsonl");
    let (mut absorbed, mut split) = (0, 0);
    for group in &groups {
        let claims: Vec<Claim<'_>> = group
            .members
            .iter()
            .map(|m| Claim {
                text: &m.content,
                said_at: m.created_at,
            })
            .collect();
        let block = |i: usize| {
            group
                .partition
                .iter()
                .position(|block| block.contains(&group.members[i].id))
        };
        let user = |i: usize| group.members[i].metadata.get("user_id");
        if (1..claims.len()).any(|i| user(i) != user(0)) {
            continue; // Memories of two users never meet.
        }
        for part in fold(&claims) {
            for i in &part.absorbed {
                assert_eq!(block(*i), block(part.keep), "{}: {part:?}", group.id);
                let action = block(*i).map(|b| group.block_actions[b].as_str());
                if action != Some("merge") {
                    println!(
                        "{}: {:?} absorbed {:?}",
                        group.id, claims[part.keep].text, claims[*i].text
                    );
                }
                absorbed += 1;
            }
        }
        // A block that is one fact should not be torn apart by a guard.
        let parts = compatible_parts(&claims);
        for (members, action) in group.partition.iter().zip(&group.block_actions) {
            let places: std::collections::BTreeSet<usize> = members
                .iter()
                .filter_map(|id| group.members.iter().position(|m| m.id == *id))
                .filter_map(|i| parts.iter().position(|part| part.contains(&i)))
                .collect();
            split += usize::from(action == "merge" && places.len() > 1);
        }
    }
    println!("absorbed {absorbed}, blocks of one fact split by guards {split}");
    // Measured; most blocks that are split deny something in a part of it.
    assert!(absorbed >= 21 && split <= 6);
}

/// What a lazy summarizer gets through: one source returned as the merged text.
#[test]
fn a_returned_source_is_accepted_only_if_it_says_all() {
    let pairs: Vec<Pair> = golden("memcases.jsonl");
    let (mut accepted, mut merged) = (BTreeMap::new(), BTreeMap::new());
    for pair in &pairs {
        let [a, b] = pair.claims();
        if judge(a, b).verdict == Verdict::Different {
            continue;
        }
        let source = |id: &str, claim: Claim<'_>| SourceText {
            id: id.into(),
            text: claim.text.into(),
            said_at: claim.said_at,
        };
        let sources = [source("m1", a), source("m2", b)];
        let lazy = [a, b]
            .iter()
            .any(|claim| verify(&sources, "semantic", claim.text).is_ok());
        let joined = format!("{}. {}", a.text.trim_end_matches(['.', '。']), b.text);
        let obliging = verify(&sources, "semantic", &joined).is_ok();
        *accepted.entry(pair.label.clone()).or_insert(0) += usize::from(lazy);
        *merged.entry(pair.label.clone()).or_insert(0) += usize::from(obliging);
        if pair.label != "same" && (lazy || obliging) {
            println!(
                "lazy {lazy} obliging {obliging} {} {} | {}",
                pair.kind, pair.a, pair.b
            );
        }
    }
    println!("one source accepted {accepted:?}, concatenation accepted {merged:?}");
    // Measured: for 43 of the 126 pairs of one fact that no guard holds back one of the two says
    // all, word by word; of the others none passes. Two sentences side by side pass only where each
    // says one plain thing of the user.
    assert!(accepted["same"] >= 43 && accepted["different"] == 0 && accepted["update"] == 0);
    assert!(merged["different"] == 0 && merged["update"] == 0);
}

#[test]
fn another_file() {
    if let Some(path) = std::env::var_os("MEMFOLD_PAIRS") {
        let pairs: Vec<Pair> = read(Path::new(&path));
        table(&pairs);
        for pair in &pairs {
            let [a, b] = pair.claims();
            if judge(a, b).verdict == Verdict::Same && pair.label != "same" {
                println!("FALSE {} {}: {} | {}", pair.id, pair.kind, pair.a, pair.b);
            }
        }
    }
}

/// docs/faults.md says which test keeps which fault out: each must be there.
#[test]
fn every_test_that_the_docs_name_exists() {
    fn sources(folder: &Path, found: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    sources(&root.join("src"), &mut code);
    sources(&root.join("tests"), &mut code);
    let docs = std::fs::read_to_string(root.join("docs/faults.md")).unwrap();
    let named: Vec<&str> = docs.split('`').skip(1).step_by(2).collect();
    assert!(named.len() > 80, "{}", named.len());
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !code.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
