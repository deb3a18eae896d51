//! Numbers as elements of each dtype.

use expression::DType;
use half::{bf16, f16};

/// The elements of a dtype that numbers are rounded to, or cut as `as` does it.
pub(crate) fn encode(dtype: DType, numbers: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * dtype.size());
    for &x in numbers {
        match dtype {
            DType::F64 => bytes.extend(x.to_le_bytes()),
            DType::F32 => bytes.extend((x as f32).to_le_bytes()),
            DType::F16 => bytes.extend(f16::from_f64(x).to_le_bytes()),
            DType::BF16 => bytes.extend(bf16::from_f64(x).to_le_bytes()),
            DType::I64 => bytes.extend((x as i64).to_le_bytes()),
            DType::I32 => bytes.extend((x as i64 as i32).to_le_bytes()),
            DType::I16 => bytes.extend((x as i64 as i16).to_le_bytes()),
            DType::I8 => bytes.extend((x as i64 as i8).to_le_bytes()),
            DType::U8 => bytes.extend((x as i64 as u8).to_le_bytes()),
            DType::Bool => bytes.push(u8::from(x != 0.0)),
        }
    }
    bytes
}

/// The numbers that elements of a dtype are.
pub(crate) fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    macro_rules! number {
        ($type:ty, $bytes:expr) => {
            <$type>::from_le_bytes($bytes.try_into().expect("a chunk of its size"))
        };
    }
    let number = |bytes: &[u8]| match dtype {
        DType::F64 => number!(f64, bytes),
        DType::F32 => number!(f32, bytes).into(),
        DType::F16 => number!(f16, bytes).into(),
        DType::BF16 => number!(bf16, bytes).into(),
        DType::I64 => number!(i64, bytes) as f64,
        DType::I32 => number!(i32, bytes).into(),
        DType::I16 => number!(i16, bytes).into(),
        DType::I8 => number!(i8, bytes).into(),
        DType::U8 | DType::Bool => number!(u8, bytes).into(),
    };
    bytes.chunks(dtype.size()).map(number).collect()
}

/// The numbers as they are in a dtype.
pub(crate) fn rounded(dtype: DType, numbers: &[f64]) -> Vec<f64> {
    decode(dtype, &encode(dtype, numbers))
}

/// Whether both are the same numbers, or both NaN.
#[track_caller]
pub(crate) fn assert_same(ours: &[f64], expected: &[f64], what: &str) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    for (at, (a, b)) in ours.iter().zip(expected).enumerate() {
        assert!(a == b || (a.is_nan() && b.is_nan()), "{what}: {a}, not {b}, at {at}");
    }
}

/// Whether numbers differ by less than `tolerance`, relative to the larger of 1 and the number.
#[track_caller]
pub(crate) fn assert_close(ours: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    for (at, (a, b)) in ours.iter().zip(expected).enumerate() {
        let is_close = (a - b).abs() <= tolerance * b.abs().max(1.0);
        let is_close = is_close || a == b || (a.is_nan() && b.is_nan());
        assert!(is_close, "{what}: {a}, not {b}, at {at}");
    }
}

/// Some whole numbers from -8 to 8 without a pattern.
pub(crate) fn numbers(count: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % 17
    };
    (0..count).map(|_| next() as f64 - 8.0).collect()
}
