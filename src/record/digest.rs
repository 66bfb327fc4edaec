//! Digests for compare-and-swap: the same numbers that the server computes (memfold.lua).

use sha1::{Digest as _, Sha1};

use crate::memory::Digest;
use crate::record::Record;

/// The digest of a stored record in the one fixed form.
///
/// ```
/// use memfold::record::{Record, record_digest};
/// let a = Record::Hash(vec![(b"b".into(), b"2".into()), (b"a".into(), b"1".into())]);
/// let b = Record::Hash(vec![(b"a".into(), b"1".into()), (b"b".into(), b"2".into())]);
/// assert_eq!(record_digest(&a), record_digest(&b));
/// ```
pub fn record_digest(record: &Record) -> Digest {
    match record {
        Record::Json(text) => finish(Sha1::new_with_prefix(text)),
        Record::Hash(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable();
            // In one piece: a digest takes many small ones much more slowly.
            let length = |(name, value): &(Vec<u8>, Vec<u8>)| name.len() + value.len() + 16;
            let mut form = Vec::with_capacity(fields.iter().map(length).sum());
            for part in sorted.into_iter().flat_map(|(name, value)| [name, value]) {
                push_number(&mut form, part.len());
                form.push(b':');
                form.extend_from_slice(part);
            }
            finish(Sha1::new_with_prefix(form))
        }
    }
}

/// The digest of a group of records, whatever their order: of each its key and its digest. It
/// names a veto, which so lives only as long as no member changes.
pub fn group_digest<'a>(members: impl IntoIterator<Item = (&'a str, &'a Digest)>) -> String {
    let mut sorted: Vec<_> = members.into_iter().collect();
    sorted.sort();
    let mut sha = Sha1::new();
    for (key, digest) in sorted {
        sha.update(format!("{}:{key}{}", key.len(), digest.0));
    }
    finish(sha).0
}

/// Appends a number in decimal digits.
fn push_number(to: &mut Vec<u8>, mut number: usize) {
    let start = to.len();
    loop {
        to.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to[start..].reverse();
}

fn finish(sha: Sha1) -> Digest {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(HEX[usize::from(four)]);
    let digits = |byte: u8| [digit(byte >> 4), digit(byte & 15)];
    Digest(sha.finalize().into_iter().flat_map(digits).collect())
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
    fn the_form_is_that_of_lengths_and_parts_in_hex() {
        for length in [0, 9, 10, 1234] {
            let value = vec![b'x'; length];
            let mut form = format!("1:n{length}:").into_bytes();
            form.extend(&value);
            let hex = format!("{:x}", Sha1::digest(form));
            let record = Record::Hash(vec![(b"n".to_vec(), value)]);
            assert_eq!(record_digest(&record), Digest(hex));
        }
    }

    #[test]
    fn a_group_has_one_digest_whatever_the_order_and_another_when_a_member_changes() {
        let [d1, d2] = ["1", "2"].map(|d| Digest(d.repeat(40)));
        let ab = group_digest([("a", &d1), ("b", &d2)]);
        assert_eq!(ab, group_digest([("b", &d2), ("a", &d1)]));
        assert_ne!(ab, group_digest([("a", &d1), ("b", &d1)]));
        assert_ne!(ab, group_digest([("a", &d1)]));
    }
}
