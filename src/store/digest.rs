//! Digests for compare-and-swap: the same numbers that the server computes (memfold.lua).

use sha1::{Digest as _, Sha1};

use crate::layout::Record;
use crate::memory::Digest;

/// The digest of a stored record in the one fixed form.
///
/// ```
/// use memfold::{layout::Record, store::record_digest};
/// let a = Record::Hash(vec![(b"b".into(), b"2".into()), (b"a".into(), b"1".into())]);
/// let b = Record::Hash(vec![(b"a".into(), b"1".into()), (b"b".into(), b"2".into())]);
/// assert_eq!(record_digest(&a), record_digest(&b));
/// ```
pub fn record_digest(record: &Record) -> Digest {
    match record {
        Record::Json(text) => finish(Sha1::new_with_prefix(text)),
        Record::Hash(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort();
            let mut sha = Sha1::new();
            for part in sorted.into_iter().flat_map(|(name, value)| [name, value]) {
                sha.update(part.len().to_string());
                sha.update(b":");
                sha.update(part);
            }
            finish(sha)
        }
    }
}

/// The digest of a group of records, whatever their order: of each its key and its digest. It
/// names a veto, which so lives only as long as no member changes.
pub fn group_digest(members: &[(&str, &Digest)]) -> String {
    let mut sorted = members.to_vec();
    sorted.sort();
    let mut sha = Sha1::new();
    for (key, digest) in sorted {
        sha.update(format!("{}:{key}{}", key.len(), digest.0));
    }
    finish(sha).0
}

fn finish(sha: Sha1) -> Digest {
    Digest(format!("{:x}", sha.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_keep_neighbouring_parts_apart() {
        let hash = |pairs: &[(&str, &str)]| {
            let fields = pairs
                .iter()
                .map(|(n, v)| (n.as_bytes().into(), v.as_bytes().into()));
            record_digest(&Record::Hash(fields.collect()))
        };
        assert_ne!(hash(&[("a", "bc")]), hash(&[("ab", "c")]));
        assert_ne!(
            hash(&[("a", "1b"), ("c", "")]),
            hash(&[("a", "1"), ("b", "c")])
        );
        assert_eq!(
            hash(&[]),
            Digest("da39a3ee5e6b4b0d3255bfef95601890afd80709".to_owned())
        );
    }

    #[test]
    fn a_group_has_one_digest_whatever_the_order_and_another_when_a_member_changes() {
        let [d1, d2] = ["1", "2"].map(|d| Digest(d.repeat(40)));
        let ab = group_digest(&[("a", &d1), ("b", &d2)]);
        assert_eq!(ab, group_digest(&[("b", &d2), ("a", &d1)]));
        assert_ne!(ab, group_digest(&[("a", &d1), ("b", &d1)]));
        assert_ne!(ab, group_digest(&[("a", &d1)]));
    }
}
