//! Builds the record that replaces the sources.

use serde_json::{Map, Value};

use super::{MetadataForm, Redisvl};
use crate::layout::body::Member;
use crate::layout::json::Path;
use crate::layout::metadata::{self, Making, Metadata, Part};
use crate::layout::rules::{self, Held};
use crate::layout::{CannotWrite, Merged, Source};
use crate::record::{Record, Stored};

/// The record of `sources[survivor]` with everything that the others add to it.
pub(super) fn merge(
    layout: &Redisvl,
    sources: &[Source],
    survivor: usize,
    merged: &Merged,
) -> Result<Stored, CannotWrite> {
    let cannot = |detail: String| CannotWrite::at(sources, survivor, detail);
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
    let records: Vec<&Record> = sources.iter().map(|s| &s.stored.record).collect();
    layout
        .body
        .record(&records, survivor, result, &merged.vector)
        .map(Stored::from)
        .map_err(cannot)
}

impl Redisvl {
    /// What a source brings to a result.
    fn part(&self, source: &Source, members: &Map<String, Value>) -> Part {
        let id = self.memory_id(members, &source.memory.key);
        let metadata = Metadata::read(self.metadata.get(members));
        let leaves = metadata.leaves(source, &id);
        let fields = self.other_fields(members).into_iter();
        let fields = fields
            .map(|(path, value)| (path.dotted(), value.clone()))
            .collect();
        // A date that cannot be read has no place in the leaves.
        let unread = self.created_at.get(members).filter(|value| {
            let stamp = self.stamp(Some(Member::Json(value)));
            stamp.is_none() && !matches!(value, Value::Null) && **value != ""
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
        let united = metadata::unite(&parts, survivor, Making::of(sources, merged));
        let fields = united.fields.clone();
        let mut result = members[survivor].clone();
        let mut put = |path: &Path, value| {
            path.set(&mut result, value)
                .map_err(|_| format!("there is no room for `{}`", path.dotted()))
        };
        put(&self.text, merged.text.as_str().into())?;
        put(
            &self.metadata,
            self.metadata_in_its_form(united.metadata(), members, survivor),
        )?;
        let dates: Vec<_> = members.iter().map(|m| self.created_at.get(m)).collect();
        if let Some(date) = self.ways.times.earliest(&dates, survivor, &self.naive_zone) {
            put(&self.created_at, date)?;
        }
        // Agents may pass over a record without an id.
        let id = |members| {
            self.id
                .get(members)
                .filter(|id| !id.is_null() && **id != "")
        };
        if id(&members[survivor]).is_none()
            && let Some(first) = members.iter().find_map(id)
        {
            put(&self.id, first.clone())?;
        }
        for (path, value) in members
            .iter()
            .flat_map(|members| self.other_fields(members))
        {
            let name = path.dotted();
            let absent = !parts[survivor].fields.contains_key(&name);
            if absent && fields.get(&name) == Some(value) {
                put(&path, value.clone())?;
            }
        }
        self.apply_rules(sources, members, survivor, &mut result)?;
        Ok(result)
    }

    /// Writes the fields that have a rule.
    fn apply_rules(
        &self,
        sources: &[Source],
        members: &[Map<String, Value>],
        survivor: usize,
        result: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let survivor_first = (survivor..=survivor)
            .chain((0..sources.len()).filter(|position| *position != survivor));
        for (path, rule, separator) in &self.ways.rules {
            let held = survivor_first.clone().map(|position| Held {
                value: path.get(&members[position]),
                said_at: sources[position].memory.said_at,
            });
            let reading = rules::Reading {
                separator: *separator,
                naive_zone: &self.naive_zone,
            };
            let name = path.dotted();
            let value = rules::apply(*rule, &held.collect::<Vec<_>>(), reading)
                .map_err(|error| format!("rule {rule} of `{name}` cannot be kept: {error}"))?;
            if let Some(value) = value {
                path.set(result, value)
                    .map_err(|_| format!("there is no room for `{name}`"))?;
            }
        }
        Ok(())
    }

    /// Metadata in the form that was said, or as an object where the survivor, or else any source,
    /// has an object; else as text.
    fn metadata_in_its_form(
        &self,
        metadata: Map<String, Value>,
        members: &[Map<String, Value>],
        survivor: usize,
    ) -> Value {
        let has_form = |value: &&Value| value.is_object() || value.is_string();
        let form = |members| self.metadata.get(members).filter(has_form);
        let is_object = match self.ways.metadata {
            MetadataForm::Json => false,
            MetadataForm::Object => true,
            MetadataForm::Auto => form(&members[survivor])
                .or_else(|| members.iter().find_map(form))
                .is_some_and(Value::is_object),
        };
        let metadata = Value::Object(metadata);
        if is_object {
            metadata
        } else {
            metadata.to_string().into()
        }
    }
}

fn pairs<'a>(
    parent: Option<&Path>,
    members: &'a Map<String, Value>,
) -> impl Iterator<Item = (Path, &'a Value)> {
    let path = move |name: &String| parent.map_or_else(|| Path::root(name), |p| p.child(name));
    members.iter().map(move |(name, value)| (path(name), value))
}
