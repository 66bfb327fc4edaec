//! Stores of one HASH a memory: their keys, and single fields of the records.

use super::Source;
use crate::record::{IndexFacts, Record, Storage, Unfit};

/// The keys of a store whose index has one prefix: after it and a colon, the id of a memory.
#[derive(Clone, Debug)]
pub(crate) struct HashKeys {
    /// With the colon.
    prefix: String,
}

impl HashKeys {
    /// Those of an index of `library`.
    ///
    /// # Errors
    /// [`Unfit`] if it is over something else.
    pub(crate) fn of(facts: &IndexFacts, library: &str) -> Result<Self, Unfit> {
        match (facts.prefixes.as_slice(), facts.storage) {
            ([prefix], Storage::Hash) => Ok(Self {
                prefix: format!("{}:", prefix.trim_end_matches(':')),
            }),
            _ => Err(facts.unfit(format!(
                "an index of {library} is over hashes, with one prefix"
            ))),
        }
    }

    /// The id in the key of a memory; `None` for a key that is none of one.
    pub(crate) fn id<'a>(&self, key: &'a str) -> Option<&'a str> {
        key.strip_prefix(&self.prefix)
    }
}

impl Record {
    /// Whether a HASH has the field.
    pub(crate) fn has(&self, name: &str) -> bool {
        let Self::Hash(fields) = self else {
            return false;
        };
        fields.iter().any(|(known, _)| known == name.as_bytes())
    }

    /// The field of a HASH as text; `None` where it is absent or not UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let Self::Hash(fields) = self else {
            return None;
        };
        let found = fields.iter().find(|(known, _)| known == name.as_bytes());
        std::str::from_utf8(&found?.1).ok()
    }

    /// Gives a field of a HASH this text, at its place where it has one.
    pub(crate) fn put(&mut self, name: &str, text: &str) {
        let Self::Hash(fields) = self else {
            return;
        };
        match fields
            .iter_mut()
            .find(|(known, _)| known == name.as_bytes())
        {
            Some((_, value)) => *value = text.as_bytes().to_vec(),
            None => fields.push((name.into(), text.into())),
        }
    }

    /// Takes fields out of a HASH.
    pub(crate) fn drop_fields(&mut self, names: &[&str]) {
        if let Self::Hash(fields) = self {
            fields.retain(|(known, _)| !names.iter().any(|name| known == name.as_bytes()));
        }
    }
}

/// The texts of a field in all sources that have it, the survivor's first.
pub(crate) fn texts<'a>(sources: &'a [Source], survivor: usize, name: &str) -> Vec<&'a str> {
    let others = (0..sources.len()).filter(|at| *at != survivor);
    [survivor]
        .into_iter()
        .chain(others)
        .filter_map(|at| sources.get(at)?.stored.record.text(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_places() {
        let mut record = Record::Hash(vec![
            (b"a".to_vec(), b"1".to_vec()),
            (b"b".to_vec(), vec![0xff]),
        ]);
        assert_eq!((record.text("a"), record.text("b")), (Some("1"), None));
        record.put("a", "2");
        record.put("c", "3");
        record.drop_fields(&["b", "x"]);
        let expected = [("a", "2"), ("c", "3")].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(record, Record::Hash(expected.to_vec()));
    }
}
