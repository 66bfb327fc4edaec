//! Decisions about labelled pairs, and the rates that come of them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::input::{Label, Pair};
use super::rate::Rate;
use super::run::{Cases, Decided};
use crate::judge::{Claim, judge};
use crate::memory::{Finding, Reason, Verdict};

/// What `merge` would do with the two memories of a pair if they were alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairDecision {
    /// The pair.
    pub id: String,
    /// What the two are to each other, by the judge and, where that is unsure, by the LLM.
    pub verdict: Verdict,
    /// Whether they would become one memory.
    pub merged: bool,
    /// Cosine distance of the two; `None` without an embedding model.
    pub distance: Option<f64>,
    /// Why they would not, or what was seen all the same.
    pub reasons: Vec<String>,
    /// The text of the one memory.
    #[serde(skip)]
    pub text: Option<String>,
}

/// Reads the decisions about `pairs`, in their order, out of what the pipeline decided.
pub fn decisions(pairs: &[Pair], cases: &Cases, decided: &Decided) -> Vec<PairDecision> {
    let judged = |(at, pair): (usize, &Pair)| {
        let claim = |text, said_at| Claim { text, said_at };
        let a = claim(&pair.a, pair.a_created_at);
        PairDecision {
            id: pair.id.clone(),
            verdict: judge(a, claim(&pair.b, pair.b_created_at)).verdict,
            merged: false,
            distance: cases.distance(2 * at, 2 * at + 1),
            reasons: Vec::new(),
            text: None,
        }
    };
    let mut decisions: Vec<PairDecision> = pairs.iter().enumerate().map(judged).collect();
    let plan = &decided.plan;
    for left in &plan.left_alone {
        if let Some((case, _)) = cases.place(&left.key) {
            decisions[case]
                .reasons
                .push(reason(left.reason, &left.detail));
        }
    }
    for left in &plan.groups_left {
        if let Some((case, _)) = left.members.first().and_then(|m| cases.place(&m.key)) {
            let decision = &mut decisions[case];
            match left.reason {
                _ if left.findings.iter().any(Finding::is_by_model) => {
                    decision.verdict = Verdict::Different;
                }
                _ if decision.verdict != Verdict::Unsure => {}
                Reason::LlmDeclined => decision.verdict = Verdict::Different,
                Reason::LlmUpdate => decision.verdict = Verdict::Update,
                _ => {}
            }
            decision.reasons.push(reason(left.reason, &left.detail));
            decision
                .reasons
                .extend(left.findings.iter().map(ToString::to_string));
        }
    }
    for merge in &plan.merges {
        if let Some((case, _)) = merge.sources.first().and_then(|s| cases.place(&s.key)) {
            let decision = &mut decisions[case];
            if decision.verdict == Verdict::Unsure {
                decision.verdict = Verdict::Same;
            }
            decision.merged = true;
            decision.text = Some(merge.text.clone());
            decision
                .reasons
                .extend(merge.findings.iter().map(ToString::to_string));
        }
    }
    for decision in decisions
        .iter_mut()
        .filter(|d| !d.merged && d.reasons.is_empty())
    {
        let limit = plan.threshold.value;
        decision.reasons.push(match decision.distance {
            Some(distance) => format!("beyond-threshold: {distance:.3} is more than {limit}"),
            None => "not-grouped: they are not looked at together".to_owned(),
        });
    }
    decisions
}

fn reason(reason: Reason, detail: &str) -> String {
    format!("{reason}: {detail}")
}

/// Whether a merge of this pair is false: its two are not one fact, and it is not the newer value
/// alone that goes on.
pub(super) fn is_false(pair: &Pair, decision: &PairDecision) -> bool {
    let superseded = pair.label == Label::Update
        && decision.verdict == Verdict::Update
        && decision.text.as_ref() == Some(&pair.b);
    decision.merged && pair.label != Label::Same && !superseded
}

/// The rates of a set of pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Of the pairs that are one fact, those merged.
    pub recall: Rate,
    /// Of the pairs that are not, those merged.
    pub false_merges: Rate,
    /// Of the pairs merged, those that are one fact.
    pub precision: Rate,
    /// Of the pairs with a newer value, those where it alone goes on.
    pub superseded: Rate,
}

impl Rates {
    /// Counts a pair that is merged if it is `near` and decided so.
    pub(super) fn add(&mut self, pair: &Pair, decision: &PairDecision, near: bool) {
        let merged = decision.merged && near;
        let is_false = merged && is_false(pair, decision);
        if pair.label == Label::Same {
            self.recall.add(merged);
        } else {
            self.false_merges.add(is_false);
        }
        if merged {
            self.precision.add(!is_false);
        }
        if pair.label == Label::Update {
            self.superseded.add(merged && !is_false);
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What the pairs have in common: `all`, `source`, `lang` or `kind`.
    pub by: &'static str,
    /// Its value.
    pub name: String,
    /// Their rates.
    pub rates: Rates,
}

/// All pairs together, then by source, by language, and by kind within each source.
pub fn table(pairs: &[Pair], decisions: &[PairDecision]) -> Vec<Row> {
    let mut all = Rates::default();
    let mut groups: [BTreeMap<String, Rates>; 3] = Default::default();
    for (pair, decision) in pairs.iter().zip(decisions) {
        all.add(pair, decision, true);
        let kind = match (pair.source.as_str(), pair.kind.as_str()) {
            ("", kind) => kind.to_owned(),
            (source, kind) => format!("{source}/{kind}"),
        };
        for (group, name) in groups.iter_mut().zip([&pair.source, &pair.lang, &kind]) {
            group
                .entry(name.clone())
                .or_default()
                .add(pair, decision, true);
        }
    }
    let mut rows = vec![Row {
        by: "all",
        name: String::new(),
        rates: all,
    }];
    for (by, group) in ["source", "lang", "kind"].into_iter().zip(groups) {
        rows.extend(
            group
                .into_iter()
                .map(|(name, rates)| Row { by, name, rates }),
        );
    }
    rows
}
