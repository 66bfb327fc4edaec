//! Builds the two documents that replace the sources.

use serde_json::{Map, Number, Value};

use super::item::Shape;
use super::{LangGraph, PROVENANCE, ROLES, object, text};
use crate::layout::metadata::{self, Making, Metadata, Part};
use crate::layout::{CannotWrite, Merged, Other, Record, ResultVector, Source, Stored};

/// The documents of `sources[survivor]` with the merged text, its vector, and provenance.
pub(super) fn merge(
    layout: &LangGraph,
    sources: &[Source],
    survivor: usize,
    merged: &Merged,
) -> Result<Stored, CannotWrite> {
    let cannot = |detail: String| CannotWrite::at(sources, survivor, detail);
    let kept = sources
        .get(survivor)
        .ok_or_else(|| cannot("the survivor is none of the sources".to_owned()))?;
    let documents: Result<Vec<_>, _> = sources.iter().map(document).collect();
    let documents = documents.map_err(cannot)?;
    let record = item(layout, sources, &documents, survivor, merged).map_err(cannot)?;
    let other = vector(layout, sources, kept, merged).map_err(cannot)?;
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
    kept: &Source,
    merged: &Merged,
) -> Result<Other, String> {
    let missing = "the source of the vector is missing";
    let own = kept.stored.others.first().ok_or(missing)?;
    let source = match &merged.vector {
        ResultVector::Numbers(_) => None,
        ResultVector::OfSource(at) => {
            let source = sources.get(*at).ok_or(missing)?;
            Some(&source.stored.others.first().ok_or(missing)?.record)
        }
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "the library keeps seconds as floats"
    )]
    let seconds = merged.merged_at.as_microsecond() as f64 / 1e6;
    let record = match &own.record {
        Record::Json(json) => {
            let array = match (source, &merged.vector) {
                (Some(Record::Json(json)), _) => {
                    let span = layout.vector.span(json).ok_or(missing)?;
                    json[span].to_owned()
                }
                (_, ResultVector::Numbers(numbers)) => {
                    let array = layout.vector_field.to_json(numbers);
                    array.map_err(|error| error.to_string())?
                }
                _ => return Err(missing.to_owned()),
            };
            let mut document = layout
                .vector_document(&own.record)
                .map_err(|error| error.detail)?;
            let seconds = Number::from_f64(seconds).ok_or("no such time")?;
            document.insert("updated_at".to_owned(), seconds.into());
            let json_text = Value::Object(document).to_string();
            let span = layout.vector.span(&json_text);
            let span = span.filter(|_| layout.vector.span(json).is_some());
            let span = span.ok_or("there is no room for the vector")?;
            let (before, after) = (&json_text[..span.start], &json_text[span.end..]);
            Record::Json(format!("{before}{array}{after}"))
        }
        Record::Hash(fields) => {
            let bytes = match (source, &merged.vector) {
                (Some(Record::Hash(fields)), _) => {
                    let mut fields = fields.iter();
                    let found = fields.find(|(name, _)| layout.vector.is_root(name));
                    found.ok_or(missing)?.1.clone()
                }
                (_, ResultVector::Numbers(numbers)) => {
                    let bytes = layout.vector_field.encode(numbers);
                    bytes.map_err(|error| error.to_string())?
                }
                _ => return Err(missing.to_owned()),
            };
            let replaced = |(name, value): &(Vec<u8>, Vec<u8>)| {
                let value = match name.as_slice() {
                    name if layout.vector.is_root(name) => bytes.clone(),
                    b"updated_at" => seconds.to_string().into_bytes(),
                    _ => value.clone(),
                };
                (name.clone(), value)
            };
            Record::Hash(fields.iter().map(replaced).collect())
        }
    };
    Ok(Other {
        key: own.key.clone(),
        record,
        expires_at_ms: own.expires_at_ms,
    })
}
