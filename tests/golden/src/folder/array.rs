//! Numbers on the host.

use half::{bf16, f16};

/// A tensor's numbers on the host, in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct HostArray {
    /// The short name of the dtype.
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: HostNumbers,
}

/// Numbers of one category: floats as `f64`, integers and truth values as `i64`, all of them exactly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HostNumbers {
    Floating(Vec<f64>),
    Whole(Vec<i64>),
}

impl HostNumbers {
    /// The numbers at these positions; `None` if one does not exist.
    pub(crate) fn at(&self, positions: &[usize]) -> Option<HostNumbers> {
        fn pick<T: Copy>(numbers: &[T], positions: &[usize]) -> Option<Vec<T>> {
            positions.iter().map(|&at| numbers.get(at).copied()).collect()
        }
        Some(match self {
            HostNumbers::Floating(numbers) => HostNumbers::Floating(pick(numbers, positions)?),
            HostNumbers::Whole(numbers) => HostNumbers::Whole(pick(numbers, positions)?),
        })
    }

    pub(crate) fn to_f64(&self) -> Vec<f64> {
        match self {
            HostNumbers::Floating(numbers) => numbers.clone(),
            HostNumbers::Whole(numbers) => numbers.iter().map(|&number| number as f64).collect(),
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
pub(crate) fn decode(dtype: &str, bytes: &[u8]) -> Option<HostNumbers> {
    fn each<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|chunk| read(*chunk)).collect()
    }
    Some(match dtype {
        "f64" => HostNumbers::Floating(each(bytes, f64::from_le_bytes)),
        "f32" => HostNumbers::Floating(each(bytes, |b| f64::from(f32::from_le_bytes(b)))),
        "f16" => HostNumbers::Floating(each(bytes, |b| f16::from_le_bytes(b).to_f64())),
        "bf16" => HostNumbers::Floating(each(bytes, |b| bf16::from_le_bytes(b).to_f64())),
        "i64" => HostNumbers::Whole(each(bytes, i64::from_le_bytes)),
        "i32" => HostNumbers::Whole(each(bytes, |b| i64::from(i32::from_le_bytes(b)))),
        "i16" => HostNumbers::Whole(each(bytes, |b| i64::from(i16::from_le_bytes(b)))),
        "i8" => HostNumbers::Whole(each(bytes, |b: [u8; 1]| i64::from(b[0] as i8))),
        "u8" | "bool" => HostNumbers::Whole(each(bytes, |b: [u8; 1]| i64::from(b[0]))),
        _ => return None,
    })
}

impl HostArray {
    /// Zeros of the same dtype and shape.
    pub(crate) fn zeros(&self) -> HostArray {
        let numbers = match &self.numbers {
            HostNumbers::Floating(numbers) => HostNumbers::Floating(vec![0.0; numbers.len()]),
            HostNumbers::Whole(numbers) => HostNumbers::Whole(vec![0; numbers.len()]),
        };
        HostArray { dtype: self.dtype.clone(), shape: self.shape.clone(), numbers }
    }
}
