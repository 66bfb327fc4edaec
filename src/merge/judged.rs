//! What the judge says of one group: which of its memories one text stands for, which an LLM may
//! make one, and which must stay apart.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::draft::Draft;
use crate::embed::Nli;
use crate::judge::normalize;
use crate::judge::partition::cliques;
use crate::judge::{Claim, Judgement, Reading};
use crate::memory::{Finding, Memory, Verdict};
use crate::summarize::extractive;

/// Members that one text stands for: its row and the rows that it says everything of.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) keep: usize,
    pub(super) absorbed: Vec<usize>,
}

impl Part {
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.keep).chain(self.absorbed.iter().copied())
    }
}

/// What the judge says of a group.
pub(super) struct Judged {
    /// The rows that its lossless parts keep.
    pub(super) kept: Vec<usize>,
    /// Parts that go with no other one.
    pub(super) alone: Vec<Part>,
    /// Parts between which no guard objects, two or more each.
    pub(super) together: Vec<Together>,
    /// What keeps `alone` from the rest of the group, if there is one.
    pub(super) objections: Option<Vec<Finding>>,
}

/// Parts that an LLM may make one.
pub(super) struct Together {
    pub(super) parts: Vec<Part>,
    pub(super) findings: Vec<Finding>,
}

impl Draft {
    /// What the judge says of a group. The guard by a model has a say about what else would be merged, or put to an
    /// LLM if one is asked.
    pub(super) fn judge(&self, rows: &[usize], guard: Option<&Nli>, asks: bool) -> Judged {
        let read = |&row: &usize| (row, Reading::of(claim(&self.snapshot.memories[row])));
        let read = Read(rows.iter().map(read).collect());
        let mut parts = self.parts(rows, &read);
        let mut vetoes = Vetoes::default();
        if let Some(guard) = guard {
            let folded = |part: &Part| {
                part.absorbed
                    .iter()
                    .map(|&row| (part.keep, row))
                    .collect::<Vec<_>>()
            };
            vetoes.ask(
                guard,
                &self.snapshot.memories,
                parts.iter().flat_map(folded).collect(),
            );
            parts = vetoes.without(parts);
        }
        let kept: Vec<usize> = parts.iter().map(|p| p.keep).collect();
        let mut pairs = Pairs::of(&read.of(&kept));
        if let Some(guard) = guard {
            if asks {
                vetoes.ask(guard, &self.snapshot.memories, pairs.open(&kept));
            }
            pairs.object(&kept, &vetoes);
        }
        let compatible = cliques(&self.claims(&kept), |i, j| {
            pairs.get(i, j).verdict.may_be_one()
        });
        let (alone, together): (Vec<_>, Vec<_>) = compatible
            .into_iter()
            .partition(|members| members.len() == 1);
        let part = |&i: &usize| parts[i].clone();
        let objects = parts.len() > 1 && !alone.is_empty();
        Judged {
            alone: alone.iter().flatten().map(part).collect(),
            together: together
                .iter()
                .map(|members| Together {
                    parts: members.iter().map(part).collect(),
                    findings: pairs.findings(members),
                })
                .collect(),
            objections: objects.then(|| pairs.findings(&(0..kept.len()).collect::<Vec<_>>())),
            kept,
        }
    }

    /// The lossless parts of a group, in the order of the kept rows; what is in none of them is
    /// a part of its own.
    fn parts(&self, rows: &[usize], read: &Read) -> Vec<Part> {
        let folded = |rows: &[usize]| {
            let parts = extractive::fold_readings(&self.claims(rows), &read.of(rows));
            let whole = |p: extractive::Part| Part {
                keep: rows[p.keep],
                absorbed: p.absorbed.into_iter().map(|i| rows[i]).collect(),
            };
            parts.into_iter().map(whole).collect::<Vec<_>>()
        };
        let mut parts: Vec<Part> = self
            .occasions(rows)
            .iter()
            .flat_map(|rows| folded(rows))
            .collect();
        let placed: HashSet<usize> = parts.iter().flat_map(Part::rows).collect();
        let alone = rows.iter().filter(|row| !placed.contains(row));
        parts.extend(alone.map(|&keep| Part {
            keep,
            absorbed: Vec::new(),
        }));
        parts.sort_by_key(|part| part.keep);
        parts
    }

    /// Rows that may be about one occasion. What happened is told with its day: equal words of
    /// other days tell of something else, and so may those of an unknown day.
    fn occasions(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        let memories = &self.snapshot.memories;
        let episodic = |row: usize| memories[row].partition.memory_type == EPISODIC;
        if !rows.iter().any(|&row| episodic(row)) {
            return vec![rows.to_vec()];
        }
        let mut days: BTreeMap<Date, Vec<usize>> = BTreeMap::new();
        for &row in rows {
            if let Some(at) = memories[row].said_at {
                let day = TimeZone::UTC.to_datetime(at).date();
                days.entry(day).or_default().push(row);
            }
        }
        days.into_values().collect()
    }

    fn claims(&self, rows: &[usize]) -> Vec<Claim<'_>> {
        rows.iter()
            .map(|&row| claim(&self.snapshot.memories[row]))
            .collect()
    }
}

/// The memory type of things that happened, as agents name it.
pub(super) const EPISODIC: &str = "episodic";

/// Claims of a group, each read once.
struct Read(HashMap<usize, Reading>);

impl Read {
    fn of(&self, rows: &[usize]) -> Vec<&Reading> {
        rows.iter().filter_map(|row| self.0.get(row)).collect()
    }
}

pub(super) fn claim(memory: &Memory) -> Claim<'_> {
    Claim {
        text: &memory.text,
        said_at: memory.said_at,
    }
}

/// The judgements of all pairs of a group, each made once.
struct Pairs(Vec<Vec<Judgement>>);

impl Pairs {
    fn of(readings: &[&Reading]) -> Self {
        let with_earlier =
            |(i, a): (usize, &&Reading)| readings[..i].iter().map(|b| b.judge(a)).collect();
        Self(readings.iter().enumerate().map(with_earlier).collect())
    }

    /// The judgement of two different members, the earlier one on its left.
    fn get(&self, i: usize, j: usize) -> &Judgement {
        &self.0[i.max(j)][i.min(j)]
    }

    /// The pairs of `kept` that may go together, by row.
    fn open(&self, kept: &[usize]) -> Vec<(usize, usize)> {
        let pairs = (0..kept.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs
            .filter(|&(i, j)| self.get(i, j).verdict.may_be_one())
            .map(|(i, j)| (kept[j], kept[i]))
            .collect()
    }

    /// Keeps apart what there is a veto against.
    fn object(&mut self, kept: &[usize], vetoes: &Vetoes) {
        for i in 0..kept.len() {
            for j in 0..i {
                if let Some(finding) = vetoes.between(kept[i], kept[j]) {
                    self.0[i][j].verdict = Verdict::Different;
                    self.0[i][j].findings.push(finding.clone());
                }
            }
        }
    }

    /// What the guards see between any two of `members`, each once.
    fn findings(&self, members: &[usize]) -> Vec<Finding> {
        const SHOWN: usize = 12;
        let mut found: Vec<Finding> = Vec::new();
        for (at, &i) in members.iter().enumerate() {
            for &j in &members[at + 1..] {
                for finding in &self.get(i, j).findings {
                    if found.len() < SHOWN && !found.contains(finding) {
                        found.push(finding.clone());
                    }
                }
            }
        }
        found
    }
}

/// What the guard by a model objects to, by rows.
#[derive(Default)]
struct Vetoes(HashMap<(usize, usize), Finding>);

impl Vetoes {
    /// Asks about the pairs that it was not asked about before. Equal texts need no asking. Where it cannot be asked, it
    /// objects.
    fn ask(&mut self, guard: &Nli, memories: &[Memory], mut pairs: Vec<(usize, usize)>) {
        let equal =
            |a: usize, b: usize| normalize(&memories[a].text) == normalize(&memories[b].text);
        pairs.retain(|&(a, b)| self.between(a, b).is_none() && !equal(a, b));
        if pairs.is_empty() {
            return;
        }
        let text = |row: usize| memories[row].text.as_str();
        // A model may answer a little differently in another batch: the order of keys must not decide which.
        for (a, b) in &mut pairs {
            if text(*b) < text(*a) {
                std::mem::swap(a, b);
            }
        }
        pairs.sort_by_key(|&(a, b)| (text(a), text(b)));
        let texts: Vec<(&str, &str)> = pairs.iter().map(|&(a, b)| (text(a), text(b))).collect();
        let objections: Vec<Option<String>> = match guard.objections(&texts) {
            Ok(found) => found
                .into_iter()
                .map(|found| Some(found?.to_string()))
                .collect(),
            Err(error) => {
                tracing::warn!(%error, "the NLI model could not be asked; what it should have read stays apart");
                vec![Some(error.to_string()); pairs.len()]
            }
        };
        for (pair, objection) in pairs.into_iter().zip(objections) {
            let Some(objection) = objection else { continue };
            let words = vec![format!("{}: {objection}", guard.name())];
            let finding = Finding {
                guard: Finding::BY_MODEL.to_owned(),
                left: words.clone(),
                right: words,
            };
            self.0.insert(pair, finding);
        }
    }

    fn between(&self, a: usize, b: usize) -> Option<&Finding> {
        self.0.get(&(a, b)).or_else(|| self.0.get(&(b, a)))
    }

    /// The parts, without the members that may not be absorbed: each is a part of its own.
    fn without(&self, parts: Vec<Part>) -> Vec<Part> {
        let mut left = Vec::with_capacity(parts.len());
        for Part { keep, absorbed } in parts {
            let (vetoed, absorbed): (Vec<usize>, Vec<usize>) = absorbed
                .into_iter()
                .partition(|row| self.between(keep, *row).is_some());
            left.push(Part { keep, absorbed });
            left.extend(vetoed.into_iter().map(|keep| Part {
                keep,
                absorbed: Vec::new(),
            }));
        }
        left.sort_by_key(|part| part.keep);
        left
    }
}
