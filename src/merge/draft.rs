//! From the snapshot to decisions: what is lossless, what an LLM must decide, what stays.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use jiff::Timestamp;
use ndarray::{Array2, ArrayView2, Axis};

use super::alike::{Alike, Chain, alike};
use super::ask::Vectored;
use super::expiry::expiry_buckets;
use super::judged::{Judged, Part, Together};
use super::known::{self, Id, Known};
use super::space::{self, Space};
use super::{Conflicts, MergeError, PLAN_VERSION, Pipeline, Progress, Stage, Stations, parallel};
use crate::group::{self, BYTES_A_PAIR, Compared, Rule, TooManyPairs};
use crate::judge::normalize;
use crate::memory::{
    Author, Digest, Finding, GroupLeft, LeftAlone, Memory, Partition, Plan, PlanSource,
    PlannedMerge, Reason, VectorOrigin,
};
use crate::store::snapshot::{ReadOptions, Snapshot, memory_needed, snapshot_within};
use crate::store::vetoes::{self, Veto, said_digest, vetoes};
use crate::store::{self, StoreError};
use crate::summarize::orders::gives_orders;

/// A group that only an LLM can merge.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) partition: Partition,
    pub(super) parts: Vec<Part>,
    pub(super) findings: Vec<Finding>,
}

/// What the result of a merge says, who wrote that, and its vector.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) author: Author,
    pub(super) vectored: Vectored,
}

/// A plan whose LLM questions are still open.
pub(super) struct Draft {
    pub(super) plan: Plan,
    pub(super) candidates: Vec<Candidate>,
    pub(super) snapshot: Snapshot,
    pub(super) space: Space,
}

/// A draft, and the comparison that it was made from.
pub(super) struct Drafted {
    pub(super) draft: Draft,
    /// What was remembered of the comparison before.
    known: Known,
    /// The memories as they were compared, by row; empty where remembering is not worth it.
    ids: Vec<Id>,
    compared: Compared,
    /// When the groups were known and their judging began.
    grouped_at: Instant,
}

impl Drafted {
    /// What is to be remembered of the comparison: nothing where that is not worth it or remembered
    /// already.
    pub(super) fn to_remember(&self) -> Option<Known> {
        let threshold = self.draft.plan.threshold.value;
        let now_known = || Known::of(threshold, &self.ids, &self.compared);
        let now_known = (!self.ids.is_empty()).then(now_known);
        now_known.filter(|now_known| *now_known != self.known)
    }
}

impl Draft {
    /// Unit vectors of the space in which distances are measured, one row a memory.
    pub(super) fn vectors(&self) -> ArrayView2<'_, f32> {
        self.space
            .embedded
            .as_ref()
            .unwrap_or(&self.snapshot.vectors)
            .view()
    }

    /// The rows as plan sources, sorted by key. Rows that the model cannot read are together
    /// because of their text alone: they count as at distance 0.
    pub(super) fn sources(&self, rows: impl IntoIterator<Item = usize>) -> Vec<PlanSource> {
        let mut rows: Vec<usize> = rows.into_iter().collect();
        rows.sort_unstable();
        let readable = |row: usize| self.space.readable[row];
        let compared: Vec<u32> = rows
            .iter()
            .copied()
            .filter(|&row| readable(row))
            .map(|row| row as u32)
            .collect();
        let mut distances = group::distances(self.vectors(), &compared).into_iter();
        rows.iter()
            .map(|&row| {
                let distance = if readable(row) {
                    distances.next()
                } else {
                    None
                };
                source(&self.snapshot.memories[row], distance.unwrap_or_default())
            })
            .collect()
    }

    /// The merge that keeps the text of `part.keep`; needs no LLM and no embedder.
    pub(super) fn lossless(&self, merge_id: String, part: &Part) -> PlannedMerge {
        let rows: Vec<usize> = part.rows().collect();
        let written = self.kept(part.keep, |kept| Author::Extractive { kept });
        self.merge(merge_id, &rows, written, Vec::new())
    }

    /// The merge that keeps the text of `newest` and makes the other rows its history.
    pub(super) fn latest(
        &self,
        merge_id: String,
        rows: &[usize],
        newest: usize,
        findings: Vec<Finding>,
    ) -> PlannedMerge {
        let written = self.kept(newest, |kept| Author::Latest { kept });
        self.merge(merge_id, rows, written, findings)
    }

    /// The text of a row as it is, with the vector that it has.
    fn kept(&self, row: usize, author: impl FnOnce(String) -> Author) -> Written {
        let kept = &self.snapshot.memories[row];
        Written {
            text: kept.text.clone(),
            author: author(kept.key.clone()),
            vectored: (VectorOrigin::Source, Vec::new()),
        }
    }

    /// The merge of some rows of one partition.
    pub(super) fn merge(
        &self,
        merge_id: String,
        rows: &[usize],
        written: Written,
        findings: Vec<Finding>,
    ) -> PlannedMerge {
        let survivor = self.survivor(rows.iter().copied());
        let (vector_origin, vector) = written.vectored;
        PlannedMerge {
            merge_id,
            partition: survivor.map(|m| m.partition.clone()).unwrap_or_default(),
            result_key: survivor.map(|m| m.key.clone()).unwrap_or_default(),
            sources: self.sources(rows.iter().copied()),
            text: written.text,
            author: written.author,
            vector_origin,
            vector,
            findings,
        }
    }

    /// The memory whose key the result of a merge of `rows` takes: the oldest, since its key is the
    /// one that agents have known for longest. A pinned memory comes first; memories without a date
    /// come last; ties go to the smaller key.
    pub(super) fn survivor(&self, rows: impl Iterator<Item = usize>) -> Option<&Memory> {
        rows.map(|row| &self.snapshot.memories[row])
            .min_by_key(|memory| age(memory))
    }

    /// A group of one partition's rows that stays as it is.
    pub(super) fn left(
        &self,
        rows: impl IntoIterator<Item = usize>,
        reason: Reason,
        detail: impl Into<String>,
        findings: Vec<Finding>,
    ) -> GroupLeft {
        let rows: Vec<usize> = rows.into_iter().collect();
        let first = rows.first().map(|&row| &self.snapshot.memories[row]);
        GroupLeft {
            partition: first.map(|m| m.partition.clone()).unwrap_or_default(),
            members: self.sources(rows),
            reason,
            detail: detail.into(),
            findings,
        }
    }

    /// What the memories at `rows` say, by key.
    fn said(&self, rows: &[usize]) -> BTreeMap<&str, Digest> {
        let memories = rows.iter().map(|&row| &self.snapshot.memories[row]);
        memories
            .map(|m| (m.key.as_str(), said_digest(&m.text)))
            .collect()
    }

    fn rows_by_key(&self) -> HashMap<&str, usize> {
        let memories = self.snapshot.memories.iter().enumerate();
        memories.map(|(row, m)| (m.key.as_str(), row)).collect()
    }
}

/// Orders memories by who keeps its key in a merge.
fn age(memory: &Memory) -> (bool, bool, Option<Timestamp>, String) {
    let undated = memory.created_at.is_none();
    (
        !memory.pinned,
        undated,
        memory.created_at,
        memory.key.clone(),
    )
}

fn source(memory: &Memory, distance: f64) -> PlanSource {
    PlanSource {
        key: memory.key.clone(),
        digest: memory.digest.clone(),
        text: memory.text.clone(),
        created_at: memory.created_at,
        distance,
    }
}

impl Pipeline {
    /// Reads, groups and judges; calls no LLM and writes nothing.
    pub(super) async fn draft(
        &self,
        user: &str,
        progress: &dyn Progress,
    ) -> Result<Draft, MergeError> {
        let snapshot = self.read(user, progress).await?;
        Ok(self.draft_of(snapshot, progress).await?.draft)
    }

    /// Reads the user.
    #[tracing::instrument(level = "debug", name = "read", skip_all)]
    pub(super) async fn read(
        &self,
        user: &str,
        progress: &dyn Progress,
    ) -> Result<Snapshot, MergeError> {
        progress.phase("reading memories", 0);
        let start = Instant::now();
        let (conn, layout) = (&mut self.conn.clone(), self.layout.as_ref());
        let options = ReadOptions {
            max_memory: self.stations.options.max_memory,
            pace: self.stations.options.pace,
            direct: self.direct.as_ref(),
        };
        let snapshot = snapshot_within(conn, &self.index, layout, user, options).await?;
        progress.took(Stage::Reading, start.elapsed());
        Ok(snapshot)
    }

    /// Groups and judges what was read, unless the layout objects to merging now.
    #[tracing::instrument(level = "debug", name = "compare", skip_all, fields(memories = snapshot.memories.len()))]
    pub(super) async fn draft_of(
        &self,
        snapshot: Snapshot,
        progress: &dyn Progress,
    ) -> Result<Drafted, MergeError> {
        progress.phase("comparing", 0);
        let start = Instant::now();
        self.check_concerns().await?;
        let mut known = Known::default();
        if snapshot.memories.len() >= Known::WORTH_IT {
            let partition = self.partition(&snapshot.user);
            let bytes = store::compared(&mut self.conn.clone(), &partition).await?;
            known = Known::from_bytes(&bytes.unwrap_or_default());
        }
        let drafted = self.stations.draft(&self.index.name, snapshot, known);
        let mut drafted = drafted.await?;
        self.drop_vetoed(&mut drafted.draft).await?;
        let grouped_at = drafted.grouped_at;
        progress.took(Stage::Comparing, grouped_at.duration_since(start));
        progress.took(Stage::Judging, grouped_at.elapsed());
        Ok(drafted)
    }

    /// Merges that were undone are not proposed again while their members say the same, nor larger
    /// ones that hold all of them.
    async fn drop_vetoed(&self, draft: &mut Draft) -> Result<(), MergeError> {
        if draft.plan.merges.is_empty() && draft.candidates.is_empty() {
            return Ok(());
        }
        let partition = self.partition(&draft.snapshot.user);
        let vetoes = vetoes(&mut self.conn.clone(), &partition).await?;
        if vetoes.is_empty() {
            return Ok(());
        }
        let mut left = Vec::new();
        let mut is_vetoed = |draft: &Draft, rows: Vec<usize>| {
            let said = draft.said(&rows);
            let vetoed = vetoes.iter().find(|veto| veto.is_within(&said));
            if let Some(veto) = vetoed {
                left.push(draft.left(rows, Reason::Vetoed, why_not(veto), Vec::new()));
            }
            vetoed.is_some()
        };
        let mut merges = std::mem::take(&mut draft.plan.merges);
        let row_of = draft.rows_by_key();
        let rows = |merge: &PlannedMerge| -> Vec<usize> {
            let rows = merge
                .sources
                .iter()
                .filter_map(|s| row_of.get(s.key.as_str()));
            rows.copied().collect()
        };
        merges.retain(|merge| !is_vetoed(draft, rows(merge)));
        let mut candidates = draft.candidates.clone();
        candidates.retain(|c| !is_vetoed(draft, c.parts.iter().flat_map(Part::rows).collect()));
        drop(row_of);
        (draft.plan.merges, draft.candidates) = (merges, candidates);
        draft.plan.groups_left.extend(left);
        Ok(())
    }

    /// Drops the user's vetoes whose members are gone or say something else.
    pub(super) async fn trim_vetoes(&self, snapshot: &Snapshot) -> Result<(), MergeError> {
        let memories = snapshot.memories.iter();
        let said = memories
            .map(|m| (m.key.as_str(), said_digest(&m.text)))
            .collect();
        let set = vetoes::set_of(&self.partition(&snapshot.user));
        let conn = &mut self.conn.clone();
        let window = self.stations.options.undo_window;
        Ok(vetoes::trim_vetoes(conn, &set, window, |veto| veto.is_within(&said)).await?)
    }

    /// Memories of a user with `memories` that the LLM's word may retire in one run.
    pub(super) fn retirement_limit(&self, memories: usize) -> usize {
        let options = &self.stations.options;
        let run = options
            .max_retire
            .unwrap_or_else(|| 20.max(memories * 3 / 10));
        let Some(today) = options.retired_today else {
            return run;
        };
        let day = options
            .max_retire_day
            .unwrap_or_else(|| 50.max(memories / 2));
        run.min(day.saturating_sub(today))
    }

    /// The deletion cap, computed before the first LLM call. Lossless merges don't count.
    pub(super) fn check_retirement(&self, draft: &Draft) -> Result<(), MergeError> {
        let memories = draft.snapshot.memories.len();
        let proposed: usize = draft.candidates.iter().map(Candidate::retires).sum();
        let limit = self.retirement_limit(memories);
        if proposed > limit {
            return Err(MergeError::RetirementCap {
                proposed,
                memories,
                limit,
            });
        }
        Ok(())
    }
}

impl Candidate {
    /// Memories that the LLM's word would retire.
    pub(super) fn retires(&self) -> usize {
        self.parts.len() - 1
    }
}

impl Stations {
    /// Groups and judges the memories of a snapshot, of which some comparisons are `known`.
    pub(super) async fn draft(
        &self,
        index: &str,
        snapshot: Snapshot,
        known: Known,
    ) -> Result<Drafted, MergeError> {
        let draft = self.begun(index, snapshot, self.llm.is_some()).await?;
        // On a thread of its own: comparing thousands of memories takes seconds, in which a task
        // would hold up whatever else this thread has to do, such as renewing leases.
        let this = self.clone();
        let compared = tokio::task::spawn_blocking(move || this.compare(draft, known)).await;
        compared.map_err(|error| MergeError::Internal(error.to_string()))?
    }

    /// A draft in which nothing is decided, for memories of which new texts may be written.
    pub(super) async fn begun(
        &self,
        index: &str,
        snapshot: Snapshot,
        writes_texts: bool,
    ) -> Result<Draft, MergeError> {
        let embedder = self.embedder.clone();
        let space = space::choose(embedder, &self.options, writes_texts, &snapshot).await?;
        Ok(Draft {
            plan: self.empty_plan(index, &snapshot, &space),
            candidates: Vec::new(),
            snapshot,
            space,
        })
    }

    /// Groups and judges.
    fn compare(&self, mut draft: Draft, known: Known) -> Result<Drafted, MergeError> {
        let memories = &draft.snapshot.memories;
        let ids = if memories.len() >= Known::WORTH_IT {
            known::ids(memories, draft.vectors(), self.options.threads)
        } else {
            Vec::new()
        };
        let mut compared = known.among(draft.plan.threshold.value, &ids);
        let (found, conflicts) = self.groups(&mut draft, &mut compared)?;
        let grouped_at = Instant::now();
        let settled = self.settle(&mut draft, conflicts);
        let mut groups = Vec::new();
        for mut rows in found {
            rows.retain(|row| !settled.contains(row));
            let rows = one_pinned(&mut draft, rows);
            groups.extend(self.split_by_expiry(&mut draft, rows));
        }
        // A panic over one group must not keep the user's other groups from being merged.
        let judge = |rows: &Vec<usize>| {
            let guard = self.nli.as_deref();
            let asks = self.llm.is_some();
            catch_unwind(AssertUnwindSafe(|| draft.judge(rows, guard, asks))).ok()
        };
        let judged = parallel::map(self.options.threads, &groups, judge);
        for (rows, judged) in groups.into_iter().zip(judged) {
            match judged {
                Some(judged) => self.decide(&mut draft, judged),
                None => {
                    let detail = "judging it failed; please report this as a bug";
                    let left = draft.left(rows, Reason::InternalError, detail, Vec::new());
                    draft.plan.groups_left.push(left);
                }
            }
        }
        Ok(Drafted {
            draft,
            known,
            ids,
            compared,
            grouped_at,
        })
    }

    pub(super) fn empty_plan(&self, index: &str, snapshot: &Snapshot, space: &Space) -> Plan {
        Plan {
            version: PLAN_VERSION,
            index: index.to_owned(),
            user: snapshot.user.clone(),
            memories: snapshot.memories.len(),
            threshold: self.options.threshold.clone(),
            distance: space.name().to_owned(),
            merges: Vec::new(),
            groups_left: Vec::new(),
            left_alone: snapshot.left_alone.clone(),
        }
    }

    /// Groups of rows, never across partitions. Texts that the model cannot read are grouped by
    /// equality alone; those without an equal are reported.
    ///
    /// Also the conflicts that the words of the memories show. What is known to have been compared
    /// is replaced by what was compared now.
    fn groups(
        &self,
        draft: &mut Draft,
        compared: &mut Compared,
    ) -> Result<(Vec<Vec<usize>>, Conflicting), MergeError> {
        let memories = &draft.snapshot.memories;
        let known = std::mem::take(compared);
        let mut partitions: BTreeMap<&Partition, Vec<usize>> = BTreeMap::new();
        for (row, memory) in memories.iter().enumerate() {
            partitions.entry(&memory.partition).or_default().push(row);
        }
        let mut groups = Vec::new();
        let mut unreadable = Vec::new();
        let mut conflicts = Conflicting::default();
        for rows in partitions.values() {
            let vectors = select(draft.vectors(), rows);
            let Alike {
                classes,
                chains,
                undated,
            } = alike(memories, rows, self.options.threads);
            let of_partition = |chain: Chain| Chain {
                rows: chain.rows.iter().map(|&i| rows[i]).collect(),
                newest: rows[chain.newest],
                ..chain
            };
            conflicts
                .chains
                .extend(chains.into_iter().map(of_partition));
            conflicts
                .undated
                .extend(undated.into_iter().map(of_partition));
            let readable: Vec<bool> = rows.iter().map(|&row| draft.space.readable[row]).collect();
            let (found, of_partition) = group::group_changed(
                vectors
                    .as_ref()
                    .map_or_else(|| draft.vectors(), |v| v.view()),
                &classes,
                &readable,
                &known.within(rows),
                self.rule(draft),
            )
            .map_err(|TooManyPairs(pairs)| self.too_dense(draft, pairs))?;
            compared.add(of_partition, rows);
            let mut grouped = vec![false; rows.len()];
            for members in found {
                members.iter().for_each(|&m| grouped[m as usize] = true);
                groups.push(members.iter().map(|&m| rows[m as usize]).collect());
            }
            let alone = |i: usize| !grouped[i] && !readable[i];
            unreadable.extend((0..rows.len()).filter(|&i| alone(i)).map(|i| rows[i]));
        }
        let model = self.embedder.as_ref().map_or("the model", |e| e.model());
        let detail = format!(
            "{model} does not know most of its tokens, so distances mean nothing: it is merged only \
             with what is equal or says the same in another form"
        );
        draft
            .plan
            .left_alone
            .extend(unreadable.iter().map(|&row| LeftAlone {
                key: memories[row].key.clone(),
                reason: Reason::Unreadable,
                detail: detail.clone(),
            }));
        Ok((groups, conflicts))
    }

    /// How rows are grouped.
    fn rule(&self, draft: &Draft) -> Rule {
        let room = |limit: u64| limit.saturating_sub(memory_taken(draft)) / BYTES_A_PAIR;
        let most_pairs = self.options.max_memory.map(room);
        Rule {
            threshold: draft.plan.threshold.value,
            cap: self.options.max_members,
            threads: self.options.threads,
            most_pairs: most_pairs.map_or(usize::MAX, |most| most as usize),
        }
    }

    /// The refusal of a user whose memories are too many near each other.
    fn too_dense(&self, draft: &Draft, pairs: usize) -> MergeError {
        MergeError::Store(StoreError::TooLarge {
            memories: draft.snapshot.memories.len(),
            pairs: Some(pairs),
            needed: memory_taken(draft) + pairs as u64 * BYTES_A_PAIR,
            limit: self.options.max_memory.unwrap_or(u64::MAX),
        })
    }

    /// Lists the conflicts, or lets the newest values win. Returns the rows that are dealt with.
    fn settle(&self, draft: &mut Draft, conflicts: Conflicting) -> HashSet<usize> {
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

    fn split_by_expiry(&self, draft: &mut Draft, rows: Vec<usize>) -> Vec<Vec<usize>> {
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
    fn decide(&self, draft: &mut Draft, judged: Judged) {
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

/// What planning takes for the memories apart from their pairs.
fn memory_taken(draft: &Draft) -> u64 {
    memory_needed(draft.snapshot.memories.len(), draft.vectors().ncols())
}

/// What a veto says to those who see the group again.
fn why_not(veto: &Veto) -> String {
    let why = match &veto.reason {
        Some(reason) => format!("a person keeps these apart: {reason}"),
        None => "this merge was undone, or forbidden in a review".to_owned(),
    };
    let id = &veto.merge_id;
    format!(
        "{why}; it is proposed again when a member says something else, or after `memfold undo \
         --lift-veto {id}`"
    )
}

/// Contradictions that the words of memories show.
#[derive(Default)]
struct Conflicting {
    chains: Vec<Chain>,
    undated: Vec<Chain>,
}

/// The rows with at most one pinned memory, the oldest: a merge retires all others.
fn one_pinned(draft: &mut Draft, rows: Vec<usize>) -> Vec<usize> {
    let memories = &draft.snapshot.memories;
    let pinned = || rows.iter().copied().filter(|&row| memories[row].pinned);
    let first = pinned().min_by_key(|&row| age(&memories[row]));
    let too_many: Vec<usize> = pinned().filter(|row| Some(*row) != first).collect();
    if too_many.is_empty() {
        return rows;
    }
    let detail = "each of them is pinned, so that none may retire";
    let together = first.into_iter().chain(too_many.iter().copied());
    let left = draft.left(together, Reason::Pinned, detail, Vec::new());
    draft.plan.groups_left.push(left);
    rows.into_iter()
        .filter(|row| !too_many.contains(row))
        .collect()
}

/// The rows of one partition; `None` where they are all rows, so that nothing is copied.
fn select(vectors: ArrayView2<'_, f32>, rows: &[usize]) -> Option<Array2<f32>> {
    (rows.len() < vectors.nrows()).then(|| vectors.select(Axis(0), rows))
}
