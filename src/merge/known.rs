//! What was compared when a user was last looked at, so that only what changed is compared again.
//!
//! It saves work, and nothing depends on it: without it all memories are compared with each other.

use std::collections::HashMap;
use std::num::NonZero;

use ndarray::{ArrayView1, ArrayView2};
use sha1::{Digest as _, Sha1};

use super::parallel;
use crate::group::{Compared, Pair};
use crate::memory::Memory;

/// Names a memory as it was compared: its key, its vector, wherever that is from, and its partition,
/// beyond which it was compared with nothing.
pub(super) type Id = [u8; 16];

/// What is remembered of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known {
    /// What made pairs of them: the version that compared, and the threshold.
    rule: Id,
    ids: Vec<Id>,
    /// Pairs of positions in `ids`.
    pairs: Vec<Pair>,
}

/// The first byte of what [`Known::to_bytes`] writes.
const VERSION: u8 = 2;

impl Known {
    /// Memories of a user from which on comparing them takes longer than remembering.
    pub(super) const WORTH_IT: usize = 10_000;

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// What was compared among memories that have these names.
    pub(super) fn of(threshold: f64, ids: &[Id], compared: &Compared) -> Self {
        let mut places = vec![0; ids.len()];
        for (place, &row) in compared.rows.iter().enumerate() {
            places[row as usize] = place as u32;
        }
        Self {
            rule: rule(threshold),
            ids: compared.rows.iter().map(|&row| ids[row as usize]).collect(),
            pairs: named(&compared.pairs, |row| Some(places[row as usize])),
        }
    }

    /// What of it still holds among memories that have these names, by today's rows.
    pub(super) fn among(&self, threshold: f64, ids: &[Id]) -> Compared {
        if self.rule != rule(threshold) {
            return Compared::default();
        }
        let places = self.ids.iter().zip(0_u32..);
        let places: HashMap<&Id, u32> = places.collect();
        let mut rows = vec![None; self.ids.len()];
        for (row, id) in ids.iter().enumerate() {
            if let Some(&place) = places.get(id) {
                rows[place as usize] = Some(row as u32);
            }
        }
        Compared {
            pairs: named(&self.pairs, |place| rows[place as usize]),
            rows: rows.into_iter().flatten().collect(),
        }
    }

    /// For the store.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.rule.to_vec();
        bytes.extend((self.ids.len() as u32).to_le_bytes());
        bytes.extend(self.ids.as_flattened());
        for pair in &self.pairs {
            bytes.extend(pair.a.to_le_bytes());
            bytes.extend(pair.b.to_le_bytes());
            bytes.extend(pair.distance.to_le_bytes());
        }
        let check = shortened(&Sha1::digest(&bytes));
        [&[VERSION], &check[..], &bytes].concat()
    }

    /// Reads what [`Self::to_bytes`] wrote; nothing is known where it is anything else.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self::parsed(bytes).unwrap_or_default()
    }

    fn parsed(bytes: &[u8]) -> Option<Self> {
        let (version, bytes) = bytes.split_first()?;
        let (check, bytes) = bytes.split_first_chunk::<16>()?;
        if *version != VERSION || *check != shortened(&Sha1::digest(bytes)) {
            return None;
        }
        let (rule, bytes) = bytes.split_first_chunk()?;
        let (count, bytes) = bytes.split_first_chunk()?;
        let count = u32::from_le_bytes(*count);
        let (ids, pairs) = bytes.split_at_checked(size_of::<Id>().checked_mul(count as usize)?)?;
        let (pairs, []) = pairs.as_chunks::<16>() else {
            return None;
        };
        let pair = |bytes: &[u8; 16]| {
            let (a, rest) = bytes.split_first_chunk()?;
            let (b, rest) = rest.split_first_chunk()?;
            let (a, b) = (u32::from_le_bytes(*a), u32::from_le_bytes(*b));
            let distance = f64::from_le_bytes(*rest.first_chunk()?);
            (a < count && b < count).then_some(Pair { a, b, distance })
        };
        Some(Self {
            rule: *rule,
            ids: ids.as_chunks().0.to_vec(),
            pairs: pairs.iter().map(pair).collect::<Option<_>>()?,
        })
    }
}

/// The pairs under other names, as far as both have one; the smaller first, sorted.
fn named(pairs: &[Pair], name: impl Fn(u32) -> Option<u32>) -> Vec<Pair> {
    let renamed = pairs.iter().filter_map(|pair| {
        let (a, b) = (name(pair.a)?, name(pair.b)?);
        Some(Pair {
            a: a.min(b),
            b: a.max(b),
            distance: pair.distance,
        })
    });
    let mut pairs: Vec<Pair> = renamed.collect();
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    pairs
}

/// The names of memories with these vectors, one row each.
pub(super) fn ids(
    memories: &[Memory],
    vectors: ArrayView2<'_, f32>,
    threads: NonZero<usize>,
) -> Vec<Id> {
    let rows: Vec<_> = memories.iter().zip(vectors.outer_iter()).collect();
    parallel::map(threads, &rows, |(memory, vector)| id(memory, *vector))
}

fn id(memory: &Memory, vector: ArrayView1<'_, f32>) -> Id {
    let mut sha = Sha1::new();
    let partition = &memory.partition;
    let names = [&memory.key, &partition.user, &partition.memory_type];
    for name in names.into_iter().chain(&partition.scope) {
        sha.update(name.len().to_le_bytes());
        sha.update(name);
    }
    let mut bytes = Vec::with_capacity(size_of::<f32>() * vector.len());
    for number in vector {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    sha.update(bytes);
    shortened(&sha.finalize())
}

fn rule(threshold: f64) -> Id {
    let mut sha = Sha1::new_with_prefix(env!("CARGO_PKG_VERSION"));
    sha.update(threshold.to_le_bytes());
    shortened(&sha.finalize())
}

fn shortened(hash: &[u8]) -> Id {
    let mut id = Id::default();
    id.copy_from_slice(&hash[..size_of::<Id>()]);
    id
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use ndarray::{Array2, Axis};
    use proptest::prelude::*;

    use super::*;
    use crate::group::testing::near_rows;
    use crate::group::{Rule, group_changed};
    use crate::memory::Digest;

    const ONE: NonZero<usize> = NonZero::<usize>::MIN;

    fn memory(key: usize) -> Memory {
        Memory {
            key: format!("memory:{key}"),
            partition: Default::default(),
            text: String::new(),
            created_at: None,
            said_at: None,
            expires_at_ms: None,
            digest: Digest(String::new()),
            merge_id: None,
            pinned: false,
            frame: None,
        }
    }

    fn compare(vectors: &Array2<f32>, known: &Compared) -> (Vec<Vec<u32>>, Compared) {
        let n = vectors.nrows();
        let texts: Vec<usize> = (0..n).collect();
        let rule = Rule {
            threshold: 0.1,
            cap: 10,
            threads: NonZero::new(2).unwrap(),
            most_pairs: usize::MAX,
        };
        group_changed(vectors.view(), &texts, &vec![true; n], known, rule).unwrap()
    }

    proptest! {
        #[test]
        fn a_run_that_remembers_finds_what_a_full_one_does(
            n in 1..60_usize,
            seed: u64,
            now in prop::collection::vec((0..60_usize, prop::bool::weighted(0.2)), 0..60),
        ) {
            let (old, new) = (near_rows(60, 12, seed), near_rows(60, 12, seed ^ 1));
            let before: Vec<Memory> = (0..n).map(memory).collect();
            let rows = old.select(Axis(0), &(0..n).collect::<Vec<_>>());
            let (_, compared) = compare(&rows, &Compared::default());
            let known = Known::of(0.1, &ids(&before, rows.view(), ONE), &compared);
            let known = Known::from_bytes(&known.to_bytes());

            // Some are gone, some are new, some have another vector, and they come in another order.
            let mut now = now;
            let mut seen = std::collections::HashSet::new();
            now.retain(|(key, _)| seen.insert(*key));
            let memories: Vec<Memory> = now.iter().map(|&(key, _)| memory(key)).collect();
            let mut vectors = Array2::zeros((now.len(), 12));
            for (mut row, &(key, changed)) in vectors.outer_iter_mut().zip(&now) {
                row.assign(&if changed { &new } else { &old }.row(key));
            }
            let expected = compare(&vectors, &Compared::default());
            let ids = ids(&memories, vectors.view(), ONE);
            prop_assert_eq!(compare(&vectors, &known.among(0.1, &ids)), expected);
            prop_assert_eq!(known.among(0.2, &ids), Compared::default());
        }

        #[test]
        fn what_was_apart_was_not_compared(scope in "[ab]", memory_type in "[ab]") {
            let apart = |scope: &str, memory_type: &str| {
                let mut memory = memory(0);
                memory.partition.scope = vec![scope.into()];
                memory.partition.memory_type = memory_type.into();
                ids(&[memory], near_rows(1, 12, 0).view(), ONE)
            };
            let compared = Compared { rows: vec![0], pairs: vec![] };
            let known = Known::of(0.1, &apart("a", "a"), &compared);
            let found = known.among(0.1, &apart(&scope, &memory_type));
            prop_assert_eq!(found.rows.len(), usize::from(scope == "a" && memory_type == "a"));
        }

        #[test]
        fn damage_is_no_knowledge(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..60_usize) {
            let _ = Known::from_bytes(&bytes);
            let pair = Pair { a: 0, b: 1, distance: 0.05 };
            let compared = Compared { rows: vec![0, 1], pairs: vec![pair] };
            let known = Known::of(0.1, &[[0; 16], [1; 16]], &compared);
            let bytes = known.to_bytes();
            prop_assert_eq!(&Known::from_bytes(&bytes), &known);
            let end = bytes.len() - 1 - cut;
            prop_assert_eq!(Known::from_bytes(&bytes[..end]), Known::default());
        }
    }
}
