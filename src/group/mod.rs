//! Which memories are near enough to be looked at together: an exact cosine threshold join and
//! complete linkage. Pure and deterministic.
//!
//! Distance only proposes. Equal vectors do not make two texts one fact: that is for the judge.

mod codes;
mod dense;
mod join;
mod kernel;
mod linkage;
mod screen;
mod sketch;
mod threads;

#[doc(hidden)]
pub use join::joins;
pub use join::{Pair, TooManyPairs, join_changed, threshold_join};
pub use linkage::complete_linkage;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZero;

use join::Rows;
use ndarray::ArrayView2;

/// The groups of rows to look at together, each with at least two rows, ascending; ordered by
/// their first row.
///
/// * `vectors`: n × d, one row a memory, in the order of the keys (ties are decided by it).
/// * `classes`: for each row the one that stands for it and is in its own class; rows of one class
///   are together whatever their vectors.
/// * `readable`: the rows whose vectors say something about their texts.
/// * `threshold`: greatest cosine distance between two members of a group, inclusive.
/// * `threads`: how many are used; they do not change the answer.
/// * `cap`: how many *different* texts a group may have, since these are what somebody must read.
///   Twins beside them are free: a hundred copies of one text are one group under any cap.
///
/// A class is where the vector of the row that stands for it is, else of its first readable row (of
/// those that are not zero, NaN or out of all bounds, see [`threshold_join`]); classes are grouped by [`complete_linkage`] and
/// then replaced by all of their rows. Classes without such a row are compared with nothing: where
/// they have two rows or more, they are a group for themselves.
///
/// Classes with the very same vector are compared with the others as one, so that a store which
/// got one fallback vector for everything does not make n² / 2 pairs; beyond the cap they are
/// split in the order of the rows.
///
/// # Panics
/// If `classes` or `readable` has another length than `vectors` has rows.
pub fn group(
    vectors: ArrayView2<'_, f32>,
    classes: &[usize],
    readable: &[bool],
    threshold: f64,
    cap: usize,
    threads: NonZero<usize>,
) -> Vec<Vec<u32>> {
    let rule = Rule {
        threshold,
        cap,
        threads,
        most_pairs: usize::MAX,
    };
    let found = group_changed(vectors, classes, readable, &Compared::default(), rule);
    // There are not so many pairs.
    found.map(|(groups, _)| groups).unwrap_or_default()
}

/// How rows are grouped, and what that may take.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Greatest cosine distance between two members of a group, inclusive.
    pub threshold: f64,
    /// Different texts of a group at most.
    pub cap: usize,
    /// Threads to use.
    pub threads: NonZero<usize>,
    /// Pairs within the threshold at most, see [`BYTES_A_PAIR`].
    pub most_pairs: usize,
}

/// Memory that grouping takes for a pair within the threshold, at most about: to find it, to sort
/// it, and to count it between two clusters.
pub const BYTES_A_PAIR: u64 = 64;

/// Pairs a row beyond which it is not kept what was compared: finding them again is cheaper.
const KNOWN_PAIRS: usize = 8;

/// Which rows were compared with each other, and what was found. Nothing, where too many pairs were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The rows.
    pub rows: Vec<u32>,
    /// All pairs of them within the threshold, the smaller row first.
    pub pairs: Vec<Pair>,
}

impl Compared {
    /// What of it is among some rows, which are ascending, by their places there.
    pub fn within(&self, rows: &[usize]) -> Self {
        if self.rows.is_empty() {
            return Self::default();
        }
        let place = |row: u32| rows.binary_search(&(row as usize)).ok().map(|at| at as u32);
        let pair = |pair: &Pair| {
            let (a, b) = (place(pair.a)?, place(pair.b)?);
            Some(Pair { a, b, ..*pair })
        };
        Self {
            rows: self.rows.iter().filter_map(|&row| place(row)).collect(),
            pairs: self.pairs.iter().filter_map(pair).collect(),
        }
    }

    /// Adds what was compared among some rows, which it names by their places there.
    pub fn add(&mut self, within: Self, rows: &[usize]) {
        let row = |place: u32| rows[place as usize] as u32;
        let pair = |pair: Pair| Pair {
            a: row(pair.a),
            b: row(pair.b),
            ..pair
        };
        self.rows.extend(within.rows.into_iter().map(row));
        self.pairs.extend(within.pairs.into_iter().map(pair));
    }
}

/// The groups that [`group`] gives, and what was compared for them, where some is `known` from an
/// earlier time: rows that were compared then and have the same vectors now, and all pairs of them
/// within the same threshold. With k other rows among n this takes time k · n.
///
/// # Errors
/// [`TooManyPairs`] if more are within the threshold than the rule allows.
///
/// # Panics
/// If `classes` or `readable` has another length than `vectors` has rows, or something known names
/// no row.
pub fn group_changed(
    vectors: ArrayView2<'_, f32>,
    classes: &[usize],
    readable: &[bool],
    known: &Compared,
    rule: Rule,
) -> Result<(Vec<Vec<u32>>, Compared), TooManyPairs> {
    let n = vectors.nrows();
    assert!(
        classes.len() == n && readable.len() == n,
        "one class and one mark for each row"
    );
    let cap = rule.cap;
    let mut rows = Rows::new(vectors, rule.threads);

    let mut groups = Vec::new();
    let mut placed = Vec::new();
    for (standing, class) in members_of(classes) {
        let shows = |&row: &usize| readable[row] && rows.takes_part(row);
        let mut of_class = class.iter().copied();
        match of_class
            .find(|row| *row == standing && shows(row))
            .or_else(|| class.iter().copied().find(shows))
        {
            Some(row) => placed.push((row, class)),
            None => groups.push(class),
        }
    }

    // Classes with one vector are compared under the row of the first of them.
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut texts = vec![0; n];
    placed.sort_unstable_by(|x, y| bitwise(vectors, x.0, y.0).then(x.0.cmp(&y.0)));
    for equal in placed.chunk_by(|x, y| bitwise(vectors, x.0, y.0).is_eq()) {
        for classes in equal.chunks(cap.max(1)) {
            let row = classes[0].0;
            texts[row] = classes.len();
            members[row] = classes
                .iter()
                .flat_map(|(_, class)| class)
                .copied()
                .collect();
        }
    }
    (0..n)
        .filter(|&row| texts[row] == 0)
        .for_each(|row| rows.leave_out(row));

    let mut changed = vec![true; n];
    known
        .rows
        .iter()
        .for_each(|&row| changed[row as usize] = false);
    let pairs = rows.join_changed(&known.pairs, &changed, rule.threshold, rule.most_pairs)?;
    let mut compared = Compared::default();
    if pairs.len() <= KNOWN_PAIRS * n {
        let used = (0..n).filter(|&row| rows.takes_part(row));
        compared.rows = used.map(|row| row as u32).collect();
        compared.pairs.clone_from(&pairs);
    }
    for cluster in linkage::link(&texts, pairs, cap) {
        groups.push(
            cluster
                .iter()
                .flat_map(|&row| &members[row as usize])
                .copied()
                .collect(),
        );
    }
    Ok((sorted(groups), compared))
}

/// The classes by name, each with its rows, ascending.
fn members_of(classes: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, &class) in classes.iter().enumerate() {
        members.entry(class).or_default().push(row);
    }
    members
}

/// The groups of two and more, in the order of their rows.
fn sorted(groups: Vec<Vec<usize>>) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = groups
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| group.into_iter().map(|row| row as u32).collect())
        .collect();
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_unstable();
    groups
}

/// For each of `members` (row numbers), the cosine distance to the farthest other one.
///
/// Rows that cannot be compared (see [`threshold_join`]) are in a group because of their text
/// alone: they count as at distance 0 from everything.
///
/// # Panics
/// If a member is no row of `vectors`.
pub fn distances(vectors: ArrayView2<'_, f32>, members: &[u32]) -> Vec<f64> {
    let indices: Vec<usize> = members.iter().map(|&row| row as usize).collect();
    let chosen = vectors.select(ndarray::Axis(0), &indices);
    let rows = Rows::new(chosen.view(), NonZero::<usize>::MIN);

    // Of equal rows, one is compared: twins may be many.
    let mut order: Vec<usize> = (0..indices.len())
        .filter(|&row| rows.takes_part(row))
        .collect();
    order.sort_unstable_by(|&x, &y| bitwise(chosen.view(), x, y));
    let equals: Vec<&[usize]> = order
        .chunk_by(|&x, &y| bitwise(chosen.view(), x, y).is_eq())
        .collect();

    let mut farthest = vec![0.0; indices.len()];
    for (i, x) in equals.iter().enumerate() {
        for y in &equals[..i] {
            let distance = rows.distance(x[0], y[0]);
            for &row in x.iter().chain(*y) {
                farthest[row] = distance.max(farthest[row]);
            }
        }
    }
    farthest
}

/// Orders rows by their numbers, so that equal ones come together.
fn bitwise(vectors: ArrayView2<'_, f32>, x: usize, y: usize) -> Ordering {
    let pairs = vectors.row(x).into_iter().zip(vectors.row(y));
    pairs
        .map(|(x, y)| x.total_cmp(y))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
pub(crate) mod testing {
    use ndarray::Array2;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// Unit rows of which many are near each other: noise of various sizes round a few centres.
    pub(crate) fn near_rows(n: usize, d: usize, seed: u64) -> Array2<f32> {
        let mut random = StdRng::seed_from_u64(seed);
        let centres = Array2::from_shape_fn((n / 3 + 1, d), |_| random.random_range(-1.0..1.0));
        let mut rows = Array2::zeros((n, d));
        for mut row in rows.outer_iter_mut() {
            let noise = [0.0, 0.01, 0.2, 0.4, 0.8][random.random_range(0..5)];
            row.assign(&centres.row(random.random_range(0..centres.nrows())));
            row.mapv_inplace(|x: f32| x + noise * random.random_range(-1.0_f32..1.0));
            let length = row.dot(&row).sqrt();
            row /= length;
        }
        rows
    }

    /// The rows in another order, and the new place of each.
    pub(super) fn rotated(rows: &Array2<f32>, by: usize) -> (Array2<f32>, Vec<u32>) {
        let n = rows.nrows();
        let place: Vec<u32> = (0..n).map(|row| ((row + by) % n) as u32).collect();
        let mut turned = Array2::zeros(rows.raw_dim());
        for (row, &to) in rows.outer_iter().zip(&place) {
            turned.row_mut(to as usize).assign(&row);
        }
        (turned, place)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    use super::testing::near_rows;
    use super::*;

    const DIFFERENT: [usize; 6] = [0, 1, 2, 3, 4, 5];

    const THREADS: NonZero<usize> = NonZero::new(2).unwrap();

    const RULE: Rule = Rule {
        threshold: 0.1,
        cap: 10,
        threads: THREADS,
        most_pairs: usize::MAX,
    };

    fn group(
        vectors: ArrayView2<'_, f32>,
        twins: &[usize],
        readable: &[bool],
        threshold: f64,
        cap: usize,
    ) -> Vec<Vec<u32>> {
        super::group(vectors, twins, readable, threshold, cap, THREADS)
    }

    #[test]
    fn twins_are_together_wherever_their_vectors_are() {
        let rows = array![[1.0_f32, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
        let groups = group(rows.view(), &[7, 3, 7, 7], &[true; 4], 0.1, 10);
        assert_eq!(groups, [[0, 2, 3]]);
    }

    #[test]
    fn a_class_is_where_its_first_usable_row_is() {
        // Row 0 is unreadable, row 1 is zero, row 2 is near row 4; row 3 would be near row 5.
        let rows = array![
            [0.0_f32, 1.0],
            [0.0, 0.0],
            [1.0, 0.0],
            [0.0, 1.0],
            [1.0, 0.1],
            [0.1, 1.0]
        ];
        let readable = [false, true, true, true, true, true];
        assert_eq!(
            group(rows.view(), &[0, 0, 0, 0, 1, 2], &readable, 0.1, 10),
            [[0, 1, 2, 3, 4]]
        );
    }

    #[test]
    fn rows_that_cannot_be_compared_meet_only_their_twins() {
        let mut rows = Array2::ones((6, 3));
        rows.row_mut(2).fill(0.0);
        rows.row_mut(3).fill(0.0);
        rows.row_mut(4).fill(f32::NAN);
        rows.row_mut(5).fill(f32::NAN);
        let unread = group(rows.view(), &[0, 0, 1, 2, 3, 3], &[false; 6], 0.1, 10);
        assert_eq!(unread, [[0, 1], [4, 5]]);
        let read = group(rows.view(), &[0, 1, 2, 3, 4, 4], &[true; 6], 0.1, 10);
        assert_eq!(read, [[0, 1], [4, 5]]);
    }

    #[test]
    fn no_chain_becomes_a_group() {
        // Steps of 20°: neighbours are at distance 0.06, the next ones at 0.23.
        let turn = |degrees: f32| [degrees.to_radians().cos(), degrees.to_radians().sin()];
        let rows = array![turn(0.0), turn(20.0), turn(40.5), turn(61.0)];
        assert_eq!(
            group(rows.view(), &DIFFERENT[..4], &[true; 4], 0.1, 10),
            [[0, 1], [2, 3]]
        );
        assert_eq!(
            group(rows.view(), &DIFFERENT[..4], &[true; 4], 0.3, 10),
            [[0, 1], [2, 3]]
        );
        assert_eq!(
            group(rows.view(), &DIFFERENT[..4], &[true; 4], 0.6, 10),
            [[0, 1, 2, 3]]
        );
    }

    #[test]
    fn the_cap_counts_texts_and_not_their_copies() {
        let rows = Array2::ones((100, 4));
        let copies = vec![0; 100];
        assert_eq!(group(rows.view(), &copies, &[true; 100], 0.1, 12).len(), 1);
        let texts: Vec<usize> = (0..100).map(|row| row / 5).collect();
        let sizes = |cap| -> Vec<usize> {
            let groups = group(rows.view(), &texts, &[true; 100], 0.1, cap);
            groups.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(20), [100]);
        assert_eq!(sizes(12), [60, 40]);
        assert_eq!(sizes(1), [5; 20]);
        assert_eq!(sizes(0), [5; 20]);
    }

    #[test]
    fn one_vector_for_everything_is_cheap() {
        let n = 3_000;
        let rows = Array2::ones((n, 2));
        let texts: Vec<usize> = (0..n).collect();
        let groups = group(rows.view(), &texts, &vec![true; n], 0.1, 100);
        assert_eq!(groups.len(), 30);
        assert_eq!(groups[1], (100..200).collect::<Vec<u32>>());
    }

    #[test]
    fn a_dense_cloud_is_refused_with_the_number_of_its_pairs() {
        let n = 1_500;
        let rows = Array2::from_shape_fn((n, 3), |(row, at)| 1.0 + (row * at) as f32 / 1e5);
        let texts: Vec<usize> = (0..n).collect();
        let pairs = n * (n - 1) / 2;
        let found = |known: &Compared, most_pairs| {
            let rule = Rule { most_pairs, ..RULE };
            group_changed(rows.view(), &texts, &vec![true; n], known, rule)
        };
        let all = found(&Compared::default(), pairs).unwrap();
        assert!(all.0.iter().all(|group| group.len() <= RULE.cap));
        for most in [0, 1, pairs / 2, pairs - 1] {
            let refused = found(&Compared::default(), most);
            assert_eq!(refused, Err(TooManyPairs(pairs)), "{most}");
        }
        // What is known counts as well.
        let known = Compared {
            rows: (0..n as u32 / 2).collect(),
            pairs: threshold_join(rows.slice(ndarray::s![..n / 2, ..]), 0.1, THREADS),
        };
        assert_eq!(found(&known, pairs - 1), Err(TooManyPairs(pairs)));
        assert_eq!(found(&known, pairs), Ok(all));
    }

    #[test]
    fn a_rest_beyond_the_cap_goes_with_its_neighbours() {
        let mut rows = Array2::ones((6, 2));
        rows.row_mut(5)[1] = 1.1;
        assert_eq!(
            group(rows.view(), &DIFFERENT, &[true; 6], 0.1, 4),
            [vec![0, 1, 2, 3], vec![4, 5]]
        );
    }

    #[test]
    fn distances_are_to_the_farthest_member() {
        let rows = array![
            [1.0_f32, 0.0],
            [1.0, 0.0],
            [0.0, 1.0],
            [-1.0, 0.0],
            [0.0, 0.0]
        ];
        assert_eq!(distances(rows.view(), &[1, 0]), [0.0, 0.0]);
        assert_eq!(distances(rows.view(), &[2, 0, 1]), [1.0, 1.0, 1.0]);
        assert_eq!(
            distances(rows.view(), &[0, 1, 2, 3, 4]),
            [2.0, 2.0, 1.0, 2.0, 0.0]
        );
        assert_eq!(distances(rows.view(), &[2]), [0.0]);
        assert!(distances(rows.view(), &[]).is_empty());
    }

    proptest! {
        #[test]
        fn what_is_known_changes_no_group(
            n in 0..80_usize,
            seed: u64,
            marks in prop::collection::vec(prop::bool::weighted(0.2), 80),
            twins in prop::collection::vec(0..60_usize, 80),
            later_twins in prop::collection::vec(0..60_usize, 80),
        ) {
            let (old, new) = (near_rows(n, 12, seed), near_rows(n, 12, seed ^ 1));
            let readable = vec![true; n];
            let group = |rows: &Array2<f32>, twins: &[usize], known: &Compared| {
                group_changed(rows.view(), &twins[..n], &readable, known, RULE).unwrap()
            };
            let (_, mut known) = group(&old, &twins, &Compared::default());
            let mut rows = old.clone();
            for row in (0..n).filter(|&row| marks[row]) {
                rows.row_mut(row).assign(&new.row(row));
            }
            known.rows.retain(|&row| !marks[row as usize]);
            known.pairs.retain(|pair| !marks[pair.a as usize] && !marks[pair.b as usize]);
            let expected = group(&rows, &later_twins, &Compared::default());
            prop_assert_eq!(group(&rows, &later_twins, &known), expected);
        }

        #[test]
        fn groups_without_twins_are_those_of_complete_linkage(n in 0..80_usize, seed: u64) {
            let rows = near_rows(n, 20, seed);
            let texts: Vec<usize> = (0..n).rev().collect();
            let pairs = threshold_join(rows.view(), 0.1, THREADS);
            prop_assert_eq!(
                group(rows.view(), &texts, &vec![true; n], 0.1, 100),
                complete_linkage(n, &pairs, 100)
            );
        }

        #[test]
        fn no_row_is_twice_and_no_class_is_torn(
            twins in prop::collection::vec(0..12_usize, 0..60),
            readable in prop::collection::vec(prop::bool::weighted(0.8), 60),
            seed: u64,
            cap in 0..6_usize,
        ) {
            let n = twins.len();
            let rows = near_rows(n, 6, seed);
            let groups = group(rows.view(), &twins, &readable[..n], 0.1, cap);
            let mut of_row = vec![None; n];
            for (name, group) in groups.iter().enumerate() {
                prop_assert!(group.len() > 1 && group.is_sorted());
                for &row in group {
                    prop_assert_eq!(of_row[row as usize].replace(name), None);
                }
                let texts: std::collections::BTreeSet<_> =
                    group.iter().map(|&row| twins[row as usize]).collect();
                prop_assert!(texts.len() <= cap.max(1));
            }
            for (a, x) in twins.iter().enumerate() {
                for (b, y) in twins.iter().enumerate().skip(a + 1) {
                    prop_assert!(x != y || (of_row[a].is_some() && of_row[a] == of_row[b]));
                }
            }
        }

        #[test]
        fn distances_agree_with_the_join(n in 2..30_usize, seed: u64) {
            let rows = near_rows(n, 10, seed);
            let members: Vec<u32> = (0..n as u32).collect();
            let mut expected = vec![0.0_f64; n];
            for pair in threshold_join(rows.view(), 2.0, THREADS) {
                for row in [pair.a, pair.b] {
                    expected[row as usize] = expected[row as usize].max(pair.distance);
                }
            }
            prop_assert_eq!(distances(rows.view(), &members), expected);
        }
    }
}
