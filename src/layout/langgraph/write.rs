//! Builds the two documents that replace the sources.

use serde_json::{Map, Number, Value};

use super::item::Shape;
use super::{LangGraph, PROVENANCE, ROLES, object, text};
use crate::layout::metadata::{self, Making, Metadata, Part};
use crate::layout::{CannotWrite, Merged, Source};
use crate::record::{Other, Record, Storage, Stored};

/// The documents of `sources[survivor]` with the merged text, its vector, and provenance.
pub(super) fn merge(
    layout: &LangGraph,
    sources: &[Source],
    survivor: usize,
    merged: &Merged,
) -> Result<Stored, CannotWrite> {
    let cannot = |detail: String| CannotWrite::at(sources, survivor, detail);
    if survivor >= sources.len() {
        return Err(cannot("the survivor is none of the sources".to_owned()));
    }
    let documents: Result<Vec<_>, _> = sources.iter().map(document).collect();
    let documents = documents.map_err(cannot)?;
    let record = item(layout, sources, &documents, survivor, merged).map_err(cannot)?;
    let other = vector(layout, sources, survivor, merged).map_err(cannot)?;
    Ok(Stored {
        record,
        others: vec![other],
    })
}

fn document(source: &Source) -> Result<Map<String, Value>, String> {
    match &source.stored.record {
        Record::Json(text) => object(text).map_err(|error| error.detail),
        Record::Hash(_) => Err("an item is a JSON document".to_owned()),
    }
}

/// The item's document: its value with the text replaced, all else in the value as it is.
fn item(
    layout: &LangGraph,
    sources: &[Source],
    documents: &[Map<String, Value>],
    survivor: usize,
    merged: &Merged,
) -> Result<Record, String> {
    let parts: Vec<Part> = sources.iter().zip(documents).map(part).collect();
    let united = metadata::unite(&parts, survivor, Making::of(sources, merged));
    let mut result = documents[survivor].clone();
    let vector = sources[survivor].stored.others.first();
    let vector = vector.ok_or("the survivor has no vector")?;
    let vector = layout.vector_document(&vector.record);
    let vector = vector.map_err(|error| error.detail)?;
    let embedded = text(&vector, "field_name").map_err(|error| error.detail)?;
    let value = result.get_mut("value").ok_or("the item has no value")?;
    let shape = Shape::of(value, embedded, layout.text.as_ref()).map_err(|error| error.detail)?;
    value
        .as_object_mut()
        .and_then(|value| shape.path.set(value, merged.text.as_str().into()).ok())
        .ok_or("there is no room for the text")?;
    let micros = merged.merged_at.as_microsecond();
    result.insert("updated_at".to_owned(), micros.into());
    let fields = united.fields.clone();
    result.insert(PROVENANCE.to_owned(), Value::Object(united.metadata()));
    for (name, value) in fields {
        result.entry(name).or_insert(value);
    }
    Ok(Record::Json(Value::Object(result).to_string()))
}

fn part((source, document): (&Source, &Map<String, Value>)) -> Part {
    let metadata = Metadata::read(document.get(PROVENANCE));
    let others = document.iter();
    let others = others.filter(|(name, _)| !ROLES.contains(&name.as_str()));
    let id = id(source, document);
    Part {
        leaves: metadata.leaves(source, &id),
        id,
        metadata,
        fields: others.map(|(n, v)| (n.clone(), v.clone())).collect(),
        aside: Vec::new(),
    }
}

/// The key by which agents know the item.
pub(super) fn id(source: &Source, document: &Map<String, Value>) -> String {
    let key = text(document, "key").ok();
    key.unwrap_or(&source.memory.key).to_owned()
}

/// The vector's document: the numbers and the time, all else as it is.
fn vector(
    layout: &LangGraph,
    sources: &[Source],
    survivor: usize,
    merged: &Merged,
) -> Result<Other, String> {
    let others: Option<Vec<&Other>> = sources.iter().map(|s| s.stored.others.first()).collect();
    let others = others.ok_or("the source of the vector is missing")?;
    let records: Vec<&Record> = others.iter().map(|other| &other.record).collect();
    let mut document = layout
        .vector_document(records[survivor])
        .map_err(|error| error.detail)?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "the library keeps seconds as floats"
    )]
    let seconds = merged.merged_at.as_microsecond() as f64 / 1e6;
    let updated_at = match layout.body.storage {
        Storage::Json => Number::from_f64(seconds).ok_or("no such time")?.into(),
        Storage::Hash => seconds.to_string().into(),
    };
    document.insert("updated_at".to_owned(), updated_at);
    let body = &layout.body;
    Ok(Other {
        key: others[survivor].key.clone(),
        record: body.record(&records, survivor, document, &merged.vector)?,
        expires_at_ms: others[survivor].expires_at_ms,
    })
}
