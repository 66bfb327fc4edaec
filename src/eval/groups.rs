//! Decisions about groups of memories, and how good the results are: right, whole, shorter, denser.

use std::collections::BTreeSet;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use super::input::{GroupCase, Member};
use super::rate::Rate;
use super::run::{Cases, Decided};
use crate::merge::replaced;
use crate::summarize::llm::Grades;

/// What `merge` would do with a group if it were all there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupDecision {
    /// The group.
    pub id: String,
    /// The members by the memory they end in, in their order.
    pub partition: Vec<Vec<String>>,
    /// The memories that stand for several members.
    pub merged: Vec<Merged>,
    /// Members that were left as they are though something is near them, or that take no part.
    pub skipped: Vec<Skipped>,
}

/// One memory in place of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Merged {
    /// The members it stands for.
    pub ids: Vec<String>,
    /// Its text.
    pub text: String,
    /// Older values that it does not say any more, oldest first.
    pub history: Vec<String>,
    /// What an LLM thinks of it, if one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grades: Option<Grades>,
}

/// A member that was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The member.
    pub id: String,
    /// The reason code.
    pub reason: String,
}

/// Reads the decisions about `groups`, in their order, out of what the pipeline decided.
pub fn decisions(groups: &[GroupCase], cases: &Cases, decided: &Decided) -> Vec<GroupDecision> {
    let mut starts = Vec::with_capacity(groups.len());
    let mut next = 0;
    for group in groups {
        starts.push(next);
        next += group.members.len();
    }
    // The group and the id of the member behind a key.
    let member = |key: &str| {
        let (case, row) = cases.place(key)?;
        Some((case, groups[case].members[row - starts[case]].id.clone()))
    };
    let mut decisions: Vec<GroupDecision> = groups
        .iter()
        .map(|group| GroupDecision {
            id: group.id.clone(),
            partition: Vec::new(),
            merged: Vec::new(),
            skipped: Vec::new(),
        })
        .collect();
    for merge in &decided.plan.merges {
        let members: Vec<(usize, String)> = merge
            .sources
            .iter()
            .filter_map(|s| member(&s.key))
            .collect();
        if let Some((case, _)) = members.first() {
            decisions[*case].merged.push(Merged {
                ids: members.iter().map(|(_, id)| id.clone()).collect(),
                text: merge.text.clone(),
                history: replaced(merge).into_iter().map(str::to_owned).collect(),
                grades: None,
            });
        }
    }
    let alone = decided
        .plan
        .left_alone
        .iter()
        .map(|left| (&left.key, left.reason));
    let left = decided.plan.groups_left.iter();
    let grouped = left.flat_map(|g| g.members.iter().map(|m| (&m.key, g.reason)));
    for (key, reason) in alone.chain(grouped) {
        if let Some((case, id)) = member(key) {
            let decision = &mut decisions[case];
            // Who ends in a result was not left alone, whatever that result was kept apart from.
            let merged = decision.merged.iter().any(|m| m.ids.contains(&id));
            if !merged && decision.skipped.iter().all(|s| s.id != id) {
                let reason = reason.to_string();
                decision.skipped.push(Skipped { id, reason });
            }
        }
    }
    for (group, decision) in groups.iter().zip(&mut decisions) {
        decision.partition = partition(group, &decision.merged);
    }
    decisions
}

fn partition(group: &GroupCase, merged: &[Merged]) -> Vec<Vec<String>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut blocks = Vec::new();
    for Member { id, .. } in &group.members {
        if seen.contains(id.as_str()) {
            continue;
        }
        match merged.iter().find(|m| m.ids.contains(id)) {
            Some(merged) => {
                seen.extend(merged.ids.iter().map(String::as_str));
                blocks.push(merged.ids.clone());
            }
            None => blocks.push(vec![id.clone()]),
        }
    }
    blocks
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The group.
    pub id: String,
    /// What is wrong.
    pub what: FaultKind,
    /// The ids or the string that it is about.
    pub detail: String,
}

/// What can be wrong with the results of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Members that belong apart ended in one result.
    Mixed,
    /// A string that must not be there stands in a result.
    Forbidden,
    /// A fact of a member stands neither in its result nor in the history of that.
    Lost,
}

/// How good the results of all groups are.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Scores {
    /// Groups.
    pub groups: usize,
    /// Accuracy: of the results, those that mix nothing and say nothing forbidden.
    pub accuracy: Rate,
    /// Completeness: of the facts of all members, those that can be found after the merge.
    pub completeness: Rate,
    /// Of the blocks of several members that belong together, those that ended in one result.
    pub formed: Rate,
    /// Characters of the live memories before and after, in all groups.
    pub characters: [usize; 2],
    /// Memories before and after.
    pub memories: [usize; 2],
    /// What is wrong, by group.
    pub faults: Vec<Fault>,
    /// Facts in the live memories, each counted once a group, before and after.
    facts: [usize; 2],
}

impl Scores {
    /// Brevity: the share of characters that the merges saved, 0 … 1.
    pub fn brevity(&self) -> f64 {
        let [before, after] = self.characters;
        1.0 - after as f64 / before.max(1) as f64
    }

    /// Density: facts per 100 characters of live text, before and after.
    pub fn density(&self) -> [f64; 2] {
        [0, 1].map(|i| 100.0 * self.facts[i] as f64 / self.characters[i].max(1) as f64)
    }

    fn add(&mut self, group: &GroupCase, decision: &GroupDecision) {
        self.groups += 1;
        let mut fault = |what, detail: String| {
            let id = group.id.clone();
            self.faults.push(Fault { id, what, detail });
        };
        for merged in &decision.merged {
            let mixed = !belong_together(group, &merged.ids);
            if mixed {
                fault(FaultKind::Mixed, merged.ids.join(", "));
            }
            let text = comparable(&merged.text);
            let holds = |s: &&String| text.contains(&comparable(s));
            let forbidden: Vec<&String> = group.forbidden.iter().filter(holds).collect();
            forbidden
                .iter()
                .for_each(|s| fault(FaultKind::Forbidden, (*s).clone()));
            self.accuracy.add(!mixed && forbidden.is_empty());
        }
        for fact in &group.facts {
            let wanted = comparable(fact);
            let said = group
                .members
                .iter()
                .filter(|m| comparable(&m.content).contains(&wanted));
            let lost = said.clone().any(|m| !is_kept(decision, m, &wanted));
            self.completeness.add(!lost);
            if lost {
                fault(FaultKind::Lost, fact.clone());
            }
            self.facts[0] += usize::from(said.count() > 0);
            let live = live(group, decision);
            self.facts[1] += usize::from(live.iter().any(|t| comparable(t).contains(&wanted)));
        }
        for (block, action) in group.partition.iter().zip(&group.block_actions) {
            if block.len() > 1 && matches!(action.as_str(), "merge" | "update") {
                let whole = |m: &Merged| block.iter().all(|id| m.ids.contains(id));
                self.formed.add(decision.merged.iter().any(whole));
            }
        }
        let length = |texts: &[&str]| texts.iter().map(|t| t.chars().count()).sum::<usize>();
        let before: Vec<&str> = group.members.iter().map(|m| &*m.content).collect();
        let after = live(group, decision);
        self.characters[0] += length(&before);
        self.characters[1] += length(&after);
        self.memories[0] += before.len();
        self.memories[1] += after.len();
    }
}

/// Scores the decisions by code: by the facts, forbidden strings and blocks that the cases list.
pub fn score(groups: &[GroupCase], decisions: &[GroupDecision]) -> Scores {
    let mut scores = Scores::default();
    for (group, decision) in groups.iter().zip(decisions) {
        scores.add(group, decision);
    }
    scores
}

/// Whether one block of the expected outcome, or of one as good, has all `ids`.
fn belong_together(group: &GroupCase, ids: &[String]) -> bool {
    let outcomes =
        std::iter::once(&group.partition).chain(group.also_ok.iter().map(|o| &o.partition));
    let mut blocks = outcomes.flatten();
    blocks.any(|block| ids.iter().all(|id| block.contains(id)))
}

/// Whether what holds the member's place now, or the history of that, says `fact`.
fn is_kept(decision: &GroupDecision, member: &Member, fact: &str) -> bool {
    let merged = decision.merged.iter().find(|m| m.ids.contains(&member.id));
    merged.is_none_or(|m| {
        let mut texts = std::iter::once(&m.text).chain(&m.history);
        texts.any(|text| comparable(text).contains(fact))
    })
}

/// The texts of the memories that are there after the merges.
fn live<'a>(group: &'a GroupCase, decision: &'a GroupDecision) -> Vec<&'a str> {
    let alone = |m: &&Member| {
        decision
            .merged
            .iter()
            .all(|merged| !merged.ids.contains(&m.id))
    };
    let merged = decision.merged.iter().map(|m| &*m.text);
    merged
        .chain(group.members.iter().filter(alone).map(|m| &*m.content))
        .collect()
}

/// As the cases are compared: composed, in lower case.
fn comparable(text: &str) -> String {
    text.nfc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> GroupCase {
        let member = |id: &str, content: &str| Member {
            id: id.into(),
            content: content.into(),
            created_at: None,
            metadata: serde_json::Map::new(),
        };
        GroupCase {
            id: "g".into(),
            lang: "en".into(),
            kind: "mixed".into(),
            members: vec![
                member("a", "Has a dog"),
                member("b", "Has a dog named Rex"),
                member("c", "Likes tea"),
            ],
            facts: vec!["dog".into(), "rex".into(), "tea".into()],
            forbidden: vec!["cat".into()],
            partition: vec![vec!["a".into(), "b".into()], vec!["c".into()]],
            block_actions: vec!["merge".into(), "keep".into()],
            also_ok: Vec::new(),
        }
    }

    fn merging(ids: &[&str], text: &str) -> GroupDecision {
        let merged = vec![Merged {
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            text: text.to_owned(),
            history: Vec::new(),
            grades: None,
        }];
        GroupDecision {
            id: "g".into(),
            partition: partition(&case(), &merged),
            merged,
            skipped: Vec::new(),
        }
    }

    #[test]
    fn a_good_merge_is_right_whole_and_shorter() {
        let decision = merging(&["a", "b"], "Has a dog named Rex");
        assert_eq!(decision.partition, [vec!["a", "b"], vec!["c"]]);
        let scores = score(&[case()], &[decision]);
        assert_eq!(scores.accuracy, Rate { hits: 1, of: 1 });
        assert_eq!(scores.completeness, Rate { hits: 3, of: 3 });
        assert_eq!(scores.formed, Rate { hits: 1, of: 1 });
        assert_eq!((scores.characters, scores.memories), ([37, 28], [3, 2]));
        assert!((scores.brevity() - 9.0 / 37.0).abs() < 1e-9);
        let [before, after] = scores.density();
        assert!(after > before && scores.faults.is_empty());
    }

    #[test]
    fn what_is_mixed_lost_or_forbidden_is_named() {
        let decision = merging(&["b", "c"], "Has a cat and likes tea");
        let scores = score(&[case()], &[decision]);
        let faults: Vec<(FaultKind, &str)> = scores
            .faults
            .iter()
            .map(|f| (f.what, f.detail.as_str()))
            .collect();
        assert_eq!(
            faults,
            [
                (FaultKind::Mixed, "b, c"),
                (FaultKind::Forbidden, "cat"),
                (FaultKind::Lost, "dog"),
                (FaultKind::Lost, "rex"),
            ]
        );
        assert_eq!(scores.accuracy, Rate { hits: 0, of: 1 });
        assert_eq!(scores.completeness, Rate { hits: 1, of: 3 });
    }

    #[test]
    fn a_fact_in_the_history_is_kept() {
        let mut decision = merging(&["a", "b"], "Has a dog");
        assert_eq!(score(&[case()], &[decision.clone()]).completeness.hits, 2);
        decision.merged[0]
            .history
            .push("Has a dog named REX".into());
        assert_eq!(score(&[case()], &[decision]).completeness.hits, 3);
    }
}
