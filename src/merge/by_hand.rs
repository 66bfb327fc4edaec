//! A text that a person writes for a group: verified as an LLM's would be, with the difference that
//! the person may know better. Writes nothing.

use super::ask::{Group, Sources};
use super::draft::{Candidate, Written};
use super::judged::Part;
use super::originals::Said;
use super::{MergeError, Pipeline};
use crate::memory::{Author, Finding, Memory, PlanSource, PlannedMerge};
use crate::store::snapshot::Snapshot;
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
        let written = self.written(user, members, findings, text, against);
        match written.await {
            Ok(merge) => Ok(Ok(merge)),
            Err(Stop::NotTaken(why)) => Ok(Err(why)),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    async fn written(
        &self,
        user: &str,
        members: &[PlanSource],
        findings: &[Finding],
        text: &str,
        against: Against,
    ) -> Result<PlannedMerge, Stop> {
        let snapshot = self.read(user, &()).await?;
        let rows = rows_of(&snapshot, members)?;
        let stations = &self.stations;
        let draft = stations.begun(&self.index.name, snapshot, true).await?;
        let memory = |row: &usize| &draft.snapshot.memories[*row];
        let is_new = rows.iter().all(|row| memory(row).text != text);
        if is_new && let Some(why) = draft.space.cannot_write(stations.options.write_vector) {
            return Err(impossible(why).into());
        }
        let mut said = Vec::new();
        for row in &rows {
            said.push(self.said(memory(row)).await?);
        }
        let stored = rows.iter().map(|row| vec![Said::of(memory(row))]);
        let (said, stored) = (Sources::of(said), Sources::of(stored.collect()));
        let part = |&keep: &usize| Part {
            keep,
            absorbed: Vec::new(),
        };
        let candidate = Candidate {
            partition: memory(&rows[0]).partition.clone(),
            parts: rows.iter().map(part).collect(),
            findings: findings.to_vec(),
        };
        let group = Group {
            draft: &draft,
            candidate: &candidate,
            sources: &said,
        };
        let mut objections = objections(group, &stored, text, against)?;
        let all: Vec<usize> = (0..rows.len()).collect();
        let vectored = stations.vectored(group, &all, text).await?;
        let (vectored, far) = vectored.map_err(impossible)?;
        if let Some(far) = far {
            if against == Against::Never {
                return Err(NotTaken::Objected(vec![far]).into());
            }
            objections.noted.push(far);
        }
        let written = Written {
            text: text.to_owned(),
            author: Author::Person {
                overridden: objections.noted,
            },
            vectored,
        };
        Ok(draft.merge(stations.clock.id(), &rows, written, candidate.findings))
    }
}

/// Why there is no merge.
enum Stop {
    NotTaken(NotTaken),
    Failed(MergeError),
}

impl From<NotTaken> for Stop {
    fn from(why: NotTaken) -> Self {
        Self::NotTaken(why)
    }
}

impl From<MergeError> for Stop {
    fn from(error: MergeError) -> Self {
        Self::Failed(error)
    }
}

/// The rows of several members of one partition, if they are what was shown.
fn rows_of(snapshot: &Snapshot, members: &[PlanSource]) -> Result<Vec<usize>, NotTaken> {
    let memories = &snapshot.memories;
    let mut rows = Vec::new();
    for member in members {
        let is_it = |m: &Memory| m.key == member.key && m.digest == member.digest;
        let row = memories.iter().position(is_it);
        let changed = || impossible(format!("{} has changed since it was shown", member.key));
        rows.push(row.ok_or_else(changed)?);
    }
    let Some(&first) = rows.first() else {
        return Err(impossible("there is nothing to merge"));
    };
    let apart = |&row: &usize| memories[row].partition != memories[first].partition;
    if rows.len() < 2 || rows.iter().any(apart) {
        return Err(impossible("these are not several memories of one kind"));
    }
    Ok(rows)
}

/// What the verification objects to in the text: by what the memories stand for, and by what they say
/// now, which is what the commit verifies again.
fn objections(
    group: Group<'_>,
    stored: &Sources,
    text: &str,
    against: Against,
) -> Result<Objections, NotTaken> {
    let memory_type = &group.candidate.partition.memory_type;
    let all: Vec<usize> = (0..group.candidate.parts.len()).collect();
    let mut objections = Objections::default();
    for sources in [group.sources, stored] {
        match verify(&sources.of_parts(&all), memory_type, text) {
            Err(faults) if faults.contains(&Fault::Empty) => {
                return Err(impossible(Fault::Empty.to_string()));
            }
            Err(faults) => objections.add(&faults),
            Ok(()) => {}
        }
        // What is wrong is told by the texts that the person wrote about.
        if against == Against::Never && !objections.told.is_empty() {
            return Err(NotTaken::Objected(objections.told));
        }
    }
    Ok(objections)
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
