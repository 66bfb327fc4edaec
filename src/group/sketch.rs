//! Short rows whose products bound those of the vectors: from the directions in which these vary, or
//! from their first dimensions.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, s};

use super::codes::Row;

/// Places of a sketch that the length of the rest takes, in equal parts: one great number among
/// small ones would round them badly.
const REST: usize = 4;

/// How often the directions are turned towards the sample.
const TURNS: usize = 3;

/// Bounds the error of a product of `terms` terms computed in f32, relative to the lengths.
///
/// In whatever order, and with or without fused multiply-adds, the computed x·y is off by at most
/// γ·|x|·|y| ≤ γ·‖x‖·‖y‖ with γ = n·u / (1 − n·u) for n terms and u = 2⁻²⁴ (N. J. Higham, *Accuracy
/// and Stability of Numerical Algorithms*, 2nd ed., §3.1). Eight is added to n for what is far
/// smaller than u: the rounding in f64, and f32 underflow.
pub(super) fn gamma(terms: usize) -> f64 {
    let nu = (terms + 8) as f64 * f64::from(f32::EPSILON) / 2.0;
    if nu < 0.5 {
        nu / (1.0 - nu)
    } else {
        f64::INFINITY
    }
}

/// Which directions a sketch keeps.
pub(super) enum Basis {
    /// So many dimensions as they are: nothing is to be computed, and nothing is off.
    First(usize),
    /// Others.
    Turned(Turned),
}

/// Nearly orthonormal rows Q.
pub(super) struct Turned {
    rows: Array2<f32>,
    /// Frobenius norm of Q·Qᵀ − 1, which bounds its spectral norm.
    skew: f64,
}

impl Turned {
    /// The directions in which the rows of `sample` are longest, roughly, for sketches of `length`
    /// numbers; the longest come first.
    pub(super) fn of(sample: &Array2<f32>, length: usize) -> Self {
        let step = sample.nrows().div_ceil(length - REST).max(1);
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

    /// The first of them, for shorter sketches.
    pub(super) fn shortened(&self, length: usize) -> Self {
        let kept = self.rows.nrows().min(length - REST);
        Self {
            rows: self.rows.slice(s![..kept, ..]).to_owned(),
            skew: self.skew,
        }
    }
}

impl Basis {
    /// The first of so many dimensions, for sketches of `length` numbers; `None` if that is too short
    /// for any.
    pub(super) fn first(length: usize, dims: usize) -> Option<Self> {
        let kept = length.checked_sub(REST).filter(|&kept| kept > 0);
        kept.map(|kept| Self::First(kept.min(dims)))
    }

    /// How far, relative to the lengths, the product of two sketches may be below that of their
    /// vectors; `None` if the basis is too bad to say.
    ///
    /// With Q the basis as it is, Q·Qᵀ = 1 + E, ‖E‖ ≤ `skew`, h = Q·x, and ĥ as computed in f32,
    /// ‖ĥ − h‖ ≤ off·‖x‖ (`gamma` for each of k numbers). Whatever ĥ is, x = Qᵀ·ĥ + r for some r,
    /// and Q·r = (h − ĥ) − E·ĥ is small. From the product of two such sums
    ///
    ///   x·y ≤ ĥ·ĥ′ + ‖r‖·‖r′‖ + (skew + 2·(off + skew))·(1 + e)²·‖x‖·‖y‖,   e = off + skew,
    ///   ‖r‖² ≤ ‖x‖² − ‖ĥ‖² + (2·off + skew)·(1 + e)²·‖x‖².
    ///
    /// For e ≤ 1 % both brackets are below 4·e, the rounding of t = ‖r‖ to f32 included, and a
    /// sketch is at most 4 % longer than its vector.
    pub(super) fn margin(&self) -> Option<f64> {
        let e = self.error();
        (e <= 0.01).then_some(4.0 * e)
    }

    fn error(&self) -> f64 {
        match self {
            Self::First(_) => gamma(0),
            Self::Turned(Turned { rows, skew }) => {
                (rows.nrows() as f64).sqrt() * gamma(rows.ncols()) + skew
            }
        }
    }

    /// How many numbers a sketch has.
    pub(super) fn length(&self) -> usize {
        self.directions() + REST
    }

    fn directions(&self) -> usize {
        match self {
            Self::First(kept) => *kept,
            Self::Turned(Turned { rows, .. }) => rows.nrows(),
        }
    }

    /// The sketches of `vectors` with these squared lengths, as codes; and for each the number of
    /// the centre that is nearest to it.
    ///
    /// The sketch of x is its coordinates h in the basis and the length t of the rest. By the
    /// inequality of Cauchy and Schwarz x·y ≤ h·h′ + t·t′, which is the product of the sketches:
    /// where rows have a structure, the rests are short, and few of the products reach far.
    pub(super) fn sketches(
        &self,
        vectors: ArrayView2<'_, f32>,
        squares: &[f64],
        centres: &Centres,
    ) -> Vec<(usize, Row)> {
        let (k, error) = (self.directions(), self.error());
        let mut numbers = Array2::zeros((vectors.nrows(), k + REST));
        let mut heads = numbers.slice_mut(s![.., ..k]);
        match self {
            Self::First(_) => heads.assign(&vectors.slice(s![.., ..k])),
            Self::Turned(Turned { rows, .. }) => {
                general_mat_mul(1.0, &vectors, &rows.t(), 0.0, &mut heads);
            }
        }
        let nearest = centres.nearest(heads.view());
        for (mut sketch, &square) in numbers.outer_iter_mut().zip(squares) {
            let head: f64 = sketch.iter().map(|&x| f64::from(x).powi(2)).sum();
            let rest = ((square - head).max(0.0) + 4.0 * error * square).sqrt();
            let part = (rest / (REST as f64).sqrt()) as f32;
            sketch.slice_mut(s![k..]).fill(part);
        }
        let rows = numbers
            .outer_iter()
            .zip(squares)
            .map(|(sketch, square)| Row::new(sketch.to_slice().unwrap_or_default(), square.sqrt()));
        nearest.into_iter().zip(rows).collect()
    }

    /// Centres for the sketches of vectors like those of `sample`.
    /// There are none where they would cost more than the rest.
    pub(super) fn centres(&self, sample: &Array2<f32>) -> Centres {
        match self {
            Self::First(_) => Centres(Array2::zeros((0, self.directions()))),
            Self::Turned(Turned { rows, .. }) => Centres::of(&sample.dot(&rows.t())),
        }
    }
}

/// Directions around which rows lie. Rows that are near each other mostly have the same nearest
/// centre, so that in its order the pairs that pass a screen come together. Nothing else depends on
/// them.
pub(super) struct Centres(Array2<f32>);

impl Centres {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The most there are.
    const MOST: usize = 128;

    /// From rows that are far from each other, moved once into the middle of those nearest to them.
    fn of(sample: &Array2<f32>) -> Self {
        let mut chosen = vec![0];
        let mut nearness = sample.dot(&sample.row(0));
        while chosen.len() < Self::MOST.min(sample.nrows()) {
            let farthest = nearness
                .iter()
                .enumerate()
                .min_by(|x, y| x.1.total_cmp(y.1))
                .map_or(0, |(row, _)| row);
            chosen.push(farthest);
            let other = sample.dot(&sample.row(farthest));
            nearness.zip_mut_with(&other, |near, &other| *near = near.max(other));
        }
        let chosen = Self(sample.select(Axis(0), &chosen));
        let mut centres = Array2::zeros(chosen.0.raw_dim());
        for (row, nearest) in sample.outer_iter().zip(chosen.nearest(sample.view())) {
            centres.row_mut(nearest).scaled_add(1.0, &row);
        }
        for mut centre in centres.outer_iter_mut() {
            let length = centre.dot(&centre).sqrt().max(f32::MIN_POSITIVE);
            centre /= length;
        }
        Self(centres)
    }

    /// The number of the nearest centre of each row.
    fn nearest(&self, rows: ArrayView2<'_, f32>) -> Vec<usize> {
        if self.is_empty() {
            return vec![0; rows.nrows()];
        }
        let products = rows.dot(&self.0.t());
        let nearest = products.outer_iter().map(|products| {
            let products = products.iter().enumerate();
            let nearest = products.max_by(|x, y| x.1.total_cmp(y.1));
            nearest.map_or(0, |(centre, _)| centre)
        });
        nearest.collect()
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
mod tests {
    use proptest::prelude::*;

    use super::super::testing::near_rows;
    use super::*;

    fn squares(vectors: &Array2<f32>) -> Vec<f64> {
        let wide = vectors.mapv(f64::from);
        wide.outer_iter().map(|row| row.dot(&row)).collect()
    }

    #[test]
    fn bad_bases_are_refused() {
        let rows = near_rows(100, 30, 1);
        let mut turned = Turned::of(&rows, 20);
        assert!(turned.skew < 1e-5);
        assert!(Basis::Turned(turned.shortened(20)).margin().unwrap() < 0.001);
        turned.skew = 0.02;
        assert_eq!(Basis::Turned(turned).margin(), None);
    }

    #[test]
    fn what_is_said_of_the_basis_is_true() {
        let mut rows = near_rows(100, 30, 1);
        rows.row_mut(1).assign(&near_rows(1, 30, 2).row(0));
        let Turned { rows, skew } = Turned::of(&rows, 64);
        let wide = rows.mapv(f64::from);
        let product = wide.dot(&wide.t()) - Array2::<f64>::eye(wide.nrows());
        assert!(
            wide.nrows() <= 30,
            "there are no more directions than dimensions"
        );
        assert!((product.mapv(|x| x * x).sum().sqrt() - skew).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_product_of_sketches_is_below_its_margin(
            n in 2..40_usize,
            d in 1..130_usize,
            length in 5..70_usize,
            first: bool,
            seed: u64,
        ) {
            let mut rows = near_rows(n, d, seed);
            for (i, mut row) in rows.outer_iter_mut().enumerate() {
                row *= 10.0_f32.powi(i as i32 % 21 - 10);
            }
            let squares = squares(&rows);
            let mut sample = rows.clone();
            for (mut row, square) in sample.outer_iter_mut().zip(&squares) {
                row /= square.sqrt() as f32;
            }
            let basis = if first {
                Basis::first(length, d).unwrap()
            } else {
                Basis::Turned(Turned::of(&sample, length))
            };
            let margin = basis.margin().unwrap();
            prop_assert!(margin < 0.002);
            let sketches = basis.sketches(rows.view(), &squares, &basis.centres(&sample));
            let wide = rows.mapv(f64::from);
            let exact = wide.dot(&wide.t());
            for (a, (_, x)) in sketches.iter().enumerate() {
                for (b, (_, y)) in sketches.iter().enumerate() {
                    let cosine = exact[[a, b]] / (squares[a] * squares[b]).sqrt();
                    prop_assert!(x.bound(y) >= cosine - margin);
                }
            }
        }
    }
}
