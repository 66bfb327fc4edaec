//! Memories as items of LangGraph's `RedisStore` and `AsyncRedisStore`, LangMem's among them: two
//! keys an item with one id at their ends, the item in one index and its vector in another.

mod item;
mod namespace;
mod python;
mod write;

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::body::Body;
use super::deleted::refuse_deleted;
use super::json::Path;
use super::metadata::Metadata;
use super::timestamp::{SECONDS, Stamp};
use super::{
    Apart, CannotWrite, FieldUse, Kind, Layout, Leaf, Listing, Merged, NotRead, Options, Reading,
    Source, not_read,
};
use crate::memory::{Memory, Partition, Reason};
use crate::record::{IndexFacts, Record, Storage, Stored, Unfit};

use item::Shape;
use namespace::Pattern;

/// The layout by its name.
pub(super) const KIND: Kind = Kind {
    name: NAME,
    index: "store",
    more: |options, index| {
        let usual = || format!("{index}_vectors");
        vec![options.vector_index.clone().unwrap_or_else(usual)]
    },
    copied: false,
    named: false,
    open: |options, facts, more| {
        let vectors = more.first().and_then(Option::as_ref);
        Ok(Arc::new(LangGraph::new(options, facts, vectors)?))
    },
};

const NAME: &str = "langgraph-store";

/// The member beside the value in which the provenance of a result is kept. The library ignores
/// it, and drops it when the agent writes the item anew.
const PROVENANCE: &str = "memfold";

/// The members by which agents know an item.
const IDENTITY: [&str; 2] = ["prefix", "key"];

/// Members of an item's document that have a role.
const ROLES: [&str; 6] = [
    "prefix",
    "key",
    "value",
    "created_at",
    "updated_at",
    PROVENANCE,
];

/// The pattern of the namespaces of some items, where they tell it.
pub fn propose_namespace(items: &[(String, Record)]) -> Option<String> {
    let stored = items.iter().filter_map(|(_, record)| match record {
        Record::Json(text) => Some(object(text).ok()?.get("prefix")?.as_str()?.to_owned()),
        Record::Hash(_) => None,
    });
    namespace::proposed(stored)
}

/// The layout over the index of the items and that of their vectors.
#[derive(Clone, Debug)]
struct LangGraph {
    /// What the keys of items begin with.
    prefix: String,
    /// What the keys of vectors begin with.
    vector_prefix: String,
    vectors: IndexFacts,
    vector_attribute: String,
    /// The records of the vectors.
    body: Body,
    namespaces: Pattern,
    /// The member of the value that holds the text, where it is set.
    text: Option<Path>,
}

impl LangGraph {
    fn new(
        options: &Options,
        facts: &IndexFacts,
        vectors: Option<&IndexFacts>,
    ) -> Result<Self, Unfit> {
        if let Some(name) = IDENTITY.iter().find(|name| facts.field(name).is_none()) {
            return Err(facts.unfit(format!("it has no field `{name}`, so it is no such store")));
        }
        if facts.storage != Storage::Json {
            return Err(facts.unfit("the items of such a store are JSON documents".to_owned()));
        }
        let vectors = vectors.ok_or_else(|| {
            facts.unfit(
                "the index with the vectors of its items is missing; name it with --vector-index \
                 (a store without `index` has no vectors and cannot be served)"
                    .to_owned(),
            )
        })?;
        if let Some(name) = IDENTITY.iter().find(|name| vectors.field(name).is_none()) {
            return Err(vectors.unfit(format!("it has no field `{name}`")));
        }
        let name = options.vector.as_deref().unwrap_or("embedding");
        let body = Body::new(vectors, name)?;
        let pattern = options.namespace.as_deref().unwrap_or(Pattern::USUAL);
        let attribute = vectors.field(name).map(|field| field.attribute.clone());
        Ok(Self {
            prefix: only_prefix(facts)?,
            vector_prefix: only_prefix(vectors)?,
            vector_attribute: attribute.unwrap_or_else(|| name.to_owned()),
            vectors: vectors.clone(),
            body,
            namespaces: Pattern::parse(pattern).map_err(|detail| facts.unfit(detail))?,
            text: match &options.text {
                None => None,
                Some(name) => Some(Path::parse(&format!("$.{name}")).ok_or_else(|| {
                    facts.unfit(format!("`{name}` is no plain path within an item's value"))
                })?),
            },
        })
    }

    /// The users that an item's document can be told to be of, before anything else is looked at.
    fn user(&self, document: &Map<String, Value>) -> Option<String> {
        self.owner(document.get("prefix")?.as_str())
    }

    fn read_document(
        &self,
        key: &str,
        stored: &Stored,
        document: &Map<String, Value>,
        user: String,
    ) -> Result<Reading, NotRead> {
        let namespace = text(document, "prefix")?;
        let item_key = text(document, "key")?;
        let created_at = time(document, "created_at")?;
        time(document, "updated_at")?;
        let value = document.get("value").unwrap_or(&Value::Null);
        let other = stored.others.first().map(|other| &other.record);
        let other = other.ok_or_else(|| {
            let detail = "the item has no vector (stored with index=False, or half-written)";
            not_read(Reason::NoVector, detail)
        })?;
        let vector = self.vector_document(other)?;
        if (text(&vector, "prefix")?, text(&vector, "key")?) != (namespace, item_key) {
            let detail = "the vector with its id is of another item";
            return Err(not_read(Reason::Malformed, detail));
        }
        refuse_deleted(&value.as_object().into_iter().collect::<Vec<_>>())?;
        let embedded = text(&vector, "field_name")?;
        let shape = Shape::of(value, embedded, self.text.as_ref())?;
        if shape.text.trim().is_empty() {
            return Err(not_read(Reason::EmptyText, "the text is empty"));
        }
        let metadata = Metadata::read(document.get(PROVENANCE));
        let labels = namespace::decode(namespace).unwrap_or_default();
        let memory = Memory {
            key: key.to_owned(),
            partition: Partition {
                user,
                scope: vec![Value::from(labels).to_string(), shape.scope],
                memory_type: shape.kind,
            },
            text: shape.text,
            created_at,
            said_at: metadata.said_at(created_at),
            expires_at_ms: None,
            digest: stored.digest(),
            merge_id: metadata.merge_id(),
            pinned: false,
            frame: shape.frame,
        };
        let vector = self.numbers(other)?;
        Ok(Reading { memory, vector })
    }

    /// The document of a vector as members, without the vector.
    fn vector_document(&self, record: &Record) -> Result<Map<String, Value>, NotRead> {
        Ok(self.body.members(record)?.map)
    }

    fn numbers(&self, record: &Record) -> Result<Vec<f32>, NotRead> {
        self.body
            .vector(record)
            .map_err(|error| match error.reason {
                Reason::NoVector => not_read(Reason::NoVector, "the item's vector is empty"),
                _ => error,
            })
    }
}

impl Layout for LangGraph {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The index splits, stems and folds namespaces, so that it is never asked for one.
    fn listing(&self) -> Listing<'_> {
        Listing::Value("prefix")
    }

    fn owner(&self, value: Option<&str>) -> Option<String> {
        self.namespaces.user(&namespace::decode(value?)?)
    }

    fn is_own_key(&self, key: &str) -> bool {
        // The library takes what follows the first colon for the id.
        let id = key.strip_prefix(&self.prefix);
        id.is_some_and(|id| !id.is_empty() && !id.contains(':'))
    }

    fn apart(&self) -> Option<Apart<'_>> {
        Some(Apart {
            index: &self.vectors,
            own: &self.prefix,
            other: &self.vector_prefix,
        })
    }

    fn vector_field(&self) -> &str {
        &self.vector_attribute
    }

    fn time_fields(&self) -> Vec<&str> {
        vec!["updated_at"]
    }

    fn fields(&self) -> Vec<FieldUse> {
        let text = self.text.as_ref().map_or_else(
            || "value.content, or what the index embeds".to_owned(),
            |path| format!("value.{}", path.dotted()),
        );
        let field = FieldUse::new;
        vec![
            field("user", "prefix", true, false),
            field("id", "key", true, false),
            field("text", &text, false, true),
            field("vector", &self.vector_attribute, false, true),
            field("created_at", "created_at", false, false),
            field("updated_at", "updated_at", false, true),
            field("metadata", PROVENANCE, false, true),
        ]
    }

    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead> {
        let Record::Json(text) = &stored.record else {
            return Err(not_read(Reason::NotAMemory, "an item is a JSON document"));
        };
        let document = object(text)?;
        if !document.contains_key("value") {
            return Err(not_read(Reason::NotAMemory, "the document has no `value`"));
        }
        let Some(user) = self.user(&document) else {
            let detail = "its namespace is not one that the pattern names users by";
            return Err(not_read(Reason::NotAMemory, detail));
        };
        self.read_document(key, stored, &document, user.clone())
            .map_err(|error| NotRead {
                user: Some(user),
                ..error
            })
    }

    fn leaves(&self, source: &Source) -> Vec<Leaf> {
        let document = match &source.stored.record {
            Record::Json(text) => object(text).unwrap_or_default(),
            Record::Hash(_) => Map::new(),
        };
        let id = write::id(source, &document);
        Metadata::read(document.get(PROVENANCE)).leaves(source, &id)
    }

    fn identity(&self, source: &Source) -> Vec<(String, String)> {
        let Record::Json(json) = &source.stored.record else {
            return Vec::new();
        };
        let document = object(json).unwrap_or_default();
        let member = |name| Some((String::from(name), text(&document, name).ok()?.to_owned()));
        IDENTITY.into_iter().filter_map(member).collect()
    }

    fn merge(
        &self,
        sources: &[Source],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Stored, CannotWrite> {
        write::merge(self, sources, survivor, merged)
    }
}

/// Keys of such a store have one prefix; what ends in the id of an item follows it.
fn only_prefix(facts: &IndexFacts) -> Result<String, Unfit> {
    match facts.prefixes.as_slice() {
        [prefix] if !prefix.is_empty() => Ok(prefix.clone()),
        _ => Err(facts.unfit("the keys of such a store have one prefix".to_owned())),
    }
}

fn object(text: &str) -> Result<Map<String, Value>, NotRead> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(not_read(Reason::NotAMemory, "the document is no object")),
        Err(error) => Err(not_read(Reason::Malformed, format!("not JSON: {error}"))),
    }
}

fn text<'a>(document: &'a Map<String, Value>, name: &str) -> Result<&'a str, NotRead> {
    let text = document.get(name).and_then(Value::as_str);
    text.ok_or_else(|| not_read(Reason::Malformed, format!("`{name}` is no text")))
}

/// A time of an item, in microseconds. The library fails on every answer with one that is no number,
/// or beyond its calendar.
fn time(document: &Map<String, Value>, name: &str) -> Result<Option<jiff::Timestamp>, NotRead> {
    let wrong = |what: &str| not_read(Reason::Malformed, format!("`{name}` is no {what}"));
    let number = document.get(name).and_then(Value::as_number);
    let number = number.ok_or_else(|| wrong("number"))?;
    let seconds = number.as_f64().map(|micros| micros / 1e6);
    if !seconds.is_some_and(|seconds| SECONDS.contains(&seconds)) {
        return Err(wrong("number of microseconds of the years 1 to 9999"));
    }
    Ok(Stamp::parse(&number.to_string(), &TimeZone::UTC).map(|stamp| stamp.at))
}

#[cfg(test)]
mod tests;
