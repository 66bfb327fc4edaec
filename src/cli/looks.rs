//! What an index looks like, by the names of its fields. A guess for people, never used to decide
//! what may be merged.

use crate::layout::{ROLES, kind};
use crate::record::IndexFacts;

/// What was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// What it looks like.
    pub(super) name: &'static str,
    /// The field with the user id, if users can be listed by one.
    pub(super) user_field: Option<String>,
    /// The flags to use then.
    pub(super) flags: Option<String>,
    /// What to know otherwise.
    pub(super) advice: &'static str,
}

const NOT_MEMORIES: &str = "no memories; memfold has no business here";
const LATER: &str = "memories, but of a layout that this version does not serve";

/// What the index of a library is known by.
struct Known {
    /// Names of fields that only its index has.
    fields: &'static [&'static str],
    /// What it is.
    name: &'static str,
    /// The layout of its memories, if it holds any.
    layout: Option<&'static str>,
}

const fn known(
    fields: &'static [&'static str],
    name: &'static str,
    layout: Option<&'static str>,
) -> Known {
    Known {
        fields,
        name,
        layout,
    }
}

/// Most telling first.
const KNOWN: &[Known] = &[
    known(
        &["prompt", "response", "prompt_vector"],
        "a semantic cache (redisvl)",
        None,
    ),
    known(
        &["role", "content", "session_tag"],
        "a message history (redisvl)",
        None,
    ),
    known(
        &["session_id", "type", "timestamp"],
        "a chat history (langchain-redis)",
        None,
    ),
    known(
        &["checkpoint_ns", "checkpoint_id"],
        "checkpoints (LangGraph)",
        None,
    ),
    known(
        &["prefix", "key", "field_name", "embedding"],
        "the vectors of a LangGraph store, whose items are in the index beside it",
        None,
    ),
    known(
        &["prefix", "key", "created_at"],
        "the items of a LangGraph store (--namespace says where those of a user are)",
        Some("langgraph-store"),
    ),
    known(
        &["memory_hash", "namespace", "vector"],
        "memories of agent-memory-server",
        Some("agent-memory-server"),
    ),
    known(
        &["memory_id", "hash", "memory", "embedding"],
        "memories of mem0",
        Some("mem0"),
    ),
    known(
        &["_index_name", "_metadata_json", "text"],
        "documents of langchain-redis",
        Some("langchain-redis"),
    ),
];

/// mem0 makes all its indexes alike.
const OF_MEM0: Known = known(
    &[],
    "what mem0 keeps beside its memories, which are in another index",
    None,
);

/// The library's index that this one looks like.
fn known_index(facts: &IndexFacts) -> Option<&'static Known> {
    let has = |name: &&str| facts.field(name).is_some();
    let found = KNOWN.iter().find(|known| known.fields.iter().all(has))?;
    let beside = facts.name.ends_with("_entities") || facts.name == "mem0migrations";
    Some(match found.layout {
        Some("mem0") if beside => &OF_MEM0,
        _ => found,
    })
}

/// Whether this looks like the index with the vectors of a LangGraph store.
pub(super) fn holds_vectors_of_items(facts: &IndexFacts) -> bool {
    known_index(facts).is_some_and(|known| known.fields.contains(&"field_name"))
}

/// The layout of the library whose index this looks like, if it holds memories that this version
/// serves.
///
/// # Errors
/// What it is instead, where it is known to be no such index.
pub(super) fn known_layout(facts: &IndexFacts) -> Result<Option<&'static str>, &'static str> {
    match known_index(facts) {
        None => Ok(None),
        Some(known) => match known.layout.filter(|name| kind(name).is_some()) {
            Some(layout) => Ok(Some(layout)),
            None => Err(known.name),
        },
    }
}

/// The field that holds the user id by the usual names.
pub(super) fn user_field(facts: &IndexFacts) -> Option<&'static str> {
    let has = |name: &&str| facts.field(name).is_some();
    role("user").iter().copied().find(has)
}

fn role(role: &str) -> &'static [&'static str] {
    let found = ROLES.iter().find(|(name, _)| *name == role);
    found.map_or(&[], |(_, names)| names)
}

/// An index of a library that is known.
fn of_library(facts: &IndexFacts, known: &Known) -> Look {
    let Some(kind) = known.layout.and_then(kind) else {
        let advice = if known.layout.is_some() {
            LATER
        } else {
            NOT_MEMORIES
        };
        return Look {
            name: known.name,
            user_field: None,
            flags: None,
            advice,
        };
    };
    let mut flags = format!("--layout {}", kind.name);
    if facts.name != kind.index {
        flags += &format!(" --index {}", quote(&facts.name));
    }
    let user = user_field(facts);
    if let Some(user) = user.filter(|user| *user != "user_id") {
        flags += &format!(" --fields-user {}", quote(user));
    }
    Look {
        name: known.name,
        user_field: user.map(str::to_owned),
        flags: Some(flags),
        advice: "",
    }
}

pub(super) fn look(facts: &IndexFacts) -> Look {
    let has = |name: &&str| facts.field(name).is_some();
    if let Some(known) = known_index(facts) {
        return of_library(facts, known);
    }
    let Some((vector, _)) = facts.vectors().next() else {
        return other("no index of memories: it has no vectors");
    };
    if facts.vector(vector).is_err() {
        return other("an index whose vectors this version does not read");
    }
    let find = |names: &[&'static str]| names.iter().copied().find(|name| has(name));
    let (Some(_), Some(user)) = (find(role("text")), user_field(facts)) else {
        return other("an index with vectors, but with no text or user that memfold knows");
    };
    let roles = ROLES
        .iter()
        .filter_map(|(role, names)| Some((*role, names[0], find(names)?)));
    let vector = ("vector", "embedding", vector);
    let unusual = roles
        .chain([vector])
        .filter(|(_, usual, found)| usual != found);
    let flags: Vec<String> = std::iter::once(format!("--index {}", quote(&facts.name)))
        .chain(unusual.map(|(role, _, found)| {
            format!("--fields-{} {}", role.replace('_', "-"), quote(found))
        }))
        .collect();
    Look {
        name: "memories as LangGraph agents keep them with redisvl",
        user_field: Some(user.to_owned()),
        flags: Some(flags.join(" ")),
        advice: "",
    }
}

fn other(name: &'static str) -> Look {
    let advice = "if it holds memories, describe it: memfold inspect --write-config --index NAME";
    Look {
        name,
        user_field: None,
        flags: None,
        advice,
    }
}

/// A word for a shell.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-:./".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Field, FieldKind, Storage, VectorFacts};

    fn index(fields: &[&str], vector: Option<(&str, &str)>) -> IndexFacts {
        let plain = fields
            .iter()
            .map(|name| ((*name).to_owned(), FieldKind::Text));
        let vector = vector.map(|(name, metric)| {
            let facts = VectorFacts {
                algorithm: "FLAT".into(),
                data_type: "FLOAT32".into(),
                dims: 384,
                metric: metric.into(),
            };
            (name.to_owned(), FieldKind::Vector(facts))
        });
        let field = |(name, kind): (String, FieldKind)| Field {
            path: format!("$.{name}"),
            attribute: name,
            kind,
        };
        IndexFacts {
            name: "my mem'ries".into(),
            storage: Storage::Json,
            prefixes: vec!["memory:".into()],
            fields: plain.chain(vector).map(field).collect(),
            indexing: false,
            percent: 1.0,
            failures: 0,
            docs: 3,
        }
    }

    #[test]
    fn the_recipe_is_recognised_and_needs_one_flag() {
        let fields = [
            "content",
            "memory_type",
            "metadata",
            "created_at",
            "user_id",
            "memory_id",
        ];
        let look = look(&index(&fields, Some(("embedding", "COSINE"))));
        assert_eq!(look.user_field.as_deref(), Some("user_id"));
        assert_eq!(look.flags.as_deref(), Some("--index 'my mem'\\''ries'"));
    }

    #[test]
    fn other_names_become_flags() {
        let look = look(&index(&["text", "owner", "kind"], Some(("v", "COSINE"))));
        assert_eq!(
            look.flags.as_deref(),
            Some(
                "--index 'my mem'\\''ries' --fields-text text --fields-user owner \
                 --fields-memory-type kind --fields-vector v"
            )
        );
    }

    #[test]
    fn the_store_of_a_library_is_offered_with_its_layout() {
        let fields = ["_index_name", "_metadata_json", "text", "owner"];
        let look = look(&index(&fields, Some(("embedding", "COSINE"))));
        assert_eq!(
            look.flags.as_deref(),
            Some("--layout langchain-redis --index 'my mem'\\''ries' --fields-user owner")
        );
        assert_eq!(look.user_field.as_deref(), Some("owner"));
    }

    #[test]
    fn what_mem0_keeps_beside_its_memories_is_not_offered() {
        let of_mem0 = |name: &str| {
            let fields = ["memory_id", "hash", "memory", "user_id"];
            let facts = IndexFacts {
                name: name.into(),
                ..index(&fields, Some(("embedding", "COSINE")))
            };
            look(&facts).flags
        };
        assert_eq!(of_mem0("mem0").as_deref(), Some("--layout mem0"));
        let other = of_mem0("notes");
        assert_eq!(other.as_deref(), Some("--layout mem0 --index notes"));
        for name in ["mem0_entities", "notes_entities", "mem0migrations"] {
            assert_eq!(of_mem0(name), None, "{name}");
        }
    }

    #[test]
    fn neighbours_are_not_offered() {
        for (fields, vector) in [
            (
                &["prompt", "response"][..],
                Some(("prompt_vector", "COSINE")),
            ),
            (
                &["role", "content", "session_tag", "user_id"],
                Some(("vector_field", "COSINE")),
            ),
            (
                &["prefix", "key", "field_name"],
                Some(("embedding", "COSINE")),
            ),
            (&["content", "user_id"], None),
            (&["content", "user_id"], Some(("embedding", "HAMMING"))),
            (&["content"], Some(("embedding", "COSINE"))),
        ] {
            let look = look(&index(fields, vector));
            assert_eq!(
                (look.user_field, look.flags),
                (None, None),
                "{fields:?}: {}",
                look.name
            );
        }
    }
}
