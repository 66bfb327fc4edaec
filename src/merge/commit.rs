//! One decided merge to the store: read again, compare, one atomic step.

use super::ask::says_what;
use super::expiry::{expiry_buckets, result_expiry};
use super::history::history;
use super::judged::claim;
use super::run::Ground;
use super::{MergeError, Pipeline};
use crate::layout::{Merged, ResultVector, Source};
use crate::memory::{Author, PlannedMerge, Reason, VectorOrigin};
use crate::record::{Record, Stored, record_digest, vector};
use crate::store::records::{self, LoadError};
use crate::store::vetoes::said_digest;
use crate::store::{
    self, Commit, CommitError, KeyRecord, Lease, LeaseError, MergeRecord, RECORD_VERSION, Retire,
    SourceRecord,
};
use crate::summarize::verify::{Fault, verify};
use crate::summarize::{SourceText, extractive, latest};

/// A merge that was committed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Done {
    /// The id under which it can be shown and undone.
    pub merge_id: String,
    /// The key that holds the result.
    pub result_key: String,
    /// The keys that are gone, each in the undo store.
    pub retired: Vec<String>,
    /// When the commit was answered, in ms since the epoch by this machine's clock.
    #[serde(skip)]
    pub at_ms: i64,
}

/// Times that a merge is tried while its sources are what was judged but for their expiry.
const ATTEMPTS: usize = 3;

/// A merge that was not made: the originals are untouched.
type Refused = (Reason, String);

impl Pipeline {
    /// Commits `merge`. The inner error is a refusal of this one group; the outer one ends the run.
    #[tracing::instrument(level = "debug", name = "commit", skip_all, fields(merge.id = %merge.merge_id, group.size = merge.sources.len()))]
    pub(super) async fn commit(
        &self,
        lease: &Lease,
        ground: &Ground,
        merge: &PlannedMerge,
    ) -> Result<Result<Done, Refused>, MergeError> {
        // Readers that prolong what they read may come by at any moment.
        for _ in 1..ATTEMPTS {
            match self.attempt(lease, ground, merge).await {
                Err(MergeError::Commit(CommitError::OtherExpiry { .. })) => {}
                done => return done,
            }
        }
        match self.attempt(lease, ground, merge).await {
            Err(MergeError::Commit(error @ CommitError::OtherExpiry { .. })) => {
                Ok(Err((Reason::Changed, error.to_string())))
            }
            done => done,
        }
    }

    /// Tries it once, with the expiries that the sources have now.
    async fn attempt(
        &self,
        lease: &Lease,
        ground: &Ground,
        merge: &PlannedMerge,
    ) -> Result<Result<Done, Refused>, MergeError> {
        let sources = match self.load(merge).await? {
            Ok(sources) => sources,
            Err(refused) => return Ok(Err(refused)),
        };
        let keys: Vec<&str> = merge.sources.iter().map(|s| s.key.as_str()).collect();
        if let Some(index) = ground.neighbours.dividing(self.index.storage, &keys) {
            let detail = format!(
                "index {index} holds some of them but not all: its readers would lose one, or get \
                 one that is not theirs"
            );
            return Ok(Err((Reason::Unwritable, detail)));
        }
        let result = match self.result(merge, &sources) {
            Ok(result) => result,
            Err(detail) => return Ok(Err((Reason::Unwritable, detail))),
        };
        let parents = self.parents(&sources).await?;
        let companions = match self.companions(merge, &sources).await? {
            Ok(companions) => companions,
            Err(detail) => return Ok(Err((Reason::Unwritable, detail))),
        };
        let (companions, rewritten): (Vec<_>, Vec<_>) = companions.into_iter().unzip();
        let companion_index = self.layout.companions();
        let commit = Commit {
            record: &MergeRecord {
                companions,
                ..self.record(ground, merge, &sources, parents)
            },
            result: &result.stored,
            companions: &rewritten,
            companion_index: companion_index.map_or("", |found| &found.index.name),
            vector: &result.query,
            vector_field: self.layout.vector_field(),
            vector_index: self.layout.vector_index().map(|facts| facts.name.as_str()),
            expires_at_ms: result_expiry(&sources, self.stations.options.ttl),
            window: ground.undo_window,
            ledger: self.stations.options.ledger_retention,
            lease: Some(lease),
            check_after: self.stations.options.check_after,
        };
        match store::commit(&mut self.conn.clone(), &self.functions, &commit).await {
            Ok(_) => Ok(Ok(done(merge, self.stations.clock.now().as_millisecond()))),
            // Such as a record that is too large for the server: others are not.
            Err(CommitError::Store(error)) if error.is_answer() => {
                Ok(Err((Reason::WriteRefused, error.to_string())))
            }
            Err(CommitError::Store(error)) => Err(error.into()),
            Err(CommitError::Fenced { .. }) => Err(LeaseError::Lost.into()),
            Err(error @ CommitError::OtherExpiry { .. }) => Err(MergeError::Commit(error)),
            Err(error) => match error.reason() {
                Some(reason) => Ok(Err((reason, error.to_string()))),
                None => Err(MergeError::Commit(error)),
            },
        }
    }

    /// The full sources, if they still are what was judged.
    async fn load(&self, merge: &PlannedMerge) -> Result<Result<Vec<Source>, Refused>, MergeError> {
        let pinned: Vec<_> = merge
            .sources
            .iter()
            .map(|s| (s.key.as_str(), &s.digest))
            .collect();
        let (conn, storage) = (&mut self.conn.clone(), self.index.storage);
        let loaded = records::load(conn, storage, self.layout.as_ref(), &pinned).await;
        let sources = match loaded {
            Ok(sources) => sources,
            Err(LoadError::Store(error)) => return Err(error.into()),
            Err(error @ LoadError::Changed { .. }) => {
                return Ok(Err((Reason::Changed, error.to_string())));
            }
        };
        for source in &sources {
            if source.memory.partition != merge.partition {
                let key = &source.memory.key;
                return Err(MergeError::WrongPlan(format!(
                    "{key} is of another user or scope"
                )));
            }
        }
        let retires = |s: &&Source| s.memory.pinned && s.memory.key != merge.result_key;
        if let Some(source) = sources.iter().find(retires) {
            let detail = format!("{} is pinned and would retire", source.memory.key);
            return Ok(Err((Reason::Pinned, detail)));
        }
        let rows: Vec<usize> = (0..sources.len()).collect();
        let expiry = |row: usize| sources[row].memory.expires_at_ms;
        let now = self.stations.clock.now().as_millisecond();
        if expiry_buckets(&rows, expiry, self.stations.options.ttl, now).len() > 1 {
            let detail = "they now expire at different times".to_owned();
            return Ok(Err((Reason::DifferentExpiry, detail)));
        }
        Ok(Ok(sources))
    }

    /// The record to write, read back once to be sure that it says what was decided.
    fn result(&self, merge: &PlannedMerge, sources: &[Source]) -> Result<Built, String> {
        says_all(merge, sources)?;
        let survivor = survivor(merge, sources)?;
        let merged = Merged {
            merge_id: merge.merge_id.clone(),
            text: merge.text.clone(),
            vector: result_vector(merge, sources)?,
            merged_at: self.stations.clock.now(),
            history: history(merge, sources),
        };
        let stored = self
            .layout
            .merge(sources, survivor, &merged)
            .map_err(|error| error.to_string())?;
        if !others(&stored).eq(others(&sources[survivor].stored)) {
            return Err("the result would have other keys than its survivor".to_owned());
        }
        let read = self
            .layout
            .read(&merge.result_key, &stored)
            .map_err(|error| format!("the result would be unreadable: {}", error.detail))?;
        if read.memory.text != merge.text || read.memory.partition != merge.partition {
            return Err("the result would not read back as decided".to_owned());
        }
        let facts = self.layout.vector_index().unwrap_or(&self.index);
        let field = facts.vector(self.layout.vector_field());
        let dtype = field.map_err(|error| error.to_string())?.dtype;
        let query = vector::encode(&read.vector, dtype).map_err(|error| error.to_string())?;
        Ok(Built { stored, query })
    }

    /// The records that name a source which retires, as they are and as they are to be.
    async fn companions(
        &self,
        merge: &PlannedMerge,
        sources: &[Source],
    ) -> Result<Result<Vec<(KeyRecord, Record)>, String>, MergeError> {
        let Some(companions) = self.layout.companions() else {
            return Ok(Ok(Vec::new()));
        };
        let survivor = match survivor(merge, sources) {
            Ok(survivor) => survivor,
            Err(detail) => return Ok(Err(detail.to_owned())),
        };
        let conn = &mut self.conn.clone();
        let mut found = Vec::new();
        let storage = companions.index.storage;
        for (key, record, expires_at_ms) in
            records::companions(conn, &companions, &merge.partition.user).await?
        {
            match self.layout.relink(&key, &record, sources, survivor) {
                Ok(None) => {}
                Ok(Some(rewritten)) => {
                    let digest = record_digest(&record);
                    let was = KeyRecord {
                        key,
                        storage,
                        digest,
                        expires_at_ms,
                    };
                    found.push((was, rewritten));
                }
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        Ok(Ok(found))
    }

    /// The merges that wrote the sources, where they did: provenance may have been copied.
    async fn parents(&self, sources: &[Source]) -> Result<Vec<String>, MergeError> {
        let claims: Vec<(&str, &str)> = sources
            .iter()
            .filter_map(|s| Some((s.memory.key.as_str(), s.memory.merge_id.as_deref()?)))
            .collect();
        Ok(store::parents(&mut self.conn.clone(), &claims).await?)
    }

    fn record(
        &self,
        ground: &Ground,
        merge: &PlannedMerge,
        sources: &[Source],
        parents: Vec<String>,
    ) -> MergeRecord {
        let now = self.stations.clock.now();
        let planned = merge.sources.iter().zip(sources);
        MergeRecord {
            version: RECORD_VERSION,
            merge_id: merge.merge_id.clone(),
            run_id: self.stations.options.run_id.clone(),
            layout: self.layout.name().to_owned(),
            index: self.index.name.clone(),
            storage: self.index.storage,
            partition: merge.partition.clone(),
            result_key: merge.result_key.clone(),
            sources: planned
                .map(|(planned, source)| SourceRecord {
                    key: planned.key.clone(),
                    digest: planned.digest.clone(),
                    text_digest: Some(said_digest(&source.memory.text)),
                    created_at: source.memory.created_at,
                    distance: planned.distance,
                    leaves: self
                        .layout
                        .leaves(source)
                        .into_iter()
                        .map(|leaf| leaf.id)
                        .collect(),
                    expires_at_ms: source.memory.expires_at_ms,
                    keys: keys_of(source),
                    identity: self.layout.identity(source),
                })
                .collect(),
            companions: Vec::new(),
            parents,
            findings: merge.findings.clone(),
            threshold: ground.threshold,
            distance: ground.distance.clone(),
            author: merge.author.clone(),
            vector_origin: merge.vector_origin,
            merged_at: now,
            retire: ground.retire,
            undo_until: (ground.retire != Retire::Delete)
                .then(|| now.checked_add(ground.undo_window).ok())
                .flatten(),
        }
    }
}

/// Whether the text says all that the stored sources say. That was decided when the merge was
/// planned, but a plan file may have been edited since, and this is the last moment to notice.
fn says_all(merge: &PlannedMerge, sources: &[Source]) -> Result<(), String> {
    match &merge.author {
        Author::Extractive { .. } => {
            let claims: Vec<_> = sources.iter().map(|s| claim(&s.memory)).collect();
            let parts = extractive::fold(&claims);
            let whole = |part: &extractive::Part| {
                part.absorbed.len() + 1 == sources.len() && claims[part.keep].text == merge.text
            };
            if !parts.iter().any(whole) {
                return Err("the text does not say all that the sources say".to_owned());
            }
            Ok(())
        }
        Author::Latest { .. } => {
            let claims: Vec<_> = sources.iter().map(|s| claim(&s.memory)).collect();
            match latest::newest(&claims) {
                Some(newest) if claims[newest].text == merge.text => Ok(()),
                _ => Err("the text is not the newest value of the sources".to_owned()),
            }
        }
        Author::Person { overridden } if !overridden.is_empty() => {
            let found = verify(&texts(sources), &merge.partition.memory_type, &merge.text);
            let news =
                |fault: &&Fault| **fault == Fault::Empty || !overridden.contains(&fault.noted());
            match found.err().unwrap_or_default().iter().find(news) {
                Some(fault) => Err(fault.to_string()),
                None => Ok(()),
            }
        }
        Author::Person { .. } | Author::Llm { .. } => {
            says_what(&texts(sources), &merge.partition.memory_type, &merge.text)
        }
    }
}

/// The sources as the verification sees them.
fn texts(sources: &[Source]) -> Vec<SourceText> {
    let text = |(source, number): (&Source, usize)| SourceText {
        id: format!("m{number}"),
        text: source.memory.text.clone(),
        said_at: source.memory.said_at,
    };
    sources.iter().zip(1..).map(text).collect()
}

/// What is to be stored of a result, and its vector in the index's data type to find it by.
struct Built {
    stored: Stored,
    query: Vec<u8>,
}

fn survivor(merge: &PlannedMerge, sources: &[Source]) -> Result<usize, &'static str> {
    let mut sources = sources.iter();
    let survivor = sources.position(|source| source.memory.key == merge.result_key);
    survivor.ok_or("the result key is no source")
}

fn others(stored: &Stored) -> impl Iterator<Item = &String> {
    stored.others.iter().map(|other| &other.key)
}

/// All keys of a source that has several.
fn keys_of(source: &Source) -> Vec<KeyRecord> {
    let Source { memory, stored } = source;
    if stored.others.is_empty() {
        return Vec::new();
    }
    let key = |key: &String, record: &Record, expires_at_ms| KeyRecord {
        key: key.clone(),
        storage: record.storage(),
        digest: record_digest(record),
        expires_at_ms,
    };
    let own = key(&memory.key, &stored.record, memory.expires_at_ms);
    let others = stored
        .others
        .iter()
        .map(|other| key(&other.key, &other.record, other.expires_at_ms));
    std::iter::once(own).chain(others).collect()
}

fn result_vector(merge: &PlannedMerge, sources: &[Source]) -> Result<ResultVector, String> {
    match merge.vector_origin {
        VectorOrigin::Source => sources
            .iter()
            .position(|s| s.memory.text == merge.text)
            .map(ResultVector::OfSource)
            .ok_or_else(|| "no source has the text whose vector is to be kept".to_owned()),
        VectorOrigin::Embedded | VectorOrigin::Centroid => {
            Ok(ResultVector::Numbers(merge.vector.clone()))
        }
    }
}

fn done(merge: &PlannedMerge, at_ms: i64) -> Done {
    let retired = merge.sources.iter().map(|s| s.key.clone());
    Done {
        merge_id: merge.merge_id.clone(),
        result_key: merge.result_key.clone(),
        retired: retired.filter(|key| *key != merge.result_key).collect(),
        at_ms,
    }
}
