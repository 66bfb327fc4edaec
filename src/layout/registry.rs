//! The layouts by name, and what they are made from.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::custom::{self, CustomOptions};
use super::{Layout, agent_memory_server, langchain_redis, langgraph, mem0, redisvl};
use crate::record::{IndexFacts, Unfit};

/// The settings that concern layouts; each takes those that mean something to it. `None` = the
/// layout's own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The field with the text.
    pub text: Option<String>,
    /// The field with the vector.
    pub vector: Option<String>,
    /// The field with the user id.
    pub user: Option<String>,
    /// The field with the memory type.
    pub memory_type: Option<String>,
    /// The field with the memory's own id.
    pub id: Option<String>,
    /// The field with the date of creation.
    pub created_at: Option<String>,
    /// The field with the metadata.
    pub metadata: Option<String>,
    /// Further fields that divide memories: what differs in one of them never meets.
    pub scope: Vec<String>,
    /// The namespaces that hold memories, with `{user}` where the user's id stands.
    pub namespace: Option<String>,
    /// The index with the vectors, where it is another than that of the memories' own keys.
    pub vector_index: Option<String>,
    /// The time zone of dates that name none.
    pub naive_zone: TimeZone,
    /// What only the layout `custom` needs.
    pub custom: CustomOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            text: None,
            vector: None,
            user: None,
            memory_type: None,
            id: None,
            created_at: None,
            metadata: None,
            scope: Vec::new(),
            namespace: None,
            vector_index: None,
            naive_zone: TimeZone::UTC,
            custom: CustomOptions::default(),
        }
    }
}

/// A layout that can be named.
#[derive(Debug)]
pub struct Kind {
    /// The name used on the command line.
    pub name: &'static str,
    /// The name that the library gives its index; empty where there is no usual one.
    pub index: &'static str,
    /// The names of further indexes that the layout needs to know of, by the name of the index of
    /// the memories' own keys.
    pub more: fn(options: &Options, index: &str) -> Vec<String>,
    /// Whether a record may be copied to a key of another form: not where it repeats the id that its
    /// key holds, or where agents know it by something else that the copy would have too.
    pub copied: bool,
    /// Whether the names of the fields are the user's, who may have to set them; else they are the
    /// library's.
    pub named: bool,
    /// Makes the layout over the index of the memories' own keys; `more` are the indexes named
    /// above, in their order, `None` where the server has no such index.
    pub open: fn(options: &Options, facts: &IndexFacts, more: &[Option<IndexFacts>]) -> Opened,
}

/// A layout, or why it cannot serve the indexes.
pub type Opened = Result<Arc<dyn Layout>, Unfit>;

/// Every layout.
const KINDS: &[Kind] = &[
    redisvl::KIND,
    langgraph::KIND,
    mem0::KIND,
    agent_memory_server::KIND,
    langchain_redis::KIND,
    custom::KIND,
];

/// The names of all layouts.
pub const NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut i = 0;
    while i < KINDS.len() {
        names[i] = KINDS[i].name;
        i += 1;
    }
    names
};

/// The layout of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
