//! Stored vectors to numbers and back: the data types of an index, and arrays in JSON.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use super::numbers;

/// The data type of the numbers in a vector field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Dtype {
    /// 4 bytes a number.
    Float32,
    /// 8 bytes a number.
    Float64,
    /// 2 bytes a number, IEEE half precision.
    Float16,
    /// 2 bytes a number, the upper half of an f32.
    Bfloat16,
    /// 1 byte a number, -128 to 127.
    Int8,
    /// 1 byte a number, 0 to 255.
    Uint8,
}

impl Dtype {
    /// The type that the server calls `name`, if memfold knows it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "FLOAT32" => Some(Self::Float32),
            "FLOAT64" => Some(Self::Float64),
            "FLOAT16" => Some(Self::Float16),
            "BFLOAT16" => Some(Self::Bfloat16),
            "INT8" => Some(Self::Int8),
            "UINT8" => Some(Self::Uint8),
            _ => None,
        }
    }

    /// Bytes a number.
    pub fn width(self) -> usize {
        match self {
            Self::Float32 => 4,
            Self::Float64 => 8,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int8 | Self::Uint8 => 1,
        }
    }

    /// Whether it holds whole numbers only.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Int8 | Self::Uint8)
    }

    /// What the index makes of `number`; infinite where the type cannot hold it.
    fn held(self, number: f32) -> f32 {
        let whole = |least: f32, most: f32| {
            if number.fract() == 0.0 && (least..=most).contains(&number) {
                number
            } else {
                f32::INFINITY
            }
        };
        match self {
            Self::Float32 | Self::Float64 => number,
            Self::Float16 => f16::from_f32(number).to_f32(),
            Self::Bfloat16 => bf16::from_f32(number).to_f32(),
            Self::Int8 => whole(-128.0, 127.0),
            Self::Uint8 => whole(0.0, 255.0),
        }
    }
}

/// Why bytes or text are no vector of the index. Positions count from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The bytes are more or fewer than `dims` numbers take.
    #[error("the vector is {found} bytes long, the index expects {expected}")]
    Bytes {
        /// Length found.
        found: usize,
        /// Length of `dims` numbers of the index's type.
        expected: usize,
    },
    /// Another number of numbers.
    #[error("the vector has {found} numbers, the index expects {expected}")]
    Dims {
        /// Numbers found.
        found: usize,
        /// Dimensions of the index.
        expected: usize,
    },
    /// Not an array of numbers.
    #[error("the vector is not an array of numbers")]
    NotNumbers,
    /// A number is NaN, infinite or none of its type.
    #[error("number {0} of the vector is not finite or none that the index's data type can hold")]
    NotFinite(usize),
    /// All numbers are zero, so that it has no direction.
    #[error("the vector is zero")]
    Zero,
    /// In an index whose distances depend on it, the vector has another length than 1.
    #[error(
        "the vector has length {length:.3}, and {metric} distances are cosine distances only \
         between vectors of length 1"
    )]
    Length {
        /// The length found.
        length: f64,
        /// The index's metric.
        metric: &'static str,
    },
}

/// Reads little-endian numbers of type `dtype` as f32.
///
/// # Errors
/// [`VectorError`] if they are not `dims` finite numbers, or all zero.
pub(crate) fn decode(bytes: &[u8], dtype: Dtype, dims: usize) -> Result<Vec<f32>, VectorError> {
    let expected = dims.saturating_mul(dtype.width());
    if bytes.len() != expected {
        return Err(VectorError::Bytes {
            found: bytes.len(),
            expected,
        });
    }
    let numbers = match dtype {
        Dtype::Float32 => each(bytes, f32::from_le_bytes),
        Dtype::Float64 => each(bytes, |number| f64::from_le_bytes(number) as f32),
        Dtype::Float16 => each(bytes, |number| f16::from_le_bytes(number).to_f32()),
        Dtype::Bfloat16 => each(bytes, |number| bf16::from_le_bytes(number).to_f32()),
        Dtype::Int8 => each(bytes, |number| f32::from(i8::from_le_bytes(number))),
        Dtype::Uint8 => each(bytes, |number| f32::from(u8::from_le_bytes(number))),
    };
    check_held(&numbers, Dtype::Float32)?;
    Ok(numbers)
}

/// Writes numbers as little-endian bytes of type `dtype`, as a HASH field or a query holds them.
///
/// # Errors
/// [`VectorError`] if a number is not finite in `dtype`, or all are zero there.
pub(crate) fn encode(vector: &[f32], dtype: Dtype) -> Result<Vec<u8>, VectorError> {
    check_held(vector, dtype)?;
    Ok(match dtype {
        Dtype::Float32 => vector.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Dtype::Float64 => vector
            .iter()
            .flat_map(|n| f64::from(*n).to_le_bytes())
            .collect(),
        Dtype::Float16 => vector
            .iter()
            .flat_map(|n| f16::from_f32(*n).to_le_bytes())
            .collect(),
        Dtype::Bfloat16 => vector
            .iter()
            .flat_map(|n| bf16::from_f32(*n).to_le_bytes())
            .collect(),
        // Whole and in range: checked above.
        Dtype::Int8 => vector
            .iter()
            .flat_map(|n| (*n as i8).to_le_bytes())
            .collect(),
        Dtype::Uint8 => vector.iter().map(|n| *n as u8).collect(),
    })
}

/// The numbers of a new vector that can be written in `dtype`: for whole numbers those of the same
/// direction, scaled to fill the type's range and rounded; else the numbers as they are.
///
/// # Errors
/// [`VectorError::NotFinite`] for a negative number where `dtype` has none.
pub(crate) fn quantized(vector: &[f32], dtype: Dtype) -> Result<Vec<f32>, VectorError> {
    let most = match dtype {
        Dtype::Int8 => 127.0,
        Dtype::Uint8 => 255.0,
        _ => return Ok(vector.to_vec()),
    };
    if let Some(position) = vector
        .iter()
        .position(|n| dtype == Dtype::Uint8 && *n < 0.0)
    {
        return Err(VectorError::NotFinite(position));
    }
    let largest = vector.iter().fold(0.0, |most: f32, n| most.max(n.abs()));
    Ok(vector
        .iter()
        .map(|n| (n / largest * most).round())
        .collect())
}

/// Reads the text of a JSON array of numbers as f32.
///
/// # Errors
/// [`VectorError`] if it is no such array of `dims` numbers that `dtype` holds, or all are zero.
pub(crate) fn from_json(text: &str, dtype: Dtype, dims: usize) -> Result<Vec<f32>, VectorError> {
    let numbers = numbers::parse(text, dims).ok_or(VectorError::NotNumbers)?;
    if numbers.len() != dims {
        return Err(VectorError::Dims {
            found: numbers.len(),
            expected: dims,
        });
    }
    check_held(&numbers, dtype)?;
    Ok(numbers)
}

/// Writes numbers as a JSON array, each with the fewest digits that read back as the same f32.
///
/// # Errors
/// [`VectorError`] if a number is not finite in `dtype`, or all are zero there.
pub(crate) fn to_json(vector: &[f32], dtype: Dtype) -> Result<String, VectorError> {
    check_held(vector, dtype)?;
    let number = |number: &f32| match dtype.is_whole() {
        true => (*number as i32).to_string(), // the server takes no `1.0` there
        false => format!("{number:?}"),
    };
    let numbers: Vec<_> = vector.iter().map(number).collect();
    Ok(format!("[{}]", numbers.join(",")))
}

fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|chunk| number(*chunk))
        .collect()
}

fn check_held(vector: &[f32], dtype: Dtype) -> Result<(), VectorError> {
    if matches!(dtype, Dtype::Float32 | Dtype::Float64) && is_finite(vector) {
        return match is_zero(vector) {
            true => Err(VectorError::Zero),
            false => Ok(()),
        };
    }
    if let Some(position) = vector
        .iter()
        .position(|number| !dtype.held(*number).is_finite())
    {
        return Err(VectorError::NotFinite(position));
    }
    if vector.iter().all(|number| dtype.held(*number) == 0.0) {
        return Err(VectorError::Zero);
    }
    Ok(())
}

/// Whether all numbers are finite: looked at in any order, so that a processor can look at several
/// at once.
fn is_finite(vector: &[f32]) -> bool {
    vector.iter().fold(true, |all, n| all & n.is_finite())
}

/// Whether all numbers are zero; most vectors show at the first that they are not.
fn is_zero(vector: &[f32]) -> bool {
    vector.iter().all(|number| *number == 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Dtype; 6] = [
        Dtype::Float32,
        Dtype::Float64,
        Dtype::Float16,
        Dtype::Bfloat16,
        Dtype::Int8,
        Dtype::Uint8,
    ];

    #[test]
    fn each_type_reads_back_what_it_wrote() {
        for dtype in ALL {
            let vector = match dtype {
                Dtype::Int8 => [1.0, -128.0, 127.0, 0.0],
                Dtype::Uint8 => [1.0, 0.0, 255.0, 128.0],
                _ => [1.0, -0.5, 0.25, 2.0], // exact in each
            };
            let bytes = encode(&vector, dtype).unwrap();
            assert_eq!(bytes.len(), 4 * dtype.width());
            assert_eq!(decode(&bytes, dtype, 4).unwrap(), vector);
        }
    }

    #[test]
    fn the_bytes_are_the_known_ones() {
        assert_eq!(encode(&[1.0], Dtype::Float32).unwrap(), [0, 0, 0x80, 0x3f]);
        assert_eq!(
            encode(&[1.0], Dtype::Float64).unwrap(),
            [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]
        );
        assert_eq!(encode(&[1.0], Dtype::Float16).unwrap(), [0, 0x3c]);
        assert_eq!(encode(&[1.0], Dtype::Bfloat16).unwrap(), [0x80, 0x3f]);
        assert_eq!(encode(&[-1.0, 127.0], Dtype::Int8).unwrap(), [0xff, 0x7f]);
        assert_eq!(encode(&[1.0, 255.0], Dtype::Uint8).unwrap(), [0x01, 0xff]);
    }

    #[test]
    fn whole_numbers_stay_whole() {
        for (dtype, refused) in [
            (Dtype::Int8, &[0.5, 128.0, -129.0, f32::NAN][..]),
            (Dtype::Uint8, &[0.5, 256.0, -1.0]),
        ] {
            assert_eq!(to_json(&[7.0, 0.0], dtype).unwrap(), "[7,0]");
            assert_eq!(from_json("[7,0.0]", dtype, 2).unwrap(), [7.0, 0.0]);
            for number in refused {
                let error = Err(VectorError::NotFinite(1));
                assert_eq!(encode(&[1.0, *number], dtype), error, "{number}");
                let json = from_json(&format!("[1,{number:?}]"), dtype, 2);
                assert!(json.is_err(), "{number}");
            }
        }
    }

    #[test]
    fn a_new_vector_fills_the_range_of_whole_numbers() {
        let vector = [0.6, -0.8, 0.0];
        assert_eq!(
            quantized(&vector, Dtype::Int8).unwrap(),
            [95.0, -127.0, 0.0]
        );
        let negative = quantized(&vector, Dtype::Uint8);
        assert_eq!(negative, Err(VectorError::NotFinite(1)));
        assert_eq!(
            quantized(&[0.6, 0.8], Dtype::Uint8).unwrap(),
            [191.0, 255.0]
        );
        assert_eq!(quantized(&vector, Dtype::Float16).unwrap(), vector);
    }

    #[test]
    fn wrong_lengths_are_told() {
        let half = decode(&[0; 8], Dtype::Float32, 4);
        assert_eq!(
            half,
            Err(VectorError::Bytes {
                found: 8,
                expected: 16
            })
        );
        assert_eq!(
            from_json("[1,2]", Dtype::Float32, 4),
            Err(VectorError::Dims {
                found: 2,
                expected: 4
            })
        );
        assert_eq!(
            from_json("[]", Dtype::Float32, 4),
            Err(VectorError::Dims {
                found: 0,
                expected: 4
            })
        );
    }

    #[test]
    fn what_is_not_finite_or_zero_is_refused() {
        let bytes = [1.0f32.to_le_bytes(), f32::NAN.to_le_bytes()].concat();
        assert_eq!(
            decode(&bytes, Dtype::Float32, 2),
            Err(VectorError::NotFinite(1))
        );
        assert_eq!(decode(&[0; 8], Dtype::Float32, 2), Err(VectorError::Zero));
        assert_eq!(
            decode(&1e300f64.to_le_bytes(), Dtype::Float64, 1),
            Err(VectorError::NotFinite(0))
        );
        assert_eq!(
            from_json("[1,1e400]", Dtype::Float32, 2),
            Err(VectorError::NotFinite(1))
        );
        assert_eq!(
            from_json("[0,0.0,-0]", Dtype::Float32, 3),
            Err(VectorError::Zero)
        );
        for text in [
            "",
            "1",
            "[1,]",
            "[,1]",
            "[\"1\",2]",
            "[null,1]",
            "[NaN,1]",
            "[inf,1]",
            "[[1],2]",
        ] {
            assert_eq!(
                from_json(text, Dtype::Float32, 2),
                Err(VectorError::NotNumbers),
                "{text}"
            );
        }
    }

    #[test]
    fn a_number_beyond_the_type_is_refused() {
        assert_eq!(
            encode(&[1.0, 70_000.0], Dtype::Float16),
            Err(VectorError::NotFinite(1))
        );
        assert_eq!(
            to_json(&[1.0, 70_000.0], Dtype::Float16),
            Err(VectorError::NotFinite(1))
        );
        assert_eq!(encode(&[1e-30], Dtype::Float16), Err(VectorError::Zero));
        assert!(encode(&[70_000.0], Dtype::Bfloat16).is_ok());
        assert_eq!(
            encode(&[f32::MAX], Dtype::Bfloat16),
            Err(VectorError::NotFinite(0))
        );
    }

    proptest! {
        #[test]
        fn json_reads_back_the_same_f32(vector in prop::collection::vec(prop::num::f32::NORMAL, 1..50)) {
            let text = to_json(&vector, Dtype::Float32).unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
            prop_assert_eq!(from_json(&text, Dtype::Float32, vector.len()).unwrap(), vector);
        }

        #[test]
        fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), dims in 0usize..10) {
            for dtype in ALL {
                if let Ok(vector) = decode(&bytes, dtype, dims) {
                    prop_assert_eq!(decode(&encode(&vector, dtype).unwrap(), dtype, dims).unwrap(), vector);
                }
            }
        }

        #[test]
        fn text_never_panics(text in ".*", dims in 0usize..10) {
            let _ = from_json(&text, Dtype::Float32, dims);
        }
    }
}
