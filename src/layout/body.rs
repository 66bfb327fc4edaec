//! What a record consists of: its members, and its vector, which is never taken for one of them.

use serde_json::{Map, Value};

use super::json::Path;
use super::{NotRead, ResultVector, not_read};
use crate::memory::Reason;
use crate::record::{IndexFacts, Record, Storage, Unfit, VectorError, VectorField};

/// How the records of an index are taken apart and put together.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) storage: Storage,
    /// Where the vector is.
    pub(crate) vector: Path,
    field: VectorField,
}

/// The members of a record that are text or JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(crate) map: Map<String, Value>,
    /// Fields of a hash whose values are not UTF-8; the vector is none of them.
    pub(crate) binary: Vec<String>,
}

/// The members of a record, to be looked at where they stand: those of a HASH are not copied.
#[derive(Debug)]
pub(crate) enum Look<'a> {
    Json(Map<String, Value>),
    /// Fields that are text.
    Hash(Vec<(&'a str, &'a str)>),
}

/// A member of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Member<'a> {
    Json(&'a Value),
    Text(&'a str),
}

impl Look<'_> {
    /// The value at a path, if there is one.
    pub(crate) fn get(&self, path: &Path) -> Option<Member<'_>> {
        match self {
            Self::Json(map) => path.get(map).map(Member::Json),
            Self::Hash(fields) => fields
                .iter()
                .find(|(name, _)| path.is_root(name.as_bytes()))
                .map(|(_, text)| Member::Text(text)),
        }
    }

    /// The members of the root under these names.
    pub(crate) fn named(&self, names: &[&str]) -> Map<String, Value> {
        let mut found = Map::new();
        for name in names {
            if let Some(value) = self.get(&Path::root(name)) {
                found.insert((*name).to_owned(), value.to_value());
            }
        }
        found
    }

    /// Whether a name of the root is one of those meant.
    pub(crate) fn any_name(&self, meant: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Json(map) => map.keys().any(|name| meant(name)),
            Self::Hash(fields) => fields.iter().any(|(name, _)| meant(name)),
        }
    }
}

impl<'a> Member<'a> {
    /// Its text, if it is one.
    pub(crate) fn as_text(self) -> Option<&'a str> {
        match self {
            Self::Json(value) => value.as_str(),
            Self::Text(text) => Some(text),
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self == Self::Json(&Value::Null)
    }

    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Text(text) => text.into(),
        }
    }
}

impl Body {
    /// Of the records of an index with this vector field.
    ///
    /// # Errors
    /// [`Unfit`] if the vector field is missing or of a kind that memfold cannot
    /// use, or if its path can mean several values.
    pub(crate) fn new(facts: &IndexFacts, vector: &str) -> Result<Self, Unfit> {
        let field = facts.vector(vector)?;
        Ok(Self {
            storage: facts.storage,
            vector: Path::of_field(facts, vector)?,
            field,
        })
    }

    /// The members of a record; the vector is left out.
    pub(crate) fn members(&self, record: &Record) -> Result<Members, NotRead> {
        match (self.storage, record) {
            (Storage::Json, Record::Json(text)) => self.json_members(text),
            (Storage::Hash, Record::Hash(fields)) => Ok(self.hash_members(fields)),
            _ => Err(not_read(
                Reason::NotAMemory,
                "the record is of another kind than the index",
            )),
        }
    }

    /// The same for a look, and the fields of a hash whose values are not UTF-8.
    pub(crate) fn look<'a>(&self, record: &'a Record) -> Result<(Look<'a>, Vec<&'a str>), NotRead> {
        let (Storage::Hash, Record::Hash(fields)) = (self.storage, record) else {
            let members = self.members(record)?;
            return Ok((Look::Json(members.map), Vec::new()));
        };
        let (mut texts, mut binary) = (Vec::with_capacity(fields.len()), Vec::new());
        for (name, value) in self.named_fields(fields) {
            match std::str::from_utf8(value) {
                Ok(value) => texts.push((name, value)),
                Err(_) => binary.push(name),
            }
        }
        Ok((Look::Hash(texts), binary))
    }

    /// The fields of a hash whose names are UTF-8, but for the vector.
    fn named_fields<'a>(
        &self,
        fields: &'a [(Vec<u8>, Vec<u8>)],
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        fields
            .iter()
            .filter(|(name, _)| !self.is_vector_field(name))
            .filter_map(|(name, value)| Some((std::str::from_utf8(name).ok()?, &**value)))
    }

    fn json_members(&self, text: &str) -> Result<Members, NotRead> {
        // Numbers are kept by their digits, which is slow for the many of a vector.
        let rest = match self.vector.span(text) {
            Some(span) => format!("{}null{}", &text[..span.start], &text[span.end..]),
            None => text.to_owned(),
        };
        match serde_json::from_str(&rest) {
            Ok(Value::Object(map)) => Ok(Members {
                map,
                binary: Vec::new(),
            }),
            Ok(_) => Err(not_read(Reason::NotAMemory, "the document is no object")),
            Err(error) => Err(not_read(Reason::Malformed, format!("not JSON: {error}"))),
        }
    }

    fn hash_members(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Members {
        let mut members = Members {
            map: Map::with_capacity(fields.len()),
            binary: Vec::new(),
        };
        for (name, value) in self.named_fields(fields) {
            if let Ok(value) = std::str::from_utf8(value) {
                members.map.insert(name.to_owned(), value.into());
            } else {
                members.binary.push(name.to_owned());
            }
        }
        members
    }

    fn is_vector_field(&self, name: &[u8]) -> bool {
        self.vector.is_root(name)
    }

    /// The vector of a record.
    pub(crate) fn vector(&self, record: &Record) -> Result<Vec<f32>, NotRead> {
        let missing = || not_read(Reason::NoVector, "the record has no vector");
        let bad = |error: VectorError| not_read(Reason::BadVector, error.to_string());
        match record {
            Record::Json(text) => match self.vector.span(text).map(|span| &text[span]) {
                None | Some("null") => Err(missing()),
                Some(array) => self.field.from_json(array).map_err(bad),
            },
            Record::Hash(fields) => {
                let stored = fields.iter().find(|(name, _)| self.is_vector_field(name));
                let (_, bytes) = stored.ok_or_else(missing)?;
                self.field.decode(bytes).map_err(bad)
            }
        }
    }

    /// `records[survivor]` with these members and the wanted vector. What is not text in the hashes
    /// of the sources goes into it as well. The records are those of the sources, in their order.
    ///
    /// # Errors
    /// What the record cannot take.
    pub(crate) fn record(
        &self,
        records: &[&Record],
        survivor: usize,
        members: Map<String, Value>,
        wanted: &ResultVector,
    ) -> Result<Record, String> {
        match self.storage {
            Storage::Json => self.json_result(records, members, wanted),
            Storage::Hash => self.hash_result(records, survivor, members, wanted),
        }
    }

    fn json_result(
        &self,
        records: &[&Record],
        mut result: Map<String, Value>,
        wanted: &ResultVector,
    ) -> Result<Record, String> {
        let array = match wanted {
            ResultVector::Numbers(numbers) => {
                let array = self.field.to_json(numbers);
                array.map_err(|error| error.to_string())?
            }
            ResultVector::OfSource(position) => match records.get(*position) {
                Some(Record::Json(text)) => {
                    let span = self.vector.span(text).ok_or("the source has no vector")?;
                    text[span].to_owned()
                }
                _ => return Err("the source of the vector is missing".to_owned()),
            },
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
        records: &[&Record],
        survivor: usize,
        mut result: Map<String, Value>,
        wanted: &ResultVector,
    ) -> Result<Record, String> {
        let vector = match wanted {
            ResultVector::Numbers(numbers) => {
                let bytes = self.field.encode(numbers);
                bytes.map_err(|error| error.to_string())?
            }
            ResultVector::OfSource(position) => {
                let fields = hash_fields(records.get(*position));
                let stored = fields.iter().find(|(name, _)| self.is_vector_field(name));
                stored
                    .map(|(_, bytes)| bytes.clone())
                    .ok_or("the source has no vector")?
            }
        };
        let mut fields = Vec::new();
        for (name, value) in hash_fields(records.get(survivor)) {
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
        self.add_binary_fields(records, survivor, &mut fields)?;
        Ok(Record::Hash(fields))
    }

    /// Adds the fields of other sources that are not text. Two that differ cannot both be kept.
    fn add_binary_fields(
        &self,
        records: &[&Record],
        survivor: usize,
        fields: &mut Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Result<(), String> {
        let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
        let survivors = hash_fields(records.get(survivor));
        let binary_there = |name: &[u8]| {
            survivors
                .iter()
                .any(|(n, v)| n == name && !(is_text(n) && is_text(v)))
        };
        for (name, value) in records.iter().flat_map(|record| hash_fields(Some(record))) {
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

fn hash_fields<'a>(record: Option<&&'a Record>) -> &'a [(Vec<u8>, Vec<u8>)] {
    match record {
        Some(Record::Hash(fields)) => fields,
        _ => &[],
    }
}
