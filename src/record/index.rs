//! An index as the server describes it: storage, prefixes, fields, and whether it is complete.

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

use super::NAMESPACE;
use super::vector::Dtype;
use super::vector_field::{Metric, VectorField};

/// An index that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("index `{index}` does not fit: {detail}")]
pub struct Unfit {
    /// The index.
    pub index: String,
    /// What does not fit and what to do.
    pub detail: String,
}

/// The kind of keys that an index covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// JSON documents.
    Json,
    /// Hashes.
    Hash,
}

impl Storage {
    /// The server's name for it, as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Hash => "HASH",
        }
    }
}

/// One index as `FT.INFO` describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IndexFacts {
    /// Its name.
    pub name: String,
    /// The kind of its keys.
    pub storage: Storage,
    /// Plain string prefixes of its keys; an empty one covers every key.
    pub prefixes: Vec<String>,
    /// Its fields, in schema order.
    pub fields: Vec<Field>,
    /// Whether it is being built, so that its answers are partial.
    pub indexing: bool,
    /// Share of the keys that is indexed, 0 … 1.
    pub percent: f64,
    /// Keys that could not be indexed since the index was made.
    pub failures: u64,
    /// Keys that are in the index.
    pub docs: u64,
}

/// One field of an index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// The name that queries use.
    pub attribute: String,
    /// Where the value is: a JSON path, or the name of a hash field.
    pub path: String,
    /// What it is indexed as.
    pub kind: FieldKind,
}

/// What a field is indexed as.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FieldKind {
    /// Full text.
    Text,
    /// Exact values.
    Tag {
        /// The character that splits a value into several; `None` = values are not split.
        separator: Option<char>,
        /// Whether `Alice` and `alice` are two values.
        case_sensitive: bool,
        /// Whether the empty value can be queried.
        index_empty: bool,
    },
    /// Numbers.
    Numeric,
    /// Vectors.
    Vector(VectorFacts),
    /// Any other kind, by the server's name.
    Other {
        /// The server's name.
        name: String,
    },
}

/// A vector field as the server describes it, whether memfold can use it or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VectorFacts {
    /// `FLAT`, `HNSW`, …
    pub algorithm: String,
    /// `FLOAT32`, …
    pub data_type: String,
    /// Numbers a vector.
    pub dims: usize,
    /// `COSINE`, `L2` or `IP`.
    pub metric: String,
}

impl IndexFacts {
    /// The field that queries call `name`, else the one that is stored under that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let stored = |field: &&Field| match self.storage {
            Storage::Json => field.path.strip_prefix("$.") == Some(name),
            Storage::Hash => field.path == name,
        };
        let called = |field: &&Field| field.attribute == name;
        self.fields
            .iter()
            .find(called)
            .or_else(|| self.fields.iter().find(stored))
    }

    /// The vector field `name`, if memfold can use it.
    ///
    /// # Errors
    /// [`Unfit`] that says what the index has instead.
    pub fn vector(&self, name: &str) -> Result<VectorField, Unfit> {
        let Some(field) = self.field(name) else {
            return Err(self.unfit(format!(
                "it has no vector field `{name}`; set --fields-vector, its vector fields: {}",
                self.vector_names()
            )));
        };
        let FieldKind::Vector(facts) = &field.kind else {
            return Err(self.unfit(format!(
                "field `{name}` is no vector field; set --fields-vector, its vector fields: {}",
                self.vector_names()
            )));
        };
        let Some(metric) = Metric::from_name(&facts.metric) else {
            return Err(self.unfit(format!(
                "field `{name}` compares by {}; this version knows COSINE, L2 and IP",
                facts.metric
            )));
        };
        let Some(dtype) = Dtype::from_name(&facts.data_type) else {
            return Err(self.unfit(format!(
                "field `{name}` holds {} numbers; this version reads FLOAT32, FLOAT64, FLOAT16, \
                 BFLOAT16, INT8 and UINT8",
                facts.data_type
            )));
        };
        if dtype.is_whole() && metric != Metric::Cosine {
            return Err(self.unfit(format!(
                "field `{name}` compares {} numbers by {}, which says nothing about the angle \
                 between vectors; whole numbers are merged by COSINE alone",
                facts.data_type, facts.metric
            )));
        }
        if facts.dims == 0 {
            return Err(self.unfit(format!("field `{name}` has no dimensions")));
        }
        Ok(VectorField {
            path: field.path.clone(),
            dtype,
            dims: facts.dims,
            metric,
        })
    }

    /// Whether keys of this name are in the index, if they hold what it is over. What memfold keeps
    /// for itself never counts.
    pub fn covers(&self, key: &str) -> bool {
        let any = self.prefixes.is_empty();
        !key.starts_with(NAMESPACE)
            && (any || self.prefixes.iter().any(|prefix| key.starts_with(prefix)))
    }

    /// Whether both describe the same index definition, whatever its state.
    pub fn same_definition(&self, other: &Self) -> bool {
        (self.storage, &self.prefixes, &self.fields)
            == (other.storage, &other.prefixes, &other.fields)
    }

    pub(crate) fn unfit(&self, detail: String) -> Unfit {
        Unfit {
            index: self.name.clone(),
            detail,
        }
    }

    /// The vector fields by the name that queries use, usable or not.
    pub fn vectors(&self) -> impl Iterator<Item = (&str, &VectorFacts)> {
        self.fields.iter().filter_map(|field| match &field.kind {
            FieldKind::Vector(facts) => Some((field.attribute.as_str(), facts)),
            _ => None,
        })
    }

    fn vector_names(&self) -> String {
        let names: Vec<_> = self.vectors().map(|(name, _)| name).collect();
        list(&names)
    }
}

/// Names as an error tells them.
pub(crate) fn list(names: &[impl Borrow<str>]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector_field(data_type: &str, metric: &str) -> Field {
        Field {
            attribute: "embedding".into(),
            path: "$.embedding".into(),
            kind: FieldKind::Vector(VectorFacts {
                algorithm: "FLAT".into(),
                data_type: data_type.into(),
                dims: 4,
                metric: metric.into(),
            }),
        }
    }

    fn facts(fields: Vec<Field>) -> IndexFacts {
        IndexFacts {
            name: "memories".into(),
            storage: Storage::Json,
            prefixes: vec!["memory:".into()],
            fields,
            indexing: false,
            percent: 1.0,
            failures: 0,
            docs: 0,
        }
    }

    #[test]
    fn known_numbers_and_metrics_fit() {
        for (data_type, metric) in [
            ("BFLOAT16", "COSINE"),
            ("INT8", "COSINE"),
            ("UINT8", "cosine"),
            ("FLOAT64", "L2"),
            ("FLOAT32", "IP"),
        ] {
            let fit = facts(vec![vector_field(data_type, metric)]).vector("embedding");
            assert_eq!(fit.unwrap().dims, 4, "{data_type} {metric}");
        }
        for (data_type, metric, word) in [
            ("FLOAT32", "HAMMING", "HAMMING"),
            ("FLOAT8", "COSINE", "FLOAT8"),
            ("INT8", "L2", "L2"),
            ("UINT8", "IP", "IP"),
        ] {
            let error = facts(vec![vector_field(data_type, metric)]).vector("embedding");
            assert!(error.unwrap_err().to_string().contains(word));
        }
    }

    #[test]
    fn a_missing_vector_field_names_those_there_are() {
        let error = facts(vec![vector_field("FLOAT32", "COSINE")])
            .vector("vector")
            .unwrap_err();
        assert!(error.to_string().contains("embedding"), "{error}");
    }
}
