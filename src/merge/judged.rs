//! What the judge says of one group: which of its memories one text stands for, which an LLM may
//! make one, and which must stay apart.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::draft::Draft;
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
    /// What the judge says of a group.
    pub(super) fn judge(&self, rows: &[usize]) -> Judged {
        let read = |&row: &usize| (row, Reading::of(claim(&self.snapshot.memories[row])));
        let read = Read(rows.iter().map(read).collect());
        let parts = self.parts(rows, &read);
        let kept: Vec<usize> = parts.iter().map(|p| p.keep).collect();
        let pairs = Pairs::of(&read.of(&kept));
        let compatible = cliques(&self.claims(&kept), |i, j| {
            matches!(pairs.get(i, j).verdict, Verdict::Same | Verdict::Unsure)
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
