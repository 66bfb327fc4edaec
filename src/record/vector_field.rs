//! A vector field that memfold can use, and how its vectors are read and written.
//!
//! Thresholds and distances are cosine distances everywhere, computed on this machine, whatever
//! the index compares by. Where the index's metric depends on the length of vectors, it orders
//! them as cosine distance does only if all have length 1; others are refused one by one.

use super::vector::{self, Dtype, VectorError};

/// How far the length may be from 1: more than the rounding of BFLOAT16 takes.
const LENGTH_TOLERANCE: f64 = 0.005;

/// What the index compares vectors by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// 1 less the cosine of the angle.
    Cosine,
    /// The square of the Euclidean distance, as the server reports it.
    L2,
    /// 1 less the inner product.
    Ip,
}

impl Metric {
    /// The metric that the server calls `name`, if memfold knows it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "COSINE" => Some(Self::Cosine),
            "L2" => Some(Self::L2),
            "IP" => Some(Self::Ip),
            _ => None,
        }
    }

    /// The server's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "COSINE",
            Self::L2 => "L2",
            Self::Ip => "IP",
        }
    }

    /// What the server reports between vectors of length 1 at a cosine distance.
    pub fn of_cosine(self, distance: f64) -> f64 {
        match self {
            Self::Cosine | Self::Ip => distance,
            Self::L2 => 2.0 * distance,
        }
    }

    fn check(self, numbers: &[f32]) -> Result<(), VectorError> {
        if self == Self::Cosine {
            return Ok(());
        }
        let squares: f64 = numbers.iter().map(|n| f64::from(*n) * f64::from(*n)).sum();
        let length = squares.sqrt();
        if (length - 1.0).abs() <= LENGTH_TOLERANCE {
            return Ok(());
        }
        let metric = self.name();
        Err(VectorError::Length { length, metric })
    }
}

/// A vector field that memfold can use.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorField {
    /// Where the vector is: a JSON path, or the name of a hash field.
    pub path: String,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Numbers a vector.
    pub dims: usize,
    /// What the index compares by.
    pub metric: Metric,
}

impl VectorField {
    /// Reads the bytes of a hash field.
    ///
    /// # Errors
    /// [`VectorError`] if they are no vector of this field, or one that its metric does not suit.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<f32>, VectorError> {
        let numbers = vector::decode(bytes, self.dtype, self.dims)?;
        self.metric.check(&numbers)?;
        Ok(numbers)
    }

    /// Reads the text of a JSON array.
    ///
    /// # Errors
    /// As [`VectorField::decode`].
    pub fn from_json(&self, text: &str) -> Result<Vec<f32>, VectorError> {
        let numbers = vector::from_json(text, self.dtype, self.dims)?;
        self.metric.check(&numbers)?;
        Ok(numbers)
    }

    /// Writes a new vector as the bytes of a hash field.
    ///
    /// # Errors
    /// [`VectorError`] if the field cannot hold it.
    pub fn encode(&self, numbers: &[f32]) -> Result<Vec<u8>, VectorError> {
        vector::encode(&self.fitted(numbers)?, self.dtype)
    }

    /// Writes a new vector as a JSON array.
    ///
    /// # Errors
    /// As [`VectorField::encode`].
    pub fn to_json(&self, numbers: &[f32]) -> Result<String, VectorError> {
        vector::to_json(&self.fitted(numbers)?, self.dtype)
    }

    fn fitted(&self, numbers: &[f32]) -> Result<Vec<f32>, VectorError> {
        if numbers.len() != self.dims {
            return Err(VectorError::Dims {
                found: numbers.len(),
                expected: self.dims,
            });
        }
        self.metric.check(numbers)?;
        vector::quantized(numbers, self.dtype)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(metric: Metric, dtype: Dtype) -> VectorField {
        VectorField {
            path: "embedding".into(),
            dtype,
            dims: 2,
            metric,
        }
    }

    #[test]
    fn only_where_length_counts_it_must_be_one() {
        let long = vector::encode(&[3.0, 4.0], Dtype::Float32).unwrap();
        assert!(field(Metric::Cosine, Dtype::Float32).decode(&long).is_ok());
        for metric in [Metric::L2, Metric::Ip] {
            let field = field(metric, Dtype::Float32);
            let error = field.decode(&long).unwrap_err().to_string();
            assert!(
                error.contains("5.000") && error.contains(metric.name()),
                "{error}"
            );
            assert!(field.from_json("[3,4]").is_err());
            assert!(field.encode(&[3.0, 4.0]).is_err());
            assert_eq!(field.from_json("[0.6,0.8]").unwrap(), [0.6, 0.8]);
        }
    }

    #[test]
    fn rounding_to_two_bytes_is_no_other_length() {
        for dtype in [Dtype::Float16, Dtype::Bfloat16] {
            let field = field(Metric::L2, dtype);
            for angle in 0..100 {
                let (sin, cos) = (angle as f32).sin_cos();
                let bytes = field.encode(&[sin, cos]).unwrap();
                assert!(field.decode(&bytes).is_ok(), "{dtype:?} {angle}");
            }
        }
    }

    #[test]
    fn new_whole_numbers_point_the_same_way() {
        let field = field(Metric::Cosine, Dtype::Int8);
        assert_eq!(field.to_json(&[0.6, -0.8]).unwrap(), "[95,-127]");
        assert_eq!(field.decode(&[95, 0x81]).unwrap(), [95.0, -127.0]);
        let dims = VectorError::Dims {
            found: 1,
            expected: 2,
        };
        assert_eq!(field.encode(&[1.0]), Err(dims));
    }

    proptest! {
        /// What `of_cosine` says is what the server computes by its definitions.
        #[test]
        fn metrics_agree_on_vectors_of_length_one(a in 0.0f64..6.3, b in 0.0f64..6.3) {
            let (x, y) = (a.sin_cos(), b.sin_cos());
            let cosine = 1.0 - (x.0 * y.0 + x.1 * y.1);
            let l2 = (x.0 - y.0).powi(2) + (x.1 - y.1).powi(2);
            prop_assert!((Metric::L2.of_cosine(cosine) - l2).abs() < 1e-9);
            prop_assert!((Metric::Ip.of_cosine(cosine) - cosine).abs() < 1e-9);
        }
    }
}
