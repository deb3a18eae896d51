//! Elements as they lie in memory, the values that they are computed as, and conversions between
//! the two, without branches, so that loops over them become vectors.

use expression::DType;

/// A value that is computed with: a compute type, or `f64` and `i64` where results are gathered in
/// more digits than the elements have.
pub(crate) trait ComputeValue:
    Copy + PartialEq + PartialOrd + Send + Sync + Default + 'static
{
    /// The dtype whose elements lie in memory as this type.
    const DTYPE: DType;
    const ZERO: Self;
    const ONE: Self;
    /// Below or equal to every value.
    const LEAST: Self;
    /// Above or equal to every value.
    const GREATEST: Self;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The quotient by a number of elements; of integers cut towards zero.
    fn per(self, count: usize) -> Self;
    /// Whether this is NaN.
    fn is_unordered(self) -> bool;

    /// The larger of two, and NaN where one is.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other || self.is_unordered() { self } else { other }
    }

    /// The smaller of two, and NaN where one is.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self < other || self.is_unordered() { self } else { other }
    }
}

macro_rules! float_values {
    ($($type:ty => $dtype:ident;)+) => {$(
        impl ComputeValue for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: $type = 0.0;
            const ONE: $type = 1.0;
            const LEAST: $type = <$type>::NEG_INFINITY;
            const GREATEST: $type = <$type>::INFINITY;

            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self + other
            }

            #[inline(always)]
            fn times(self, other: $type) -> $type {
                self * other
            }

            #[inline(always)]
            fn per(self, count: usize) -> $type {
                self / count as $type
            }

            #[inline(always)]
            fn is_unordered(self) -> bool {
                self.is_nan()
            }
        }
    )+};
}

macro_rules! integer_values {
    ($($type:ty => $dtype:ident;)+) => {$(
        impl ComputeValue for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: $type = 0;
            const ONE: $type = 1;
            const LEAST: $type = <$type>::MIN;
            const GREATEST: $type = <$type>::MAX;

            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn times(self, other: $type) -> $type {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn per(self, count: usize) -> $type {
                (self as i128 / count.max(1) as i128) as $type
            }

            #[inline(always)]
            fn is_unordered(self) -> bool {
                false
            }
        }
    )+};
}

float_values! { f64 => F64; f32 => F32; }
integer_values! { i64 => I64; i32 => I32; }

/// A truth value: a byte that is 0 or 1 once it was loaded. Sums are "or", products "and".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct TruthByte(pub(crate) u8);

impl ComputeValue for TruthByte {
    const DTYPE: DType = DType::Bool;
    const ZERO: TruthByte = TruthByte(0);
    const ONE: TruthByte = TruthByte(1);
    const LEAST: TruthByte = TruthByte(0);
    const GREATEST: TruthByte = TruthByte(1);

    #[inline(always)]
    fn plus(self, other: TruthByte) -> TruthByte {
        TruthByte(self.0 | other.0)
    }

    #[inline(always)]
    fn times(self, other: TruthByte) -> TruthByte {
        TruthByte(self.0 & other.0)
    }

    #[inline(always)]
    fn per(self, _count: usize) -> TruthByte {
        self
    }

    #[inline(always)]
    fn is_unordered(self) -> bool {
        false
    }
}

/// An element as it lies in memory.
pub(crate) trait StoredValue: Copy + Send + Sync + 'static {
    /// The type that the element is computed as.
    type Compute: ComputeValue;

    fn load(self) -> Self::Compute;
    /// Rounded to the nearest, or cut to the low bits.
    fn store(value: Self::Compute) -> Self;
}

macro_rules! stored_values {
    ($($type:ty => $compute:ty, $value:ident: $load:expr, $stored:ident: $store:expr;)+) => {$(
        impl StoredValue for $type {
            type Compute = $compute;

            #[inline(always)]
            fn load(self) -> $compute {
                let $value = self;
                $load
            }

            #[inline(always)]
            fn store($stored: $compute) -> $type {
                $store
            }
        }
    )+};
}

stored_values! {
    f64 => f64, x: x, v: v;
    f32 => f32, x: x, v: v;
    HalfBits => f32, x: half_to_single(x.0), v: HalfBits(single_to_half(v));
    BrainBits => f32, x: f32::from_bits(u32::from(x.0) << 16), v: BrainBits(single_to_brain(v));
    i64 => i64, x: x, v: v;
    i32 => i32, x: x, v: v;
    i16 => i32, x: i32::from(x), v: v as i16;
    i8 => i32, x: i32::from(x), v: v as i8;
    u8 => i32, x: i32::from(x), v: v as u8;
    TruthByte => TruthByte, x: TruthByte(u8::from(x.0 != 0)), v: v;
}

/// The bits of an element of dtype `F16`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct HalfBits(pub(crate) u16);

/// The bits of an element of dtype `BF16`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct BrainBits(pub(crate) u16);

/// The type of elements in memory, by the name of a dtype.
macro_rules! stored_as {
    (F64) => {
        f64
    };
    (F32) => {
        f32
    };
    (F16) => {
        HalfBits
    };
    (BF16) => {
        BrainBits
    };
    (I64) => {
        i64
    };
    (I32) => {
        i32
    };
    (I16) => {
        i16
    };
    (I8) => {
        i8
    };
    (U8) => {
        u8
    };
    (Bool) => {
        TruthByte
    };
}
pub(crate) use stored_as;

/// The single of the same value as a half. The exponent is moved by a multiplication, which is
/// exact and makes subnormal halves normal.
#[inline(always)]
fn half_to_single(bits: u16) -> f32 {
    // 2^(127 - 15): the difference of the two exponents' biases.
    const REBIAS: f32 = f32::from_bits((254 - 15) << 23);
    // Halves from here on are infinite or NaN.
    const INFINITE: u32 = 0x7c00 << 13;
    let bits = u32::from(bits);
    let magnitude = (bits & 0x7fff) << 13;
    let finite = (f32::from_bits(magnitude) * REBIAS).to_bits();
    // NaN is quiet afterwards, as the processor's instruction makes it.
    let nan = if magnitude > INFINITE { 0x7fc0_0000 } else { 0x7f80_0000 };
    let special = if magnitude >= INFINITE { nan } else { 0 };
    f32::from_bits(finite | special | (bits & 0x8000) << 16)
}

/// The nearest half, of two equally near ones the even one.
#[inline(always)]
fn single_to_half(value: f32) -> u16 {
    // 2^16, from where on everything rounds to infinity once the rounding has been done below.
    const TOO_LARGE: u32 = (127 + 16) << 23;
    const SMALLEST_NORMAL: u32 = (127 - 14) << 23;
    // A number whose unit in the last place is that of subnormal halves: adding it rounds there.
    const ROUND_SUBNORMAL: u32 = (127 - 15 + 23 - 10 + 1) << 23;
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let rounded = f32::from_bits(magnitude) + f32::from_bits(ROUND_SUBNORMAL);
    let subnormal = rounded.to_bits().wrapping_sub(ROUND_SUBNORMAL);
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // The upper digits of NaN stay, as by the processor's instruction.
    let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    let special = if magnitude > 0x7f80_0000 { nan } else { 0x7c00 };
    let small = if magnitude < SMALLEST_NORMAL { subnormal } else { normal };
    let half = if magnitude >= TOO_LARGE { special } else { small };
    (half | bits >> 16 & 0x8000) as u16
}

/// The nearest brain float, of two equally near ones the even one.
#[inline(always)]
fn single_to_brain(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x40;
    (if value.is_nan() { nan } else { rounded }) as u16
}

/// A conversion from one type that is computed with to another one.
pub(crate) trait ConvertedFrom<T> {
    fn converted_from(value: T) -> Self;
}

impl<T: ComputeValue> ConvertedFrom<T> for T {
    #[inline(always)]
    fn converted_from(value: T) -> T {
        value
    }
}

macro_rules! conversions {
    ($($to:ty, $from:ty, $value:ident => $converted:expr;)+) => {$(
        impl ConvertedFrom<$from> for $to {
            #[inline(always)]
            fn converted_from($value: $from) -> $to {
                $converted
            }
        }
    )+};
}

conversions! {
    f64, f32, x => f64::from(x);
    f32, f64, x => x as f32;
    i64, i32, x => i64::from(x);
    i32, i64, x => x as i32;
    i64, TruthByte, x => i64::from(x.0);
    TruthByte, f64, x => TruthByte(u8::from(x != 0.0));
    TruthByte, f32, x => TruthByte(u8::from(x != 0.0));
    TruthByte, i64, x => TruthByte(u8::from(x != 0));
    TruthByte, i32, x => TruthByte(u8::from(x != 0));
    f32, i64, x => x as f32;
    f64, i64, x => x as f64;
    i64, f64, x => x as i64;
    i32, f64, x => x as i32;
    i32, TruthByte, x => i32::from(x.0);
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn every_half_becomes_the_single_of_its_value() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (half_to_single(bits), f16::from_bits(bits).to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan());
        }
    }

    #[test]
    fn singles_are_rounded_to_the_nearest_half_and_brain_float() {
        // Every exponent, with mantissas around those where rounding changes.
        for high in 0..1u32 << 12 {
            for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff]
            {
                for middle in 0..16 {
                    let single = f32::from_bits(high << 20 | middle << 16 | low);
                    let (half, brain) = (single_to_half(single), single_to_brain(single));
                    if single.is_nan() {
                        assert!(f16::from_bits(half).is_nan() && bf16::from_bits(brain).is_nan());
                    } else {
                        assert_eq!(half, f16::from_f32(single).to_bits(), "{single:e}");
                        assert_eq!(brain, bf16::from_f32(single).to_bits(), "{single:e}");
                    }
                }
            }
        }
    }
}
