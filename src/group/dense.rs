//! Ruling pairs out by products in f32: for processors that multiply codes no faster.
//!
//! The product of two rows of length 1 is that of their first dimensions and that of the rest, which
//! is at most the product of the rests' lengths (Cauchy and Schwarz). Where that leaves few pairs,
//! as a sample shows, the rest is not multiplied at all.

use std::ops::Range;

use ndarray::Array2;
use ndarray::linalg::general_mat_mul;

use super::join::{Pass, Rows};
use super::screen::{LEAST_ROWS, PARTS, SAMPLE};
use super::sketch::gamma;

/// Rows that are compared with as many others at once: their product stays in a second-level cache.
const TILE: usize = 192;

/// What an exact distance costs a dimension, in products of f32 (measured).
const COST_OF_DISTANCE: f64 = 64.0;

/// The rows that take part, as they are. Every pair of rows within the threshold passes.
pub(super) struct Dense<'a> {
    rows: &'a Rows<'a>,
    /// The rows in the order in which they are scanned. Slots are places in it.
    order: Vec<usize>,
    threshold: f64,
    /// How many dimensions are multiplied.
    kept: usize,
}

impl<'a> Dense<'a> {
    /// Of some rows, of which the `first` are to be compared with all later ones.
    pub(super) fn new(rows: &'a Rows<'a>, order: Vec<usize>, first: usize, threshold: f64) -> Self {
        let kept = enough(rows, &order[..first], threshold);
        Self {
            rows,
            threshold,
            kept,
            order,
        }
    }

    /// With so many dimensions, whether that is worth it or not.
    #[cfg(test)]
    pub(super) fn forced(
        rows: &'a Rows<'a>,
        order: Vec<usize>,
        threshold: f64,
        kept: usize,
    ) -> Self {
        Self {
            rows,
            threshold,
            kept: kept.min(rows.dims),
            order,
        }
    }

    /// The least product as computed that a pair within the threshold may have. Off are the rounding of
    /// the rows to length 1, of their products and of the rests' lengths to f32 (each below `gamma`);
    /// and a rest that is nearly nothing, being a root of a difference in f64, by 10⁻⁷ at most for a
    /// hundred dimensions, which is far below what `gamma` has to spare there.
    fn floor(&self) -> f32 {
        (1.0 - self.threshold - 2.0 * gamma(self.kept) - 1e-6) as f32
    }

    fn tile(&self, slots: Range<usize>) -> Tile {
        let mut heads = Array2::zeros((slots.len(), self.kept));
        let mut rests = Vec::with_capacity(slots.len());
        for (mut head, &row) in heads.outer_iter_mut().zip(&self.order[slots]) {
            let square = self.rows.square(row);
            let scale = 1.0 / square.sqrt();
            let mut kept = 0.0;
            for (to, &x) in head.iter_mut().zip(self.rows.row(row)) {
                let x = f64::from(x);
                kept += x * x;
                *to = (x * scale) as f32;
            }
            let rest = if self.kept < self.rows.dims {
                (1.0 - kept / square).max(0.0)
            } else {
                0.0
            };
            rests.push(rest.sqrt() as f32);
        }
        Tile { heads, rests }
    }
}

/// How many dimensions are best multiplied to compare `used` with all others.
fn enough(rows: &Rows<'_>, used: &[usize], threshold: f64) -> usize {
    let dims = rows.dims;
    if used.len() < LEAST_ROWS {
        return dims;
    }
    let step = (used.len() / SAMPLE).max(1);
    let sample: Vec<usize> = used.iter().copied().step_by(step).collect();
    let pairs = (sample.len() * (sample.len() - 1) / 2) as f64;
    let costs = PARTS.map(|part| {
        let kept = (dims / part).max(1);
        let mut passing = 0;
        let tried = Dense {
            rows,
            order: sample.clone(),
            threshold,
            kept,
        };
        tried.scan(0..sample.len(), &mut |_, _| passing += 1);
        let distances = f64::from(passing) / pairs * COST_OF_DISTANCE * dims as f64;
        (kept as f64 + distances, kept)
    });
    let best = costs.into_iter().min_by(|x, y| x.0.total_cmp(&y.0));
    let best = best.filter(|(cost, _)| *cost < dims as f64);
    best.map_or(dims, |(_, kept)| kept)
}

impl Pass for Dense<'_> {
    fn band(&self) -> usize {
        TILE
    }

    fn scan(&self, band: Range<usize>, found: &mut dyn FnMut(usize, usize)) {
        let floor = self.floor();
        for top in band.clone().step_by(TILE) {
            let left = self.tile(top..band.end.min(top + TILE));
            for start in (top..self.order.len()).step_by(TILE) {
                let right = self.tile(start..self.order.len().min(start + TILE));
                let mut products = left.rests(&right);
                general_mat_mul(1.0, &left.heads, &right.heads.t(), 1.0, &mut products);
                for (row, products) in products.outer_iter().enumerate() {
                    let first = (top + row + 1).saturating_sub(start).min(products.len());
                    // Rarely is there any, and the greatest is soon found.
                    if products.fold(f32::MIN, |most, &product| most.max(product)) < floor {
                        continue;
                    }
                    for (column, &product) in products.iter().enumerate().skip(first) {
                        if product >= floor {
                            found(self.order[top + row], self.order[start + column]);
                        }
                    }
                }
            }
        }
    }
}

/// Some rows in length 1.
struct Tile {
    /// The dimensions that are kept.
    heads: Array2<f32>,
    /// The lengths of the others.
    rests: Vec<f32>,
}

impl Tile {
    /// The products of the rests' lengths.
    fn rests(&self, other: &Self) -> Array2<f32> {
        let other_rests = ndarray::aview1(&other.rests);
        let mut products = Array2::zeros((self.rests.len(), other.rests.len()));
        for (mut row, &rest) in products.outer_iter_mut().zip(&self.rests) {
            row.assign(&(&other_rests * rest));
        }
        products
    }
}
