//! Primitives of integers.

use expression::Primitive;

use super::block::{BlockKernel, kernels};
use super::integer_arithmetic::Division;
use crate::instruction_set::InstructionSet;

macro_rules! integer_kernels {
    ($name:ident, $T:ident) => {
        /// The loop of one of these primitives.
        pub(super) fn $name(primitive: Primitive, set: InstructionSet) -> Option<BlockKernel> {
            const BITS: $T = $T::BITS as $T;
            kernels! {
                (primitive, set):
                Neg => map1 |a: $T| a.wrapping_neg();
                Abs => map1 |a: $T| a.wrapping_abs();
                Not => map1 |a: $T| !a;
                Add => map2 |a: $T, b: $T| a.wrapping_add(b);
                Sub => map2 |a: $T, b: $T| a.wrapping_sub(b);
                Mul => map2 |a: $T, b: $T| a.wrapping_mul(b);
                Max => map2 |a: $T, b: $T| if a < b { b } else { a };
                Min => map2 |a: $T, b: $T| if b < a { b } else { a };
                And => map2 |a: $T, b: $T| a & b;
                Or => map2 |a: $T, b: $T| a | b;
                Xor => map2 |a: $T, b: $T| a ^ b;
                Shl => map2 |a: $T, b: $T| {
                    let shifted = a << (b & (BITS - 1));
                    if (0..BITS).contains(&b) { shifted } else { 0 }
                };
                Shr => map2 |a: $T, b: $T| {
                    let distance = if (0..BITS).contains(&b) { b } else { BITS - 1 };
                    a >> (distance & (BITS - 1))
                };
                Eq => map2 |a: $T, b: $T| u8::from(a == b);
                Ne => map2 |a: $T, b: $T| u8::from(a != b);
                Lt => map2 |a: $T, b: $T| u8::from(a < b);
                Le => map2 |a: $T, b: $T| u8::from(a <= b);
                Gt => map2 |a: $T, b: $T| u8::from(a > b);
                Ge => map2 |a: $T, b: $T| u8::from(a >= b);
                Div => long2 |a: $T, b: $T| a.divided(b).0;
                Fmod => long2 |a: $T, b: $T| a.divided(b).1;
                FloorDiv => long2 |a: $T, b: $T| {
                    let (quotient, remainder) = a.divided(b);
                    quotient.wrapping_sub($T::from(remainder != 0 && (remainder < 0) != (b < 0)))
                };
                Remainder => long2 |a: $T, b: $T| {
                    let (_, remainder) = a.divided(b);
                    let is_below = remainder != 0 && (remainder < 0) != (b < 0);
                    if is_below { remainder.wrapping_add(b) } else { remainder }
                };
            }
        }
    };
}

integer_kernels!(kernel_i32, i32);
integer_kernels!(kernel_i64, i64);
