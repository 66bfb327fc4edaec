//! Asks the server about its indexes (`FT._LIST`, `FT.INFO`) and reads the answers as [`IndexFacts`].

use redis::Value;
use redis::aio::ConnectionLike;

use crate::record::{Field, FieldKind, IndexFacts, Storage, VectorFacts};
use crate::store::{StoreError, reply};

/// Asks the server about the index `name`.
///
/// # Errors
/// [`StoreError::NoIndex`] with the indexes that exist; any error of the server or connection.
pub async fn index_facts(
    conn: &mut impl ConnectionLike,
    name: &str,
) -> Result<IndexFacts, StoreError> {
    match redis::cmd("FT.INFO")
        .arg(name)
        .query_async::<Value>(conn)
        .await
    {
        Ok(value) => parse(name, &value),
        Err(error) if reply::says_no_index(&error) => Err(no_index(conn, name).await),
        Err(error) => Err(error.into()),
    }
}

/// Asks the server about all its indexes, by name. Those that this account may not see are left out.
///
/// # Errors
/// [`StoreError::Permission`] if it may see none, and any error of the server or connection.
pub async fn indexes(conn: &mut impl ConnectionLike) -> Result<Vec<IndexFacts>, StoreError> {
    let (mut all, mut refused) = (Vec::new(), None);
    for name in index_names(conn).await? {
        match index_facts(conn, &name).await {
            Ok(facts) => all.push(facts),
            Err(StoreError::NoIndex { .. }) => {} // dropped meanwhile
            Err(error @ StoreError::Permission(_)) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// The names of all indexes, sorted.
pub(crate) async fn index_names(conn: &mut impl ConnectionLike) -> Result<Vec<String>, StoreError> {
    let value: Value = redis::cmd("FT._LIST").query_async(conn).await?;
    let items = reply::items(&value).ok_or_else(|| reply::unknown("a list of indexes"))?;
    let mut names: Vec<_> = items.iter().filter_map(reply::text).collect();
    names.sort();
    Ok(names)
}

/// The error for an index that is not there; best effort at naming those that are.
pub(crate) async fn no_index(conn: &mut impl ConnectionLike, name: &str) -> StoreError {
    let known = index_names(conn).await.unwrap_or_default();
    StoreError::NoIndex {
        index: name.to_owned(),
        known,
    }
}

/// Reads an answer of `FT.INFO`.
pub(crate) fn parse(name: &str, info: &Value) -> Result<IndexFacts, StoreError> {
    let definition =
        reply::get(info, "index_definition").ok_or_else(|| reply::unknown("index_definition"))?;
    let key_type = reply::get(definition, "key_type")
        .and_then(reply::text)
        .unwrap_or_default();
    let storage = match key_type.to_ascii_uppercase().as_str() {
        "JSON" => Storage::Json,
        "HASH" => Storage::Hash,
        _ => return Err(reply::unknown("a known key_type")),
    };
    let prefixes = reply::get(definition, "prefixes")
        .and_then(reply::items)
        .map(|items| items.iter().filter_map(reply::text).collect())
        .filter(|prefixes: &Vec<_>| !prefixes.is_empty())
        .unwrap_or_else(|| vec![String::new()]);
    let attributes = reply::get(info, "attributes")
        .and_then(reply::items)
        .ok_or_else(|| reply::unknown("attributes"))?;
    // A server that ran out of memory while it built the index has left keys out without counting.
    let background = reply::get(info, "Index Errors")
        .and_then(|errors| reply::get(errors, "background indexing status"))
        .and_then(reply::text);
    let cut_short = background.is_some_and(|status| !status.eq_ignore_ascii_case("OK"));
    let count = |name| {
        reply::get(info, name)
            .and_then(reply::number)
            .unwrap_or(0.0)
    };
    let indexing = reply::get(info, "indexing").and_then(reply::number);
    Ok(IndexFacts {
        name: name.to_owned(),
        storage,
        prefixes,
        fields: attributes.iter().map(field).collect::<Result<_, _>>()?,
        indexing: indexing.ok_or_else(|| reply::unknown("indexing"))? != 0.0,
        percent: count("percent_indexed"),
        failures: (count("hash_indexing_failures") as u64).max(u64::from(cut_short)),
        docs: count("num_docs") as u64,
    })
}

fn field(attribute: &Value) -> Result<Field, StoreError> {
    let text = |name| reply::get(attribute, name).and_then(reply::text);
    let path = text("identifier").ok_or_else(|| reply::unknown("the identifier of a field"))?;
    let name = text("type").ok_or_else(|| reply::unknown("the type of a field"))?;
    // RESP3 lists flags apart, RESP2 appends them to the attribute's own array.
    let flags = reply::get(attribute, "flags").unwrap_or(attribute);
    let kind = match name.to_ascii_uppercase().as_str() {
        // No query finds anything by it.
        _ if reply::has_word(flags, "NOINDEX") => FieldKind::Other {
            name: format!("{name} NOINDEX"),
        },
        "TEXT" => FieldKind::Text,
        "NUMERIC" => FieldKind::Numeric,
        "TAG" => FieldKind::Tag {
            separator: text("SEPARATOR").and_then(|separator| separator.chars().next()),
            case_sensitive: reply::has_word(flags, "CASESENSITIVE"),
            index_empty: reply::has_word(flags, "INDEXEMPTY"),
        },
        "VECTOR" => FieldKind::Vector(VectorFacts {
            algorithm: text("algorithm").unwrap_or_default(),
            data_type: text("data_type").unwrap_or_default(),
            dims: reply::get(attribute, "dim")
                .and_then(reply::number)
                .unwrap_or(0.0) as usize,
            metric: text("distance_metric").unwrap_or_default(),
        }),
        _ => FieldKind::Other { name },
    };
    let attribute = text("attribute").unwrap_or_else(|| path.clone());
    Ok(Field {
        attribute,
        path,
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Dtype;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn the_flat_form_is_read_too() {
        let flat = |words: &[&str]| Value::Array(words.iter().map(|word| bulk(word)).collect());
        let user = [
            "identifier",
            "$.user_id",
            "attribute",
            "user_id",
            "type",
            "TAG",
        ];
        let user = [&user[..], &["SEPARATOR", "|", "CASESENSITIVE"]].concat();
        let definition = Value::Array(vec![
            bulk("key_type"),
            bulk("JSON"),
            bulk("prefixes"),
            Value::Array(vec![bulk("memory:")]),
        ]);
        let info = Value::Array(vec![
            bulk("index_definition"),
            definition,
            bulk("attributes"),
            Value::Array(vec![flat(&user)]),
            bulk("indexing"),
            bulk("1"),
            bulk("percent_indexed"),
            bulk("0.5"),
        ]);
        let facts = parse("memories", &info).unwrap();
        assert!(facts.indexing);
        assert_eq!(facts.percent, 0.5);
        assert_eq!(facts.prefixes, ["memory:"]);
        let kind = FieldKind::Tag {
            separator: Some('|'),
            case_sensitive: true,
            index_empty: false,
        };
        assert_eq!(facts.field("user_id").unwrap().kind, kind);
    }

    #[test]
    fn what_is_not_indexed_is_nothing_to_search_by() {
        let words = [
            "identifier",
            "u",
            "attribute",
            "u",
            "type",
            "TAG",
            "NOINDEX",
        ];
        let found = field(&Value::Array(words.map(bulk).to_vec())).unwrap();
        let name = "TAG NOINDEX".to_owned();
        assert_eq!(found.kind, FieldKind::Other { name });
    }

    /// As Redis 8.2 answers in RESP3, which the server of the other tests does not know.
    #[test]
    fn svs_vamana_is_read() {
        let pairs = |pairs: &[(&str, Value)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (bulk(name), value.clone()));
            Value::Map(pairs.collect())
        };
        let attribute = pairs(&[
            ("identifier", bulk("vec")),
            ("attribute", bulk("vec")),
            ("type", bulk("VECTOR")),
            ("algorithm", bulk("SVS-VAMANA")),
            ("data_type", bulk("FLOAT16")),
            ("dim", Value::Int(384)),
            ("distance_metric", bulk("COSINE")),
            ("graph_max_degree", Value::Int(40)),
            ("construction_window_size", Value::Int(250)),
            ("compression", bulk("LVQ8")),
            ("training_threshold", Value::Int(10_240)),
            ("flags", Value::Array(vec![])),
        ]);
        let definition = pairs(&[
            ("key_type", bulk("HASH")),
            ("prefixes", Value::Array(vec![bulk("memory:")])),
        ]);
        let info = pairs(&[
            ("index_definition", definition),
            ("attributes", Value::Array(vec![attribute])),
            ("indexing", Value::Int(0)),
        ]);
        let facts = parse("memories", &info).unwrap();
        let fit = facts.vector("vec").unwrap();
        assert_eq!((fit.dtype, fit.dims), (Dtype::Float16, 384));
        assert_eq!(facts.vectors().next().unwrap().1.algorithm, "SVS-VAMANA");
    }
}
