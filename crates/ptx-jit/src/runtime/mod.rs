//! Arithmetic that native code calls functions for: rounding that the host does not have, functions of
//! CUDA's mathematical library, and operations on all lanes of a warp.
//!
//! Each function takes and gives plain machine values, and none may panic: nothing can unwind
//! through native code.

mod atomic;
mod bits;
mod exact;
mod format;
mod lanes;
mod math;
mod mbarrier;
mod odd;
mod rounded;

pub(crate) use atomic::{add_bf16, add_bf16x2, add_f16, add_f16x2, decrement, increment};
pub(crate) use bits::{find_counted, permute};
pub(crate) use format::Format;
pub(crate) use lanes::{
    Area, BitsCall, ConvertCall, FloatCall, HalfCall, IntegerCall, MatrixArea, MatrixRegisters,
    RowLoad, WarpCall, bits, convert, exchange, exchange_rows, float, half, integer, load_rows,
    multiply, multiply_matrices, warp,
};
pub(crate) use math::{cosine, exp2, log2, sine, tanh};
pub(crate) use mbarrier::{
    MbarrierMisuse, change as change_mbarrier, is_complete as is_phase_complete,
};
pub(crate) use rounded::{
    RoundedOp, byte_to_f32, f32_to_bf16, f32_to_byte, f32_to_f16, float_to_float, fma_bf16,
    fma_f16, integer_to_float, rounded_f32, rounded_f64,
};
#[cfg(test)]
pub(crate) use rounded::{compute, convert as convert_value, convert_integer};
