//! What becomes of a group: what is lossless is merged, the rest is put to an LLM or left.

use std::collections::HashSet;

use super::alike::Chain;
use super::draft::{Candidate, Draft, age};
use super::expiry::expiry_buckets;
use super::grouping::Conflicting;
use super::judged::{Judged, Part, Together};
use super::{Conflicts, Stations};
use crate::judge::normalize;
use crate::memory::{Finding, PlannedMerge, Reason};
use crate::summarize::orders::gives_orders;

impl Stations {
    /// Lists the conflicts, or lets the newest values win. Returns the rows that are dealt with.
    pub(super) fn settle(&self, draft: &mut Draft, conflicts: Conflicting) -> HashSet<usize> {
        for Chain { rows, findings, .. } in conflicts.undated {
            let detail = "they contradict each other, and which is newer is not known: a date is \
                          missing, or both have the same";
            let left = draft.left(rows, Reason::ConflictUndated, detail, findings);
            draft.plan.groups_left.push(left);
        }
        let mut settled = HashSet::new();
        for Chain {
            rows,
            newest,
            findings,
        } in conflicts.chains
        {
            if self.options.conflicts == Conflicts::Keep {
                let detail = "one is a newer value of what another one says; both stay \
                              (--conflicts latest lets the newest win)";
                let left = draft.left(rows, Reason::Conflict, detail, findings);
                draft.plan.groups_left.push(left);
                continue;
            }
            settled.extend(rows.iter().copied());
            let whole = rows.len();
            let one = one_pinned(draft, rows);
            // Values that cannot all be one memory keep their own.
            if one.len() == whole
                && let [rows] = &self.split_by_expiry(draft, one)[..]
                && rows.len() == whole
            {
                let merge = draft.latest(self.clock.id(), rows, newest, findings);
                draft.plan.merges.push(merge);
            }
        }
        settled
    }

    pub(super) fn split_by_expiry(&self, draft: &mut Draft, rows: Vec<usize>) -> Vec<Vec<usize>> {
        let expiry = |row: usize| draft.snapshot.memories[row].expires_at_ms;
        let now = self.clock.now().as_millisecond();
        let buckets = expiry_buckets(&rows, expiry, self.options.ttl, now);
        if buckets.len() > 1 {
            let detail = "they expire at different times, and a merge must not change how long a \
                          fact lives (--ttl min or max allows it)";
            let left = draft.left(rows, Reason::DifferentExpiry, detail, Vec::new());
            draft.plan.groups_left.push(left);
        }
        buckets
            .into_iter()
            .filter(|bucket| bucket.len() > 1)
            .collect()
    }

    /// Decides one group: lossless parts are merges, the rest is asked or left.
    pub(super) fn decide(&self, draft: &mut Draft, judged: Judged) {
        self.keep_lossless(draft, &judged.alone);
        for Together { parts, findings } in judged.together {
            let parts = self.without_orders(draft, parts);
            if parts.len() < 2 {
                self.keep_lossless(draft, &parts);
                continue;
            }
            if let Some((reason, detail)) = self.obstacle(draft, &parts) {
                self.leave(draft, &parts, reason, detail, findings);
            } else {
                draft.candidates.push(Candidate {
                    partition: draft.snapshot.memories[parts[0].keep].partition.clone(),
                    findings,
                    parts,
                });
            }
        }
        if let Some(findings) = judged.objections {
            let detail = "a merge would blur a difference";
            let left = draft.left(judged.kept, Reason::GuardObjects, detail, findings);
            draft.plan.groups_left.push(left);
        }
    }

    /// The parts that an LLM may be asked about: those that give it orders are left.
    fn without_orders(&self, draft: &mut Draft, parts: Vec<Part>) -> Vec<Part> {
        let keeps: Vec<usize> = parts.iter().map(|part| part.keep).collect();
        let gives = |part: &Part| gives_orders(&draft.snapshot.memories[part.keep].text);
        let (orders, parts): (Vec<Part>, Vec<Part>) = parts
            .into_iter()
            .partition(|part| self.llm.is_some() && gives(part));
        if !orders.is_empty() {
            let detail = "a memory gives orders to whoever reads it, so no LLM is asked about it";
            let left = draft.left(keeps, Reason::GivesOrders, detail, Vec::new());
            draft.plan.groups_left.push(left);
        }
        self.keep_lossless(draft, &orders);
        parts
    }

    /// The group of these parts stays as it is, but for what is lossless in it.
    pub(super) fn leave(
        &self,
        draft: &mut Draft,
        parts: &[Part],
        reason: Reason,
        detail: impl Into<String>,
        findings: Vec<Finding>,
    ) {
        self.keep_lossless(draft, parts);
        let keeps = parts.iter().map(|part| part.keep);
        let left = draft.left(keeps, reason, detail, findings);
        draft.plan.groups_left.push(left);
    }

    fn keep_lossless(&self, draft: &mut Draft, parts: &[Part]) {
        let merges = self.lossless(draft, parts);
        draft.plan.merges.extend(merges);
    }

    /// The merges within the parts, which need no LLM.
    pub(super) fn lossless<'a>(
        &self,
        draft: &Draft,
        parts: impl IntoIterator<Item = &'a Part>,
    ) -> Vec<PlannedMerge> {
        let absorbing = parts.into_iter().filter(|part| !part.absorbed.is_empty());
        absorbing
            .map(|part| draft.lossless(self.clock.id(), part))
            .collect()
    }

    /// Why the parts cannot be put to the LLM, if so.
    fn obstacle(&self, draft: &Draft, parts: &[Part]) -> Option<(Reason, String)> {
        let texts = parts.iter().map(|p| &draft.snapshot.memories[p.keep].text);
        let chars: usize = texts.clone().map(|text| text.chars().count()).sum();
        let mut seen = HashSet::new();
        if !texts
            .clone()
            .all(|text| seen.insert(normalize::normalize(text)))
        {
            // Nothing that an LLM could write would tell them apart.
            let detail = "equal words said on different days may be about different things";
            Some((Reason::GuardObjects, detail.to_owned()))
        } else if self.llm.is_none() {
            let detail = "not provably lossless, and no LLM is configured (--llm-url)";
            Some((Reason::NeedsLlm, detail.to_owned()))
        } else if chars > self.options.max_group_chars {
            let limit = self.options.max_group_chars;
            let detail = format!("{chars} characters, the limit is {limit} (--max-group-chars)");
            Some((Reason::GroupTooLarge, detail))
        } else {
            let detail = draft.space.cannot_write(self.options.write_vector)?;
            Some((Reason::NoEmbedder, detail))
        }
    }
}

/// The rows with at most one pinned memory, the oldest: a merge retires all others.
pub(super) fn one_pinned(draft: &mut Draft, rows: Vec<usize>) -> Vec<usize> {
    let memories = &draft.snapshot.memories;
    let pinned = rows.iter().copied().filter(|&row| memories[row].pinned);
    let first = pinned.min_by_key(|&row| age(&memories[row]));
    let stays = |row: &usize| !memories[*row].pinned || Some(*row) == first;
    let (rows, too_many): (Vec<usize>, Vec<usize>) = rows.into_iter().partition(stays);
    if !too_many.is_empty() {
        let detail = "each of them is pinned, so that none may retire";
        let together = first.into_iter().chain(too_many);
        let left = draft.left(together, Reason::Pinned, detail, Vec::new());
        draft.plan.groups_left.push(left);
    }
    rows
}
