//! Labelled cases as they stand in a JSONL file.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What a labelled pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// One fact; a merge is right.
    Same,
    /// Two facts; both must survive.
    Different,
    /// `b` is a newer value of the fact in `a`; it may replace it, never blend with it.
    Update,
}

/// Two texts and what they are to each other.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Pair {
    /// Its name, for the decisions.
    pub id: String,
    /// The first text.
    pub a: String,
    /// The second text.
    pub b: String,
    /// What they are to each other.
    pub label: Label,
    /// What sort of likeness or difference it is.
    #[serde(default)]
    pub kind: String,
    /// Language code.
    #[serde(default)]
    pub lang: String,
    /// Where the pair comes from.
    #[serde(default)]
    pub source: String,
    /// When `a` was said.
    #[serde(default)]
    pub a_created_at: Option<Timestamp>,
    /// When `b` was said.
    #[serde(default)]
    pub b_created_at: Option<Timestamp>,
    /// The type of both memories.
    #[serde(default)]
    pub memory_type: Option<String>,
}

/// A group of memories and the outcome that is right.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct GroupCase {
    /// Its name, for the decisions.
    pub id: String,
    /// Language code.
    #[serde(default)]
    pub lang: String,
    /// What sort of group it is.
    #[serde(default)]
    pub kind: String,
    /// Its memories.
    pub members: Vec<Member>,
    /// Strings that must be found in the results, their histories, or what was left alone.
    #[serde(default)]
    pub facts: Vec<String>,
    /// Strings that must not stand in a merged text.
    #[serde(default)]
    pub forbidden: Vec<String>,
    /// The ids that belong together.
    #[serde(default)]
    pub partition: Vec<Vec<String>>,
    /// One a block of `partition`: `merge`, `update`, `keep` or `skip`.
    #[serde(default)]
    pub block_actions: Vec<String>,
    /// Further outcomes that are as good.
    #[serde(default)]
    pub also_ok: Vec<Outcome>,
}

/// An outcome that is as good as the expected one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Outcome {
    /// The ids that belong together.
    pub partition: Vec<Vec<String>>,
}

/// A memory of a group.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Member {
    /// Its id, unique within the group.
    pub id: String,
    /// Its text.
    pub content: String,
    /// When it was said.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Its metadata; `user_id` and `memory_type` decide with whom it may meet.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl Member {
    pub(super) fn metadata_text(&self, name: &str) -> Option<&str> {
        self.metadata.get(name).and_then(Value::as_str)
    }
}

/// What is wrong with a file of cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// A line is no case.
    #[error("line {line} is no {what}: {detail}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// `pair` or `group`.
        what: &'static str,
        /// Why not.
        detail: String,
    },
    /// Two cases have one id, so their decisions could not be told apart.
    #[error("lines {first} and {second} have the same id `{id}`")]
    SameId {
        /// The id.
        id: String,
        /// The first line with it.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// No case at all.
    #[error("there is no {what} in it")]
    Empty {
        /// `pair` or `group`.
        what: &'static str,
    },
}

/// Reads pairs, one JSON object a line; blank lines are passed over.
///
/// # Errors
/// [`InputError`], naming the line.
pub fn pairs(text: &str) -> Result<Vec<Pair>, InputError> {
    lines(text, "pair", |pair: &Pair| &pair.id)
}

/// Reads groups, one JSON object a line; blank lines are passed over.
///
/// # Errors
/// [`InputError`], naming the line.
pub fn groups(text: &str) -> Result<Vec<GroupCase>, InputError> {
    lines(text, "group", |group: &GroupCase| &group.id)
}

fn lines<T: DeserializeOwned>(
    text: &str,
    what: &'static str,
    id: impl Fn(&T) -> &String,
) -> Result<Vec<T>, InputError> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut cases = Vec::new();
    let filled = text.lines().zip(1..).filter(|(l, _)| !l.trim().is_empty());
    for (text, line) in filled {
        let case: T = serde_json::from_str(text).map_err(|error| InputError::Line {
            line,
            what,
            detail: error.to_string(),
        })?;
        if let Some(first) = seen.insert(id(&case).clone(), line) {
            return Err(InputError::SameId {
                id: id(&case).clone(),
                first,
                second: line,
            });
        }
        cases.push(case);
    }
    if cases.is_empty() {
        return Err(InputError::Empty { what });
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: &str = r#"{"id":"p1","a":"x","b":"y","label":"update","more":[1]}"#;

    #[test]
    fn what_is_not_known_is_not_needed() {
        let read = pairs(&format!("\n{PAIR}\n\n")).unwrap();
        assert_eq!((read.len(), read[0].label), (1, Label::Update));
        assert_eq!((&*read[0].kind, read[0].a_created_at), ("", None));
    }

    #[test]
    fn a_faulty_line_is_named() {
        let message = |text: &str| pairs(text).unwrap_err().to_string();
        assert!(message(&format!("{PAIR}\n{{}}")).starts_with("line 2 is no pair: missing field"));
        assert_eq!(
            message(&format!("{PAIR}\n{PAIR}")),
            "lines 1 and 2 have the same id `p1`"
        );
        assert_eq!(message(" \n"), "there is no pair in it");
        assert!(message(&PAIR.replace("update", "equal")).contains("unknown variant `equal`"));
        assert!(groups(PAIR).unwrap_err().to_string().contains("members"));
    }
}
