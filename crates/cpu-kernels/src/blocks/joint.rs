//! Several primitives of floats as one loop.

use expression::ComputeType;

use super::block::{BlockKernel, implement};
use super::elementary::gelu;
use crate::instruction_set::InstructionSet;

/// Several primitives that are computed together, with the results that they have one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// [`Value::gelu`](expression::Value::gelu).
    Gelu,
    /// `select(x <= bound, bound, x)`, as in relu; a NaN stays.
    LowerBound,
    /// `a * b + c`; the product is rounded.
    ProductPlus,
    /// `a * b - c`
    ProductMinus,
    /// `c - a * b`
    MinusProduct,
}

/// The loop for values of a type, or `None` if it is none of floats.
pub(super) fn kernel(joint: Joint, of: ComputeType, set: InstructionSet) -> Option<BlockKernel> {
    match of {
        ComputeType::F32 => Some(kernel_f32(joint, set)),
        ComputeType::F64 => Some(kernel_f64(joint, set)),
        _ => None,
    }
}

macro_rules! block_loop {
    ($set:ident: $map:ident |$($x:ident: $X:ty),+| $f:expr) => {{
        struct Loop;
        implement!(Loop: $map |$($x: $X),+| $f);
        $set.version::<Loop>()
    }};
}

macro_rules! joints {
    ($name:ident, $T:ident) => {
        fn $name(joint: Joint, set: InstructionSet) -> BlockKernel {
            match joint {
                Joint::Gelu => gelu::<$T>(set),
                Joint::LowerBound => {
                    block_loop!(set: map2 |x: $T, bound: $T| if x <= bound { bound } else { x })
                }
                Joint::ProductPlus => block_loop!(set: map3 |a: $T, b: $T, c: $T| a * b + c),
                Joint::ProductMinus => block_loop!(set: map3 |a: $T, b: $T, c: $T| a * b - c),
                Joint::MinusProduct => block_loop!(set: map3 |a: $T, b: $T, c: $T| c - a * b),
            }
        }
    };
}

joints!(kernel_f32, f32);
joints!(kernel_f64, f64);
