//! Random numbers, with those among them that are special.

use expression::{ComputeType, DType};
use half::{bf16, f16};

/// A generator of random bits (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A value of a compute type: special, small, or any bits.
    pub(crate) fn value(&mut self, of: ComputeType) -> u64 {
        let small = self.below(401) as i64 - 200;
        match (of, self.below(4)) {
            (ComputeType::Bool, _) => self.bits() & 1,
            (ComputeType::F64, 0) => self.choose(&FLOATS).to_bits(),
            (ComputeType::F64, 1) => self.bits(),
            (ComputeType::F64, _) => (small as f64 / 8.0).to_bits(),
            (ComputeType::F32, 0) => u64::from((self.choose(&FLOATS) as f32).to_bits()),
            (ComputeType::F32, 1) => self.bits() & 0xffff_ffff,
            (ComputeType::F32, _) => u64::from((small as f32 / 8.0).to_bits()),
            (ComputeType::I64, 0) => self.choose(&INTEGERS) as u64,
            (ComputeType::I64, 1) => self.bits(),
            (ComputeType::I64, _) => small as u64,
            (ComputeType::I32, 0) => u64::from(self.choose(&INTEGERS) as i32 as u32),
            (ComputeType::I32, 1) => self.bits() & 0xffff_ffff,
            (ComputeType::I32, _) => u64::from(small as i32 as u32),
        }
    }
}

const FLOATS: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999997,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
    5e-324,
    f64::MAX,
    f32::MIN_POSITIVE as f64,
    1e-45,
    f32::MAX as f64,
    65504.0,
    65520.0,
    8388609.0,
    2147483648.0,
    9.3e18,
];

const INTEGERS: [i64; 18] = [
    0,
    1,
    -1,
    2,
    -2,
    7,
    31,
    32,
    63,
    64,
    127,
    255,
    -128,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
];

/// The value, of the dtype's compute type, of an element.
pub(crate) fn load(dtype: DType, element: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..element.len()].copy_from_slice(element);
    let bits = u64::from_le_bytes(bytes);
    match dtype {
        DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool => bits,
        DType::F16 => f16::from_bits(bits as u16).to_f32().to_bits().into(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f32().to_bits().into(),
        DType::I16 => u64::from(i32::from(bits as i16) as u32),
        DType::I8 => u64::from(i32::from(bits as i8) as u32),
        DType::U8 => bits,
    }
}

/// The bits of the element that a value becomes.
pub(crate) fn store(dtype: DType, value: u64) -> u64 {
    let single = f32::from_bits(value as u32);
    match dtype {
        DType::F64 | DType::I64 | DType::F32 | DType::I32 | DType::Bool => value,
        DType::F16 => f16::from_f32(single).to_bits().into(),
        DType::BF16 => bf16::from_f32(single).to_bits().into(),
        DType::I16 => value & 0xffff,
        DType::I8 | DType::U8 => value & 0xff,
    }
}

/// Whether two elements, by their bits, are the same, or both NaN.
pub(crate) fn are_same(dtype: DType, a: u64, b: u64) -> bool {
    let is_nan = |bits: u64| match dtype {
        DType::F64 => f64::from_bits(bits).is_nan(),
        DType::F32 => f32::from_bits(bits as u32).is_nan(),
        DType::F16 => f16::from_bits(bits as u16).is_nan(),
        DType::BF16 => bf16::from_bits(bits as u16).is_nan(),
        _ => false,
    };
    a == b || (is_nan(a) && is_nan(b))
}
