//! One decided merge to the store: read again, compare, one atomic step.

use super::draft::expiry_buckets;
use super::{MergeError, Pipeline, TtlRule};
use crate::layout::{Merged, Record, ResultVector, Source};
use crate::memory::{PlannedMerge, Reason, VectorOrigin};
use crate::store::{
    self, Commit, CommitError, Lease, LeaseError, LoadError, MergeRecord, RecordSource, StoreError,
};

/// A merge that was committed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Done {
    /// The id under which it can be shown and undone.
    pub merge_id: String,
    /// The key that holds the result.
    pub result_key: String,
    /// The keys that are gone, each in the undo store.
    pub retired: Vec<String>,
}

/// A merge that was not made: the originals are untouched.
type Refused = (Reason, String);

impl Pipeline {
    /// Commits `merge`. The inner error is a refusal of this one group; the outer one ends the run.
    pub(super) async fn commit(
        &self,
        lease: &Lease,
        merge: &PlannedMerge,
    ) -> Result<Result<Done, Refused>, MergeError> {
        let sources = match self.load(merge).await? {
            Ok(sources) => sources,
            Err(refused) => return Ok(Err(refused)),
        };
        let record = match self.result(merge, &sources) {
            Ok(record) => record,
            Err(detail) => return Ok(Err((Reason::Unwritable, detail))),
        };
        let commit = Commit {
            merge: self.record_of(merge, &sources),
            record: &record,
            query: self.query(merge, &record)?,
            expires_at_ms: result_expiry(&sources, self.options.ttl),
            undo_window: self.options.undo_window,
            ledger_retention: self.options.ledger_retention,
            lease: Some(lease),
        };
        // A reply may be lost after the function ran: the same merge id changes nothing twice.
        let outcome = match store::commit(&self.functions, &self.conn, &commit).await {
            Err(CommitError::Store(StoreError::Timeout(_) | StoreError::Other(_))) => {
                store::commit(&self.functions, &self.conn, &commit).await
            }
            outcome => outcome,
        };
        match outcome {
            Ok(_) => Ok(Ok(done(merge))),
            Err(CommitError::Store(error)) => Err(error.into()),
            Err(CommitError::Fenced) => Err(LeaseError::Lost.into()),
            Err(error) => Ok(Err((error.reason(), error.to_string()))),
        }
    }

    /// The full sources, if they still are what was judged.
    async fn load(
        &self,
        merge: &PlannedMerge,
    ) -> Result<Result<Vec<Source>, Refused>, MergeError> {
        let pinned: Vec<_> = merge.sources.iter().map(|s| (s.key.as_str(), &s.digest)).collect();
        let sources = match store::load(&self.conn, self.layout.as_ref(), &pinned).await {
            Ok(sources) => sources,
            Err(LoadError::Store(error)) => return Err(error.into()),
            Err(error @ LoadError::Changed { .. }) => {
                return Ok(Err((Reason::Changed, error.to_string())));
            }
        };
        for source in &sources {
            if source.memory.partition != merge.partition {
                let key = &source.memory.key;
                return Err(MergeError::WrongPlan(format!("{key} is of another user or scope")));
            }
        }
        let rows: Vec<usize> = (0..sources.len()).collect();
        let expiry = |row: usize| sources[row].memory.expires_at_ms;
        let now = self.clock.now().as_millisecond();
        if expiry_buckets(&rows, expiry, self.options.ttl, now).len() > 1 {
            let detail = "they now expire at different times".to_owned();
            return Ok(Err((Reason::DifferentExpiry, detail)));
        }
        Ok(Ok(sources))
    }

    /// The record to write, read back once to be sure that it says what was decided.
    fn result(&self, merge: &PlannedMerge, sources: &[Source]) -> Result<Record, String> {
        let position = |key: &str| sources.iter().position(|s| s.memory.key == key);
        let survivor = position(&merge.result_key).ok_or("the result key is no source")?;
        let vector = match merge.vector_origin {
            VectorOrigin::Source => ResultVector::OfSource(
                sources
                    .iter()
                    .position(|s| s.memory.text == merge.text)
                    .ok_or("no source has the text whose vector is to be kept")?,
            ),
            VectorOrigin::Embedded | VectorOrigin::Centroid => {
                ResultVector::Numbers(merge.vector.clone())
            }
        };
        let merged = Merged {
            merge_id: merge.merge_id.clone(),
            text: merge.text.clone(),
            vector,
            merged_at: self.clock.now(),
        };
        let record =
            self.layout.merge(sources, survivor, &merged).map_err(|error| error.to_string())?;
        let read = self
            .layout
            .read(&merge.result_key, &record)
            .map_err(|error| format!("the result would be unreadable: {}", error.detail))?;
        if read.memory.text != merge.text || read.memory.partition != merge.partition {
            return Err("the result would not read back as decided".to_owned());
        }
        Ok(record)
    }

    /// The result's vector in the index's data type, for the proof that it can be found.
    fn query(&self, merge: &PlannedMerge, record: &Record) -> Result<Vec<u8>, MergeError> {
        let internal = |detail: String| MergeError::Internal(detail);
        let read =
            self.layout.read(&merge.result_key, record).map_err(|error| internal(error.detail))?;
        let field = self.index.vector_field(self.layout.vector_field())?;
        field.encode(&read.vector).map_err(|error| internal(error.to_string()))
    }

    fn record_of(&self, merge: &PlannedMerge, sources: &[Source]) -> MergeRecord {
        let now = self.clock.now();
        MergeRecord {
            version: 1,
            merge_id: merge.merge_id.clone(),
            run_id: self.options.run_id.clone(),
            layout: self.layout.name().to_owned(),
            index: self.index.name.clone(),
            storage: self.index.storage,
            vector_attribute: self.layout.vector_field().to_owned(),
            partition: merge.partition.clone(),
            result_key: merge.result_key.clone(),
            sources: merge
                .sources
                .iter()
                .zip(sources)
                .map(|(planned, source)| RecordSource {
                    key: planned.key.clone(),
                    digest: planned.digest.clone(),
                    created_at: planned.created_at,
                    distance: planned.distance,
                    merge_id: source.memory.merge_id.clone(),
                    leaves: self.layout.leaves(source),
                })
                .collect(),
            findings: merge.findings.clone(),
            author: merge.author.clone(),
            vector_origin: merge.vector_origin,
            merged_at: now,
        }
    }
}

fn done(merge: &PlannedMerge) -> Done {
    let retired = merge.sources.iter().map(|s| s.key.clone());
    Done {
        merge_id: merge.merge_id.clone(),
        result_key: merge.result_key.clone(),
        retired: retired.filter(|key| *key != merge.result_key).collect(),
    }
}

fn result_expiry(sources: &[Source], rule: TtlRule) -> Option<i64> {
    let expiries = || sources.iter().map(|s| s.memory.expires_at_ms);
    match rule {
        TtlRule::Min => expiries().flatten().min(),
        // Under keep-apart they differ by next to nothing; nothing may live shorter than promised.
        TtlRule::KeepApart | TtlRule::Max if expiries().all(|e| e.is_some()) => {
            expiries().flatten().max()
        }
        TtlRule::KeepApart | TtlRule::Max => None,
    }
}
