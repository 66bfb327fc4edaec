//! Memories as langchain-redis stores them: one key a memory, JSON or HASH, with text, vector, the
//! name of the index, and the metadata twice: whole as JSON in `_metadata_json`, from which the
//! library rebuilds them, and member by member beside it, by which the index filters.
//!
//! Whose a memory is, its type and its date are members of the metadata. Where the two copies of a
//! member differ, the library and the index answer differently: such a record is left alone. An
//! index from a schema of one's own may lack `_metadata_json`; the members beside are all then.
//!
//! The library takes only plain values and lists of text, so memfold's provenance is one text.

mod write;

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::body::Body;
use super::deleted::refuse_deleted;
use super::json::{self, Path};
use super::metadata::Metadata;
use super::timestamp::{Stamp, TimeForm};
use super::{
    CannotWrite, FieldUse, Kind, Layout, Leaf, Listing, Merged, NotRead, Options, Reading, Source,
    not_read,
};
use crate::memory::{Memory, Partition, Reason};
use crate::record::{IndexFacts, Record, Stored, Unfit};

const NAME: &str = "langchain-redis";

/// The member with the name of the index.
const INDEX_NAME: &str = "_index_name";
/// The member with all metadata.
const METADATA: &str = "_metadata_json";

/// The layout by its name.
pub(super) const KIND: Kind = Kind {
    name: NAME,
    index: "",
    more: |_, _| Vec::new(),
    copied: true,
    named: true,
    open: |options, facts, _| Ok(Arc::new(LangchainRedis::new(options, facts)?)),
};

/// The layout over one index.
#[derive(Clone, Debug)]
struct LangchainRedis {
    body: Body,
    index: String,
    /// Whether the library writes the index's name into each record.
    named: bool,
    /// Whether the library writes all metadata as one JSON text.
    whole: bool,
    text: String,
    vector: String,
    /// Members of the metadata.
    user: String,
    memory_type: String,
    created_at: String,
    scope: Vec<String>,
    naive_zone: TimeZone,
}

/// A record taken apart.
struct Parts {
    /// Every member but the vector.
    members: Map<String, Value>,
    metadata: Map<String, Value>,
}

impl LangchainRedis {
    fn new(options: &Options, facts: &IndexFacts) -> Result<Self, Unfit> {
        let or = |name: &Option<String>, usual: &str| name.clone().unwrap_or(usual.to_owned());
        let (text, vector) = (or(&options.text, "text"), or(&options.vector, "embedding"));
        for name in [text.as_str(), &vector, INDEX_NAME, METADATA] {
            if Path::of_field(facts, name)? != Path::root(name) {
                let detail = format!("`{name}` is not where langchain-redis writes it");
                return Err(facts.unfit(detail));
            }
        }
        let has = |name| facts.field(name).is_some();
        if !has(&text) {
            return Err(facts.unfit(format!("it has no field `{text}`; set --fields-text")));
        }
        Ok(Self {
            body: Body::new(facts, &vector)?,
            index: facts.name.clone(),
            named: has(INDEX_NAME),
            whole: has(METADATA),
            text,
            vector,
            user: or(&options.user, "user_id"),
            memory_type: or(&options.memory_type, "memory_type"),
            created_at: or(&options.created_at, "created_at"),
            scope: options.scope.clone(),
            naive_zone: options.naive_zone.clone(),
        })
    }

    /// Whether a member of the record is none of the metadata.
    fn is_own(&self, name: &str) -> bool {
        [self.text.as_str(), &self.vector, INDEX_NAME, METADATA].contains(&name)
    }

    fn parts(&self, record: &Record) -> Result<Parts, NotRead> {
        let taken = self.body.members(record)?;
        if let Some(name) = taken.binary.first() {
            return Err(not_read(
                Reason::NotUtf8,
                format!("field `{name}` is not UTF-8"),
            ));
        }
        let members = taken.map;
        let metadata = match members.get(METADATA) {
            None if self.whole => return Err(malformed(format!("the record has no `{METADATA}`"))),
            None => {
                let others = members.iter().filter(|(name, _)| !self.is_own(name));
                others
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect()
            }
            Some(text) => self.whole_metadata(text, &members)?,
        };
        Ok(Parts { members, metadata })
    }

    /// Reads the JSON text with all metadata and compares it with the members beside it.
    fn whole_metadata(
        &self,
        text: &Value,
        members: &Map<String, Value>,
    ) -> Result<Map<String, Value>, NotRead> {
        let text = text.as_str().unwrap_or_default();
        let metadata = match serde_json::from_str(text) {
            Ok(whole @ Value::Object(_)) if json::repeats_a_member(text, &whole) => {
                return Err(malformed(format!("`{METADATA}` has a member twice")));
            }
            Ok(Value::Object(metadata)) if !json::has_endless_number(text) => metadata,
            Ok(Value::Object(_)) => {
                let detail = format!("`{METADATA}` has a number that Python cannot read");
                return Err(malformed(detail));
            }
            _ => return Err(malformed(format!("`{METADATA}` is no JSON object in text"))),
        };
        for (name, value) in &metadata {
            if self.is_own(name) {
                return Err(malformed(format!("the metadata have a member `{name}`")));
            }
            if !value.is_null() && !members.get(name).is_some_and(|copy| agree(value, copy)) {
                return Err(malformed(format!(
                    "`{name}` differs between `{METADATA}` and the field of that name"
                )));
            }
        }
        Ok(metadata)
    }

    /// Whether the library's searches in this index look at the record.
    fn check_name(&self, members: &Map<String, Value>) -> Result<(), NotRead> {
        match members.get(INDEX_NAME) {
            _ if !self.named => Ok(()),
            Some(Value::String(name)) if *name == self.index => Ok(()),
            Some(Value::String(_)) => Err(not_read(
                Reason::NotAMemory,
                format!("`{INDEX_NAME}` is that of another index"),
            )),
            _ => Err(malformed(format!(
                "the record has no `{INDEX_NAME}`, so the library does not find it"
            ))),
        }
    }

    fn stamp(&self, metadata: &Map<String, Value>) -> Option<Stamp> {
        TimeForm::Auto.read(metadata.get(&self.created_at)?, &self.naive_zone)
    }

    fn read_parts(
        &self,
        key: &str,
        stored: &Stored,
        parts: &Parts,
        user: String,
    ) -> Result<Reading, NotRead> {
        self.check_name(&parts.members)?;
        let text = match parts.members.get(&self.text) {
            Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
            Some(Value::String(_)) => return Err(not_read(Reason::EmptyText, "the text is empty")),
            _ => return Err(malformed("the record has no text")),
        };
        let metadata = &parts.metadata;
        refuse_deleted(&[metadata, &parts.members])?;
        let plain = |name: &String| plain(metadata, name).map(Option::unwrap_or_default);
        let partition = Partition {
            user,
            scope: self.scope.iter().map(plain).collect::<Result<_, _>>()?,
            memory_type: plain(&self.memory_type)?,
        };
        let created_at = self.stamp(metadata).map(|stamp| stamp.at);
        let unfolded = Metadata::unfold(metadata.clone());
        let memory = Memory {
            key: key.to_owned(),
            partition,
            text,
            created_at,
            said_at: unfolded.said_at(created_at),
            expires_at_ms: None,
            digest: stored.digest(),
            merge_id: unfolded.merge_id(),
            pinned: false,
            frame: None,
        };
        let vector = self.body.vector(&stored.record)?;
        Ok(Reading { memory, vector })
    }
}

impl Layout for LangchainRedis {
    fn name(&self) -> &'static str {
        NAME
    }

    fn listing(&self) -> Listing<'_> {
        Listing::Tag(&self.user)
    }

    fn vector_field(&self) -> &str {
        &self.vector
    }

    fn fields(&self) -> Vec<FieldUse> {
        let field = FieldUse::new;
        let mut uses = vec![
            field("text", &self.text, true, true),
            field("vector", &self.vector, true, true),
            field("user", &self.user, false, false),
            field("memory_type", &self.memory_type, false, false),
            field("created_at", &self.created_at, false, true),
        ];
        if self.whole {
            uses.push(field("metadata", METADATA, false, true));
        }
        let scope = self.scope.iter();
        uses.extend(scope.map(|name| field("scope", name, false, false)));
        uses
    }

    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead> {
        let parts = self.parts(&stored.record)?;
        let Some(user) = plain(&parts.metadata, &self.user)? else {
            self.check_name(&parts.members)?;
            return Err(malformed(format!(
                "the metadata have no user id (`{}`)",
                self.user
            )));
        };
        self.read_parts(key, stored, &parts, user.clone())
            .map_err(|error| NotRead {
                user: Some(user),
                ..error
            })
    }

    fn leaves(&self, source: &Source) -> Vec<Leaf> {
        let parts = self.parts(&source.stored.record);
        let metadata = parts.map(|parts| parts.metadata).unwrap_or_default();
        Metadata::unfold(metadata).leaves(source, &source.memory.key)
    }

    fn merge(
        &self,
        sources: &[Source],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Stored, CannotWrite> {
        let result = write::merge(self, sources, survivor, merged);
        let cannot = |detail| CannotWrite::at(sources, survivor, detail);
        result.map(Stored::from).map_err(cannot)
    }
}

/// The text of a plain member; `None` where there is none.
fn plain(metadata: &Map<String, Value>, name: &str) -> Result<Option<String>, NotRead> {
    match metadata.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
        Some(_) => Err(malformed(format!("`{name}` is neither text nor a number"))),
    }
}

/// Whether a member of the metadata and its copy beside them say the same. In a hash every copy is
/// text; a list is text in both storages, its items divided by a separator.
fn agree(value: &Value, copy: &Value) -> bool {
    match (value, copy) {
        (Value::Array(items), Value::String(joined)) => is_joined(items, joined),
        (Value::Number(number), Value::String(text)) => same_number(&number.to_string(), text),
        (Value::Number(a), Value::Number(b)) => same_number(&a.to_string(), &b.to_string()),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, value)| b.get(name).is_some_and(|copy| alike(value, copy)))
        }
        _ => value == copy,
    }
}

/// Whether two JSON values are equal, however their numbers are written.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        _ => agree(a, b),
    }
}

fn same_number(a: &str, b: &str) -> bool {
    let float = |text: &str| text.parse::<f64>().ok();
    match (a.parse::<i128>(), b.parse::<i128>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => float(a).is_some() && float(a) == float(b),
    }
}

/// Whether `joined` is the items with one and the same text between each two.
fn is_joined(items: &[Value], joined: &str) -> bool {
    let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    let Some(items) = items else {
        return false;
    };
    let length: usize = items.iter().map(|item| item.len()).sum();
    let gaps = items.len().saturating_sub(1);
    let between = joined.len().checked_sub(length);
    let separator = match (gaps, between) {
        (0, _) => Some(""),
        (gaps, Some(between)) if between % gaps == 0 => {
            let start = items[0].len();
            joined.get(start..start + between / gaps)
        }
        _ => None,
    };
    separator.is_some_and(|separator| items.join(separator) == joined)
}

fn malformed(detail: impl Into<String>) -> NotRead {
    not_read(Reason::Malformed, detail)
}

#[cfg(test)]
mod tests;
