//! Long-term memories as the Redis Agent Memory Server stores them: a HASH a memory, merged by the
//! rules of that server's own compaction where it has some.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::hash::{HashKeys, texts};
use super::redisvl::{Redisvl, RedisvlFields};
use super::rules::{self, Held, Rule};
use super::timestamp::SECONDS;
use super::{
    CannotWrite, Concern, FieldUse, Kind, Layout, Leaf, Listing, Merged, NotRead, Options, Reading,
    Source,
};
use crate::memory::Reason;
use crate::record::{IndexFacts, Record, Stored, Unfit};

/// The layout by its name.
pub(super) const KIND: Kind = Kind {
    name: NAME,
    index: "memory_records",
    more: |_, _| Vec::new(),
    copied: false,
    named: false,
    open: |options, facts, _| Ok(Arc::new(AgentMemoryServer::new(options, facts)?)),
};

const NAME: &str = "agent-memory-server";
const LAST_ACCESSED: &str = "last_accessed";
const ACCESS_COUNT: &str = "access_count";
const UPDATED_AT: &str = "updated_at";
const HASH: &str = "memory_hash";
const EXTRACTED: &str = "discrete_memory_extracted";
const PINNED: &str = "pinned";
const MESSAGE: &str = "message";
/// Fields that are merged by a rule that other stores have too.
const RULES: [(&str, Rule); 5] = [
    (LAST_ACCESSED, Rule::Max),
    (ACCESS_COUNT, Rule::Sum),
    ("topics", Rule::Union),
    ("entities", Rule::Union),
    ("extracted_from", Rule::Union),
];
/// Fields that follow from the result, or stay the survivor's.
const OWN: [&str; 4] = [UPDATED_AT, HASH, EXTRACTED, PINNED];
/// Seconds since the epoch, where they are there.
const DATES: [&str; 5] = [
    "created_at",
    LAST_ACCESSED,
    UPDATED_AT,
    "persisted_at",
    "event_date",
];
/// There as long as a worker runs that compacts; in braces on a cluster.
const COMPACTORS: [&str; 2] = [
    "memory-server:task-workers:compact_long_term_memories",
    "{memory-server}:task-workers:compact_long_term_memories",
];

/// The layout `agent-memory-server` over its index.
struct AgentMemoryServer {
    inner: Redisvl,
    keys: HashKeys,
}

impl AgentMemoryServer {
    fn new(options: &Options, facts: &IndexFacts) -> Result<Self, Unfit> {
        let fields = RedisvlFields {
            text: "text".to_owned(),
            vector: "vector".to_owned(),
            user: "user_id".to_owned(),
            memory_type: "memory_type".to_owned(),
            id: "id_".to_owned(),
            created_at: "created_at".to_owned(),
            metadata: "metadata".to_owned(),
            // Not the session: the same fact comes up in many. But of what happened on another day.
            scope: ["namespace", "event_date"]
                .map(str::to_owned)
                .into_iter()
                .chain(options.scope.iter().cloned())
                .collect(),
        };
        Ok(Self {
            keys: HashKeys::of(facts, "the Agent Memory Server")?,
            inner: Redisvl::new(&fields, facts, TimeZone::UTC)?,
        })
    }
}

impl Layout for AgentMemoryServer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn listing(&self) -> Listing<'_> {
        self.inner.listing()
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
        let ruled = RULES.map(|(name, _)| name).into_iter();
        let own = OWN.into_iter().filter(|name| *name != PINNED);
        let mut fields = self.inner.fields();
        fields.extend(ruled.chain(own).map(rewritten));
        fields
    }

    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead> {
        let mut reading = self.inner.read(key, stored)?;
        let memory = &mut reading.memory;
        let not = |reason, detail: &str| NotRead {
            reason,
            detail: detail.to_owned(),
            user: Some(memory.partition.user.clone()),
        };
        let record = &stored.record;
        if record.text("id_") != self.keys.id(key) {
            return Err(not(Reason::Malformed, "`id_` is not the key's"));
        }
        // The server takes what has no type for one.
        if record.text("memory_type").unwrap_or(MESSAGE) == MESSAGE {
            let detail = "a message of a conversation, not a memory drawn from one";
            return Err(not(Reason::NotAMemory, detail));
        }
        if let Some(name) = binary(record) {
            let detail = format!("field `{name}` is not UTF-8");
            return Err(not(Reason::NotUtf8, &detail));
        }
        if let Some(name) = unreadable(record) {
            let detail = format!("the server fails on its `{name}`, or reads it as another value");
            return Err(not(Reason::Malformed, &detail));
        }
        memory.pinned = is_pinned(record);
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
        let mut plain = sources.to_vec();
        for source in &mut plain {
            source.stored.record.drop_fields(&OWN);
            source
                .stored
                .record
                .drop_fields(&RULES.map(|(name, _)| name));
        }
        let mut result = self.inner.merge(&plain, survivor, merged)?;
        let record = &mut result.record;
        for (name, rule) in RULES {
            let held = texts(sources, survivor, name);
            if !held.is_empty() {
                let cannot = |detail| {
                    let detail = format!("`{name}` cannot be merged: {detail}");
                    CannotWrite::at(sources, survivor, detail)
                };
                record.put(name, &by_rule(rule, &held).map_err(cannot)?);
            }
        }
        if let Some(pinned) = sources
            .get(survivor)
            .and_then(|s| s.stored.record.text(PINNED))
        {
            record.put(PINNED, pinned);
        }
        let at = merged.merged_at;
        let seconds = format!("{}.{:06}", at.as_second(), at.subsec_microsecond());
        record.put(UPDATED_AT, &seconds);
        // Nothing is to be drawn from a text that was put together.
        record.put(EXTRACTED, "t");
        record.put(HASH, &memory_hash(record, &merged.text));
        Ok(result)
    }

    fn watched_keys(&self) -> Vec<String> {
        COMPACTORS.map(str::to_owned).to_vec()
    }

    fn concerns(&self, present: &[String]) -> Vec<Concern> {
        if present.is_empty() {
            return Vec::new();
        }
        vec![Concern {
            refuses: false,
            found: "a worker of the Agent Memory Server is running, which merges memories itself \
                    and keeps no originals"
                .to_owned(),
            advice: "switch its compaction off (COMPACT_SEMANTIC_DUPLICATES=false), or stop it \
                     while memfold runs"
                .to_owned(),
        }]
    }
}

/// The texts of a field in all sources as one. An empty one says nothing; items are divided by `|`
/// in older records.
fn by_rule(rule: Rule, texts: &[&str]) -> Result<String, String> {
    let values: Vec<Value> = texts
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| text.replace('|', ",").into())
        .collect();
    let held: Vec<Held<'_>> = values
        .iter()
        .map(|value| Held {
            value: Some(value),
            said_at: None,
        })
        .collect();
    let reading = rules::Reading {
        separator: ',',
        naive_zone: &TimeZone::UTC,
    };
    match rules::apply(rule, &held, reading)? {
        Some(Value::String(text)) => Ok(text),
        _ => Ok(String::new()),
    }
}

/// A field that the server reads as text, that memfold merges by a rule or replaces, and that is no
/// text here: nothing would be left of it.
fn binary(record: &Record) -> Option<&'static str> {
    let ruled = RULES.iter().map(|(name, _)| *name);
    let mut names = ruled.chain(OWN).chain(DATES).chain(["session_id"]);
    names.find(|name| record.has(name) && record.text(name).is_none())
}

/// The field that makes the server fail on every answer with the record, or that it reads as
/// something else than what stands there.
fn unreadable(record: &Record) -> Option<&'static str> {
    let wrong = |name: &str| match (name, record.text(name)) {
        (_, None) => false,
        ("memory_type", Some(kind)) => !matches!(kind, "semantic" | "episodic"),
        (EXTRACTED, Some(extracted)) => !matches!(extracted, "t" | "f"),
        // Not even with the sign of a number that is not negative: no sum or maximum reads it.
        (_, Some(text)) if text.starts_with('+') => true,
        (ACCESS_COUNT, Some(count)) => {
            !count.is_empty() && !count.parse::<i64>().is_ok_and(|count| count >= 0)
        }
        (_, Some(date)) => !date.parse().is_ok_and(|date| SECONDS.contains(&date)),
    };
    let names = ["memory_type", EXTRACTED, ACCESS_COUNT];
    names.into_iter().chain(DATES).find(|name| wrong(name))
}

/// As the server reads it: a number, else any text.
fn is_pinned(record: &Record) -> bool {
    let pinned = record.text(PINNED).unwrap_or_default().trim();
    pinned
        .parse::<i64>()
        .map_or(!pinned.is_empty(), |number| number != 0)
}

/// The server's own hash of a memory: SHA-256 of the JSON text that Python makes of these fields.
fn memory_hash(record: &Record, text: &str) -> String {
    let mut json = String::from("{");
    let fields = ["memory_type", "namespace", "session_id", "text", "user_id"];
    for (at, name) in fields.into_iter().enumerate() {
        let value = if name == "text" {
            Some(text)
        } else {
            record.text(name)
        };
        let value = value
            .filter(|value| !value.is_empty())
            .map_or_else(|| "null".to_owned(), python_json);
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(json, "{comma}\"{name}\": {value}");
    }
    json.push('}');
    format!("{:x}", Sha256::digest(json))
}

/// A JSON string in ASCII alone, with the escapes that Python's `json.dumps` takes.
fn python_json(text: &str) -> String {
    let mut json = String::from('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            ' '..='~' => json.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(json, "\\u{unit:04x}");
                }
            }
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests;
