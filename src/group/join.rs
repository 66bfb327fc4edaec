//! All pairs of rows within a cosine distance, exactly.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ndarray::{ArrayView1, ArrayView2};

use super::screen::Screen;

/// Two rows within the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The smaller row number.
    pub a: u32,
    /// The greater row number.
    pub b: u32,
    /// Their cosine distance, 0 … 2; exactly 0 for equal rows.
    pub distance: f64,
}

/// Rows and columns of a tile: 512 KiB of scores a thread, which fits a second-level cache.
const TILE_ROWS: usize = 256;
const TILE_COLUMNS: usize = 512;

/// How many scores of a row are tested at once.
const SPAN: usize = 32;

/// Bounds what all tiles take to 4 MiB.
const MAX_THREADS: usize = 8;

/// Squared lengths with which a row takes part. No embedder writes vectors of other lengths, and
/// within these no product of two rows overflows f32 or loses weight by underflow.
const SQUARED_LENGTHS: Range<f64> = 1e-24..1e24;

/// All pairs of rows whose cosine distance is at most `threshold`, sorted by `(a, b)`.
///
/// `vectors` is n × d, at most 2³² rows. Rows of about unit length are joined fastest, but any
/// length between 10⁻¹² and 10¹² gives the same answer; shorter ones (such as zero rows), longer
/// ones and rows with a NaN or an infinity match nothing. The distance is computed in f64 from the
/// f32 rows, in an order of additions that depends on d alone: it is the same for `(a, b)` and
/// `(b, a)`, on any number of threads, wherever the rows stand.
///
/// Time is n² · d / 2 multiply-adds at the speed of `sgemm`, or a fraction of that where thousands
/// of rows have a structure; beside the answer it takes a few megabytes and 384 bytes a row. The
/// answer itself is 16 bytes a pair, and n equal rows are n² / 2 pairs: [`super::group`] joins only
/// one of equal rows.
pub fn threshold_join(vectors: ArrayView2<'_, f32>, threshold: f64) -> Vec<Pair> {
    Rows::new(vectors).join(threshold)
}

/// The rows with what a cosine needs of them.
pub(super) struct Rows<'a> {
    vectors: ArrayView2<'a, f32>,
    /// Squared lengths; 0 marks a row that does not take part.
    squares: Vec<f64>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(vectors: ArrayView2<'a, f32>) -> Self {
        let squares = vectors.outer_iter().map(|row| {
            let square = dot(row, row);
            if SQUARED_LENGTHS.contains(&square) {
                square
            } else {
                0.0
            }
        });
        Self {
            vectors,
            squares: squares.collect(),
        }
    }

    pub(super) fn takes_part(&self, row: usize) -> bool {
        self.squares[row] > 0.0
    }

    pub(super) fn leave_out(&mut self, row: usize) {
        self.squares[row] = 0.0;
    }

    /// The cosine distance of two rows that take part.
    ///
    /// The root is taken of the product of the squares, not of each: √(s·s) is exactly s, so equal
    /// rows are at distance 0 and not at 10⁻¹⁶.
    pub(super) fn distance(&self, a: usize, b: usize) -> f64 {
        let product = dot(self.vectors.row(a), self.vectors.row(b));
        (1.0 - product / (self.squares[a] * self.squares[b]).sqrt()).clamp(0.0, 2.0)
    }

    /// See [`threshold_join`].
    pub(super) fn join(&self, threshold: f64) -> Vec<Pair> {
        if threshold.is_nan() || threshold < 0.0 {
            return Vec::new();
        }
        self.join_on(
            &Screen::new(self.vectors, &self.squares, threshold),
            threshold,
        )
    }

    /// Scores tiles of pairs by the screen and computes the distance of what passes.
    fn join_on(&self, screen: &Screen<'_>, threshold: f64) -> Vec<Pair> {
        let bands = self.squares.len().div_ceil(TILE_ROWS);
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut tile = vec![0.0; TILE_ROWS * TILE_COLUMNS];
            let mut found = Vec::new();
            // The bands get shorter, so that the threads end at about the same time.
            loop {
                let band = next.fetch_add(1, Ordering::Relaxed);
                if band >= bands {
                    return found;
                }
                self.scan_band(screen, band * TILE_ROWS, threshold, &mut tile, &mut found);
            }
        };
        let mut pairs = match threads.min(bands) {
            0 | 1 => work(),
            threads => thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                let results = workers.into_iter().map(thread::ScopedJoinHandle::join);
                results
                    .flat_map(|found| found.unwrap_or_else(|panic| resume_unwind(panic)))
                    .collect()
            }),
        };
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        pairs
    }

    /// Adds the pairs of the rows `top .. top + TILE_ROWS` with themselves and with later rows.
    fn scan_band(
        &self,
        screen: &Screen<'_>,
        top: usize,
        threshold: f64,
        tile: &mut [f32],
        found: &mut Vec<Pair>,
    ) {
        let n = self.squares.len();
        let least = 1.0 - threshold - screen.margin;
        let rows = top..n.min(top + TILE_ROWS);
        for left in (top..n).step_by(TILE_COLUMNS) {
            let columns = left..n.min(left + TILE_COLUMNS);
            let Some(cut) = self.cut(least, rows.clone(), columns.clone()) else {
                continue;
            };
            let width = columns.len();
            let scores = &mut tile[..rows.len() * width];
            screen.score(rows.clone(), columns, scores);
            for (a, scores) in rows.clone().zip(scores.chunks_exact(width)) {
                for (left, scores) in (left..).step_by(SPAN).zip(scores.chunks(SPAN)) {
                    // Mostly false; without a branch inside, it compiles to vector code.
                    if !scores
                        .iter()
                        .fold(false, |any, &score| any | (score >= cut))
                    {
                        continue;
                    }
                    for (b, &score) in (left..).zip(scores) {
                        if score >= cut && b > a && self.takes_part(a) && self.takes_part(b) {
                            let distance = self.distance(a, b);
                            if distance <= threshold {
                                found.push(Pair {
                                    a: a as u32,
                                    b: b as u32,
                                    distance,
                                });
                            }
                        }
                    }
                }
            }
        }
    }

    /// The least score of a pair within the threshold in a tile; `None` if none of the rows or none
    /// of the columns takes part.
    ///
    /// Such a pair has x·y ≥ (1 − threshold)·‖x‖·‖y‖, so it scores at least
    /// (1 − threshold − margin)·‖x‖·‖y‖: least at the shortest rows of the tile, or at the longest
    /// ones where that factor is negative.
    fn cut(&self, least: f64, rows: Range<usize>, columns: Range<usize>) -> Option<f32> {
        let extreme = |range: Range<usize>| {
            let squares = self.squares[range]
                .iter()
                .copied()
                .filter(|&square| square > 0.0);
            if least > 0.0 {
                squares.reduce(f64::min)
            } else {
                squares.reduce(f64::max)
            }
        };
        let lengths = (extreme(rows)? * extreme(columns)?).sqrt();
        Some(((least * lengths) as f32).next_down())
    }
}

/// The scalar product in f64; each product of two f32 is exact there. Eight sums side by side do
/// not wait for each other, and are always added in the same order.
fn dot(x: ArrayView1<'_, f32>, y: ArrayView1<'_, f32>) -> f64 {
    let (Some(x), Some(y)) = (x.to_slice(), y.to_slice()) else {
        return dot(x.to_owned().view(), y.to_owned().view());
    };
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut sums = [0.0_f64; 8];
    for (x, y) in x.iter().zip(y) {
        for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += f64::from(x) * f64::from(y);
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *sum += f64::from(x) * f64::from(y);
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};
    use proptest::prelude::*;

    use super::super::testing::{near_rows, rotated};
    use super::*;

    /// What the join must find, by definition.
    fn brute_force(vectors: ArrayView2<'_, f32>, threshold: f64) -> Vec<(u32, u32)> {
        let wide = vectors.mapv(f64::from);
        let mut pairs = Vec::new();
        for (a, x) in wide.outer_iter().enumerate() {
            for (b, y) in wide.outer_iter().enumerate().skip(a + 1) {
                let cosine = x.dot(&y) / (x.dot(&x) * y.dot(&y)).sqrt();
                if 1.0 - cosine <= threshold {
                    pairs.push((a as u32, b as u32));
                }
            }
        }
        pairs
    }

    fn found(vectors: ArrayView2<'_, f32>, threshold: f64) -> Vec<(u32, u32)> {
        threshold_join(vectors, threshold)
            .iter()
            .map(|pair| (pair.a, pair.b))
            .collect()
    }

    #[test]
    fn nothing_and_one_row_have_no_pairs() {
        assert_eq!(found(Array2::zeros((0, 4)).view(), 2.0), []);
        assert_eq!(found(Array2::ones((1, 4)).view(), 2.0), []);
        assert_eq!(found(Array2::zeros((3, 0)).view(), 2.0), []);
    }

    #[test]
    fn the_threshold_is_inclusive() {
        let rows = ndarray::array![[0.1_f32, 0.7, 0.3], [0.3, 0.9, 0.1], [0.9, 0.1, 0.3]];
        let all = threshold_join(rows.view(), 2.0);
        assert_eq!(found(rows.view(), 2.0), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(found(rows.view(), all[0].distance), [(0, 1)]);
        assert_eq!(found(rows.view(), all[0].distance.next_down()), []);
    }

    #[test]
    fn equal_rows_are_at_zero() {
        let n = 200;
        let once = near_rows(n, 7, 3);
        let twice = ndarray::concatenate![Axis(0), once, once];
        let zero = found(twice.view(), 0.0);
        assert!((0..n).all(|row| zero.contains(&(row as u32, (row + n) as u32))));
    }

    #[test]
    fn a_threshold_that_is_no_distance_finds_nothing() {
        let rows = Array2::ones((3, 4));
        assert_eq!(found(rows.view(), f64::NAN), []);
        assert_eq!(found(rows.view(), -0.1), []);
        assert_eq!(found(rows.view(), f64::INFINITY).len(), 3);
    }

    #[test]
    fn unusable_rows_match_nothing_and_harm_no_others() {
        for bad in [
            0.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MAX,
            1e-30,
        ] {
            let mut rows = Array2::from_elem((5, 8), 0.5);
            rows.row_mut(1).fill(bad);
            rows.row_mut(3).fill(bad);
            assert_eq!(found(rows.view(), 2.0), [(0, 2), (0, 4), (2, 4)], "{bad}");
        }
    }

    #[test]
    fn opposite_and_orthogonal_rows_are_found_at_wide_thresholds() {
        let rows = ndarray::array![[1.0_f32, 0.0], [-1.0, 0.0], [0.0, 1.0]];
        assert_eq!(found(rows.view(), 2.0).len(), 3);
        assert_eq!(found(rows.view(), 1.0), [(0, 2), (1, 2)]);
        assert_eq!(threshold_join(rows.view(), 2.0)[0].distance, 2.0);
    }

    #[test]
    fn rows_of_any_length_are_joined_by_their_direction() {
        let mut rows = near_rows(700, 16, 11);
        let expected = found(rows.view(), 0.1);
        assert!(expected.len() > 300);
        for (i, mut row) in rows.outer_iter_mut().enumerate() {
            // Powers of two change no digit.
            row *= 2.0_f32.powi(i as i32 % 60 - 30);
        }
        assert_eq!(found(rows.view(), 0.1), expected);
        assert_eq!(
            brute_force(rows.view(), 1.02).len(),
            found(rows.view(), 1.02).len()
        );
    }

    #[test]
    fn sketches_lose_no_pair() {
        let mut vectors = near_rows(700, 130, 21);
        for (row, bad) in [(3, 0.0), (5, f32::NAN), (7, f32::INFINITY), (9, f32::MAX)] {
            vectors.row_mut(row).fill(bad);
        }
        let rows = Rows::new(vectors.view());
        let sketches = super::super::screen::tests::forced(vectors.view(), &rows.squares).unwrap();
        for threshold in [0.0, 0.01, 0.1, 0.4, 1.0] {
            let expected = rows.join_on(&Screen::plain(vectors.view()), threshold);
            assert!(expected.len() > 20);
            assert_eq!(rows.join_on(&sketches, threshold), expected);
        }
    }

    #[test]
    fn many_tiles_give_the_pairs_of_brute_force() {
        // More rows than two tiles are wide, an odd number of them.
        let rows = near_rows(1301, 12, 5);
        let pairs = found(rows.view(), 0.1);
        assert_eq!(pairs, brute_force(rows.view(), 0.1));
        assert!(
            pairs.iter().any(|&(a, b)| b - a > 1024),
            "the far tiles are read"
        );
        assert!(pairs.is_sorted());
    }

    #[test]
    fn the_layout_in_memory_does_not_matter() {
        let rows = near_rows(300, 9, 2);
        let mut columns = Array2::zeros((9, 300));
        columns.assign(&rows.t());
        assert_eq!(
            threshold_join(columns.t(), 0.2),
            threshold_join(rows.view(), 0.2)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_is_exact(n in 0..90_usize, d in 1..40_usize, seed: u64, threshold in 0.0..1.2_f64) {
            let rows = near_rows(n, d, seed);
            prop_assert_eq!(found(rows.view(), threshold), brute_force(rows.view(), threshold));
        }

        /// The f32 scores of such pairs lie on either side of the threshold; the answer may not.
        #[test]
        fn it_is_exact_at_the_very_edge(d in 1..400_usize, seed: u64) {
            let rows = near_rows(8, d, seed);
            for pair in threshold_join(rows.view(), 2.0) {
                let at = threshold_join(rows.view(), pair.distance);
                prop_assert!(at.contains(&pair));
                if pair.distance > 0.0 {
                    let below = threshold_join(rows.view(), pair.distance.next_down());
                    prop_assert!(!below.contains(&pair));
                }
            }
        }

        #[test]
        fn a_distance_does_not_depend_on_the_place(n in 1..60_usize, seed: u64, by in 0..60_usize) {
            let rows = near_rows(n, 24, seed);
            let (turned, place) = rotated(&rows, by % n);
            let mut expected = threshold_join(rows.view(), 0.3);
            for pair in &mut expected {
                let (a, b) = (place[pair.a as usize], place[pair.b as usize]);
                (pair.a, pair.b) = (a.min(b), a.max(b));
            }
            expected.sort_unstable_by_key(|pair| (pair.a, pair.b));
            prop_assert_eq!(threshold_join(turned.view(), 0.3), expected);
        }
    }
}
