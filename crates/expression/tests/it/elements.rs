//! Elements in memory, and the values that are computed of them.

use expression::{ComputeType, DType};
use half::{bf16, f16};

/// The value of an element, by its bits, in the dtype's compute type.
pub(crate) fn decode(dtype: DType, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(word);
    match dtype {
        DType::F64 | DType::I64 | DType::F32 | DType::I32 | DType::U8 => word,
        DType::F16 => u64::from(f16::from_bits(word as u16).to_f32().to_bits()),
        DType::BF16 => u64::from(bf16::from_bits(word as u16).to_f32().to_bits()),
        DType::I16 => u64::from(i32::from(word as u16 as i16) as u32),
        DType::I8 => u64::from(i32::from(word as u8 as i8) as u32),
        DType::Bool => u64::from(word != 0),
    }
}

/// The bytes of the element that a value is stored as.
pub(crate) fn encode(dtype: DType, bits: u64) -> Vec<u8> {
    let single = f32::from_bits(bits as u32);
    let word = match dtype {
        DType::F16 => u64::from(f16::from_f32(single).to_bits()),
        DType::BF16 => u64::from(bf16::from_f32(single).to_bits()),
        _ => bits,
    };
    word.to_le_bytes()[..dtype.size()].to_vec()
}

/// Whether two elements are the same: to the bit, or both NaN.
pub(crate) fn are_same(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    a == b || is_nan(dtype, a) && is_nan(dtype, b)
}

/// Whether two elements are the same, or zeros, or differ by a few units in the last place.
pub(crate) fn are_close(dtype: DType, a: &[u8], b: &[u8], units: u64) -> bool {
    // Floats are ordered as integers are, but for the sign.
    let order = |bits: u64, sign: u32| match bits >> sign {
        0 => bits as i64,
        _ => -((bits & !(1 << sign)) as i64),
    };
    let (a_bits, b_bits) = (decode(dtype, a), decode(dtype, b));
    let is_close = match dtype {
        DType::F64 => order(a_bits, 63).abs_diff(order(b_bits, 63)) <= units,
        DType::F32 => order(a_bits, 31).abs_diff(order(b_bits, 31)) <= units,
        _ => false,
    };
    are_same(dtype, a, b) || is_close && !is_nan(dtype, a) && !is_nan(dtype, b)
}

fn is_nan(dtype: DType, element: &[u8]) -> bool {
    let bits = decode(dtype, element);
    match dtype.compute_type() {
        ComputeType::F64 => f64::from_bits(bits).is_nan(),
        ComputeType::F32 => f32::from_bits(bits as u32).is_nan(),
        _ => false,
    }
}

/// Values of a type at which functions tend to go wrong, by their bits.
pub(crate) fn special(of: ComputeType) -> Vec<u64> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.7,
        -8.25,
        1e-40,
        1e-310,
        65504.0,
        65519.9,
        65520.0,
        3e9,
        -3e9,
        9.3e18,
        -9.3e18,
        1e30,
        f64::from(f32::MAX),
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let integers = [
        0,
        1,
        -1,
        2,
        -2,
        3,
        -7,
        31,
        32,
        33,
        63,
        64,
        65,
        100,
        -128,
        255,
        1 << 32,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        i64::MAX,
        i64::MIN,
    ];
    match of {
        ComputeType::F64 => floats.iter().map(|x: &f64| x.to_bits()).collect(),
        ComputeType::F32 => floats.iter().map(|&x| u64::from((x as f32).to_bits())).collect(),
        ComputeType::I64 => integers.iter().map(|&x| x as u64).collect(),
        ComputeType::I32 => integers.iter().map(|&x| u64::from(x as u32)).collect(),
        ComputeType::Bool => vec![0, 1],
    }
}
