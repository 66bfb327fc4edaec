//! A text that a person writes for a group: verified as an LLM's would be, with the difference that
//! the person may know better. Writes nothing.

use super::ask::{Group, Sources};
use super::draft::{Candidate, Draft};
use super::judged::Part;
use super::originals::Said;
use super::space;
use super::{MergeError, Pipeline};
use crate::memory::{Author, Finding, Memory, PlanSource, PlannedMerge, VectorOrigin};
use crate::summarize::verify::{Fault, verify};

/// Whether a text may stand against the verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// It may not: a person who wrote it is told what is wrong.
    Never,
    /// It may: whoever wrote it was told what is wrong, and takes it all the same.
    Anyway,
}

/// Why a text is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// The verification objects; it is taken with [`Against::Anyway`].
    Objected(Vec<String>),
    /// It cannot be taken at all.
    Impossible(String),
}

impl NotTaken {
    /// Whether it would be taken with [`Against::Anyway`].
    pub fn may_be_overridden(&self) -> bool {
        matches!(self, Self::Objected(_))
    }
}

impl std::fmt::Display for NotTaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Objected(faults) => f.write_str(&faults.join("; ")),
            Self::Impossible(why) => f.write_str(why),
        }
    }
}

fn impossible(why: impl Into<String>) -> NotTaken {
    NotTaken::Impossible(why.into())
}

impl Pipeline {
    /// The merge of `members` (memories of `user` as a plan showed them) under `text`, ready for
    /// [`Self::apply`]. `findings` are what the guards said of the group, for the record.
    ///
    /// The inner error says what is wrong with the text, or which member is not what was shown.
    /// What the verification objects to and `against` overrides, stands in the merge.
    ///
    /// # Errors
    /// [`MergeError`] of the store or the embedder; nothing was written.
    pub async fn by_hand(
        &self,
        user: &str,
        members: &[PlanSource],
        findings: &[Finding],
        text: &str,
        against: Against,
    ) -> Result<Result<PlannedMerge, NotTaken>, MergeError> {
        let snapshot = self.read(user, &()).await?;
        let mut rows = Vec::new();
        for member in members {
            let is_it = |m: &Memory| m.key == member.key && m.digest == member.digest;
            match snapshot.memories.iter().position(is_it) {
                Some(row) => rows.push(row),
                None => {
                    let changed = format!("{} has changed since it was shown", member.key);
                    return Ok(Err(impossible(changed)));
                }
            }
        }
        let stations = &self.stations;
        let space = space::choose(
            stations.embedder.clone(),
            &stations.options,
            true,
            &snapshot,
        )
        .await?;
        let draft = Draft {
            plan: stations.empty_plan(&self.index.name, &snapshot, &space),
            candidates: Vec::new(),
            snapshot,
            space,
        };
        let memory = |row: usize| &draft.snapshot.memories[row];
        let Some(partition) = rows.first().map(|&row| memory(row).partition.clone()) else {
            return Ok(Err(impossible("there is nothing to merge")));
        };
        if rows.len() < 2 || rows.iter().any(|&row| memory(row).partition != partition) {
            return Ok(Err(impossible(
                "these are not several memories of one kind",
            )));
        }
        let is_new = rows.iter().all(|&row| memory(row).text != text);
        if is_new && let Some(why) = draft.space.cannot_write(self.stations.options.write_vector) {
            return Ok(Err(impossible(why)));
        }
        let mut said = Vec::new();
        for &row in &rows {
            said.push(self.said(memory(row)).await?);
        }
        let stored = rows.iter().map(|&row| vec![Said::of(memory(row))]);
        let stored = Sources::of(stored.collect());
        let part = |&keep: &usize| Part {
            keep,
            absorbed: Vec::new(),
        };
        let candidate = Candidate {
            partition,
            parts: rows.iter().map(part).collect(),
            findings: findings.to_vec(),
        };
        let group = Group {
            draft: &draft,
            candidate: &candidate,
            sources: &Sources::of(said),
        };
        let all: Vec<usize> = (0..rows.len()).collect();
        let memory_type = &candidate.partition.memory_type;
        // Also against what is stored now, which is what the commit verifies again.
        let mut objections = Objections::default();
        for sources in [group.sources, &stored] {
            match verify(&sources.of_parts(&all), memory_type, text) {
                Err(faults) if faults.contains(&Fault::Empty) => {
                    return Ok(Err(impossible(Fault::Empty.to_string())));
                }
                Err(faults) => objections.add(&faults),
                Ok(()) => {}
            }
            // What is wrong is told by the texts that the person wrote about.
            if against == Against::Never && !objections.told.is_empty() {
                return Ok(Err(NotTaken::Objected(objections.told)));
            }
        }
        let ((vector_origin, vector), far) = match stations.vectored(group, &all, text).await? {
            Ok(found) => found,
            Err(why) => return Ok(Err(impossible(why))),
        };
        if let Some(far) = far {
            if against == Against::Never {
                return Ok(Err(NotTaken::Objected(vec![far])));
            }
            objections.noted.push(far);
        }
        let mut merge = self.written(&draft, candidate.clone(), text, vector_origin, vector);
        merge.author = Author::Person {
            overridden: objections.noted,
        };
        Ok(Ok(merge))
    }

    fn written(
        &self,
        draft: &Draft,
        candidate: Candidate,
        text: &str,
        vector_origin: VectorOrigin,
        vector: Vec<f32>,
    ) -> PlannedMerge {
        let rows = || candidate.parts.iter().map(|part| part.keep);
        PlannedMerge {
            merge_id: self.stations.clock.id(),
            sources: draft.sources(rows()),
            result_key: draft.oldest(rows()),
            partition: candidate.partition.clone(),
            text: text.to_owned(),
            author: Author::Person {
                overridden: Vec::new(),
            },
            vector_origin,
            vector,
            findings: candidate.findings.clone(),
        }
    }
}

/// What the verification objects to: as a person is told, and as the record keeps it.
#[derive(Default)]
struct Objections {
    told: Vec<String>,
    noted: Vec<String>,
}

impl Objections {
    fn add(&mut self, faults: &[Fault]) {
        self.told.extend(faults.iter().map(ToString::to_string));
        for noted in faults.iter().map(Fault::noted) {
            if !self.noted.contains(&noted) {
                self.noted.push(noted);
            }
        }
    }
}
