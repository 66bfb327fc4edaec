//! Grouping as a whole.

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
