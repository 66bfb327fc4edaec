//! All pairs of rows within a cosine distance, exactly.

use std::borrow::Cow;
use std::num::NonZero;
use std::ops::Range;

use ndarray::ArrayView2;

use super::codes::{self, Row};
use super::kernel::{Block, COLUMNS, Kernel, Panel, ROWS};
use super::threads;

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

/// Codes of the rows that are compared with one panel after the other: half of a common
/// second-level cache.
const BAND_BYTES: usize = 256 << 10;

/// Bands a thread, so that the threads end at about the same time.
const BANDS: usize = 4;

/// Rows of which the lengths are computed in one go.
const RUN: usize = 1_024;

/// Squared lengths with which a row takes part. No embedder writes vectors of other lengths, and
/// within these no product of two rows overflows f32 or loses weight by underflow.
const SQUARED_LENGTHS: Range<f64> = 1e-24..1e24;

/// All pairs of rows whose cosine distance is at most `threshold`, sorted by `(a, b)`.
///
/// `vectors` is n × d, at most 2³² rows. Rows of any length between 10⁻¹² and 10¹² take part;
/// shorter ones (such as zero rows), longer ones and rows with a NaN or an infinity match nothing.
///
/// The rule: the distance is 1 − x·y / √(x·x · y·y), at least 0, computed in f64 from the f32 rows,
/// in an order of additions that depends on d alone: it is the same for `(a, b)` and `(b, a)`, on
/// any processor, on any number of threads, wherever the rows stand. A pair is found if and only if
/// that number is ≤ `threshold`.
///
/// Time is n² · d / 2 multiply-adds of int8 codes, or a fraction of that where thousands of rows
/// have a structure; beside the answer it takes about d + 100 bytes a row. The answer itself is 16
/// bytes a pair, and n equal rows are n² / 2 pairs: [`super::group`] joins only one of equal rows.
pub fn threshold_join(
    vectors: ArrayView2<'_, f32>,
    threshold: f64,
    threads: NonZero<usize>,
) -> Vec<Pair> {
    Rows::new(vectors, threads).join(threshold)
}

/// The rows with what a cosine needs of them.
pub(super) struct Rows<'a> {
    /// One row after the other.
    numbers: Cow<'a, [f32]>,
    dims: usize,
    /// Squared lengths; 0 marks a row that does not take part.
    squares: Vec<f64>,
    kernel: Kernel,
    threads: NonZero<usize>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(vectors: ArrayView2<'a, f32>, threads: NonZero<usize>) -> Self {
        Self::on(Kernel::best(), vectors, threads)
    }

    fn on(kernel: Kernel, vectors: ArrayView2<'a, f32>, threads: NonZero<usize>) -> Self {
        let (n, dims) = vectors.dim();
        let numbers = match vectors.to_slice() {
            Some(numbers) => Cow::Borrowed(numbers),
            None => Cow::Owned(vectors.iter().copied().collect()),
        };
        let mut rows = Self {
            numbers,
            dims,
            squares: Vec::new(),
            kernel,
            threads,
        };
        let squares = threads::map(threads, n.div_ceil(RUN), |run| {
            let square = |row| kernel.dot(rows.row(row), rows.row(row));
            (run * RUN..n.min((run + 1) * RUN))
                .map(square)
                .map(|square| SQUARED_LENGTHS.contains(&square).then_some(square))
                .map(Option::unwrap_or_default)
                .collect::<Vec<f64>>()
        });
        rows.squares = squares.concat();
        rows
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.dims..(row + 1) * self.dims]
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
        let product = self.kernel.dot(self.row(a), self.row(b));
        (1.0 - product / (self.squares[a] * self.squares[b]).sqrt()).clamp(0.0, 2.0)
    }

    /// See [`threshold_join`].
    pub(super) fn join(&self, threshold: f64) -> Vec<Pair> {
        let slots: Vec<usize> = (0..self.squares.len())
            .filter(|&row| self.takes_part(row))
            .collect();
        self.join_first(slots.len(), &slots, threshold)
    }

    /// The pairs of the rows in the `first` slots with each other and with all later ones.
    fn join_first(&self, first: usize, slots: &[usize], threshold: f64) -> Vec<Pair> {
        if threshold.is_nan() || threshold < 0.0 {
            return Vec::new();
        }
        let panels = threads::map(self.threads, slots.len().div_ceil(COLUMNS), |panel| {
            let rows = &slots[panel * COLUMNS..slots.len().min((panel + 1) * COLUMNS)];
            Panel::new(
                rows.iter()
                    .map(|&row| Row::new(self.row(row), self.squares[row].sqrt())),
            )
        });
        let scan = Scan {
            rows: self,
            slots,
            first,
            panels: &panels,
            floor: (2.0 - threshold - codes::ROUNDING) as f32,
            threshold,
        };
        let fitting = BAND_BYTES / self.dims.max(1);
        let even = first / (BANDS * self.threads.get());
        let band = fitting.min(even).next_multiple_of(ROWS).max(8 * ROWS);
        let found = threads::map(self.threads, first.div_ceil(band), |number| {
            scan.band(number * band..first.min((number + 1) * band))
        });
        let mut pairs: Vec<Pair> = found.into_iter().flatten().collect();
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        pairs
    }
}

/// What is looked through, and for what.
struct Scan<'a> {
    rows: &'a Rows<'a>,
    /// The rows that take part, in the order of the panels.
    slots: &'a [usize],
    /// How many slots are compared with the later ones.
    first: usize,
    panels: &'a [Panel],
    floor: f32,
    threshold: f64,
}

impl Scan<'_> {
    /// The pairs of the slots of a band with later slots.
    fn band(&self, band: Range<usize>) -> Vec<Pair> {
        let mut found = Vec::new();
        let blocks: Vec<(usize, Block)> = band
            .clone()
            .step_by(ROWS)
            .map(|at| (at, Block::of(self.panels, at)))
            .collect();
        for (left, panel) in (0..)
            .step_by(COLUMNS)
            .zip(self.panels)
            .skip(band.start / COLUMNS)
        {
            for (at, block) in &blocks {
                let passing = self.rows.kernel.screen(block, panel, self.floor);
                if passing == [0; ROWS] {
                    continue;
                }
                for (a, bits) in (*at..self.first).zip(passing) {
                    self.check(a, left, later(bits, left, a), &mut found);
                }
            }
        }
        found
    }

    /// Adds the pairs of the row in slot `a` with those in the slots `left` + each of `bits`.
    fn check(&self, a: usize, left: usize, mut bits: u64, found: &mut Vec<Pair>) {
        while bits != 0 {
            let b = left + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let (a, b) = (self.slots[a], self.slots[b]);
            let distance = self.rows.distance(a, b);
            if distance <= self.threshold {
                found.push(Pair {
                    a: a.min(b) as u32,
                    b: a.max(b) as u32,
                    distance,
                });
            }
        }
    }
}

/// Those of the bits that stand for slots after `slot`, where the first one stands for `left`.
fn later(bits: u64, left: usize, slot: usize) -> u64 {
    match (slot + 1).checked_sub(left) {
        None => bits,
        Some(shift) if shift < COLUMNS => bits & (u64::MAX << shift),
        Some(_) => 0,
    }
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

    fn threshold_join(vectors: ArrayView2<'_, f32>, threshold: f64) -> Vec<Pair> {
        super::threshold_join(vectors, threshold, NonZero::new(2).unwrap())
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
