//! Merging without an LLM: one of the sources says all that the others say.

use std::cmp::Reverse;

use unicode_segmentation::UnicodeSegmentation;

use crate::judge::{
    Claim, Reading, normalize,
    partition::{canonical, matrix},
};

/// Claims that one of them says alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Position of the claim whose text is kept, unchanged.
    pub keep: usize,
    /// Positions of the claims that it makes superfluous, ascending; never empty.
    pub absorbed: Vec<usize>,
}

/// Whether `kept` has every word of `absorbed`, in any case. Where it has not, it says the same in
/// other words (`ten` for `10`, `sofa` for `couch`), and the words themselves are worth keeping.
pub fn has_words_of(kept: &str, absorbed: &str) -> bool {
    let words = |text: &str| -> std::collections::HashSet<String> {
        normalize(text)
            .unicode_words()
            .map(str::to_lowercase)
            .collect()
    };
    words(absorbed).is_subset(&words(kept))
}

/// The largest provably lossless parts of a group, the largest first.
///
/// Every pair of a part is `Same`, and the kept text contains each absorbed one. Claims that
/// nothing absorbs and that absorb nothing stand in no part. Among equal texts the newest is kept
/// (an unknown date is the oldest). The result depends on what the claims say and when, not on
/// their order; where text and date are equal the last one is kept.
pub fn fold(claims: &[Claim<'_>]) -> Vec<Part> {
    let readings: Vec<Reading> = claims.iter().map(|claim| Reading::of(*claim)).collect();
    fold_readings(claims, &readings.iter().collect::<Vec<_>>())
}

/// As [`fold`], of claims that were read already.
pub(crate) fn fold_readings(claims: &[Claim<'_>], readings: &[&Reading]) -> Vec<Part> {
    let size = claims.len();
    let same = matrix(size, |i, j| readings[i].is_same(readings[j]));
    let mut left: Vec<usize> = (0..size).collect();
    left.sort_by_key(|i| (canonical(&claims[*i]), *i));
    let mut parts = Vec::new();
    while let Some(part) = largest(&left, readings, &same) {
        left.retain(|i| *i != part.keep && !part.absorbed.contains(i));
        parts.push(part);
    }
    parts
}

/// The part of `left` (oldest first) that absorbs most; ties go to the newest.
fn largest(left: &[usize], readings: &[&Reading], same: &[Vec<bool>]) -> Option<Part> {
    let part = |keep: usize| {
        let mut absorbed: Vec<usize> = Vec::new();
        let mut candidates: Vec<usize> = left
            .iter()
            .copied()
            .filter(|i| *i != keep && same[keep][*i] && readings[keep].contains(readings[*i]))
            .collect();
        candidates.sort_by_key(|i| Reverse(readings[*i].sentences.len()));
        for i in candidates {
            if absorbed.iter().all(|member| same[*member][i]) {
                absorbed.push(i);
            }
        }
        absorbed.sort_unstable();
        Part { keep, absorbed }
    };
    left.iter()
        .map(|keep| part(*keep))
        .max_by_key(|part| part.absorbed.len())
        .filter(|part| !part.absorbed.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::judge::judge;
    use crate::memory::Verdict;

    fn claims<'a>(texts: &[(&'a str, &str)]) -> Vec<Claim<'a>> {
        texts
            .iter()
            .map(|(text, at)| Claim {
                text,
                said_at: at.parse().ok(),
            })
            .collect()
    }

    #[test]
    fn the_newest_of_equal_texts_is_kept() {
        let claims = claims(&[
            ("Likes tea.", "2024-03-01T00:00:00Z"),
            ("likes tea", "2024-05-01T00:00:00Z"),
            ("Likes coffee", "2024-06-01T00:00:00Z"),
            ("Likes  tea", ""),
        ]);
        assert_eq!(
            fold(&claims),
            [Part {
                keep: 1,
                absorbed: vec![0, 3]
            }]
        );
    }

    #[test]
    fn a_longer_text_absorbs_what_it_contains() {
        let claims = claims(&[
            ("Likes tea", "2024-05-01T00:00:00Z"),
            (
                "Likes tea. Works at the bakery of Ana",
                "2024-03-01T00:00:00Z",
            ),
            ("Likes tea. Not any more.", "2024-06-01T00:00:00Z"),
            ("Has a dog", ""),
            ("Has a dog allergy", ""),
        ]);
        assert_eq!(
            fold(&claims),
            [Part {
                keep: 1,
                absorbed: vec![0]
            }]
        );
    }

    #[test]
    fn a_large_group_of_twins_is_one_part() {
        let texts = vec![("Likes window seats", "2024-05-01T00:00:00Z"); 100];
        let parts = fold(&claims(&texts));
        assert_eq!(parts.len(), 1);
        assert_eq!((parts[0].keep, parts[0].absorbed.len()), (99, 99));
    }

    /// Texts that meet often: few sentences, few dates.
    fn memory() -> impl Strategy<Value = (String, Option<jiff::Timestamp>)> {
        let sentence = prop::sample::select(vec![
            "Likes tea",
            "likes tea",
            "User has a dog",
            "Works at the bakery of Ana",
            "Not any more",
            "Had a migraine today",
            "Dentist on Friday",
            "Pays 40 EUR",
            "用户喜欢茶",
            "It was in 2019",
        ]);
        let day = prop::option::of(0_i64..20);
        (prop::collection::vec(sentence, 1..4), day).prop_map(|(sentences, day)| {
            let said_at = day.and_then(|d| jiff::Timestamp::from_second(d * 86_400).ok());
            (sentences.join(". "), said_at)
        })
    }

    proptest! {
        #[test]
        fn the_order_of_the_claims_does_not_matter(
            (memories, shuffled) in prop::collection::vec(memory(), 0..9)
                .prop_flat_map(|m| (Just(m.clone()), Just(m).prop_shuffle())),
        ) {
            let said = |memories: &[(String, Option<jiff::Timestamp>)]| {
                let claims: Vec<Claim<'_>> =
                    memories.iter().map(|(text, said_at)| Claim { text, said_at: *said_at }).collect();
                let what = |i: usize| memories[i].clone();
                let mut parts: Vec<_> = fold(&claims)
                    .into_iter()
                    .map(|part| {
                        let mut absorbed: Vec<_> = part.absorbed.into_iter().map(what).collect();
                        absorbed.sort();
                        (what(part.keep), absorbed)
                    })
                    .collect();
                parts.sort();
                parts
            };
            prop_assert_eq!(said(&memories), said(&shuffled));
        }

        #[test]
        fn every_pair_of_a_part_is_same(memories in prop::collection::vec(memory(), 0..9)) {
            let claims: Vec<Claim<'_>> =
                memories.iter().map(|(text, said_at)| Claim { text, said_at: *said_at }).collect();
            let mut seen = Vec::new();
            for part in fold(&claims) {
                let members: Vec<usize> = part.absorbed.iter().copied().chain([part.keep]).collect();
                for i in &members {
                    for j in members.iter().filter(|j| *j != i) {
                        prop_assert_eq!(judge(claims[*i], claims[*j]).verdict, Verdict::Same);
                    }
                    prop_assert!(!seen.contains(i));
                    seen.push(*i);
                }
            }
        }
    }
}
