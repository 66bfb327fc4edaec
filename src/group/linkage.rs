//! Complete linkage over the pairs of a threshold join.

use std::collections::HashMap;

use super::Pair;

/// Groups in which *every* two rows are one of `pairs`, by complete-linkage clustering that stops
/// where the pairs end. Groups have 2 … `cap` rows, ascending, and are ordered by their first row.
///
/// The closest two clusters are joined first, their distance being that of their farthest members;
/// clusters are not joined if a pair between them is missing, or if that would make more than
/// `cap` rows. So no chain of small steps ends in one group, no two groups of the answer could be
/// joined, and more than `cap` rows that are all near each other make several groups. Equal
/// distances are taken in the order of the row numbers: the answer does not depend on the order of
/// `pairs`, and stays the same if rows are numbered in the order of stable keys.
///
/// The algorithm is Hubert's, on threshold graphs: take the pairs by rising distance, and join two
/// clusters as soon as all pairs between them have been seen (L. J. Hubert, *Some applications of
/// graph theory to clustering*, Psychometrika 39, 1974; A. K. Jain, R. C. Dubes, *Algorithms for
/// Clustering Data*, 1988, §3.2). Here the pairs seen between two clusters are counted, and the
/// counts are added up when clusters are joined, the smaller map into the greater: O(p log p) for
/// p pairs, and one pass over them after sorting.
///
/// # Panics
/// If a pair names a row that is not below `n`.
pub fn complete_linkage(n: usize, pairs: &[Pair], cap: usize) -> Vec<Vec<u32>> {
    let mut groups = link(&vec![1; n], pairs.to_vec(), cap);
    groups.retain(|group| group.len() > 1);
    groups
}

/// As [`complete_linkage`], but a row counts `weights[row]` towards the cap, and the clusters of
/// one row are part of the answer.
pub(super) fn link(weights: &[usize], mut pairs: Vec<Pair>, cap: usize) -> Vec<Vec<u32>> {
    pairs.sort_unstable_by(|x, y| {
        x.distance
            .total_cmp(&y.distance)
            .then_with(|| (x.a, x.b).cmp(&(y.a, y.b)))
    });
    // A pair that is given twice must not count for another one that is missing.
    pairs.dedup_by_key(|pair| (pair.a, pair.b));

    let mut clusters = Clusters::new(weights, cap);
    for pair in pairs {
        clusters.see(pair.a, pair.b);
    }
    clusters.into_sorted()
}

/// The clusters so far. A cluster is named by one of its rows.
struct Clusters {
    cap: usize,
    /// The cluster of each row.
    of_row: Vec<u32>,
    /// Rows of each cluster; empty under names that are no longer in use.
    rows: Vec<Vec<u32>>,
    /// Weight of each cluster.
    weights: Vec<usize>,
    /// For each cluster, the clusters with which it has pairs, and how many were seen.
    seen: Vec<HashMap<u32, usize>>,
}

impl Clusters {
    fn new(weights: &[usize], cap: usize) -> Self {
        let names = 0..weights.len() as u32;
        Self {
            cap,
            of_row: names.clone().collect(),
            rows: names.map(|row| vec![row]).collect(),
            weights: weights.to_vec(),
            seen: vec![HashMap::new(); weights.len()],
        }
    }

    /// Takes note of a pair of rows, and joins their clusters if it was the last one missing.
    fn see(&mut self, a: u32, b: u32) {
        let (x, y) = (self.of_row[a as usize], self.of_row[b as usize]);
        // Clusters only grow: what is over the cap now will never be joined.
        if x == y || self.weights[x as usize] + self.weights[y as usize] > self.cap {
            return;
        }
        let count = self.add(x, y, 1);
        if count == self.rows[x as usize].len() * self.rows[y as usize].len() {
            self.join(x, y);
        }
    }

    /// Adds to the pairs seen between two clusters.
    fn add(&mut self, x: u32, y: u32, pairs: usize) -> usize {
        *self.seen[y as usize].entry(x).or_default() += pairs;
        let count = self.seen[x as usize].entry(y).or_default();
        *count += pairs;
        *count
    }

    /// Joins two clusters under the name of the one that has pairs with more others.
    fn join(&mut self, x: u32, y: u32) {
        let fewer = self.seen[x as usize].len() < self.seen[y as usize].len();
        let (into, from) = if fewer { (y, x) } else { (x, y) };
        self.seen[into as usize].remove(&from);
        for (other, pairs) in std::mem::take(&mut self.seen[from as usize]) {
            if other != into {
                self.seen[other as usize].remove(&from);
                self.add(into, other, pairs);
            }
        }
        self.weights[into as usize] += self.weights[from as usize];
        let rows = std::mem::take(&mut self.rows[from as usize]);
        for &row in &rows {
            self.of_row[row as usize] = into;
        }
        self.rows[into as usize].extend(rows);
    }

    fn into_sorted(self) -> Vec<Vec<u32>> {
        let mut groups: Vec<_> = self
            .rows
            .into_iter()
            .filter(|rows| !rows.is_empty())
            .collect();
        for rows in &mut groups {
            rows.sort_unstable();
        }
        groups.sort_unstable();
        groups
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Distances = BTreeMap<(u32, u32), f64>;

    fn pairs(distances: &Distances) -> Vec<Pair> {
        distances
            .iter()
            .map(|(&(a, b), &distance)| Pair { a, b, distance })
            .collect()
    }

    fn clique(n: u32, distance: impl Fn(u32, u32) -> f64) -> Vec<Pair> {
        let all = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        all.map(|(a, b)| Pair {
            a,
            b,
            distance: distance(a, b),
        })
        .collect()
    }

    /// Distance of two clusters: that of their farthest members, if all pairs are there.
    fn between(distances: &Distances, x: &[u32], y: &[u32]) -> Option<f64> {
        let mut farthest = 0.0_f64;
        for &a in x {
            for &b in y {
                farthest = farthest.max(*distances.get(&(a.min(b), a.max(b)))?);
            }
        }
        Some(farthest)
    }

    /// Complete linkage as it is defined: the closest two clusters are joined until none can be.
    fn by_definition(n: u32, distances: &Distances, cap: usize) -> Vec<Vec<u32>> {
        let mut clusters: Vec<Vec<u32>> = (0..n).map(|row| vec![row]).collect();
        loop {
            let mut closest: Option<(f64, usize, usize)> = None;
            for y in 0..clusters.len() {
                for x in 0..y {
                    let fits = clusters[x].len() + clusters[y].len() <= cap;
                    let distance = between(distances, &clusters[x], &clusters[y]);
                    if let Some(distance) = distance.filter(|_| fits)
                        && closest.is_none_or(|(least, ..)| distance < least)
                    {
                        closest = Some((distance, x, y));
                    }
                }
            }
            let Some((_, x, y)) = closest else { break };
            let rows = clusters.remove(y);
            clusters[x].extend(rows);
        }
        clusters.retain(|rows| rows.len() > 1);
        clusters.iter_mut().for_each(|rows| rows.sort_unstable());
        clusters.sort_unstable();
        clusters
    }

    #[test]
    fn a_chain_is_cut_at_its_longest_steps() {
        let chain = BTreeMap::from([((0, 1), 0.05), ((1, 2), 0.02), ((2, 3), 0.04)]);
        assert_eq!(complete_linkage(4, &pairs(&chain), 10), [[1, 2]]);
    }

    #[test]
    fn nearer_pairs_come_first_and_ties_by_row() {
        let two_ways = BTreeMap::from([((0, 1), 0.05), ((1, 2), 0.02)]);
        assert_eq!(complete_linkage(3, &pairs(&two_ways), 10), [[1, 2]]);
        let ties = BTreeMap::from([((0, 1), 0.05), ((1, 2), 0.05), ((2, 3), 0.05)]);
        assert_eq!(complete_linkage(4, &pairs(&ties), 10), [[0, 1], [2, 3]]);
    }

    #[test]
    fn a_pair_given_twice_does_not_stand_for_a_missing_one() {
        let pair = |a, b, distance| Pair { a, b, distance };
        let twice = [pair(0, 1, 0.01), pair(0, 2, 0.02), pair(0, 2, 0.02)];
        assert_eq!(complete_linkage(3, &twice, 10), [[0, 1]]);
    }

    #[test]
    fn more_equal_rows_than_the_cap_are_split_in_order() {
        let groups = complete_linkage(25, &clique(25, |_, _| 0.0), 10);
        assert_eq!(
            groups,
            [
                (0..10).collect::<Vec<_>>(),
                (10..20).collect(),
                (20..25).collect()
            ]
        );
        assert!(complete_linkage(25, &clique(25, |_, _| 0.0), 1).is_empty());
        assert!(complete_linkage(25, &clique(25, |_, _| 0.0), 0).is_empty());
    }

    #[test]
    fn big_cliques_are_one_group() {
        let scattered = |a: u32, b: u32| f64::from((a * 7919 + b * 104_729) % 1000) / 1e4;
        for n in [12, 25, 100, 700] {
            assert_eq!(
                complete_linkage(n as usize, &clique(n, |_, _| 0.0), 1000).len(),
                1
            );
            assert_eq!(
                complete_linkage(n as usize, &clique(n, scattered), 1000).len(),
                1
            );
        }
    }

    /// Graphs from sparse to nearly complete, with distances all different or from a few values.
    fn graphs() -> impl Strategy<Value = (u32, Distances)> {
        (2..14_u32, 0.1..1.0_f64, prop::bool::ANY).prop_flat_map(|(n, density, ties)| {
            let all: Vec<(u32, u32)> = clique(n, |_, _| 0.0).iter().map(|p| (p.a, p.b)).collect();
            let order = Just((0..all.len()).collect::<Vec<_>>()).prop_shuffle();
            let kept = prop::collection::vec(prop::bool::weighted(density), all.len());
            (order, kept).prop_map(move |(order, kept)| {
                let distance = |i: usize| (if ties { i % 3 } else { i }) as f64 / 1000.0;
                let pairs = all.iter().zip(order).zip(kept).filter(|(_, kept)| *kept);
                (
                    n,
                    pairs.map(|((&pair, i), _)| (pair, distance(i))).collect(),
                )
            })
        })
    }

    fn all_different(distances: &Distances) -> bool {
        let mut values: Vec<f64> = distances.values().copied().collect();
        values.sort_unstable_by(f64::total_cmp);
        values.windows(2).all(|two| two[0] < two[1])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn it_is_complete_linkage((n, distances) in graphs(), cap in 2..14_usize) {
            prop_assume!(all_different(&distances));
            prop_assert_eq!(
                complete_linkage(n as usize, &pairs(&distances), cap),
                by_definition(n, &distances, cap)
            );
        }

        #[test]
        fn groups_are_cliques_within_the_cap_and_cannot_be_joined(
            (n, distances) in graphs(),
            cap in 0..8_usize,
        ) {
            let mut groups = complete_linkage(n as usize, &pairs(&distances), cap);
            prop_assert!(groups.is_sorted());
            let mut left: Vec<u32> = (0..n).collect();
            for group in &groups {
                prop_assert!(group.is_sorted() && (2..=cap).contains(&group.len()));
                for (i, row) in group.iter().enumerate() {
                    prop_assert!(between(&distances, &[*row], &group[..i]).is_some());
                    prop_assert!(left.contains(row), "no row is in two groups");
                    left.retain(|other| other != row);
                }
            }
            groups.extend(left.into_iter().map(|row| vec![row]));
            for (i, x) in groups.iter().enumerate() {
                for y in &groups[..i] {
                    let joinable = between(&distances, x, y).is_some();
                    prop_assert!(!joinable || x.len() + y.len() > cap);
                }
            }
        }

        #[test]
        fn the_order_of_the_pairs_does_not_matter(
            ((n, distances), order) in graphs().prop_flat_map(|(n, distances)| {
                let order = Just(pairs(&distances)).prop_shuffle();
                (Just((n, distances)), order)
            }),
            cap in 2..14_usize,
        ) {
            prop_assert_eq!(
                complete_linkage(n as usize, &order, cap),
                complete_linkage(n as usize, &pairs(&distances), cap)
            );
        }

        /// Without ties, the numbers of the rows do not matter.
        #[test]
        fn the_order_of_the_rows_does_not_matter(
            ((n, distances), place) in graphs().prop_flat_map(|(n, distances)| {
                (Just((n, distances)), Just((0..n).collect::<Vec<_>>()).prop_shuffle())
            }),
            cap in 2..14_usize,
        ) {
            prop_assume!(all_different(&distances));
            let moved = distances.iter().map(|(&(a, b), &distance)| {
                let (a, b) = (place[a as usize], place[b as usize]);
                ((a.min(b), a.max(b)), distance)
            });
            let mut expected = complete_linkage(n as usize, &pairs(&distances), cap);
            for group in &mut expected {
                group.iter_mut().for_each(|row| *row = place[*row as usize]);
                group.sort_unstable();
            }
            expected.sort_unstable();
            prop_assert_eq!(complete_linkage(n as usize, &pairs(&moved.collect()), cap), expected);
        }
    }
}
