//! Builds the record that replaces the sources.

use serde_json::{Map, Value};

use super::Redisvl;
use crate::layout::json::Path;
use crate::layout::metadata::{self, Making, Metadata, Part};
use crate::layout::{CannotWrite, Merged, Record, ResultVector, Source, Stored};
use crate::store::index::Storage;

/// The record of `sources[survivor]` with everything that the others add to it.
pub(super) fn merge(
    layout: &Redisvl,
    sources: &[Source],
    survivor: usize,
    merged: &Merged,
) -> Result<Stored, CannotWrite> {
    let key = sources
        .get(survivor)
        .map(|source| source.memory.key.clone())
        .unwrap_or_default();
    let cannot = |detail: String| CannotWrite {
        key: key.clone(),
        detail,
    };
    if survivor >= sources.len() {
        return Err(cannot("the survivor is none of the sources".to_owned()));
    }
    let mut members = Vec::with_capacity(sources.len());
    for source in sources {
        let read = layout.members(&source.stored.record);
        members.push(read.map_err(|error| cannot(error.detail))?);
    }
    let result = layout
        .merged_members(sources, &members, survivor, merged)
        .map_err(cannot)?;
    match layout.storage {
        Storage::Json => layout.json_result(sources, result, &merged.vector),
        Storage::Hash => layout.hash_result(sources, survivor, result, &merged.vector),
    }
    .map(Stored::from)
    .map_err(cannot)
}

impl Redisvl {
    /// What a source brings to a result.
    fn part(&self, source: &Source, members: &Map<String, Value>) -> Part {
        let id = self.memory_id(members, &source.memory.key);
        let metadata = Metadata::read(self.metadata.get(members));
        let leaves = self.leaves_of(source, &id, &metadata);
        let fields = self.other_fields(members).into_iter();
        let fields = fields
            .map(|(path, value)| (path.dotted(), value.clone()))
            .collect();
        // A date that cannot be read has no place in the leaves.
        let unread = self.created_at.get(members).filter(|value| {
            self.stamp(members).is_none() && !matches!(value, Value::Null) && **value != ""
        });
        let aside = unread.map(|value| (self.created_at.dotted(), value.clone()));
        Part {
            id,
            metadata,
            fields,
            aside: aside.into_iter().collect(),
            leaves,
        }
    }

    /// Everything in a record that has no role.
    fn other_fields<'a>(&self, members: &'a Map<String, Value>) -> Vec<(Path, &'a Value)> {
        let mut others = Vec::new();
        let mut open: Vec<(Path, &Value)> = pairs(None, members).collect();
        open.reverse();
        while let Some((path, value)) = open.pop() {
            let roles = self.roles();
            if roles.contains(&&path) {
                continue;
            }
            match value {
                // An object around a role is taken apart.
                Value::Object(inner) if roles.iter().any(|role| path.covers(role)) => {
                    let start = open.len();
                    open.extend(pairs(Some(&path), inner));
                    open[start..].reverse();
                }
                _ => others.push((path, value)),
            }
        }
        others
    }

    /// The members of the result, without its vector.
    fn merged_members(
        &self,
        sources: &[Source],
        members: &[Map<String, Value>],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Map<String, Value>, String> {
        let parts: Vec<_> = sources
            .iter()
            .zip(members)
            .map(|(source, members)| self.part(source, members))
            .collect();
        let making = Making {
            merge_id: merged.merge_id.clone(),
            merged_at: merged.merged_at,
            latest_at: sources
                .iter()
                .filter_map(|source| source.memory.said_at)
                .max(),
        };
        let united = metadata::unite(&parts, survivor, making);
        let mut result = members[survivor].clone();
        let mut put = |path: &Path, value| {
            path.set(&mut result, value)
                .map_err(|_| format!("there is no room for `{}`", path.dotted()))
        };
        put(&self.text, merged.text.as_str().into())?;
        put(
            &self.metadata,
            self.metadata_in_its_form(united.metadata, members, survivor),
        )?;
        if let Some(date) = self.earliest(members, survivor) {
            put(&self.created_at, date)?;
        }
        for (path, value) in members
            .iter()
            .flat_map(|members| self.other_fields(members))
        {
            let name = path.dotted();
            let absent = !parts[survivor].fields.contains_key(&name);
            if absent && united.fields.get(&name) == Some(value) {
                put(&path, value.clone())?;
            }
        }
        Ok(result)
    }

    /// Metadata as an object where the survivor, or else any source, has an object; else as text.
    fn metadata_in_its_form(
        &self,
        metadata: Map<String, Value>,
        members: &[Map<String, Value>],
        survivor: usize,
    ) -> Value {
        let has_form = |value: &&Value| value.is_object() || value.is_string();
        let form = |members| self.metadata.get(members).filter(has_form);
        let form = form(&members[survivor]).or_else(|| members.iter().find_map(form));
        let metadata = Value::Object(metadata);
        if form.is_some_and(Value::is_object) {
            metadata
        } else {
            metadata.to_string().into()
        }
    }

    /// The earliest date, if the survivor must be given it: in the survivor's form, or, where it
    /// has no date, as its own source has it.
    fn earliest(&self, members: &[Map<String, Value>], survivor: usize) -> Option<Value> {
        let dates = members
            .iter()
            .filter_map(|members| Some((self.stamp(members)?.at, members)));
        let (earliest, holder) = dates.min_by_key(|(at, _)| *at)?;
        let held = self.created_at.get(&members[survivor]);
        match (self.stamp(&members[survivor]), held) {
            (Some(stamp), _) if stamp.at <= earliest => None,
            (Some(stamp), Some(Value::Number(_))) => stamp
                .rewrite(earliest, &self.naive_zone)
                .parse()
                .map(Value::Number)
                .ok(),
            (Some(stamp), _) => Some(stamp.rewrite(earliest, &self.naive_zone).into()),
            (None, Some(unread)) if !unread.is_null() && *unread != "" => None,
            (None, _) => self.created_at.get(holder).cloned(),
        }
    }

    fn json_result(
        &self,
        sources: &[Source],
        mut result: Map<String, Value>,
        wanted: &ResultVector,
    ) -> Result<Record, String> {
        let array = match wanted {
            ResultVector::Numbers(numbers) => {
                let array = self.vector_field.to_json(numbers);
                array.map_err(|error| error.to_string())?
            }
            ResultVector::OfSource(position) => {
                match sources.get(*position).map(|s| &s.stored.record) {
                    Some(Record::Json(text)) => {
                        let span = self.vector.span(text).ok_or("the source has no vector")?;
                        text[span].to_owned()
                    }
                    _ => return Err("the source of the vector is missing".to_owned()),
                }
            }
        };
        // The array goes in as text, so that not a digit of it changes.
        self.vector
            .set(&mut result, Value::Null)
            .map_err(|_| "there is no room for the vector")?;
        let text = Value::Object(result).to_string();
        let span = self
            .vector
            .span(&text)
            .ok_or("there is no room for the vector")?;
        Ok(Record::Json(format!(
            "{}{array}{}",
            &text[..span.start],
            &text[span.end..]
        )))
    }

    fn hash_result(
        &self,
        sources: &[Source],
        survivor: usize,
        mut result: Map<String, Value>,
        wanted: &ResultVector,
    ) -> Result<Record, String> {
        let vector = match wanted {
            ResultVector::Numbers(numbers) => {
                let bytes = self.vector_field.encode(numbers);
                bytes.map_err(|error| error.to_string())?
            }
            ResultVector::OfSource(position) => {
                let fields = hash_fields(sources.get(*position));
                let stored = fields.iter().find(|(name, _)| self.is_vector_field(name));
                stored
                    .map(|(_, bytes)| bytes.clone())
                    .ok_or("the source has no vector")?
            }
        };
        let mut fields = Vec::new();
        for (name, value) in hash_fields(sources.get(survivor)) {
            let text = std::str::from_utf8(name)
                .ok()
                .and_then(|name| result.shift_remove(name));
            let value = match text {
                _ if self.is_vector_field(name) => vector.clone(),
                Some(Value::String(text)) => text.into_bytes(),
                _ => value.clone(),
            };
            fields.push((name.clone(), value));
        }
        for (name, value) in result {
            if let Value::String(text) = value {
                fields.push((name.into_bytes(), text.into_bytes()));
            }
        }
        self.add_binary_fields(sources, survivor, &mut fields)?;
        Ok(Record::Hash(fields))
    }

    /// Adds the fields of other sources that are not text. Two that differ cannot both be kept.
    fn add_binary_fields(
        &self,
        sources: &[Source],
        survivor: usize,
        fields: &mut Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Result<(), String> {
        let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
        let survivors = hash_fields(sources.get(survivor));
        let binary_there = |name: &[u8]| {
            survivors
                .iter()
                .any(|(n, v)| n == name && !(is_text(n) && is_text(v)))
        };
        for (name, value) in sources.iter().flat_map(|source| hash_fields(Some(source))) {
            let is_binary = !is_text(name) || !is_text(value) || binary_there(name);
            if self.is_vector_field(name) || !is_binary {
                continue;
            }
            match fields.iter().find(|(known, _)| known == name) {
                None => fields.push((name.clone(), value.clone())),
                Some((_, standing)) if standing == value => {}
                Some(_) => {
                    let name = String::from_utf8_lossy(name);
                    return Err(format!(
                        "field `{name}` is not text and differs between sources"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn pairs<'a>(
    parent: Option<&Path>,
    members: &'a Map<String, Value>,
) -> impl Iterator<Item = (Path, &'a Value)> {
    let path = move |name: &String| parent.map_or_else(|| Path::root(name), |p| p.child(name));
    members.iter().map(move |(name, value)| (path(name), value))
}

fn hash_fields(source: Option<&Source>) -> &[(Vec<u8>, Vec<u8>)] {
    match source.map(|source| &source.stored.record) {
        Some(Record::Hash(fields)) => fields,
        _ => &[],
    }
}
