//! The answers of the search module, in both protocols: rows, cursors, warnings.
//!
//! RESP3 answers in maps and says by `warning` when it is partial; RESP2 flattens the maps into
//! arrays and is silent. memfold asks in RESP3; the flat form is understood for proxies.

use redis::{RedisError, RedisResult, ServerError, Value};

use crate::store::StoreError;

/// One page of rows, and the cursor for the next; 0 = this was the last.
#[derive(Debug, PartialEq)]
pub(crate) struct Page {
    /// The rows.
    pub(crate) rows: Vec<Row>,
    /// The cursor id.
    pub(crate) cursor: i64,
}

/// One row: the fields that were asked for, where the document has them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Row(Vec<(Vec<u8>, Vec<u8>)>);

impl Row {
    /// The value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|(field, _)| field == name.as_bytes())
            .map(|(_, value)| &**value)
    }
}

/// An answer, or the error that the server gave in its place. The client's own `query_async` looks
/// for errors also within answers, for which it takes each apart and puts it together again;
/// [`page`] looks for them as well.
pub(crate) fn said(answer: Value) -> RedisResult<Value> {
    match answer {
        Value::ServerError(error) => Err(error.into()),
        answer => Ok(answer),
    }
}

/// Reads an answer of `FT.AGGREGATE … WITHCURSOR` or `FT.CURSOR READ`.
///
/// # Errors
/// [`StoreError::Partial`] for any warning or error in it, [`StoreError::Protocol`] for a shape
/// that is not known.
pub(crate) fn page(value: &Value) -> Result<Page, StoreError> {
    if let Some(error) = error_in(value) {
        return Err(StoreError::Partial(error.to_string()));
    }
    let Some([body, cursor]) = items(value) else {
        return Err(unknown("a page with a cursor"));
    };
    let cursor = integer(cursor).ok_or_else(|| unknown("a cursor id"))?;
    Ok(Page {
        rows: rows(body)?,
        cursor,
    })
}

/// The first error anywhere in an answer.
fn error_in(value: &Value) -> Option<&ServerError> {
    match value {
        Value::ServerError(error) => Some(error),
        Value::Array(values) | Value::Set(values) => values.iter().find_map(error_in),
        Value::Map(pairs) => pairs
            .iter()
            .find_map(|(name, value)| error_in(name).or_else(|| error_in(value))),
        Value::Attribute { data, .. } => error_in(data),
        _ => None,
    }
}

/// The cursor of an answer, as far as it can be seen, for giving it back after an error.
pub(crate) fn cursor_of(value: &Value) -> Option<i64> {
    items(value)?
        .get(1)
        .and_then(integer)
        .filter(|cursor| *cursor != 0)
}

/// Reads the rows of an answer of `FT.AGGREGATE`.
fn rows(body: &Value) -> Result<Vec<Row>, StoreError> {
    refuse_warnings(body)?;
    if let Value::Map(_) = strip(body) {
        let results = get(body, "results")
            .and_then(items)
            .ok_or_else(|| unknown("results"))?;
        let row = |result| get(result, "extra_attributes").ok_or_else(|| unknown("a row"));
        return results
            .iter()
            .map(|result| row(result).and_then(fields))
            .collect();
    }
    match items(body) {
        Some([_total, rows @ ..]) => rows.iter().map(fields).collect(),
        _ => Err(unknown("rows")),
    }
}

/// The fields of a row. It has none where the document could not be opened: it has expired and the
/// server has not collected it yet.
fn fields(row: &Value) -> Result<Row, StoreError> {
    if let Value::Nil = row {
        return Ok(Row::default());
    }
    let pairs = pairs(row).ok_or_else(|| unknown("a row of fields"))?;
    let mut fields = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        if let (Some(name), Some(value)) = (bytes(name), bytes(value)) {
            fields.push((name.to_vec(), value.to_vec()));
        }
    }
    Ok(Row(fields))
}

fn refuse_warnings(body: &Value) -> Result<(), StoreError> {
    for name in ["warning", "warnings"] {
        let Some(warning) = get(body, name) else {
            continue;
        };
        let texts: Vec<_> = match items(warning) {
            Some(list) => list
                .iter()
                .map(|item| text(item).unwrap_or_default())
                .collect(),
            None => text(warning).into_iter().collect(),
        };
        if !texts.is_empty() {
            return Err(StoreError::Partial(texts.join("; ")));
        }
    }
    Ok(())
}

/// Tells the search module's errors apart; the module gives them no code.
pub(crate) fn search_error(error: RedisError) -> StoreError {
    let words = words(&error);
    let lower = words.to_lowercase();
    if lower.contains("cursor not found") || lower.contains("cursor does not exist") {
        StoreError::Partial(format!("the cursor was lost: {words}"))
    } else if lower.contains("timeout limit was reached") {
        StoreError::Partial(words)
    } else {
        error.into()
    }
}

/// Whether the server says that it has no index of that name.
pub(crate) fn says_no_index(error: &RedisError) -> bool {
    let lower = words(error).to_lowercase();
    lower.contains("no such index") || lower.contains("unknown index name")
}

/// The server's own words. The client takes the first for a code, which the module's are not.
fn words(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    }
}

/// The value of `name` in a map, or in an array of names and values in turn.
pub(crate) fn get<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    pairs(value)?
        .into_iter()
        .find(|(key, _)| bytes(key) == Some(name.as_bytes()))
        .map(|(_, v)| v)
}

/// Whether an array holds `word`, in any case.
pub(crate) fn has_word(value: &Value, word: &str) -> bool {
    let same = |item: &Value| bytes(item).is_some_and(|b| b.eq_ignore_ascii_case(word.as_bytes()));
    items(value).is_some_and(|items| items.iter().any(same))
}

pub(crate) fn pairs(value: &Value) -> Option<Vec<(&Value, &Value)>> {
    match strip(value) {
        Value::Map(pairs) => Some(pairs.iter().map(|(name, value)| (name, value)).collect()),
        Value::Array(items) => Some(
            items
                .as_chunks::<2>()
                .0
                .iter()
                .map(|[n, v]| (n, v))
                .collect(),
        ),
        _ => None,
    }
}

/// The items of an array or set.
pub(crate) fn items(value: &Value) -> Option<&[Value]> {
    match strip(value) {
        Value::Array(items) | Value::Set(items) => Some(items),
        _ => None,
    }
}

/// The bytes of a string of any kind.
pub(crate) fn bytes(value: &Value) -> Option<&[u8]> {
    match strip(value) {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.as_bytes()),
        Value::Okay => Some(b"OK"),
        _ => None,
    }
}

/// A string of any kind as text, lossy where it is not UTF-8.
pub(crate) fn text(value: &Value) -> Option<String> {
    bytes(value).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// A number of any kind, also one that came as text.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match strip(value) {
        Value::Int(number) => Some(*number as f64),
        Value::Double(number) => Some(*number),
        Value::Boolean(truth) => Some(f64::from(u8::from(*truth))),
        other => std::str::from_utf8(bytes(other)?).ok()?.trim().parse().ok(),
    }
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    match strip(value) {
        Value::Int(number) => Some(*number),
        other => std::str::from_utf8(bytes(other)?).ok()?.parse().ok(),
    }
}

fn strip(value: &Value) -> &Value {
    match value {
        Value::Attribute { data, .. } => data,
        other => other,
    }
}

pub(crate) fn unknown(what: &str) -> StoreError {
    StoreError::Protocol(format!("the search answered without {what}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn map(pairs: Vec<(&str, Value)>) -> Value {
        Value::Map(
            pairs
                .into_iter()
                .map(|(name, value)| (bulk(name), value))
                .collect(),
        )
    }

    fn resp3(warning: Vec<Value>) -> Value {
        let row = map(vec![(
            "extra_attributes",
            map(vec![("__key", bulk("m:1"))]),
        )]);
        let body = map(vec![
            ("total_results", Value::Int(1)),
            ("results", Value::Array(vec![row])),
            ("warning", Value::Array(warning)),
        ]);
        Value::Array(vec![body, Value::Int(7)])
    }

    #[test]
    fn both_protocols_give_the_same_page() {
        let row = Value::Array(vec![bulk("__key"), bulk("m:1")]);
        let resp2 = Value::Array(vec![Value::Array(vec![Value::Int(1), row]), Value::Int(7)]);
        let page = page(&resp3(vec![])).unwrap();
        assert_eq!(page, super::page(&resp2).unwrap());
        assert_eq!(page.rows[0].get("__key"), Some(&b"m:1"[..]));
        assert_eq!(page.cursor, 7);
    }

    #[test]
    fn a_warning_is_an_error() {
        let reply = resp3(vec![bulk("Timeout limit was reached")]);
        assert!(matches!(page(&reply), Err(StoreError::Partial(text)) if text.contains("Timeout")));
        assert_eq!(cursor_of(&reply), Some(7));
    }

    /// The module tells an error of a page that was begun within it, in either protocol.
    #[test]
    fn an_error_anywhere_is_an_error() {
        let error = || redis::parse_redis_value(b"-ERR cut\r\n").unwrap();
        let row = |value| map(vec![("extra_attributes", value)]);
        let bodies = [
            error(),
            map(vec![
                ("error", Value::Array(vec![error()])),
                ("results", Value::Array(vec![])),
            ]),
            map(vec![(
                "results",
                Value::Array(vec![row(map(vec![("__key", error())]))]),
            )]),
            map(vec![(
                "results",
                Value::Array(vec![row(Value::Map(vec![(error(), bulk("x"))]))]),
            )]),
            Value::Array(vec![error()]),
            Value::Array(vec![Value::Int(1), error()]),
        ];
        for body in bodies {
            let answer = Value::Array(vec![body, Value::Int(0)]);
            assert!(
                matches!(page(&answer), Err(StoreError::Partial(text)) if text.contains("cut")),
                "{answer:?}"
            );
        }
    }

    #[test]
    fn an_unknown_shape_is_an_error() {
        for reply in [Value::Nil, Value::Int(1), Value::Array(vec![]), bulk("x")] {
            assert!(
                matches!(page(&reply), Err(StoreError::Protocol(_))),
                "{reply:?}"
            );
        }
    }

    #[test]
    fn a_missing_value_leaves_the_field_out() {
        let row = Value::Array(vec![bulk("user_id"), Value::Nil]);
        assert_eq!(fields(&row).unwrap().get("user_id"), None);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let words = prop::sample::select(vec![
            "results",
            "warning",
            "extra_attributes",
            "attributes",
            "type",
            "VECTOR",
            "__key",
            "x",
        ]);
        let leaf = prop_oneof![
            Just(Value::Nil),
            Just(Value::Okay),
            any::<i64>().prop_map(Value::Int),
            any::<f64>().prop_map(Value::Double),
            any::<bool>().prop_map(Value::Boolean),
            prop::collection::vec(any::<u8>(), 0..8).prop_map(Value::BulkString),
            words.prop_map(bulk),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            let pair = (inner.clone(), inner.clone());
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Set),
                prop::collection::vec(pair, 0..6).prop_map(Value::Map),
                inner.prop_map(|data| Value::Attribute {
                    data: data.into(),
                    attributes: vec![]
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_reply_panics(value in any_value()) {
            let _ = page(&value);
            let _ = cursor_of(&value);
            let _ = crate::store::index::parse("x", &value);
            let _ = number(&value);
            let _ = has_word(&value, "x");
        }
    }
}
