//! The names of all keys that memfold writes, and whether an index would catch them.

use sha1::{Digest as _, Sha1};

use super::ledger::MergeRecord;
use super::{NAMESPACE, vetoes};

/// The stream of merges and undos.
pub const LEDGER: &str = "memfold:ledger";

/// The counter from which leases take their fencing numbers.
pub(crate) const FENCE: &str = "memfold:fence";

/// The record of one merge.
pub(crate) fn record(merge_id: &str) -> String {
    format!("{NAMESPACE}merge:{merge_id}")
}

/// Where it stands which later merge took the result of `merge_id` as a source.
pub(crate) fn pointer(merge_id: &str) -> String {
    format!("{NAMESPACE}into:{merge_id}")
}

/// The veto against merging a group again, by its [`super::digest::group_digest`].
pub(crate) fn veto(group: &str) -> String {
    format!("{NAMESPACE}veto:{group}")
}

/// The lease of a partition; hashed, for a partition's name may hold anything.
pub(crate) fn lease(partition: &str) -> String {
    format!("{NAMESPACE}lease:{:x}", Sha1::digest(partition.as_bytes()))
}

/// What is remembered of a user between runs; hashed as the lease.
pub(crate) fn state(partition: &str) -> String {
    format!("{NAMESPACE}state:{:x}", Sha1::digest(partition.as_bytes()))
}

/// What was compared when a user was last looked at; hashed as the lease.
pub(crate) fn compared(partition: &str) -> String {
    format!(
        "{NAMESPACE}compared:{:x}",
        Sha1::digest(partition.as_bytes())
    )
}

/// The copy of the retired memory `key` in the undo store. It shares the slot of `key`.
pub(crate) fn undo(merge_id: &str, key: &str) -> String {
    format!("{}{merge_id}:{}", undo_prefix(), tagged(key))
}

/// Where the result at `key` stands for the moment of an undo. It shares the slot of `key`.
pub(crate) fn aside(merge_id: &str, key: &str) -> String {
    format!("{NAMESPACE}aside:{merge_id}:{}", tagged(key))
}

/// A new key for an edited result that an undo keeps: covered by every index prefix that covers
/// `key`, and of the same shape where `key` ends in a ULID.
///
/// ```
/// use memfold::store::beside;
/// let new = "01K00000000000000000000000";
/// assert_eq!(beside("memory:01J00000000000000000000000", new), format!("memory:{new}"));
/// assert_eq!(beside("mem:alice", new), format!("mem:alice:{new}"));
/// ```
pub fn beside(key: &str, ulid: &str) -> String {
    let is_ulid = |tail: &str| ulid::Ulid::from_string(tail).is_ok();
    match key
        .len()
        .checked_sub(ulid::ULID_LEN)
        .and_then(|at| key.split_at_checked(at))
    {
        Some((head, tail)) if is_ulid(tail) => format!("{head}{ulid}"),
        _ => format!("{key}:{ulid}"),
    }
}

/// The key itself where it has a hash tag of its own, else the key as one.
fn tagged(key: &str) -> String {
    if has_hash_tag(key) {
        key.to_owned()
    } else {
        format!("{{{key}}}")
    }
}

/// Redis Cluster's rule: something between the first `{` and the next `}`.
fn has_hash_tag(key: &str) -> bool {
    key.split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .is_some_and(|(tag, _)| !tag.is_empty())
}

fn undo_prefix() -> String {
    format!("{NAMESPACE}undo:")
}

/// The set of a user's vetoes; hashed as the lease.
pub(crate) fn vetoes(partition: &str) -> String {
    format!("{NAMESPACE}vetoes:{:x}", Sha1::digest(partition.as_bytes()))
}

/// The name of a store, for its counts, its consumer group and for people.
pub fn store_name(layout: &str, index: &str) -> String {
    format!("{layout}:{index}")
}

/// The name under which a user's lease, state and vetoes are kept.
pub fn partition_name(layout: &str, index: &str, user: &str) -> String {
    format!("{layout}\n{index}\n{user}")
}

/// The keys that a function on a merge works on: record, ledger, veto, those of the function's
/// `own`, all that is moved, the copies of that in the undo store, `more`, the pointers of the
/// parents.
pub(super) fn of_merge(
    merge: &MergeRecord,
    own: impl IntoIterator<Item = String>,
    more: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let id = &merge.merge_id;
    let pinned = merge.pinned();
    [record(id), LEDGER.to_owned(), veto(&vetoes::group(merge))]
        .into_iter()
        .chain(own)
        .chain(pinned.iter().map(|pinned| pinned.key.to_owned()))
        .chain(pinned.iter().map(|pinned| undo(id, pinned.key)))
        .chain(more)
        .chain(merge.parents.iter().map(|parent| pointer(parent)))
        .collect()
}

/// Whether an index with these prefixes would take what is kept for undo.
pub(super) fn takes_undo(prefixes: &[String]) -> bool {
    covers(prefixes, &undo_prefix())
}

/// Whether an index with these prefixes takes any key that begins with `start`. A prefix is a plain
/// string prefix; none at all, or an empty one, takes everything.
fn covers(prefixes: &[String], start: &str) -> bool {
    prefixes.is_empty()
        || prefixes
            .iter()
            .any(|prefix| start.starts_with(prefix) || prefix.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_key_shares_the_slot_of_its_source() {
        assert_eq!(undo("M", "memory:1"), "memfold:undo:M:{memory:1}");
        assert_eq!(undo("M", "{alice}:1"), "memfold:undo:M:{alice}:1");
        // Redis takes the first `{` and the first `}` after it; an empty tag is none.
        assert_eq!(undo("M", "a{}b{c}"), "memfold:undo:M:{a{}b{c}}");
        assert_eq!(undo("M", "a{b"), "memfold:undo:M:{a{b}");
    }

    #[test]
    fn an_index_covers_the_undo_store_by_any_overlap_of_prefixes() {
        let covers = |prefixes: &[&str]| {
            let prefixes: Vec<String> = prefixes.iter().map(|&p| p.to_owned()).collect();
            covers(&prefixes, &undo_prefix())
        };
        assert!(covers(&[]));
        assert!(covers(&[""]));
        assert!(covers(&["mem"]));
        assert!(covers(&["memory:", "memfold:"]));
        assert!(covers(&["memfold:undo:01J"]));
        assert!(!covers(&["memory"]));
        assert!(!covers(&["memfold:x", "Memfold:"]));
    }

    #[test]
    fn a_key_beside_keeps_the_start_of_the_key() {
        let new = "01K00000000000000000000000";
        for key in [
            "",
            "a",
            "用户:记忆一二三四五六七八九十",
            "memory:01J0000000000000000000000U",
        ] {
            assert_eq!(beside(key, new), format!("{key}:{new}"));
        }
    }
}
