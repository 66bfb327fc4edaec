//! Records that say of themselves that they are deleted: an application may keep them for a while,
//! but nobody is to read them, least of all an LLM.

use serde_json::{Map, Value};

use super::body::Look;
use super::{NotRead, not_read};
use crate::memory::Reason;

/// Members that say so unless their value denies it.
const FLAGS: [&str; 9] = [
    "deleted",
    "is_deleted",
    "isDeleted",
    "_deleted",
    "soft_deleted",
    "deleted_at",
    "deletedAt",
    "tombstone",
    "forgotten",
];

/// Members whose value may say so.
const STATES: [&str; 2] = ["status", "state"];

/// Values that say so.
const GONE: [&str; 6] = [
    "deleted",
    "tombstone",
    "tombstoned",
    "forgotten",
    "erased",
    "removed",
];

/// The member of a record or of its metadata that says that the memory is deleted.
pub(crate) fn says_deleted(members: &Map<String, Value>) -> Option<&'static str> {
    // Most records have none of these names, which is seen sooner than where each of them would be.
    if !members.keys().any(|name| may_say(name)) {
        return None;
    }
    let flag = |name: &&&str| members.get(**name).is_some_and(affirms);
    let state = |name: &&&str| {
        let value = members.get(**name).and_then(Value::as_str);
        value.is_some_and(|v| GONE.contains(&v.trim().to_lowercase().as_str()))
    };
    let flags = FLAGS.iter().find(flag);
    flags.or_else(|| STATES.iter().find(state)).copied()
}

/// Whether a member of this name may say that the memory is deleted.
fn may_say(name: &str) -> bool {
    FLAGS.contains(&name) || STATES.contains(&name)
}

/// What of a record may say that the memory is deleted.
pub(super) fn may_say_deleted(record: &Look<'_>) -> Map<String, Value> {
    match record.any_name(may_say) {
        false => Map::new(),
        true => record.named(&[&FLAGS[..], &STATES[..]].concat()),
    }
}

/// Refuses a memory that one of these says to be deleted: its record, or its metadata.
pub(super) fn refuse_deleted(said: &[&Map<String, Value>]) -> Result<(), NotRead> {
    match said.iter().find_map(|members| says_deleted(members)) {
        None => Ok(()),
        Some(name) => Err(not_read(
            Reason::Deleted,
            format!("the record says that it is deleted (`{name}`)"),
        )),
    }
}

/// Whether a value is a yes: `true`, a number but 0, a text but a no. A date says when it was.
fn affirms(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => {
            let text = text.trim().to_lowercase();
            !matches!(text.as_str(), "" | "0" | "false" | "no" | "none" | "null")
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_seen_and_a_denial_is_none() {
        let says = |text: &str| says_deleted(&serde_json::from_str(text).unwrap());
        for text in [
            r#"{"deleted":true}"#,
            r#"{"is_deleted":1}"#,
            r#"{"deleted_at":"2026-01-01T00:00:00Z"}"#,
            r#"{"tombstone":"yes"}"#,
            r#"{"status":" Deleted"}"#,
        ] {
            assert!(says(text).is_some(), "{text}");
        }
        for text in [
            r#"{"deleted":false}"#,
            r#"{"deleted":0,"is_deleted":"","tombstone":"false"}"#,
            r#"{"deleted_at":null}"#,
            r#"{"status":"active","deleted":[]}"#,
            r#"{"note":"deleted"}"#,
        ] {
            assert_eq!(says(text), None, "{text}");
        }
    }
}
