//! Products that something is added to: rounded once where the instruction set can do that, and else
//! twice. Which of the two is the set's, not the processor's, so sets that fuse agree bit for bit.

use crate::instruction_set::Isa;

/// `a * b + c`
#[inline(always)]
pub(super) fn mul_add_f32<I: Isa>(a: f32, b: f32, c: f32) -> f32 {
    // The standard library's function is a call, one per element, where there is no instruction.
    if I::HAS_ROUND_AND_FMA { a.mul_add(b, c) } else { a * b + c }
}

/// `a * b + c`
#[inline(always)]
pub(super) fn mul_add_f64<I: Isa>(a: f64, b: f64, c: f64) -> f64 {
    if I::HAS_ROUND_AND_FMA { a.mul_add(b, c) } else { a * b + c }
}
