//! Primitives of floats that are a few instructions.

use expression::Primitive;

use super::block::{BlockKernel, kernels};
use super::rounding::RoundedFloat;
use crate::instruction_set::InstructionSet;

macro_rules! float_kernels {
    ($name:ident, $T:ident, $Bits:ident) => {
        /// The loop of one of these primitives.
        pub(super) fn $name(primitive: Primitive, set: InstructionSet) -> Option<BlockKernel> {
            kernels! {
                (primitive, set):
                Neg => map1 |a: $T| -a;
                Abs => map1 |a: $T| a.abs();
                Sqrt => map1 |a: $T| a.sqrt();
                Rsqrt => map1 |a: $T| 1.0 / a.sqrt();
                Floor => map1 |a: $T| a.rounded_down::<I>();
                Ceil => map1 |a: $T| a.rounded_up::<I>();
                Round => map1 |a: $T| a.rounded_to_even::<I>();
                Trunc => map1 |a: $T| a.rounded_towards_zero::<I>();
                Add => map2 |a: $T, b: $T| a + b;
                Sub => map2 |a: $T, b: $T| a - b;
                Mul => map2 |a: $T, b: $T| a * b;
                Div => map2 |a: $T, b: $T| a / b;
                Copysign => map2 |a: $T, b: $T| a.copysign(b);
                Nextafter => map2 |a: $T, b: $T| {
                    // The bits of positive numbers are in their order; away from zero is one more.
                    const SIGN: $Bits = 1 << ($Bits::BITS - 1);
                    let bits = a.to_bits();
                    let is_away = (b > a) == (bits & SIGN == 0);
                    let next = if is_away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
                    let next = if a == 0.0 { b.to_bits() & SIGN | 1 } else { next };
                    let next = if a == b { b } else { $T::from_bits(next) };
                    if a.is_nan() || b.is_nan() { a + b } else { next }
                };
                // The first of two equal ones, as zeros of either sign are; NaN if one is.
                Max => map2 |a: $T, b: $T| if a < b || b.is_nan() { b } else { a };
                Min => map2 |a: $T, b: $T| if a > b || b.is_nan() { b } else { a };
                Fmax => map2 |a: $T, b: $T| if a < b || a.is_nan() { b } else { a };
                Fmin => map2 |a: $T, b: $T| if a > b || a.is_nan() { b } else { a };
                Eq => map2 |a: $T, b: $T| u8::from(a == b);
                Ne => map2 |a: $T, b: $T| u8::from(a != b);
                Lt => map2 |a: $T, b: $T| u8::from(a < b);
                Le => map2 |a: $T, b: $T| u8::from(a <= b);
                Gt => map2 |a: $T, b: $T| u8::from(a > b);
                Ge => map2 |a: $T, b: $T| u8::from(a >= b);
            }
        }
    };
}

float_kernels!(kernel_f32, f32, u32);
float_kernels!(kernel_f64, f64, u64);
