//! Token vectors to one vector of a text, and vectors to unit length.

use super::Pooling;

/// One vector for an input from the vectors of its tokens.
///
/// `hidden` holds the model's output for the input, `dims` numbers a token, padding last; only
/// the first `tokens` vectors count.
pub(crate) fn pool(hidden: &[f32], tokens: usize, dims: usize, pooling: Pooling) -> Vec<f32> {
    match pooling {
        Pooling::Cls => hidden[..dims].to_vec(),
        Pooling::Mean => {
            let mut sum = vec![0.0f32; dims];
            for token in hidden[..tokens * dims].chunks_exact(dims) {
                add(&mut sum, token, 1.0);
            }
            sum.iter().map(|x| x / tokens as f32).collect()
        }
    }
}

/// Adds `weight * vector` to `sum`, which has the same length.
pub(crate) fn add(sum: &mut [f32], vector: &[f32], weight: f32) {
    for (sum, x) in sum.iter_mut().zip(vector) {
        *sum += weight * x;
    }
}

/// The vector in unit length; `None` if it has no direction (zero or not finite).
pub(crate) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let norm = vector
        .iter()
        .map(|x| f64::from(*x).powi(2))
        .sum::<f64>()
        .sqrt();
    (norm.is_finite() && norm > 1e-12).then(|| {
        vector
            .iter()
            .map(|x| (f64::from(*x) / norm) as f32)
            .collect()
    })
}

/// Cosine distance, 0 … 2, computed in f64; 2 where one has no direction or lengths differ.
pub(crate) fn distance(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 2.0;
    }
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum()
    };
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms.is_finite() && norms > 0.0 {
        (1.0 - dot(a, b) / norms).clamp(0.0, 2.0)
    } else {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_leaves_padding_out() {
        let hidden = [1.0, 2.0, 3.0, 4.0, 90.0, 90.0];
        assert_eq!(pool(&hidden, 2, 2, Pooling::Mean), [2.0, 3.0]);
        assert_eq!(pool(&hidden, 2, 2, Pooling::Cls), [1.0, 2.0]);
    }

    #[test]
    fn unit_length_or_nothing() {
        assert_eq!(unit(&[3.0, 4.0]), Some(vec![0.6, 0.8]));
        assert_eq!(unit(&[0.0, 0.0]), None);
        assert_eq!(unit(&[f32::NAN, 1.0]), None);
        assert_eq!(unit(&[f32::INFINITY, 1.0]), None);
    }

    #[test]
    fn distance_is_that_of_the_angle() {
        assert!(distance(&[1.0, 0.0], &[5.0, 0.0]).abs() < 1e-12);
        assert!((distance(&[1.0, 0.0], &[0.0, 2.0]) - 1.0).abs() < 1e-12);
        assert!((distance(&[1.0, 0.0], &[-2.0, 0.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_direction_is_as_far_as_can_be() {
        assert_eq!(distance(&[0.0, 0.0], &[1.0, 0.0]), 2.0);
        assert_eq!(distance(&[f32::NAN, 0.0], &[1.0, 0.0]), 2.0);
        assert_eq!(distance(&[1.0], &[1.0, 0.0]), 2.0);
    }
}
