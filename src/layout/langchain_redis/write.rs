//! Builds the record that replaces the sources.

use serde_json::{Map, Value};

use super::{LangchainRedis, METADATA, Parts};
use crate::layout::metadata::{self, Making, Metadata, Part};
use crate::layout::timestamp::TimeForm;
use crate::layout::{Merged, Source};
use crate::record::{Record, Storage};

/// The record of `sources[survivor]` with everything that the others add to it.
pub(super) fn merge(
    layout: &LangchainRedis,
    sources: &[Source],
    survivor: usize,
    merged: &Merged,
) -> Result<Record, String> {
    let parts: Result<Vec<Parts>, _> = sources
        .iter()
        .map(|source| layout.parts(&source.stored.record))
        .collect();
    let parts = parts.map_err(|error| error.detail)?;
    let Some(surviving) = parts.get(survivor) else {
        return Err("the survivor is none of the sources".to_owned());
    };
    let is_whole = |parts: &Parts| parts.members.contains_key(METADATA);
    if parts.iter().any(|one| is_whole(one) != is_whole(surviving)) {
        return Err(format!("not all sources have `{METADATA}`"));
    }
    let named: Vec<&String> = parts.iter().flat_map(|one| one.metadata.keys()).collect();
    let brought: Vec<Part> = sources
        .iter()
        .zip(&parts)
        .map(|(source, one)| part(layout, source, one, &named))
        .collect();
    let united = metadata::unite(&brought, survivor, Making::of(sources, merged));

    let mut members = surviving.members.clone();
    for (name, value) in united.fields.clone() {
        members.entry(name).or_insert(value);
    }
    let mut metadata = united.folded();
    let dates: Vec<_> = parts
        .iter()
        .map(|one| one.metadata.get(&layout.created_at))
        .collect();
    if let Some(date) = TimeForm::Auto.earliest(&dates, survivor, &layout.naive_zone) {
        metadata.insert(layout.created_at.clone(), date);
    }
    let sources_first = [surviving].into_iter().chain(&parts);
    for (name, value) in metadata.iter().filter(|(_, value)| !value.is_null()) {
        let copy = copy(layout, name, value, sources_first.clone())?;
        members.insert(name.clone(), copy);
    }
    members.insert(layout.text.clone(), merged.text.as_str().into());
    if is_whole(surviving) {
        members.insert(
            METADATA.to_owned(),
            Value::Object(metadata).to_string().into(),
        );
    }
    let records: Vec<&Record> = sources.iter().map(|s| &s.stored.record).collect();
    layout
        .body
        .record(&records, survivor, members, &merged.vector)
}

/// What a source brings. A field beside the metadata that is a member of others' metadata is a
/// leftover of earlier metadata: it gives way, and the history keeps it.
fn part(layout: &LangchainRedis, source: &Source, parts: &Parts, named: &[&String]) -> Part {
    let metadata = Metadata::unfold(parts.metadata.clone());
    let beside = parts
        .members
        .iter()
        .filter(|(name, _)| !layout.is_own(name) && !parts.metadata.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()));
    let (leftover, fields): (Vec<_>, Vec<_>) = beside.partition(|(name, _)| named.contains(&name));
    Part {
        id: source.memory.key.clone(),
        leaves: metadata.leaves(source, &source.memory.key),
        metadata,
        fields: fields.into_iter().collect::<Map<_, _>>(),
        aside: leftover,
    }
}

/// The copy of a member of the metadata beside them: that of a source that says the same, so that
/// lists keep the separator that the library was told to use.
fn copy<'a>(
    layout: &LangchainRedis,
    name: &str,
    value: &Value,
    mut sources: impl Iterator<Item = &'a Parts>,
) -> Result<Value, String> {
    let says_so = |parts: &&Parts| parts.metadata.get(name) == Some(value);
    if let Some(copy) = sources
        .find(says_so)
        .and_then(|parts| parts.members.get(name))
    {
        return Ok(copy.clone());
    }
    match (value, layout.body.storage) {
        (Value::String(_), _) | (Value::Number(_), Storage::Json) => Ok(value.clone()),
        (Value::Number(number), Storage::Hash) => Ok(number.to_string().into()),
        _ => Err(format!("`{name}` has no copy beside the metadata")),
    }
}
