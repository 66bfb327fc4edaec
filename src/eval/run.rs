//! Cases through the stations of the pipeline, as memories that nothing else is near to.

use jiff::Timestamp;
use ndarray::{Array2, Axis};

use super::input::{GroupCase, Pair};
use crate::embed::{EmbedError, Embedder};
use crate::layout::says_deleted;
use crate::memory::{Digest, LeftAlone, Memory, Partition, Plan, Reason};
use crate::merge::{MergeError, Stations};
use crate::store::snapshot::Snapshot;

/// The type of a memory that names none.
const MEMORY_TYPE: &str = "semantic";

/// Texts that are embedded in one call.
const CHUNK: usize = 256;

/// The memories of all cases; those of different cases never meet.
#[derive(Clone, Debug, Default)]
pub struct Cases {
    memories: Vec<Memory>,
    /// The case of each memory.
    case: Vec<usize>,
    /// Memories that take no part, with the reason.
    left_alone: Vec<LeftAlone>,
    vectors: Option<Array2<f32>>,
}

impl Cases {
    /// Two memories a pair.
    pub fn of_pairs(pairs: &[Pair]) -> Self {
        let mut cases = Self::default();
        for (at, pair) in pairs.iter().enumerate() {
            let memory_type = pair.memory_type.as_deref();
            cases.add(at, "", memory_type, &pair.a, pair.a_created_at);
            cases.add(at, "", memory_type, &pair.b, pair.b_created_at);
        }
        cases
    }

    /// The members of each group, in order.
    pub fn of_groups(groups: &[GroupCase]) -> Self {
        let mut cases = Self::default();
        for (at, group) in groups.iter().enumerate() {
            for member in &group.members {
                let user = member.metadata_text("user_id").unwrap_or_default();
                let memory_type = member.metadata_text("memory_type");
                cases.add(at, user, memory_type, &member.content, member.created_at);
                if let Some(name) = says_deleted(&member.metadata) {
                    cases.leave(Reason::Deleted, &format!("it says so (`{name}`)"));
                }
            }
        }
        cases
    }

    fn add(
        &mut self,
        case: usize,
        user: &str,
        memory_type: Option<&str>,
        text: &str,
        at: Option<Timestamp>,
    ) {
        // Of fixed width, so that the order of keys is that of the file.
        let key = format!("{:09}", self.memories.len());
        self.case.push(case);
        self.memories.push(Memory {
            digest: Digest(key.clone()),
            key,
            partition: Partition {
                user: user.to_owned(),
                scope: vec![case.to_string()],
                memory_type: memory_type.unwrap_or(MEMORY_TYPE).to_owned(),
            },
            text: text.to_owned(),
            created_at: at,
            said_at: at,
            expires_at_ms: None,
            merge_id: None,
            pinned: false,
            frame: None,
        });
        if is_blank(text) {
            self.leave(Reason::EmptyText, "the text is empty");
        }
    }

    /// Leaves the memory added last alone.
    fn leave(&mut self, reason: Reason, detail: &str) {
        if let Some(memory) = self.memories.last() {
            self.left_alone.push(LeftAlone {
                key: memory.key.clone(),
                reason,
                detail: detail.to_owned(),
            });
        }
    }

    /// Number of texts to embed.
    pub fn texts(&self) -> usize {
        self.memories.len()
    }

    /// Gives each memory the vector that the embedder makes of its text; `step` is called with the
    /// number of texts done. Blocking and CPU-bound.
    ///
    /// # Errors
    /// The embedder's.
    pub fn embed(
        &mut self,
        embedder: &dyn Embedder,
        step: impl Fn(usize),
    ) -> Result<(), EmbedError> {
        let mut vectors = Array2::zeros((self.memories.len(), embedder.dims()));
        let filled: Vec<usize> = (0..self.memories.len())
            .filter(|&row| !is_blank(&self.memories[row].text))
            .collect();
        for rows in filled.chunks(CHUNK) {
            let texts: Vec<&str> = rows.iter().map(|&r| &*self.memories[r].text).collect();
            for (&row, embedding) in rows.iter().zip(embedder.embed(&texts)?) {
                let to = vectors.row_mut(row).into_iter();
                to.zip(embedding.vector).for_each(|(to, from)| *to = from);
            }
            step(rows.len());
        }
        self.vectors = Some(vectors);
        Ok(())
    }

    /// Cosine distance of two memories; `None` where one has no vector.
    pub(super) fn distance(&self, i: usize, j: usize) -> Option<f64> {
        let vectors = self.vectors.as_ref()?;
        let has = |row: usize| !is_blank(&self.memories[row].text);
        let (a, b) = (vectors.row(i), vectors.row(j));
        let pairs = a.iter().zip(b.iter());
        let dot: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        (has(i) && has(j)).then(|| (1.0 - dot).clamp(0.0, 2.0))
    }

    /// What the pipeline decides about all cases. Without vectors, all memories of a case count as
    /// near each other.
    ///
    /// # Errors
    /// [`MergeError`] of the embedder.
    pub async fn decide(&self, stations: Stations) -> Result<Decided, MergeError> {
        let takes_part = |row: &usize| {
            let key = &self.memories[*row].key;
            self.left_alone.iter().all(|left| left.key != *key)
        };
        let rows: Vec<usize> = (0..self.memories.len()).filter(takes_part).collect();
        let snapshot = Snapshot {
            memories: rows.iter().map(|&r| self.memories[r].clone()).collect(),
            vectors: match &self.vectors {
                Some(vectors) => vectors.select(Axis(0), &rows),
                None => Array2::ones((rows.len(), 1)),
            },
            left_alone: self.left_alone.clone(),
            ..Snapshot::default()
        };
        let plan = stations.plan("", snapshot).await?;
        Ok(Decided { plan })
    }

    /// The case that a key belongs to, and its place in the list of all memories.
    pub(super) fn place(&self, key: &str) -> Option<(usize, usize)> {
        let row: usize = key.parse().ok()?;
        Some((*self.case.get(row)?, row))
    }
}

/// A plan about the memories of [`Cases`].
#[derive(Clone, Debug)]
pub struct Decided {
    pub(super) plan: Plan,
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
