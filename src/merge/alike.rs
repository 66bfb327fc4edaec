//! Classes of memories that one text stands for, found by their words and not by their vectors.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;

use super::judged::{EPISODIC, claim};
use super::parallel;
use crate::judge::partition::chains;
use crate::judge::words::{self, CarryingWords};
use crate::judge::{Claim, Judgement, Reading, held, normalize, update};
use crate::memory::{Finding, Memory, Verdict};
use crate::summarize::extractive::fold_readings;
use crate::summarize::latest::said_last;

/// What is known of the memories of one partition by their words.
pub(super) struct Alike {
    /// For each row the position of the one that stands for it: rows of equal normalised text, and
    /// rows of which one text provably says all that the others say.
    pub(super) classes: Vec<usize>,
    /// Values of one thing over time.
    pub(super) chains: Vec<Chain>,
    /// Pairs that contradict each other, of which none is known to be the newer one.
    pub(super) undated: Vec<Chain>,
}

/// Values of one thing: positions of rows, oldest first.
pub(super) struct Chain {
    pub(super) rows: Vec<usize>,
    /// The row whose text is the newest value.
    pub(super) newest: usize,
    pub(super) findings: Vec<Finding>,
}

/// Compares memories by their words.
///
/// Two writings of one fact, such as traditional and simplified Chinese or a text and the same with
/// one detail more, may be far from each other in the space of a model, or unreadable to it.
pub(super) fn alike(memories: &[Memory], rows: &[usize], threads: NonZero<usize>) -> Alike {
    let memory = |i: usize| &memories[rows[i]];
    let forms = parallel::map(threads, rows, |&row| {
        normalize::normalize(&memories[row].text)
    });
    let mut classes = twins(&forms);
    let firsts: Vec<usize> = (0..rows.len()).filter(|&i| classes[i] == i).collect();
    let carrying = parallel::shares(threads, &firsts, |share| {
        let mut read = CarryingWords::default();
        share
            .iter()
            .map(|&i| read.words_of(&memory(i).text))
            .collect()
    });
    let proposals = words::propose(&carrying);

    let absorbed = absorbed(&firsts, &proposals.containing, &memory, threads);
    for class in &mut classes {
        *class = *absorbed.get(class).unwrap_or(class);
    }
    let meeting = with_rivals(&firsts, proposals.meeting, &forms, threads);
    let (chains, undated) = values(&classes, &firsts, &meeting, &memory, threads);
    Alike {
        classes,
        chains,
        undated,
    }
}

/// The first rows that another one says all of, each with that one, which is in no other's place itself.
fn absorbed<'a>(
    firsts: &[usize],
    pairs: &[(usize, usize)],
    memory: &(impl Fn(usize) -> &'a Memory + Sync),
    threads: NonZero<usize>,
) -> HashMap<usize, usize> {
    let read = read(pairs, |i| claim(memory(firsts[i])), threads);
    let same = parallel::map(threads, pairs, |(short, long)| {
        read[long].is_same(&read[short])
    });
    let same = pairs
        .iter()
        .zip(same)
        .filter_map(|(pair, same)| same.then_some(*pair));
    let mut absorbed = HashMap::new();
    for component in components(same) {
        let claims: Vec<_> = component
            .iter()
            .map(|&i| claim(memory(firsts[i])))
            .collect();
        let readings: Vec<&Reading> = component.iter().map(|i| &read[i]).collect();
        for part in fold_readings(&claims, &readings) {
            let keep = firsts[component[part.keep]];
            absorbed.extend(part.absorbed.iter().map(|&i| (firsts[component[i]], keep)));
        }
    }
    absorbed
}

/// The pairs, and those that give values of one thing in whatever words (`lives in`, `moved to`).
fn with_rivals(
    firsts: &[usize],
    mut pairs: Vec<(usize, usize)>,
    forms: &[String],
    threads: NonZero<usize>,
) -> Vec<(usize, usize)> {
    let held = parallel::map(threads, firsts, |&i| {
        held::held(&forms[i].to_lowercase()).map(|held| (held.what, held.owner))
    });
    let mut rivals: BTreeMap<&(&str, String), Vec<usize>> = BTreeMap::new();
    for (at, held) in held.iter().enumerate() {
        if let Some(held) = held {
            rivals.entry(held).or_default().push(at);
        }
    }
    for of_one in rivals
        .values()
        .filter(|of_one| of_one.len() <= words::COMMON)
    {
        for (at, &a) in of_one.iter().enumerate() {
            pairs.extend(of_one[at + 1..].iter().map(|&b| (a, b)));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The chains of values among the classes, and the contradictions without an order.
fn values<'a>(
    classes: &[usize],
    firsts: &[usize],
    meeting: &[(usize, usize)],
    memory: &(impl Fn(usize) -> &'a Memory + Sync),
    threads: NonZero<usize>,
) -> (Vec<Chain>, Vec<Chain>) {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, class) in classes.iter().enumerate() {
        members.entry(*class).or_default().push(row);
    }
    // What happened is told with its day: it is not replaced by what happened on another one.
    let lasting = |i: usize| memory(i).partition.memory_type != EPISODIC;
    let involved = involved(meeting);
    let valued = parallel::map(threads, &involved, |&at| {
        let i = firsts[at];
        let text = memory(i).text.to_lowercase();
        lasting(i) && (update::may_be_value(&text) || held::may_be_held(&text))
    });
    let valued: HashMap<usize, bool> = involved.into_iter().zip(valued).collect();
    // Of what one text stands for, that text is looked at.
    let pairs: Vec<(usize, usize)> = meeting
        .iter()
        .filter(|(a, b)| valued[a] || valued[b])
        .map(|&(a, b)| (firsts[a], firsts[b]))
        .filter(|&(a, b)| classes[a] == a && classes[b] == b && lasting(a))
        .collect();
    let value = |keep: usize| {
        let rows = members[&keep].iter().map(|&row| claim(memory(row)));
        said_last(&memory(keep).text, rows).unwrap_or(Claim {
            text: &memory(keep).text,
            said_at: None,
        })
    };
    let read = read(&pairs, value, threads);
    let judged = parallel::map(threads, &pairs, |(a, b)| {
        let (a, b) = (&read[a], &read[b]);
        let found = a.update(b).is_some() || a.contradicts(b);
        found
            .then(|| a.judge(b))
            .filter(|judged| judged.verdict != Verdict::Same)
    });
    let found: HashMap<(usize, usize), Judgement> = pairs
        .iter()
        .zip(judged)
        .filter_map(|(pair, judged)| Some((*pair, judged?)))
        .collect();

    let verdict = |a: usize, b: usize| {
        let judged = found.get(&(a, b)).or_else(|| found.get(&(b, a)));
        judged.map_or(Verdict::Unsure, |judged| judged.verdict)
    };
    let chain = |keeps: Vec<usize>| Chain {
        newest: keeps[keeps.len() - 1],
        findings: findings(&keeps, &found),
        rows: keeps
            .iter()
            .flat_map(|keep| members[keep].clone())
            .collect(),
    };
    let updates = pairs
        .iter()
        .copied()
        .filter(|&(a, b)| verdict(a, b) == Verdict::Update);
    let mut all = Vec::new();
    for component in components(updates) {
        let claims: Vec<Claim<'_>> = component.iter().map(|&keep| value(keep)).collect();
        let found = chains(&claims, |i, j| verdict(component[i], component[j]));
        all.extend(
            found
                .into_iter()
                .map(|c| chain(c.into_iter().map(|i| component[i]).collect())),
        );
    }
    let dateless = |&&(a, b): &&(usize, usize)| {
        let (a, b) = (value(a).said_at, value(b).said_at);
        a.is_none() || b.is_none() || a == b
    };
    let undated = pairs
        .iter()
        .filter(dateless)
        .filter(|pair| found.contains_key(*pair));
    (all, undated.map(|&(a, b)| chain(vec![a, b])).collect())
}

/// What the guards saw between values, each finding once.
fn findings(keeps: &[usize], found: &HashMap<(usize, usize), Judgement>) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for (at, a) in keeps.iter().enumerate() {
        for b in &keeps[at + 1..] {
            let judged = found.get(&(*a, *b)).or_else(|| found.get(&(*b, *a)));
            for finding in judged.iter().flat_map(|judged| &judged.findings) {
                if !all.contains(finding) {
                    all.push(finding.clone());
                }
            }
        }
    }
    all
}

/// The claims that stand in a pair, each read once.
fn read<'a>(
    pairs: &[(usize, usize)],
    claim: impl Fn(usize) -> Claim<'a> + Sync,
    threads: NonZero<usize>,
) -> HashMap<usize, Reading> {
    let involved = involved(pairs);
    let readings = parallel::map(threads, &involved, |&i| Reading::of(claim(i)));
    involved.into_iter().zip(readings).collect()
}

/// Who stands in a pair, ascending, each once.
fn involved(pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut involved: Vec<usize> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    involved.sort_unstable();
    involved.dedup();
    involved
}

/// For each normalised text the position of the first one like it.
fn twins(forms: &[String]) -> Vec<usize> {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(forms.len());
    forms
        .iter()
        .enumerate()
        .map(|(i, form)| *first.entry(form).or_insert(i))
        .collect()
}

/// The connected components of a graph, each ascending, in the order of their first members.
fn components(pairs: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut parent: HashMap<usize, usize> = HashMap::new();
    fn root(parent: &mut HashMap<usize, usize>, i: usize) -> usize {
        let mut at = i;
        while let Some(&up) = parent.get(&at).filter(|&&up| up != at) {
            at = up;
        }
        parent.insert(i, at);
        at
    }
    for (a, b) in pairs {
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        parent.insert(a.max(b), a.min(b));
        parent.insert(a.min(b), a.min(b));
    }
    let mut members: Vec<usize> = parent.keys().copied().collect();
    members.sort_unstable();
    let mut components: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for member in members {
        components
            .entry(root(&mut parent, member))
            .or_default()
            .push(member);
    }
    components.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(text: &str) -> Memory {
        Memory {
            key: text.to_owned(),
            partition: Default::default(),
            text: text.to_owned(),
            created_at: None,
            said_at: None,
            expires_at_ms: None,
            digest: crate::memory::Digest(String::new()),
            merge_id: None,
            pinned: false,
            frame: Default::default(),
        }
    }

    #[test]
    fn one_row_stands_for_what_it_says() {
        let texts = [
            "Has a dog",
            "Likes tea",
            "has a dog.",
            "Has a dog, a beagle named Waffles",
            "用戶喜歡看紀錄片",
            "Has a dog allergy",
            "用户喜欢看纪录片",
        ];
        let memories: Vec<Memory> = texts.iter().map(|text| memory(text)).collect();
        let rows: Vec<usize> = (0..texts.len()).collect();
        let classes = alike(&memories, &rows, NonZero::<usize>::MIN).classes;
        assert_eq!(classes[..4], [3, 1, 3, 3]);
        assert_eq!(classes[4], classes[6]);
        assert_eq!(classes[5], 5);
    }

    /// Of twins any one may be the text that a merge keeps.
    #[test]
    fn a_conflict_is_seen_whichever_twin_is_kept() {
        for (twins, other) in [
            (
                ["喜欢靠窗的座位", "喜欢靠窗的座位。", "喜欢靠窗的座位！"],
                "不喜欢靠窗的座位",
            ),
            (
                [
                    "最喜欢的饮料是可乐",
                    "最喜欢的饮料是可乐。",
                    "最喜歡的飲料是可樂。",
                ],
                "最喜欢的饮料是咖啡",
            ),
            (
                [
                    "Is allergic to nuts",
                    "is allergic to nuts.",
                    "Is allergic to nuts!",
                ],
                "Is not allergic to nuts.",
            ),
            (
                [
                    "Favourite drink is cola",
                    "favourite drink is cola.",
                    "Favourite drink is cola!",
                ],
                "Favourite drink is coffee",
            ),
        ] {
            for kept in twins {
                let memories = [memory(kept), memory(other)];
                let found = alike(&memories, &[0, 1], NonZero::<usize>::MIN).undated;
                assert_eq!(found.len(), 1, "{kept} | {other}");
            }
        }
    }
}
