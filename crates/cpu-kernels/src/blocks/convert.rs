//! Conversions between compute types.

use expression::ComputeType;

use super::block::{BlockKernel, implement};
use crate::instruction_set::InstructionSet;

/// The loop of a conversion.
pub(super) fn kernel(from: ComputeType, to: ComputeType, set: InstructionSet) -> BlockKernel {
    macro_rules! conversion {
        ($map:ident |$x:ident: $X:ty| $f:expr) => {{
            struct Conversion;
            implement!(Conversion: $map |$x: $X| $f);
            set.version::<Conversion>()
        }};
    }
    use ComputeType::*;
    match (from, to) {
        (F64, F64) | (I64, I64) => conversion!(map1 |x: u64| x),
        (F32, F32) | (I32, I32) => conversion!(map1 |x: u32| x),
        (Bool, Bool) => conversion!(map1 |x: u8| x),
        (F64, F32) => conversion!(map1 |x: f64| x as f32),
        (F64, I64) => conversion!(map1 |x: f64| i64::saturated(x)),
        (F64, I32) => conversion!(map1 |x: f64| i32::saturated(x)),
        (F64, Bool) => conversion!(map1 |x: f64| u8::from(x != 0.0)),
        (F32, F64) => conversion!(map1 |x: f32| f64::from(x)),
        (F32, I64) => conversion!(map1 |x: f32| i64::saturated(x)),
        (F32, I32) => conversion!(map1 |x: f32| i32::saturated(x)),
        (F32, Bool) => conversion!(map1 |x: f32| u8::from(x != 0.0)),
        (I64, F64) => conversion!(map1 |x: i64| x as f64),
        (I64, F32) => conversion!(map1 |x: i64| x as f32),
        (I64, I32) => conversion!(map1 |x: i64| x as i32),
        (I64, Bool) => conversion!(map1 |x: i64| u8::from(x != 0)),
        (I32, F64) => conversion!(map1 |x: i32| f64::from(x)),
        (I32, F32) => conversion!(map1 |x: i32| x as f32),
        (I32, I64) => conversion!(map1 |x: i32| i64::from(x)),
        (I32, Bool) => conversion!(map1 |x: i32| u8::from(x != 0)),
        (Bool, F64) => conversion!(map1 |x: u8| f64::from(x)),
        (Bool, F32) => conversion!(map1 |x: u8| f32::from(x)),
        (Bool, I64) => conversion!(map1 |x: u8| i64::from(x)),
        (Bool, I32) => conversion!(map1 |x: u8| i32::from(x)),
    }
}

/// An integer of a float.
trait Saturated<F> {
    /// The float cut towards zero; the nearest integer that there is where that is none, and 0 of
    /// NaN. It is Rust's `as`, which LLVM would do element by element.
    fn saturated(x: F) -> Self;
}

macro_rules! saturated {
    ($($F:ident to $T:ident)+) => {$(
        impl Saturated<$F> for $T {
            #[inline(always)]
            fn saturated(x: $F) -> $T {
                const LIMIT: $F = (1_u64 << ($T::BITS - 1)) as $F;
                let is_within = x.abs() < LIMIT;
                let safe = if is_within { x } else { 0.0 };
                // SAFETY: it is 0, or a number whose size is less than that of the least integer.
                let whole = unsafe { safe.to_int_unchecked::<$T>() };
                let bound = if x > 0.0 { $T::MAX } else { $T::MIN };
                let beyond = if x.is_nan() { 0 } else { bound };
                if is_within { whole } else { beyond }
            }
        }
    )+};
}

saturated! { f64 to i64 f64 to i32 f32 to i64 f32 to i32 }
