//! What the key of a memory looks like. An index's prefix is a plain string prefix, so that what it
//! covers need not be a memory.

/// Stands for the memory's own id: one or more characters, no colon.
const ID: &str = "{id}";
/// Stands for the user id exactly as it stands on the record.
const USER: &str = "{user}";
/// Stands for anything, or nothing.
const ANY: &str = "*";

/// A pattern such as `notes:{user}:{id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Id,
    User,
    Any,
}

impl KeyShape {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = parts(text);
        let times = |wanted: &Part| parts.iter().filter(|part| *part == wanted).count();
        let (ids, users, any) = (times(&Part::Id), times(&Part::User), times(&Part::Any));
        let braced = |part: &Part| matches!(part, Part::Literal(text) if text.contains(['{', '}']));
        // Each at most once, so that matching takes no time worth speaking of.
        if ids.max(users).max(any) > 1 || ids + any == 0 || parts.iter().any(braced) {
            return Err(format!(
                "expected text with {ID} or {ANY}, and {USER} where it is part of keys, each once, \
                 such as notes:{USER}:{ID}"
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }

    /// The pattern as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What every key begins with.
    pub(crate) fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// Whether it can be the key of a memory, whoever's.
    pub(crate) fn matches(&self, key: &str) -> bool {
        matches(&self.parts, key, None)
    }

    /// Whether it can be the key of a memory of `user`.
    pub(crate) fn matches_for(&self, key: &str, user: &str) -> bool {
        matches(&self.parts, key, Some(user))
    }
}

fn matches(parts: &[Part], key: &str, user: Option<&str>) -> bool {
    let Some((part, parts)) = parts.split_first() else {
        return key.is_empty();
    };
    let after = |literal: &str| {
        key.strip_prefix(literal)
            .is_some_and(|rest| matches(parts, rest, user))
    };
    let mut starts = key.char_indices().map(|(at, _)| at).chain([key.len()]);
    match (part, user) {
        (Part::Literal(text), _) => after(text),
        (Part::User, Some(user)) => after(user),
        (Part::User, None) => starts.skip(1).any(|at| matches(parts, &key[at..], user)),
        (Part::Id, _) => {
            let end = key.find(':').unwrap_or(key.len());
            starts
                .skip(1)
                .take_while(|at| *at <= end)
                .any(|at| matches(parts, &key[at..], user))
        }
        (Part::Any, _) => starts.any(|at| matches(parts, &key[at..], user)),
    }
}

/// Placeholders and the text between them.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let words = [(ID, Part::Id), (USER, Part::User), (ANY, Part::Any)];
        let next = words
            .into_iter()
            .filter_map(|(word, part)| Some((rest.find(word)?, word, part)))
            .min_by_key(|(at, ..)| *at);
        let (at, word, part) = match next {
            Some((at, word, part)) => (at, word, Some(part)),
            None => (rest.len(), "", None),
        };
        if at > 0 {
            parts.push(Part::Literal(rest[..at].to_owned()));
        }
        parts.extend(part);
        rest = &rest[at + word.len()..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shape(text: &str) -> KeyShape {
        KeyShape::parse(text).unwrap()
    }

    #[test]
    fn keys_beside_the_shape_are_none() {
        let notes = shape("notes:{id}");
        assert_eq!(notes.prefix(), "notes:");
        assert!(notes.matches("notes:1"));
        for key in [
            "notes:",
            "notes:1:tags",
            "notes:1\n:",
            "notesX:1",
            "xnotes:1",
            "Notes:1",
        ] {
            assert!(!notes.matches(key), "{key}");
        }
        assert!(shape("notes:*").matches("notes:1:tags"));
        assert!(shape("a.b|{id}").matches("a.b|1") && !shape("a.b|{id}").matches("aXb|1"));
        assert!(
            shape("notes::{id}").matches("notes::1") && !shape("notes::{id}").matches("notes:1")
        );
    }

    #[test]
    fn a_user_in_the_key_is_the_user_on_the_record() {
        let notes = shape("notes:{user}:{id}");
        assert_eq!(notes.prefix(), "notes:");
        assert!(notes.matches("notes:bob:1"));
        assert!(notes.matches_for("notes:bob:1", "bob"));
        assert!(notes.matches_for("notes:a:b:1", "a:b"));
        for (key, user) in [
            ("notes:bob:1", "Bob"),
            ("notes:bob:1", "bo"),
            ("notes:bob:1", "b.b"),
            ("notes:bob :1", "bob"),
            ("notes:bob:x:1", "bob"),
        ] {
            assert!(!notes.matches_for(key, user), "{key} {user}");
        }
    }

    #[test]
    fn what_is_no_shape_is_refused() {
        for text in [
            "",
            "notes:",
            "notes:{user}",
            "notes:{uid}:{id}",
            "{id",
            "*:*",
            "{id}:{id}",
        ] {
            assert!(KeyShape::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_key_made_by_the_shape_matches(user in "[^:]{1,6}", id in "[^:]{1,6}", before in "[a-z.+:]{0,4}") {
            let key = format!("{before}{user}/{id}");
            let shape = shape(&format!("{before}{{user}}/{{id}}"));
            prop_assert!(shape.matches_for(&key, &user));
        }
    }
}
