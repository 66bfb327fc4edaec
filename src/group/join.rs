//! All pairs of rows within a cosine distance, exactly.

use std::borrow::Cow;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::ArrayView2;

use super::dense::Dense;
use super::kernel::{Kernel, ROWS};
use super::screen::{Screen, Sketch};
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

/// There are more pairs within the threshold than may be held: so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} pairs are within the threshold")]
pub struct TooManyPairs(pub usize);

/// Pairs that a thread finds before it tells the others.
const TOLD: usize = 256;

/// Bands a thread, so that the threads end at about the same time.
const BANDS: usize = 4;

/// Bands have a multiple of this many rows: of the rows that a kernel tests at once, and enough.
const BAND_UNIT: usize = 8 * ROWS;

/// What rules out pairs of rows that are not within the threshold. Rows have slots, in an order.
pub(super) trait Pass {
    /// How many slots should be scanned at once.
    fn band(&self) -> usize;

    /// Calls `found` with the pairs of rows that may be near, one of which is in a slot of `band`
    /// and the other in a later slot. Bands start at multiples of [`ROWS`].
    fn scan(&self, band: Range<usize>, found: &mut dyn FnMut(usize, usize));
}

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
/// Time is n² · d / 2 multiply-adds of int8 codes (of f32 where the processor has no instructions for
/// codes), or a fraction of that where a sample of thousands of rows shows that a part of the
/// dimensions tells most apart; beside the answer it takes at most 1.5 · d + 100 bytes a row. The
/// answer itself is 16
/// bytes a pair, and n equal rows are n² / 2 pairs: [`super::group`] joins only one of equal rows.
pub fn threshold_join(
    vectors: ArrayView2<'_, f32>,
    threshold: f64,
    threads: NonZero<usize>,
) -> Vec<Pair> {
    Rows::new(vectors, threads).join(threshold)
}

/// What [`threshold_join`] finds, where only some rows have `changed` since the pairs `known` were
/// found: with k of them among n rows in time k · n · d, and n · d to read the rows.
///
/// `known` are the pairs of an earlier join, at this threshold or a greater one, named by today's
/// row numbers. Those with a changed row are dropped; so should be those with rows that are no
/// longer there, and a row that is new is a changed one.
///
/// # Panics
/// If `changed` has another length than `vectors` has rows, or a known pair names no row.
pub fn join_changed(
    vectors: ArrayView2<'_, f32>,
    known: &[Pair],
    changed: &[bool],
    threshold: f64,
    threads: NonZero<usize>,
) -> Vec<Pair> {
    assert_eq!(changed.len(), vectors.nrows(), "one mark for each row");
    let rows = Rows::new(vectors, threads);
    // There are not so many pairs.
    rows.join_changed(known, changed, threshold, usize::MAX)
        .unwrap_or_default()
}

/// [`threshold_join`] by each instruction set that this processor has, and in each way: by the codes
/// of whole rows, and by sketches of so many numbers first, in the directions of the data or in the
/// first dimensions. For measuring one beside the other; what is best is chosen by
/// [`threshold_join`].
#[doc(hidden)]
pub fn joins(
    vectors: ArrayView2<'_, f32>,
    threshold: f64,
    threads: NonZero<usize>,
    sketches: &[usize],
    mut each: impl FnMut(&str, &dyn Fn() -> Vec<Pair>),
) {
    for kernel in Kernel::all() {
        let join = |sketch: Option<Sketch>| {
            let rows = Rows::on(kernel, vectors, threads);
            let used = || (0..vectors.nrows()).filter(|&row| rows.takes_part(row));
            let (used, all): (Vec<usize>, usize) = (used().collect(), used().count());
            let screen = match sketch {
                Some(sketch) => Screen::forced(&rows, used, threshold, sketch),
                None => Screen::plain(&rows, used, threshold),
            };
            rows.join_on(&screen, all, threshold, usize::MAX)
                .unwrap_or_default()
        };
        let chosen = || Rows::on(kernel, vectors, threads).join(threshold);
        each(&format!("{}, as chosen", kernel.name()), &chosen);
        each(&format!("{}, codes", kernel.name()), &|| join(None));
        for &length in sketches {
            let name = format!("{}, sketches of {length}", kernel.name());
            each(&name, &|| join(Some(Sketch::Turned(length))));
            let name = format!("{}, first {length} dimensions", kernel.name());
            each(&name, &|| join(Some(Sketch::First(length))));
        }
    }
}

/// The rows with what a cosine needs of them.
pub(super) struct Rows<'a> {
    /// One row after the other.
    numbers: Cow<'a, [f32]>,
    pub(super) dims: usize,
    /// Squared lengths; 0 marks a row that does not take part.
    squares: Vec<f64>,
    pub(super) kernel: Kernel,
    pub(super) threads: NonZero<usize>,
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

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.dims..(row + 1) * self.dims]
    }

    /// The squared length of a row.
    pub(super) fn square(&self, row: usize) -> f64 {
        self.squares[row]
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
        let all = vec![true; self.squares.len()];
        // There are not so many pairs.
        self.join_changed(&[], &all, threshold, usize::MAX)
            .unwrap_or_default()
    }

    /// See [`join_changed`]. Known pairs of rows that do not take part are dropped as well.
    ///
    /// More than `most` pairs are counted and not held.
    pub(super) fn join_changed(
        &self,
        known: &[Pair],
        changed: &[bool],
        threshold: f64,
        most: usize,
    ) -> Result<Vec<Pair>, TooManyPairs> {
        let used = (0..changed.len()).filter(|&row| self.takes_part(row));
        let (mut used, others): (Vec<usize>, Vec<usize>) = used.partition(|&row| changed[row]);
        let first = used.len();
        used.extend(others);
        let same = |row: u32| !changed[row as usize] && self.takes_part(row as usize);
        let stays = |pair: &&Pair| same(pair.a) && same(pair.b) && pair.distance <= threshold;
        let staying = known.iter().filter(stays).count();
        let found = self.join_first(first, used, threshold, most.saturating_sub(staying));
        let mut pairs = found.map_err(|TooManyPairs(found)| TooManyPairs(found + staying))?;
        if pairs.len() + staying > most {
            return Err(TooManyPairs(pairs.len() + staying));
        }
        pairs.extend(known.iter().filter(stays));
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        Ok(pairs)
    }

    /// The pairs of the `first` of some rows with each other and with all later ones, in no order.
    fn join_first(
        &self,
        first: usize,
        used: Vec<usize>,
        threshold: f64,
        most: usize,
    ) -> Result<Vec<Pair>, TooManyPairs> {
        if threshold.is_nan() || threshold < 0.0 {
            return Ok(Vec::new());
        }
        if self.kernel == Kernel::Portable {
            // Codes are multiplied quickly only by instructions made for them.
            let dense = Dense::new(self, used, first, threshold);
            return self.join_on(&dense, first, threshold, most);
        }
        let screen = Screen::new(self, used, first, threshold);
        self.join_on(&screen, first, threshold, most)
    }

    /// The pairs among those that pass a screen, one of each in the `first` slots.
    fn join_on(
        &self,
        screen: &(impl Pass + Sync),
        first: usize,
        threshold: f64,
        most: usize,
    ) -> Result<Vec<Pair>, TooManyPairs> {
        let told = AtomicUsize::new(0);
        let even = first / self.threads.get().saturating_mul(BANDS);
        let band = screen.band().min(even).max(1).next_multiple_of(BAND_UNIT);
        let found = threads::map(self.threads, first.div_ceil(band), |number| {
            let mut pairs = Vec::new();
            let (mut count, mut too_many) = (0, false);
            screen.scan(
                number * band..first.min((number + 1) * band),
                &mut |a, b| {
                    let distance = self.distance(a, b);
                    let near = distance <= threshold;
                    count += usize::from(near);
                    if near && count % TOLD == 0 {
                        too_many |= told.fetch_add(TOLD, Ordering::Relaxed) + TOLD > most;
                    }
                    if too_many {
                        pairs = Vec::new();
                    } else if near {
                        pairs.push(Pair {
                            a: a.min(b) as u32,
                            b: a.max(b) as u32,
                            distance,
                        });
                    }
                },
            );
            too_many |= told.fetch_add(count % TOLD, Ordering::Relaxed) + count % TOLD > most;
            if too_many { Vec::new() } else { pairs }
        });
        let count = told.into_inner();
        if count > most {
            return Err(TooManyPairs(count));
        }
        // The memory of a part is given back before the next one is copied.
        let mut pairs = Vec::with_capacity(found.iter().map(Vec::len).sum());
        found.into_iter().for_each(|part| pairs.extend(part));
        Ok(pairs)
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
    fn every_kernel_and_screen_finds_the_same() {
        let mut vectors = near_rows(500, 130, 21);
        for (row, bad) in [(3, 0.0), (5, f32::NAN), (7, f32::INFINITY), (9, f32::MAX)] {
            vectors.row_mut(row).fill(bad);
        }
        for (i, mut row) in vectors.outer_iter_mut().enumerate() {
            // Powers of two change no digit.
            row *= 2.0_f32.powi(i as i32 % 40 - 20);
        }
        let used: Vec<usize> = (0..500).filter(|row| ![3, 5, 7, 9].contains(row)).collect();
        for threshold in [0.0, 0.1, 0.5] {
            let expected = threshold_join(vectors.view(), threshold);
            assert!(expected.len() > 20);
            for kernel in Kernel::all() {
                let rows = Rows::on(kernel, vectors.view(), NonZero::new(3).unwrap());
                assert_eq!(rows.join(threshold), expected, "{kernel:?}");
                for kept in [1, 40, 130] {
                    let dense = Dense::forced(&rows, used.clone(), threshold, kept);
                    let mut found = rows
                        .join_on(&dense, used.len(), threshold, usize::MAX)
                        .unwrap();
                    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
                    assert_eq!(found, expected, "{kept} dimensions");
                }
                for sketch in [8, 64]
                    .into_iter()
                    .flat_map(|n| [Sketch::Turned(n), Sketch::First(n)])
                {
                    let screen = Screen::forced(&rows, used.clone(), threshold, sketch);
                    let mut found = rows
                        .join_on(&screen, used.len(), threshold, usize::MAX)
                        .unwrap();
                    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
                    assert_eq!(found, expected, "{kernel:?}, {sketch:?}");
                }
            }
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

        #[test]
        fn it_is_exact_without_any_instruction_set(
            n in 0..90_usize,
            d in 1..40_usize,
            kept in 1..40_usize,
            seed: u64,
            threshold in 0.0..1.2_f64,
        ) {
            let vectors = near_rows(n, d, seed);
            let rows = Rows::on(Kernel::Portable, vectors.view(), NonZero::<usize>::MIN);
            let expected = brute_force(vectors.view(), threshold);
            let used: Vec<usize> = (0..n).collect();
            let dense = Dense::forced(&rows, used, threshold, kept);
            let mut found = rows.join_on(&dense, n, threshold, usize::MAX).unwrap();
            found.sort_unstable_by_key(|pair| (pair.a, pair.b));
            let found: Vec<_> = found.iter().map(|pair| (pair.a, pair.b)).collect();
            prop_assert_eq!(&found, &expected);
            let joined: Vec<_> = rows.join(threshold).iter().map(|pair| (pair.a, pair.b)).collect();
            prop_assert_eq!(&joined, &expected);
        }

        /// The f32 scores of such pairs lie on either side of the threshold; the answer may not.
        #[test]
        fn it_is_exact_at_the_very_edge(d in 1..400_usize, seed: u64) {
            let vectors = near_rows(8, d, seed);
            for kernel in [Kernel::best(), Kernel::Portable] {
                let rows = Rows::on(kernel, vectors.view(), NonZero::<usize>::MIN);
                for pair in rows.join(2.0) {
                    prop_assert!(rows.join(pair.distance).contains(&pair));
                    if pair.distance > 0.0 {
                        prop_assert!(!rows.join(pair.distance.next_down()).contains(&pair));
                    }
                }
            }
        }

        /// Two rows on either side of the threshold, as far as 10⁻⁷ and as near as can be.
        #[test]
        fn it_is_exact_nearly_at_the_threshold(
            d in 2..500_usize,
            seed: u64,
            threshold in 0.001..0.5_f64,
            off in prop::sample::select(vec![0.0, 1e-9, 1e-8, 1e-7, -1e-9, -1e-8, -1e-7]),
        ) {
            let axes = near_rows(2, d, seed).mapv(f64::from);
            let (x, y) = (axes.row(0), axes.row(1));
            let aside = &y - &(&x * (y.dot(&x) / x.dot(&x)));
            let aside = &aside * (x.dot(&x) / aside.dot(&aside)).sqrt();
            let cosine = 1.0 - (threshold + off);
            let turned = &x * cosine + aside * (1.0 - cosine * cosine).sqrt();
            prop_assume!(turned.iter().all(|x| x.is_finite()));
            let rows = ndarray::stack![Axis(0), x, turned].mapv(|x| x as f32);
            prop_assert_eq!(found(rows.view(), threshold), brute_force(rows.view(), threshold));
        }

        #[test]
        fn joining_what_changed_gives_what_a_full_join_does(
            n in 0..120_usize,
            d in 1..40_usize,
            seed: u64,
            marks in prop::collection::vec(prop::bool::weighted(0.2), 120),
            threshold in 0.0..0.5_f64,
            before in 0.0..0.3_f64,
        ) {
            let (old, new) = (near_rows(n, d, seed), near_rows(n, d, seed ^ 1));
            let mut rows = old.clone();
            for row in (0..n).filter(|&row| marks[row]) {
                rows.row_mut(row).assign(&new.row(row));
            }
            let known = threshold_join(old.view(), threshold + before);
            let threads = NonZero::new(2).unwrap();
            let pairs = join_changed(rows.view(), &known, &marks[..n], threshold, threads);
            prop_assert_eq!(pairs, threshold_join(rows.view(), threshold));
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
