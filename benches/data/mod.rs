//! Synthetic memories: 384 dimensions, 30 % of them in groups of 2 to 5 within distance 0.08 of a
//! centre, all from 50 topics (within one, cosines of 0.3 to 0.7).

use ndarray::{Array1, Array2, ArrayView1};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Numbers in a vector.
pub(crate) const DIMS: usize = 384;

/// Cosine distance within which two memories are near.
pub(crate) const THRESHOLD: f64 = 0.1;

/// `n` unit rows, the groups spread over all of them.
pub(crate) fn memories(n: usize) -> Array2<f32> {
    let random = &mut StdRng::seed_from_u64(20_260_101);
    let topics: Vec<Array1<f32>> = (0..50).map(|_| direction(random)).collect();
    let single = |random: &mut StdRng| {
        let topic = &topics[random.random_range(0..topics.len())];
        at_cosine(
            topic.view(),
            random.random_range(0.3_f32..0.7).sqrt(),
            random,
        )
    };
    let mut rows: Vec<Array1<f32>> = Vec::with_capacity(n);
    while rows.len() < n * 3 / 10 {
        let centre = single(random);
        for _ in 0..random.random_range(2..=5).min(n * 3 / 10 - rows.len()) {
            rows.push(at_cosine(
                centre.view(),
                1.0 - random.random_range(0.0..0.08),
                random,
            ));
        }
    }
    rows.resize_with(n, || single(random));
    // A step without a common divisor with n visits every place once.
    let step = 7_919;
    Array2::from_shape_fn((n, DIMS), |(row, column)| rows[row * step % n][column])
}

/// A random unit vector.
fn direction(random: &mut StdRng) -> Array1<f32> {
    // The sum of twelve uniform numbers is normally distributed, nearly.
    let normal = |_| (0..12).map(|_| random.random::<f32>()).sum::<f32>() - 6.0;
    let vector = Array1::from_shape_fn(DIMS, normal);
    let length = vector.dot(&vector).sqrt();
    vector / length
}

/// A random unit vector at this cosine to the unit vector `axis`.
fn at_cosine(axis: ArrayView1<'_, f32>, cosine: f32, random: &mut StdRng) -> Array1<f32> {
    let aside = direction(random);
    let aside = &aside - &(&axis * aside.dot(&axis));
    let length = aside.dot(&aside).sqrt();
    &axis * cosine + aside * ((1.0 - cosine * cosine).sqrt() / length)
}
