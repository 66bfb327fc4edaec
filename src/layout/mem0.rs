//! Memories as mem0 stores them in Redis: a HASH a memory under `mem0:<collection>:<uuid>`, as the
//! recipe's but with a hash of the text and times in whole seconds. Its entities lie in a collection
//! of their own, name memories by id, and are caught by the memories' index too, whose prefix is the
//! beginning of theirs.

use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::tz::TimeZone;
use md5::{Digest as _, Md5};
use serde_json::{Map, Value};

use super::hash::HashKeys;
use super::json::{has_endless_number, repeats_a_member};
use super::redisvl::{Redisvl, RedisvlFields};
use super::{
    CannotWrite, Companions, FieldUse, Kind, Layout, Leaf, Listing, Merged, NotRead, Options,
    Reading, Source,
};
use crate::memory::Reason;
use crate::record::{IndexFacts, Record, Stored, Unfit};

/// The layout by its name.
pub(super) const KIND: Kind = Kind {
    name: NAME,
    index: "mem0",
    more: |_, index| vec![format!("{index}_entities")],
    copied: false,
    named: false,
    open: |options, facts, more| {
        let entities = more.first().cloned().flatten();
        Ok(Arc::new(Mem0::new(options, facts, entities)?))
    },
};

const NAME: &str = "mem0";
const USER: &str = "user_id";
/// Whose the memories of an agent or of a run alone are.
const NOBODY: &str = "";
const METADATA: &str = "metadata";
const HASH: &str = "hash";
const UPDATED_AT: &str = "updated_at";
/// Members of the metadata.
const LEMMAS: &str = "text_lemmatized";
const EXPIRATION: &str = "expiration_date";
const LINKED: &str = "linked_memory_ids";
/// What mem0 reads from fields of their own, and from metadata of these names instead where a
/// stranger wrote such: it never writes them there itself.
const PAYLOAD: [&str; 7] = [
    "data",
    HASH,
    "created_at",
    UPDATED_AT,
    USER,
    "agent_id",
    "run_id",
];
/// What is between two of these is all that mem0 reads of metadata.
const FENCE: &str = "```";
/// The seconds of the years 1 to 9999.
const SECONDS: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// The layout `mem0` over the index of a collection.
struct Mem0 {
    inner: Redisvl,
    keys: HashKeys,
    entities: Option<IndexFacts>,
}

impl Mem0 {
    fn new(
        options: &Options,
        facts: &IndexFacts,
        entities: Option<IndexFacts>,
    ) -> Result<Self, Unfit> {
        let fields = RedisvlFields {
            text: "memory".to_owned(),
            vector: "embedding".to_owned(),
            user: USER.to_owned(),
            // It is within the metadata, see `read`.
            memory_type: "memory_type".to_owned(),
            id: "memory_id".to_owned(),
            created_at: "created_at".to_owned(),
            metadata: METADATA.to_owned(),
            scope: ["agent_id", "run_id"]
                .map(str::to_owned)
                .into_iter()
                .chain(options.scope.iter().cloned())
                .collect(),
        };
        Ok(Self {
            keys: HashKeys::of(facts, "mem0")?,
            inner: Redisvl::new(&fields, facts, TimeZone::UTC)?,
            entities,
        })
    }

    /// The source as the recipe's: without what follows from its text or from the merge.
    fn plain(source: &Source) -> Source {
        let mut source = source.clone();
        source.stored = with_user(&source.stored);
        let record = &mut source.stored.record;
        record.drop_fields(&[HASH, UPDATED_AT]);
        if let Some(mut metadata) = metadata(record)
            && metadata.shift_remove(LEMMAS).is_some()
            && !record.text(METADATA).is_some_and(repeats)
        {
            record.put(METADATA, &Value::Object(metadata).to_string());
        }
        source
    }

    fn id<'a>(&self, key: &'a str) -> &'a str {
        self.keys.id(key).unwrap_or(key)
    }
}

impl Layout for Mem0 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn listing(&self) -> Listing<'_> {
        self.inner.listing()
    }

    fn owner(&self, value: Option<&str>) -> Option<String> {
        Some(value.unwrap_or(NOBODY).to_owned())
    }

    fn is_own_key(&self, key: &str) -> bool {
        self.keys.id(key).is_some()
    }

    fn vector_field(&self) -> &str {
        self.inner.vector_field()
    }

    fn time_fields(&self) -> Vec<&str> {
        vec!["created_at", UPDATED_AT]
    }

    fn fields(&self) -> Vec<FieldUse> {
        let rewritten = |role| FieldUse::new(role, role, false, true);
        let mut fields = self.inner.fields();
        fields.retain(|field| field.role != "memory_type");
        fields.extend([rewritten(HASH), rewritten(UPDATED_AT)]);
        fields
    }

    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead> {
        let mut reading = self.inner.read(key, &with_user(stored))?;
        let memory = &mut reading.memory;
        memory.digest = stored.digest();
        let not = |reason, detail: &str| NotRead {
            reason,
            detail: detail.to_owned(),
            user: Some(memory.partition.user.clone()),
        };
        let record = &stored.record;
        // What follows makes mem0 itself fail on every answer that has the record.
        if record.text(HASH).is_none_or(str::is_empty) {
            return Err(not(Reason::NotAMemory, "the record has no hash"));
        }
        if record.text("memory_id") != Some(self.id(key)) {
            return Err(not(Reason::Malformed, "`memory_id` is not the key's"));
        }
        let seconds = |text: &str| text.parse().is_ok_and(|seconds| SECONDS.contains(&seconds));
        if !record.text("created_at").is_some_and(seconds) {
            let detail = "`created_at` is no whole number of seconds";
            return Err(not(Reason::Malformed, detail));
        }
        if !record.text(UPDATED_AT).is_none_or(seconds) {
            let detail = "`updated_at` is no whole number of seconds";
            return Err(not(Reason::Malformed, detail));
        }
        let metadata = metadata(record).filter(|_| !is_fenced(record));
        let endless = record.text(METADATA).is_some_and(has_endless_number);
        let Some(metadata) = metadata.filter(|_| !endless) else {
            let detail = "`metadata` is no JSON object, or has a block of code or a number of more \
                          than 4300 digits, on which mem0 fails";
            return Err(not(Reason::Malformed, detail));
        };
        if let Some(name) = PAYLOAD.iter().find(|name| metadata.contains_key(**name)) {
            let detail =
                format!("`metadata` has a `{name}`, which mem0 takes for the memory's own");
            return Err(not(Reason::Malformed, &detail));
        }
        let member = |name| metadata.get(name).and_then(Value::as_str).unwrap_or("");
        let (kind, expiration) = (member("memory_type"), member(EXPIRATION));
        memory.partition.memory_type = kind.to_owned();
        // What mem0 hides on different days does not meet.
        memory.partition.scope.push(expiration.to_owned());
        Ok(reading)
    }

    fn leaves(&self, source: &Source) -> Vec<Leaf> {
        self.inner.leaves(source)
    }

    fn merge(
        &self,
        sources: &[Source],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Stored, CannotWrite> {
        let plain: Vec<Source> = sources.iter().map(Self::plain).collect();
        let mut result = self.inner.merge(&plain, survivor, merged)?;
        let record = &mut result.record;
        let had_user = sources
            .get(survivor)
            .is_some_and(|source| source.stored.record.text(USER).is_some());
        if !had_user {
            record.drop_fields(&[USER]);
        }
        record.put(HASH, &format!("{:x}", Md5::digest(&merged.text)));
        record.put(UPDATED_AT, &merged.merged_at.as_second().to_string());
        if let (Some(lemmas), Some(mut metadata)) = (lemmas(sources, merged), metadata(record)) {
            metadata.insert(LEMMAS.to_owned(), lemmas);
            record.put(METADATA, &Value::Object(metadata).to_string());
        }
        if is_fenced(record) {
            let detail = "mem0 fails on metadata with a block of code";
            return Err(CannotWrite::at(sources, survivor, detail));
        }
        Ok(result)
    }

    fn companions(&self) -> Option<Companions<'_>> {
        self.entities.as_ref().map(|index| Companions {
            index,
            user_field: USER,
        })
    }

    fn relink(
        &self,
        key: &str,
        record: &Record,
        sources: &[Source],
        survivor: usize,
    ) -> Result<Option<Record>, CannotWrite> {
        let ids: Vec<&str> = sources.iter().map(|s| self.id(&s.memory.key)).collect();
        let Some(new) = ids.get(survivor) else {
            return Ok(None);
        };
        let retires = |id: &Value| {
            id.as_str()
                .is_some_and(|id| id != *new && ids.contains(&id))
        };
        let Some(mut metadata) = metadata(record) else {
            let names_one = record
                .text(METADATA)
                .is_some_and(|text| ids.iter().any(|id| text.contains(id)));
            let detail = "the entity's metadata names a memory, but cannot be read".to_owned();
            let key = key.to_owned();
            return if names_one {
                Err(CannotWrite { key, detail })
            } else {
                Ok(None)
            };
        };
        let Some(Value::Array(linked)) = metadata.get_mut(LINKED) else {
            return Ok(None);
        };
        if !linked.iter().any(retires) {
            return Ok(None);
        }
        let mut united: Vec<Value> = Vec::new();
        for id in linked.drain(..) {
            let id = if retires(&id) { (*new).into() } else { id };
            if !united.contains(&id) {
                united.push(id);
            }
        }
        *linked = united;
        let mut record = record.clone();
        record.put(METADATA, &Value::Object(metadata).to_string());
        Ok(Some(record))
    }
}

/// The memory with a user: that of an agent or of a run alone is nobody's, which is the user ``.
fn with_user(stored: &Stored) -> Stored {
    let mut stored = stored.clone();
    if !stored.record.has(USER) {
        stored.record.put(USER, NOBODY);
    }
    stored
}

fn metadata(record: &Record) -> Option<Map<String, Value>> {
    match serde_json::from_str(record.text(METADATA)?) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

fn is_fenced(record: &Record) -> bool {
    let text = record.text(METADATA).unwrap_or_default();
    text.matches(FENCE).count() > 1
}

fn repeats(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|whole| repeats_a_member(text, &whole))
}

/// The lemmas of the result: those of the source whose text it is; else the text, as mem0 has it
/// where it has no lemmatizer. `None` where no source has any.
fn lemmas(sources: &[Source], merged: &Merged) -> Option<Value> {
    let all: Vec<(&Source, Value)> = sources
        .iter()
        .filter_map(|source| {
            let lemmas = metadata(&source.stored.record)?.shift_remove(LEMMAS)?;
            Some((source, lemmas))
        })
        .collect();
    all.first()?;
    let own = all.iter().find(|(s, _)| s.memory.text == merged.text);
    Some(own.map_or_else(|| merged.text.as_str().into(), |(_, lemmas)| lemmas.clone()))
}

#[cfg(test)]
mod tests;
