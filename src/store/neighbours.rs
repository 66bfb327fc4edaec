//! All indexes of the server over keys of some kinds: which of them would take what is kept for undo,
//! and which hold some memories of a group but not others. A prefix is a plain string prefix, so that
//! an index over `memory` has the memories of one over `memory_team:` too.

use redis::aio::ConnectionLike;

use super::StoreError;
use super::index::{index_facts, index_names};
use super::keys::takes_undo;
use crate::record::{IndexFacts, Storage};

/// The indexes over some kinds of keys.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    seen: Vec<IndexFacts>,
    /// One that this account may not see.
    unseen: Option<String>,
}

impl Neighbours {
    /// Those over keys of these storages.
    ///
    /// # Errors
    /// [`StoreError`] if the indexes cannot be listed or described.
    pub async fn over(
        con: &mut impl ConnectionLike,
        storages: &[Storage],
    ) -> Result<Self, StoreError> {
        let mut found = Self::default();
        for name in index_names(con).await? {
            match index_facts(con, &name).await {
                Ok(facts) if storages.contains(&facts.storage) => found.seen.push(facts),
                Ok(_) | Err(StoreError::NoIndex { .. }) => {}
                Err(StoreError::Permission(_)) => found.unseen = found.unseen.or(Some(name)),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The name of one that would take retired memories for its own. Then they must be retired as
    /// payloads ([`super::Retire::Dump`]). An index that this account may not see might be one.
    pub fn taking_undo(&self) -> Option<&str> {
        let mut seen = self.seen.iter();
        let found = seen.find(|facts| takes_undo(&facts.prefixes));
        let found = found.map(|facts| facts.name.as_str());
        found.or(self.unseen.as_deref())
    }

    /// The name of one that holds some of these keys but not all: its readers would lose a memory
    /// by a merge of them, or be told one that was none of theirs.
    pub fn dividing(&self, storage: Storage, keys: &[&str]) -> Option<&str> {
        let divides = |facts: &&IndexFacts| {
            let held = keys.iter().filter(|key| facts.covers(key)).count();
            facts.storage == storage && held > 0 && held < keys.len()
        };
        self.seen
            .iter()
            .find(divides)
            .map(|facts| facts.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(name: &str, storage: Storage, prefixes: &[&str]) -> IndexFacts {
        IndexFacts {
            name: name.into(),
            storage,
            prefixes: prefixes.iter().map(|&prefix| prefix.to_owned()).collect(),
            fields: Vec::new(),
            indexing: false,
            percent: 1.0,
            failures: 0,
            docs: 0,
        }
    }

    #[test]
    fn an_index_that_holds_only_some_of_a_group_divides_it() {
        let neighbours = Neighbours {
            seen: vec![
                index("all", Storage::Json, &[]),
                index("wide", Storage::Json, &["mem"]),
                index("hashes", Storage::Hash, &["memory_team:"]),
                index("team", Storage::Json, &["x", "memory_team:"]),
            ],
            unseen: None,
        };
        let dividing = |keys: &[&str]| neighbours.dividing(Storage::Json, keys);
        assert_eq!(dividing(&["memory:1", "memory_team:1"]), Some("team"));
        assert_eq!(dividing(&["memory:1", "note:1"]), Some("wide"));
        assert_eq!(dividing(&["memory:1", "memory:2"]), None);
        assert_eq!(
            dividing(&["memory_team:1", "x2", "memory_team:2"]),
            Some("wide")
        );
        assert_eq!(dividing(&["memory_team:1", "memory_team:2"]), None);
        assert_eq!(dividing(&[]), None);
    }

    #[test]
    fn one_that_may_not_be_seen_might_take_what_is_kept_for_undo() {
        let mut neighbours = Neighbours {
            seen: vec![index("wide", Storage::Json, &["memory"])],
            unseen: None,
        };
        assert_eq!(neighbours.taking_undo(), None);
        neighbours.unseen = Some("hidden".into());
        assert_eq!(neighbours.taking_undo(), Some("hidden"));
        neighbours
            .seen
            .push(index("wider", Storage::Json, &["mem"]));
        assert_eq!(neighbours.taking_undo(), Some("wider"));
    }
}
