//! What unit tests of HASH layouts share.

use super::{Layout, Merged, NotRead, ResultVector, Source};
use crate::record::{Field, FieldKind, IndexFacts, Record, Storage, Stored, VectorFacts};

/// An index over hashes with a vector field of two numbers.
pub(super) fn facts(name: &str, prefix: &str, vector: &str) -> IndexFacts {
    let field = Field {
        attribute: vector.into(),
        path: vector.into(),
        kind: FieldKind::Vector(VectorFacts {
            algorithm: "FLAT".into(),
            data_type: "FLOAT32".into(),
            dims: 2,
            metric: "COSINE".into(),
        }),
    };
    IndexFacts {
        name: name.into(),
        storage: Storage::Hash,
        prefixes: vec![prefix.into()],
        fields: vec![field],
        indexing: false,
        percent: 1.0,
        failures: 0,
        docs: 0,
    }
}

/// A HASH with these fields and the vector (1, 0).
pub(super) fn hash(fields: &[(&str, &str)], vector: &str) -> Record {
    let mut all: Vec<(Vec<u8>, Vec<u8>)> = fields
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    let numbers = [1.0f32, 0.0].map(f32::to_le_bytes).concat();
    all.push((vector.into(), numbers));
    Record::Hash(all)
}

/// The fields with some given other values; `None` takes a field out.
pub(super) fn with<'a>(
    fields: &[(&'a str, &'a str)],
    changes: &[(&'a str, Option<&'a str>)],
) -> Vec<(&'a str, &'a str)> {
    let changed = |name: &str| changes.iter().any(|(other, _)| *other == name);
    let kept = fields.iter().filter(|(name, _)| !changed(name)).copied();
    let new = changes
        .iter()
        .filter_map(|(name, value)| Some((*name, (*value)?)));
    kept.chain(new).collect()
}

pub(super) fn read(layout: &dyn Layout, key: &str, record: Record) -> Result<Source, NotRead> {
    let stored = Stored::from(record);
    let memory = layout.read(key, &stored)?.memory;
    Ok(Source { memory, stored })
}

/// Merges into `survivor` with the text of the source at `kept`.
pub(super) fn keep(
    layout: &dyn Layout,
    sources: &[Source],
    survivor: usize,
    kept: usize,
) -> Record {
    let merged = Merged {
        merge_id: "M1".into(),
        text: sources[kept].memory.text.clone(),
        vector: ResultVector::OfSource(kept),
        merged_at: "2026-12-01T00:00:00.25Z".parse().unwrap(),
        history: Vec::new(),
    };
    let result = layout.merge(sources, survivor, &merged).unwrap();
    let key = &sources[survivor].memory.key;
    let back = layout.read(key, &result).unwrap().memory;
    assert_eq!(back.text, merged.text);
    assert_eq!(back.partition, sources[survivor].memory.partition);
    assert_eq!(back.merge_id.as_deref(), Some("M1"));
    result.record
}
