//! Compares documents with docs/memfold.schema.json, strictly: a name that the schema does not know
//! is a fault here, though readers must bear it.
//!
//! It knows the words that the schema uses, and fails on any other.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/memfold.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
});

/// Fails unless `document` is what the schema says of `command`.
#[track_caller]
pub(crate) fn check(command: &str, document: &Value) {
    let schema = &SCHEMA["$defs"][command];
    assert!(schema.is_object(), "the schema lacks `{command}`");
    if let Err(fault) = fits(schema, document, command) {
        panic!("docs/memfold.schema.json: {fault} in {document:#}");
    }
}

/// The first fault, with the path to it.
fn fits(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let words = schema.as_object().unwrap();
    for (word, rule) in words {
        match word.as_str() {
            "description" | "format" | "required" | "additionalProperties" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().trim_start_matches("#/$defs/");
                fits(&SCHEMA["$defs"][name], value, at)?;
            }
            "anyOf" | "oneOf" => any(rule.as_array().unwrap(), value, at)?,
            "const" if rule != value => return Err(format!("{at} is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                return Err(format!("{at} is none of {rule}"));
            }
            "const" | "enum" => {}
            "type" => is_type(rule.as_str().unwrap(), value, at)?,
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    fits(rule, item, &format!("{at}[{number}]"))?;
                }
            }
            "properties" => {}
            other => panic!("the schema uses `{other}`, which this check does not know"),
        }
    }
    match value.as_object() {
        Some(object) if words.contains_key("type") => members(words, object, at),
        _ => Ok(()),
    }
}

fn any(choices: &[Value], value: &Value, at: &str) -> Result<(), String> {
    let mut faults = Vec::new();
    for choice in choices {
        match fits(choice, value, at) {
            Ok(()) => return Ok(()),
            Err(fault) => faults.push(fault),
        }
    }
    Err(faults.join(", nor: "))
}

fn members(
    words: &Map<String, Value>,
    object: &Map<String, Value>,
    at: &str,
) -> Result<(), String> {
    let list = |word: &str| {
        words
            .get(word)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    for name in list("required") {
        if !object.contains_key(name.as_str().unwrap()) {
            return Err(format!("{at} lacks {name}"));
        }
    }
    let known = words.get("properties").and_then(Value::as_object);
    let more = words.get("additionalProperties");
    if known.is_none() && more.is_none() {
        return Ok(());
    }
    for (name, value) in object {
        let rule = known.and_then(|known| known.get(name)).or(more);
        match rule {
            Some(rule) => fits(rule, value, &format!("{at}.{name}"))?,
            None => return Err(format!("{at}.{name} is not in the schema")),
        }
    }
    Ok(())
}

fn is_type(name: &str, value: &Value, at: &str) -> Result<(), String> {
    let is = match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("the schema uses the type `{other}`"),
    };
    is.then_some(())
        .ok_or_else(|| format!("{at} is not of type {name}"))
}
