//! Numbers on the host.

use half::{bf16, f16};

/// A tensor's numbers on the host, in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    /// The short name of the dtype.
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: Numbers,
}

/// Numbers of one category: floats as `f64`, integers and truth values as `i64`, all of them exactly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    Floating(Vec<f64>),
    Whole(Vec<i64>),
}

impl Numbers {
    /// The numbers at these positions; `None` if one does not exist.
    pub(crate) fn at(&self, positions: &[usize]) -> Option<Numbers> {
        fn pick<T: Copy>(numbers: &[T], positions: &[usize]) -> Option<Vec<T>> {
            positions.iter().map(|&at| numbers.get(at).copied()).collect()
        }
        Some(match self {
            Numbers::Floating(numbers) => Numbers::Floating(pick(numbers, positions)?),
            Numbers::Whole(numbers) => Numbers::Whole(pick(numbers, positions)?),
        })
    }

    pub(crate) fn to_f64(&self) -> Vec<f64> {
        match self {
            Numbers::Floating(numbers) => numbers.clone(),
            Numbers::Whole(numbers) => numbers.iter().map(|&number| number as f64).collect(),
        }
    }
}

/// The bytes of an element of the dtype with this short name.
pub(crate) fn size_of(dtype: &str) -> Option<usize> {
    Some(match dtype {
        "f64" | "i64" => 8,
        "f32" | "i32" => 4,
        "f16" | "bf16" | "i16" => 2,
        "i8" | "u8" | "bool" => 1,
        _ => return None,
    })
}

/// The numbers of a dtype that lie in `bytes` in little-endian order.
pub(crate) fn decode(dtype: &str, bytes: &[u8]) -> Option<Numbers> {
    fn each<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|chunk| read(*chunk)).collect()
    }
    Some(match dtype {
        "f64" => Numbers::Floating(each(bytes, f64::from_le_bytes)),
        "f32" => Numbers::Floating(each(bytes, |b| f64::from(f32::from_le_bytes(b)))),
        "f16" => Numbers::Floating(each(bytes, |b| f16::from_le_bytes(b).to_f64())),
        "bf16" => Numbers::Floating(each(bytes, |b| bf16::from_le_bytes(b).to_f64())),
        "i64" => Numbers::Whole(each(bytes, i64::from_le_bytes)),
        "i32" => Numbers::Whole(each(bytes, |b| i64::from(i32::from_le_bytes(b)))),
        "i16" => Numbers::Whole(each(bytes, |b| i64::from(i16::from_le_bytes(b)))),
        "i8" => Numbers::Whole(each(bytes, |b: [u8; 1]| i64::from(b[0] as i8))),
        "u8" | "bool" => Numbers::Whole(each(bytes, |b: [u8; 1]| i64::from(b[0]))),
        _ => return None,
    })
}

impl Array {
    /// Zeros of the same dtype and shape.
    pub(crate) fn zeros(&self) -> Array {
        let numbers = match &self.numbers {
            Numbers::Floating(numbers) => Numbers::Floating(vec![0.0; numbers.len()]),
            Numbers::Whole(numbers) => Numbers::Whole(vec![0; numbers.len()]),
        };
        Array { dtype: self.dtype.clone(), shape: self.shape.clone(), numbers }
    }
}
