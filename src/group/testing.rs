//! Rows for tests.

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
