//! The metadata of a result: what the sources say, and where it came from. Nothing that any
//! source says is lost; docs/provenance.md has the rules.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::Member;
use super::{Leaf, Merged, Past, Source, json, pyrepr};

/// The members that memfold writes.
const OWN: [&str; 8] = [
    "consolidated",
    "source_count",
    "merge_id",
    "merged_at",
    "latest_at",
    "sources",
    "metadata_raw",
    "memfold",
];

/// The member that holds all of it as text, where a library takes plain values only.
pub(crate) const FOLDED: &str = "memfold";

/// Version of the form of [`Provenance`].
const VERSION: u32 = 1;

/// Differing values by name, each with the id of the memory that said it.
type Values = BTreeMap<String, Vec<Said>>;

/// A value and who said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Said {
    source: String,
    value: Value,
}

/// Metadata that is no object, as it was stored, and whose it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Raw {
    source: String,
    raw: String,
}

/// What memfold adds to the metadata of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Provenance {
    consolidated: bool,
    source_count: u64,
    /// The merge that wrote the result.
    pub(crate) merge_id: String,
    merged_at: Timestamp,
    /// The date of the winning leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latest_at: Option<Timestamp>,
    /// The originals, over all generations.
    pub(crate) sources: Vec<Leaf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    metadata_raw: Vec<Raw>,
    memfold: Marker,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Marker {
    version: u32,
    values: Values,
    /// Older values that the text replaced and texts that it says in other words, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<Replaced>,
}

/// An older value, who said it and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Replaced {
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said_at: Option<Timestamp>,
    text: String,
}

/// The metadata of one memory, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    /// What the library and the agent wrote.
    pub(super) members: Map<String, Value>,
    /// What memfold wrote, if it did and nobody changed it.
    pub(crate) provenance: Option<Provenance>,
    /// What stands where memfold writes, but is not memfold's.
    displaced: Map<String, Value>,
    raw: Option<String>,
    count: u64,
}

impl Metadata {
    /// The originals that the memory at `source` stands for: those of its provenance, or itself,
    /// known by `id`.
    pub(crate) fn leaves(&self, source: &Source, id: &str) -> Vec<Leaf> {
        match &self.provenance {
            Some(own) => own.sources.clone(),
            None => vec![source.leaf(id)],
        }
    }

    /// When what the memory says was said: by its provenance, or else when it was created.
    pub(crate) fn said_at(&self, created_at: Option<Timestamp>) -> Option<Timestamp> {
        let latest_at = self.provenance.as_ref().and_then(|own| own.latest_at);
        latest_at.or(created_at)
    }

    /// The merge that wrote the memory, if one did.
    pub(crate) fn merge_id(&self) -> Option<String> {
        self.provenance.as_ref().map(|own| own.merge_id.clone())
    }

    /// Reads the metadata of a record in any form that it is found in.
    pub(crate) fn read(stored: Option<&Value>) -> Self {
        match stored {
            None | Some(Value::Null) => Self {
                count: 1,
                ..Self::default()
            },
            Some(Value::Object(members)) => Self::from_members(members.clone()),
            Some(Value::String(text)) => Self::from_text(text),
            Some(other) => Self::from_raw(&other.to_string()),
        }
    }

    /// Reads the metadata of a record that is looked at.
    pub(crate) fn of(member: Option<Member<'_>>) -> Self {
        match member {
            Some(Member::Text(text)) => Self::from_text(text),
            Some(Member::Json(value)) => Self::read(Some(value)),
            None => Self::read(None),
        }
    }

    /// Reads metadata in which memfold's part is folded into one text ([`United::folded`]).
    pub(crate) fn unfold(mut members: Map<String, Value>) -> Self {
        let folded = members.get(FOLDED).and_then(Value::as_str);
        let own = folded.and_then(|text| serde_json::from_str(text).ok());
        if let Some(provenance) = own.and_then(|own| Provenance::read(&own)) {
            members.shift_remove(FOLDED);
            return Self {
                members,
                count: provenance.source_count,
                provenance: Some(provenance),
                ..Self::default()
            };
        }
        let displaced = members.shift_remove_entry(FOLDED);
        Self {
            members,
            displaced: displaced.into_iter().collect(),
            count: 1,
            ..Self::default()
        }
    }

    fn from_text(text: &str) -> Self {
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        let repeated = parsed
            .as_ref()
            .is_some_and(|whole| json::repeats_a_member(text, whole));
        match parsed {
            Some(Value::Object(members)) => Self {
                raw: repeated.then(|| text.to_owned()),
                ..Self::from_members(members)
            },
            Some(_) => Self::from_raw(text),
            None => match pyrepr::parse(text) {
                Some(Value::Object(members)) => Self::from_members(members),
                _ => Self::from_raw(text),
            },
        }
    }

    fn from_raw(text: &str) -> Self {
        Self {
            raw: Some(text.to_owned()),
            count: 1,
            ..Self::default()
        }
    }

    fn from_members(members: Map<String, Value>) -> Self {
        let (own, members): (Map<_, _>, Map<_, _>) = members
            .into_iter()
            .partition(|(name, _)| OWN.contains(&name.as_str()));
        if let Some(provenance) = Provenance::read(&own) {
            let count = provenance.source_count;
            return Self {
                members,
                provenance: Some(provenance),
                count,
                ..Self::default()
            };
        }
        // The recipe that many stores were merged with leaves these two behind.
        let is_merged = own.get("consolidated") == Some(&Value::Bool(true));
        let count = own
            .get("source_count")
            .and_then(Value::as_u64)
            .filter(|_| is_merged);
        let mut displaced = own;
        if is_merged {
            displaced.shift_remove("consolidated");
        }
        Self {
            members,
            displaced,
            count: count.unwrap_or(1).max(1),
            ..Self::default()
        }
    }

    fn values(&self) -> impl Iterator<Item = (&String, &Vec<Said>)> {
        self.provenance
            .iter()
            .flat_map(|provenance| &provenance.memfold.values)
    }

    /// Whether the history of an earlier merge has this value already.
    fn remembers(&self, name: &str, value: &Value) -> bool {
        let list = self
            .provenance
            .as_ref()
            .and_then(|own| own.memfold.values.get(name));
        list.is_some_and(|list| list.iter().any(|said| said.value == *value))
    }
}

impl Provenance {
    /// Takes it for memfold's only if memfold would write exactly this.
    fn read(own: &Map<String, Value>) -> Option<Self> {
        if own.is_empty() {
            return None;
        }
        let whole = Value::Object(own.clone());
        let read: Self = serde_json::from_value(whole.clone()).ok()?;
        let ours = read.consolidated && read.memfold.version == VERSION;
        (ours && serde_json::to_value(&read).ok()? == whole).then_some(read)
    }
}

/// What one source brings to a result.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The memory's own id.
    pub(crate) id: String,
    /// Its metadata.
    pub(crate) metadata: Metadata,
    /// Its other fields, by name.
    pub(crate) fields: Map<String, Value>,
    /// Values that only the history keeps.
    pub(crate) aside: Vec<(String, Value)>,
    /// The originals that it stands for.
    pub(crate) leaves: Vec<Leaf>,
}

/// What a result says of its own making.
#[derive(Clone, Debug)]
pub(crate) struct Making {
    /// The merge.
    pub(crate) merge_id: String,
    /// When it was made.
    pub(crate) merged_at: Timestamp,
    /// The newest date of the sources.
    pub(crate) latest_at: Option<Timestamp>,
    /// What the text replaced or says in other words.
    pub(crate) history: Vec<Past>,
}

impl Making {
    /// That of the merge of `sources`.
    pub(crate) fn of(sources: &[Source], merged: &Merged) -> Self {
        Self {
            merge_id: merged.merge_id.clone(),
            merged_at: merged.merged_at,
            latest_at: sources.iter().filter_map(|s| s.memory.said_at).max(),
            history: merged.history.clone(),
        }
    }
}

/// The united metadata and other fields of a result.
#[derive(Clone, Debug)]
pub(crate) struct United {
    /// The members of the metadata that are not memfold's.
    pub(crate) members: Map<String, Value>,
    /// Those that are.
    own: Map<String, Value>,
    /// The other fields: the survivor's, and those that it has not.
    pub(crate) fields: Map<String, Value>,
}

impl United {
    /// The whole metadata, with provenance.
    pub(crate) fn metadata(self) -> Map<String, Value> {
        let mut metadata = self.members;
        metadata.extend(self.own);
        metadata
    }

    /// The whole metadata, with provenance as one text member.
    pub(crate) fn folded(self) -> Map<String, Value> {
        let mut metadata = self.members;
        metadata.insert(
            FOLDED.to_owned(),
            Value::Object(self.own).to_string().into(),
        );
        metadata
    }
}

/// Unites the parts; where they differ, what `parts[survivor]` says stands.
pub(crate) fn unite(parts: &[Part], survivor: usize, making: Making) -> United {
    let mut ordered: Vec<&Part> = parts.get(survivor).into_iter().collect();
    let others = parts
        .iter()
        .enumerate()
        .filter(|(position, _)| *position != survivor);
    ordered.extend(others.map(|(_, part)| part));

    let mut values = History::default();
    for part in &ordered {
        for (name, list) in part.metadata.values() {
            list.iter().for_each(|said| values.add(name, said.clone()));
        }
        let displaced = part.metadata.displaced.iter();
        for (name, value) in displaced.chain(part.aside.iter().map(|(name, value)| (name, value))) {
            values.add(
                name,
                Said {
                    source: part.id.clone(),
                    value: value.clone(),
                },
            );
        }
    }
    let members = unite_maps(&ordered, |part| &part.metadata.members, &mut values);
    let fields = unite_maps(&ordered, |part| &part.fields, &mut values);

    let provenance = Provenance {
        consolidated: true,
        source_count: parts
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.metadata.count)),
        merge_id: making.merge_id,
        merged_at: making.merged_at,
        latest_at: making.latest_at,
        sources: leaves(&ordered),
        metadata_raw: raws(&ordered),
        memfold: Marker {
            version: VERSION,
            values: values.lists,
            history: history(parts, making.history),
        },
    };
    let own = match serde_json::to_value(provenance) {
        Ok(Value::Object(own)) => own,
        _ => Map::new(), // a struct with named fields is an object
    };
    United {
        members,
        own,
        fields,
    }
}

/// The first value of each name; if a name has several, all of them go to the history as well.
fn unite_maps<'a>(
    parts: &[&'a Part],
    map_of: impl Fn(&'a Part) -> &'a Map<String, Value>,
    values: &mut History,
) -> Map<String, Value> {
    let mut united = Map::new();
    let mut differing = HashSet::new();
    for part in parts {
        for (name, value) in map_of(part) {
            match united.get(name) {
                None => drop(united.insert(name.clone(), value.clone())),
                Some(standing) if standing == value => {}
                Some(_) => drop(differing.insert(name)),
            }
        }
    }
    for part in parts {
        for (name, value) in map_of(part) {
            // A name that differed in an earlier merge has its history with it.
            let differs = differing.contains(name) || values.lists.contains_key(name);
            if differs && !part.metadata.remembers(name, value) {
                values.add(
                    name,
                    Said {
                        source: part.id.clone(),
                        value: value.clone(),
                    },
                );
            }
        }
    }
    united
}

/// Differing values, each once. Lookups go by text, for lists may grow over generations.
#[derive(Default)]
struct History {
    lists: Values,
    seen: HashSet<(String, String, String)>,
}

impl History {
    fn add(&mut self, name: &str, said: Said) {
        let identity = (name.to_owned(), said.source.clone(), said.value.to_string());
        if self.seen.insert(identity) {
            self.lists.entry(name.to_owned()).or_default().push(said);
        }
    }
}

/// The older values of earlier merges and of this one, by date; each once.
fn history(parts: &[Part], now: Vec<Past>) -> Vec<Replaced> {
    let own = parts.iter().flat_map(|part| &part.metadata.provenance);
    let earlier = own.flat_map(|provenance| provenance.memfold.history.clone());
    let replaced = now.into_iter().filter_map(|past| {
        Some(Replaced {
            source: parts.get(past.source)?.id.clone(),
            said_at: past.said_at,
            text: past.text,
        })
    });
    let mut all: Vec<Replaced> = Vec::new();
    for one in earlier.chain(replaced) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all.sort_by_key(|one| one.said_at);
    all
}

fn leaves(parts: &[&Part]) -> Vec<Leaf> {
    let mut seen = HashSet::new();
    let all = parts.iter().flat_map(|part| &part.leaves);
    all.filter(|leaf| seen.insert((&leaf.key, &leaf.digest)))
        .cloned()
        .collect()
}

fn raws(parts: &[&Part]) -> Vec<Raw> {
    let mut all: Vec<Raw> = Vec::new();
    for part in parts {
        let earlier = part
            .metadata
            .provenance
            .iter()
            .flat_map(|own| own.metadata_raw.clone());
        let now = part.metadata.raw.iter().map(|raw| Raw {
            source: part.id.clone(),
            raw: raw.clone(),
        });
        for raw in earlier.chain(now) {
            if !all.contains(&raw) {
                all.push(raw);
            }
        }
    }
    all
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
