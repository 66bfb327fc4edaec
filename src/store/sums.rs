//! What the index says of users under several values, summed up in little memory: 16 bytes a user.

use sha1::{Digest as _, Sha1};

use super::state::Probe;

/// The sums by user.
#[derive(Debug, Default)]
pub(super) struct Sums(Vec<Sum>);

/// A user's sum. Users go by 64 bits of their digest; of two that share them, one waits for its full
/// reading.
#[derive(Clone, Copy, Debug)]
struct Sum {
    user: u64,
    count: u32,
    /// Of counts and newest times, whatever the order.
    digest: u32,
}

impl Sums {
    /// Adds what the index says of a user under one value.
    pub(super) fn add(&mut self, user: &str, probe: &Probe) {
        if self.0.len() == self.0.capacity() {
            self.close();
        }
        let text = format!("{} {}", probe.count, probe.newest);
        self.0.push(Sum {
            user: number(user),
            count: u32::try_from(probe.count).unwrap_or(u32::MAX),
            digest: number(&text) as u32,
        });
    }

    /// Sums up; to be called before the first is taken.
    pub(super) fn close(&mut self) {
        self.0.sort_unstable_by_key(|sum| sum.user);
        self.0.dedup_by(|sum, before| {
            let same = sum.user == before.user;
            if same {
                before.count = before.count.saturating_add(sum.count);
                before.digest = before.digest.wrapping_add(sum.digest);
            }
            same
        });
    }

    /// The sum of a user, once.
    pub(super) fn take(&mut self, user: &str) -> Option<Probe> {
        let at = self
            .0
            .binary_search_by_key(&number(user), |sum| sum.user)
            .ok()?;
        let sum = &mut self.0[at];
        let count = std::mem::take(&mut sum.count);
        (count > 0).then(|| Probe {
            count: count.into(),
            newest: format!("{:08x}", sum.digest),
        })
    }
}

/// The first 64 bits of a text's digest: the same for all workers.
fn number(text: &str) -> u64 {
    let digest = Sha1::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn probe(count: u64, newest: &str) -> Probe {
        Probe {
            count,
            newest: newest.to_owned(),
        }
    }

    fn summed(values: &[(u8, u8)]) -> BTreeMap<u8, Probe> {
        let mut sums = Sums::default();
        for (user, count) in values {
            sums.add(&user.to_string(), &probe(1 + u64::from(*count), "7"));
        }
        sums.close();
        let taken = (0..=u8::MAX).filter_map(|user| Some((user, sums.take(&user.to_string())?)));
        taken.collect()
    }

    #[test]
    fn a_user_is_taken_once_and_any_change_shows() {
        let of = |newest| {
            let mut sums = Sums::default();
            sums.add("alice", &probe(2, "1"));
            sums.add("alice", &probe(3, newest));
            sums.close();
            assert_eq!(sums.take("bob"), None);
            let found = sums.take("alice").unwrap();
            assert_eq!(sums.take("alice"), None);
            found
        };
        assert_eq!(of("2").count, 5);
        // Not the newest of all, but newer than before.
        assert_ne!(of("0"), of("1"));
    }

    proptest! {
        #[test]
        fn sums_are_those_of_all_values_in_any_order(mut values in prop::collection::vec(any::<(u8, u8)>(), 0..300)) {
            let found = summed(&values);
            let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
            for (user, count) in &values {
                *counts.entry(*user).or_default() += 1 + u64::from(*count);
            }
            let sums: BTreeMap<u8, u64> = found.iter().map(|(user, sum)| (*user, sum.count)).collect();
            prop_assert_eq!(sums, counts);
            values.reverse();
            prop_assert_eq!(summed(&values), found);
        }
    }
}
