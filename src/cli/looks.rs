//! What an index looks like, by the names of its fields. A guess for people, never used to decide
//! what may be merged.

use crate::store::index::IndexFacts;

/// What was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// What it looks like.
    pub(super) name: &'static str,
    /// The field with the user id, if this version of memfold can serve the index.
    pub(super) user_field: Option<String>,
    /// The flags to use then.
    pub(super) flags: Option<String>,
    /// What to know otherwise.
    pub(super) advice: &'static str,
}

const NOT_MEMORIES: &str = "no memories; memfold has no business here";
const LATER: &str = "memories, but of a layout that this version does not serve";

/// Names of fields that only one library's index has, most telling first.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (
        &["prompt", "response", "prompt_vector"],
        "a semantic cache (redisvl)",
        NOT_MEMORIES,
    ),
    (
        &["role", "content", "session_tag"],
        "a message history (redisvl)",
        NOT_MEMORIES,
    ),
    (
        &["session_id", "type", "timestamp"],
        "a chat history (langchain-redis)",
        NOT_MEMORIES,
    ),
    (
        &["checkpoint_ns", "checkpoint_id"],
        "checkpoints (LangGraph)",
        NOT_MEMORIES,
    ),
    (
        &["prefix", "key", "field_name", "embedding"],
        "the vectors of a LangGraph store",
        "the items are in the index beside it",
    ),
    (
        &["prefix", "key", "created_at"],
        "the items of a LangGraph store",
        "--layout langgraph-store, and --namespace for where the memories of a user are",
    ),
    (
        &["memory_hash", "namespace", "vector"],
        "memories of agent-memory-server",
        LATER,
    ),
    (
        &["memory_id", "hash", "memory", "embedding"],
        "memories of mem0",
        LATER,
    ),
    (
        &["_index_name", "_metadata_json", "text"],
        "documents of langchain-redis",
        LATER,
    ),
];

/// Names under which text, user, type, id, date and metadata are usually found.
const ROLES: &[(&str, &[&str])] = &[
    (
        "text",
        &["content", "text", "memory", "memory_text", "fact"],
    ),
    ("user", &["user_id", "user", "userid", "owner", "owner_id"]),
    ("memory-type", &["memory_type", "type", "kind"]),
    ("id", &["memory_id", "id"]),
    ("created-at", &["created_at", "timestamp", "created"]),
    ("metadata", &["metadata", "meta"]),
];

pub(super) fn look(facts: &IndexFacts) -> Look {
    let has = |name: &&str| facts.field(name).is_some();
    if let Some((_, name, advice)) = KNOWN.iter().find(|(fields, ..)| fields.iter().all(has)) {
        return Look {
            name,
            user_field: None,
            flags: None,
            advice,
        };
    }
    let Some((vector, _)) = facts.vectors().next() else {
        return other("no index of memories: it has no vectors");
    };
    if facts.vector(vector).is_err() {
        return other("an index whose vectors this version does not read");
    }
    let find = |names: &[&'static str]| names.iter().copied().find(|name| has(name));
    let (Some(_), Some(user)) = (find(ROLES[0].1), find(ROLES[1].1)) else {
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
        .chain(unusual.map(|(role, _, found)| format!("--fields-{role} {}", quote(found))))
        .collect();
    Look {
        name: "memories as LangGraph agents keep them with redisvl",
        user_field: Some(user.to_owned()),
        flags: Some(flags.join(" ")),
        advice: "",
    }
}

fn other(name: &'static str) -> Look {
    let advice = "if it holds memories, name its fields with --fields-text, --fields-user, --fields-vector, …";
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
    use crate::store::index::{Field, FieldKind, Storage, VectorFacts};

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
            (
                &["memory_id", "hash", "memory", "user_id"],
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
