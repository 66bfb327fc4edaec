//! Scores that rule out most pairs, from less arithmetic than an exact distance.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, CowArray, Ix2, s};

/// Coordinates of a sketch, which has the length of the rest besides.
const COORDINATES: usize = 95;

/// From how many rows on a sketch is worth its preparation, which takes some milliseconds.
const LEAST_ROWS: usize = 4_096;

/// How many rows the basis is made from, and how often it is turned towards them.
const SAMPLE: usize = 1_024;
const TURNS: usize = 3;

/// What a multiply-add of an exact distance costs, in those of a matrix product (measured).
const COST_OF_EXACT: f64 = 16.0;

/// Rows whose products are bounds on the products of the vectors.
pub(super) struct Screen<'a> {
    pub(super) rows: CowArray<'a, f32, Ix2>,
    /// For all rows x and y, the product of their screen rows as computed in f32, in whatever
    /// order, is at least x·y − `margin`·‖x‖·‖y‖.
    pub(super) margin: f64,
}

impl<'a> Screen<'a> {
    /// The sketches where they promise to be faster, else the vectors themselves. `squares` are
    /// the squared lengths; rows of length 0 do not count.
    pub(super) fn new(vectors: ArrayView2<'a, f32>, squares: &[f64], threshold: f64) -> Self {
        sketched(vectors, squares, threshold).unwrap_or_else(|| Self::plain(vectors))
    }

    pub(super) fn plain(vectors: ArrayView2<'a, f32>) -> Self {
        Self {
            rows: vectors.into(),
            margin: gamma(vectors.ncols()),
        }
    }

    /// Computes the products of some rows with some others into `scores`, row by row.
    pub(super) fn score(&self, rows: Range<usize>, columns: Range<usize>, scores: &mut [f32]) {
        let mut scores = ArrayViewMut2::from_shape((rows.len(), columns.len()), scores)
            .expect("there is a place for each score");
        let (rows, columns) = (
            self.rows.slice(s![rows, ..]),
            self.rows.slice(s![columns, ..]),
        );
        general_mat_mul(1.0, &rows, &columns.t(), 0.0, &mut scores);
    }
}

/// Bounds the error of a product of `terms` terms computed in f32, relative to the lengths.
///
/// In whatever order, and with or without fused multiply-adds, the computed x·y is off by at most
/// γ·|x|·|y| ≤ γ·‖x‖·‖y‖ with γ = n·u / (1 − n·u) for n terms and u = 2⁻²⁴ (N. J. Higham, *Accuracy
/// and Stability of Numerical Algorithms*, 2nd ed., §3.1). Eight is added to n for what is far
/// smaller than u: the rounding in f64 of distances and of bounds, and f32 underflow.
fn gamma(terms: usize) -> f64 {
    let nu = (terms + 8) as f64 * f64::from(f32::EPSILON) / 2.0;
    if nu < 0.5 {
        nu / (1.0 - nu)
    } else {
        f64::INFINITY
    }
}

/// Sketches of the vectors, if they are worth it.
///
/// The sketch of x is (h, t): its coordinates h in an orthonormal basis of a few directions, and
/// the length t of the rest. By the inequality of Cauchy and Schwarz x·y ≤ h·h′ + t·t′, which is
/// the product of the sketches. The directions are those in which a sample of the rows is longest,
/// found by subspace iteration: where rows have a structure, the rests are short, and few of the
/// bounds reach the threshold.
fn sketched<'a>(
    vectors: ArrayView2<'a, f32>,
    squares: &[f64],
    threshold: f64,
) -> Option<Screen<'a>> {
    let used: Vec<usize> = (0..squares.len())
        .filter(|&row| squares[row] > 0.0)
        .collect();
    if used.len() < LEAST_ROWS || vectors.ncols() < 2 * (COORDINATES + 1) {
        return None;
    }
    let chosen: Vec<usize> = used.iter().copied().step_by(used.len() / SAMPLE).collect();
    let mut sample = vectors.select(Axis(0), &chosen);
    for (mut row, &at) in sample.outer_iter_mut().zip(&chosen) {
        row /= squares[at].sqrt() as f32;
    }
    let basis = Basis::of(&sample);
    let trial = basis.sketch(sample.view(), &vec![1.0; chosen.len()])?;
    let cut = (1.0 - threshold - trial.margin) as f32;
    let scores = trial.rows.dot(&trial.rows.t());
    let passing = scores.iter().filter(|&&score| score >= cut).count();
    let share = passing as f64 / scores.len() as f64;
    let (short, long) = (trial.rows.ncols() as f64, vectors.ncols() as f64);
    if short + share * COST_OF_EXACT * long > long {
        return None;
    }
    basis.sketch(vectors, squares)
}

/// Nearly orthonormal rows.
struct Basis {
    rows: Array2<f32>,
    /// Frobenius norm of Q·Qᵀ − 1, which bounds its spectral norm.
    skew: f64,
}

impl Basis {
    /// The directions in which the rows of `sample` are longest, roughly.
    fn of(sample: &Array2<f32>) -> Self {
        let step = sample.nrows().div_ceil(COORDINATES).max(1);
        let mut rows = sample.slice(s![..;step, ..]).to_owned();
        for _ in 0..TURNS {
            rows = orthonormal(rows.dot(&sample.t()).dot(sample).mapv(f64::from));
        }
        let wide = rows.mapv(f64::from);
        let mut product = wide.dot(&wide.t());
        product.diag_mut().mapv_inplace(|square| square - 1.0);
        Self {
            rows,
            skew: product.iter().map(|x| x * x).sum::<f64>().sqrt(),
        }
    }

    /// The sketches of `vectors`; none if the basis is bad.
    ///
    /// With Q the basis as it is, Q·Qᵀ = 1 + E, ‖E‖ ≤ `skew`, h = Q·x, and ĥ as computed in f32,
    /// ‖ĥ − h‖ ≤ off·‖x‖ (`gamma` for each of k coordinates). Whatever ĥ is, x = Qᵀ·ĥ + r for some
    /// r, and Q·r = (h − ĥ) − E·ĥ is small. From the product of two such sums
    ///
    ///   x·y ≤ ĥ·ĥ′ + ‖r‖·‖r′‖ + (skew + 2·(off + skew))·(1 + e)²·‖x‖·‖y‖,   e = off + skew,
    ///   ‖r‖² ≤ ‖x‖² − ‖ĥ‖² + (2·off + skew)·(1 + e)²·‖x‖².
    ///
    /// For e ≤ 1 % both brackets are below 4·e, rounding t to f32 included. A sketch is at most 4 %
    /// longer than its row, so that its own products are off by less than 2·γ.
    fn sketch<'a>(&self, vectors: ArrayView2<'_, f32>, squares: &[f64]) -> Option<Screen<'a>> {
        let k = self.rows.nrows();
        let e = (k as f64).sqrt() * gamma(vectors.ncols()) + self.skew;
        if e > 0.01 {
            return None;
        }
        let mut sketches = Array2::zeros((vectors.nrows(), k + 1));
        let mut heads = sketches.slice_mut(s![.., ..k]);
        general_mat_mul(1.0, &vectors, &self.rows.t(), 0.0, &mut heads);
        for (mut sketch, &square) in sketches.outer_iter_mut().zip(squares) {
            let head: f64 = sketch.iter().map(|&x| f64::from(x).powi(2)).sum();
            sketch[k] = ((square - head).max(0.0) + 4.0 * e * square).sqrt() as f32;
        }
        Some(Screen {
            rows: sketches.into(),
            margin: 4.0 * e + 2.0 * gamma(k + 1),
        })
    }
}

/// Gram and Schmidt's method (the modified one); directions that are already there are left out.
fn orthonormal(mut rows: Array2<f64>) -> Array2<f32> {
    let mut kept = 0;
    for next in 0..rows.nrows() {
        let (mut done, mut open) = rows.view_mut().split_at(Axis(0), next);
        let mut row = open.row_mut(0);
        let before = row.dot(&row).sqrt();
        for earlier in done.slice(s![..kept, ..]).outer_iter() {
            let along = row.dot(&earlier);
            row.scaled_add(-along, &earlier);
        }
        let after = row.dot(&row).sqrt();
        if after > 1e-5 * before {
            row /= after;
            if kept < next {
                done.row_mut(kept).assign(&row);
            }
            kept += 1;
        }
    }
    rows.slice(s![..kept, ..]).mapv(|x| x as f32)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::testing::near_rows;
    use super::*;

    /// Sketches, whether they are worth it or not.
    pub(in super::super) fn forced<'a>(
        vectors: ArrayView2<'_, f32>,
        squares: &[f64],
    ) -> Option<Screen<'a>> {
        let used: Vec<usize> = (0..squares.len())
            .filter(|&row| squares[row] > 0.0)
            .collect();
        Basis::of(&vectors.select(Axis(0), &used)).sketch(vectors, squares)
    }

    fn squares(vectors: &Array2<f32>) -> Vec<f64> {
        let wide = vectors.mapv(f64::from);
        wide.outer_iter().map(|row| row.dot(&row)).collect()
    }

    /// By how much, relative to the lengths, the worst score lies below the product of its rows.
    fn worst(vectors: &Array2<f32>, screen: &Screen<'_>) -> f64 {
        let (n, squares) = (vectors.nrows(), squares(vectors));
        let wide = vectors.mapv(f64::from);
        let exact = wide.dot(&wide.t());
        let mut scores = vec![0.0; n * n];
        screen.score(0..n, 0..n, &mut scores);
        let mut worst = f64::MIN;
        for a in 0..n {
            for b in 0..n {
                let short = exact[[a, b]] - f64::from(scores[a * n + b]);
                worst = worst.max(short / (squares[a] * squares[b]).sqrt());
            }
        }
        worst
    }

    #[test]
    fn bad_bases_are_refused() {
        let rows = near_rows(100, 30, 1);
        let squares = squares(&rows);
        let mut basis = Basis::of(&rows);
        assert!(basis.skew < 1e-5);
        assert!(basis.sketch(rows.view(), &squares).is_some());
        basis.skew = 0.02;
        assert!(basis.sketch(rows.view(), &squares).is_none());
    }

    #[test]
    fn what_is_said_of_the_basis_is_true() {
        let mut rows = near_rows(100, 30, 1);
        rows.row_mut(1).assign(&near_rows(1, 30, 2).row(0));
        let basis = Basis::of(&rows);
        let wide = basis.rows.mapv(f64::from);
        let product = wide.dot(&wide.t()) - Array2::<f64>::eye(wide.nrows());
        assert!(
            wide.nrows() <= 30,
            "there are no more directions than dimensions"
        );
        assert!((product.mapv(|x| x * x).sum().sqrt() - basis.skew).abs() < 1e-12);
    }

    #[test]
    fn sketches_are_taken_where_they_pay() {
        let rows = near_rows(LEAST_ROWS, 200, 4);
        let squares = squares(&rows);
        let taken = |threshold| Screen::new(rows.view(), &squares, threshold).rows.ncols() < 200;
        assert!(taken(0.1));
        assert!(!taken(0.9), "nearly everything would pass");
        let few = rows.slice(s![1.., ..]);
        assert_eq!(Screen::new(few, &squares[1..], 0.1).rows.ncols(), 200);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_score_is_below_its_margin(n in 2..120_usize, d in 1..130_usize, seed: u64) {
            let mut rows = near_rows(n, d, seed);
            for (i, mut row) in rows.outer_iter_mut().enumerate() {
                row *= 10.0_f32.powi(i as i32 % 21 - 10);
            }
            let plain = Screen::plain(rows.view());
            prop_assert!(worst(&rows, &plain) <= plain.margin);
            let sketches = forced(rows.view(), &squares(&rows)).unwrap();
            prop_assert!(worst(&rows, &sketches) <= sketches.margin);
            prop_assert!(sketches.margin < 0.002);
        }
    }
}
