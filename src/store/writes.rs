//! What a commit writes, key by key.

use super::ledger::Pinned;
use super::{Commit, CommitError};
use crate::record::Record;

/// A record to be written, and what must find it.
pub(super) struct Write<'a> {
    /// Position of its key among those of the merge, from 1.
    pub(super) at: usize,
    pub(super) key: &'a str,
    record: &'a Record,
    /// Its absolute expiry in ms since the epoch; `None` = kept for ever.
    pub(super) expires_at_ms: Option<i64>,
    /// The index that must find it.
    pub(super) index: &'a str,
    /// Whether it must be found by the result's vector.
    pub(super) by_vector: bool,
}

impl Write<'_> {
    /// The record as arguments: JSON text, or names and values.
    pub(super) fn args(&self) -> Vec<&[u8]> {
        match self.record {
            Record::Json(text) => vec![text.as_bytes()],
            Record::Hash(fields) => fields
                .iter()
                .flat_map(|(name, value)| [name.as_slice(), value])
                .collect(),
        }
    }
}

impl<'a> Commit<'a> {
    /// What is written: on the result's own key, on its other keys, then on the companions.
    pub(super) fn writes(&self) -> Result<Vec<Write<'a>>, CommitError> {
        let (mut companions, mut others) = (self.companions.iter(), 0);
        let written = (1..)
            .zip(self.record.pinned())
            .filter(|(_, pinned)| pinned.written);
        written
            .map(|(at, pinned)| {
                let part = if pinned.unit >= self.record.sources.len() {
                    self.companion(&pinned, companions.next())
                } else if pinned.key == self.record.result_key {
                    self.own()
                } else {
                    others += 1;
                    self.other(&pinned, others == 1)
                };
                let (record, index, expires_at_ms, by_vector) =
                    part.ok_or(CommitError::Invalid("a key that is moved gets no record"))?;
                if pinned.storage != record.storage() {
                    return Err(CommitError::Invalid(
                        "the result is of another storage than the sources",
                    ));
                }
                Ok(Write {
                    at,
                    key: pinned.key,
                    record,
                    expires_at_ms,
                    index,
                    by_vector,
                })
            })
            .collect()
    }

    fn own(&self) -> Option<Part<'a>> {
        let by_vector = self.vector_index.is_none();
        let index = self.record.index.as_str();
        Some((&self.result.record, index, self.expires_at_ms, by_vector))
    }

    fn other(&self, pinned: &Pinned<'_>, first: bool) -> Option<Part<'a>> {
        let mut others = self.result.others.iter();
        let other = others.find(|other| other.key == pinned.key)?;
        let index = self.vector_index.unwrap_or(&self.record.index);
        let by_vector = first && self.vector_index.is_some();
        Some((&other.record, index, self.expires_at_ms, by_vector))
    }

    fn companion(&self, pinned: &Pinned<'_>, record: Option<&'a Record>) -> Option<Part<'a>> {
        let expires_at_ms = (pinned.expires_at_ms >= 0).then_some(pinned.expires_at_ms);
        Some((record?, self.companion_index, expires_at_ms, false))
    }
}

/// A record, the index that must find it, its expiry, and whether it is found by its vector.
type Part<'a> = (&'a Record, &'a str, Option<i64>, bool);
