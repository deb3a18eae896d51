//! Several values in one, the first in the lowest bits.

use cranelift_codegen::ir::{InstBuilder, Type, Value};

use crate::codegen::emitter::Emitter;

/// Values of `bits` each as one of a larger type.
pub(in crate::codegen) fn join(
    e: &mut Emitter<'_>,
    parts: &[Value],
    bits: u32,
    whole: Type,
) -> Value {
    let mut joined = e.int(whole, 0);
    for (index, &value) in parts.iter().enumerate() {
        let wide = e.resize(value, whole, false);
        let placed = e.ins().ishl_imm_u(wide, i64::from(bits) * index as i64);
        joined = e.ins().bor(joined, placed);
    }
    joined
}

/// One of the values that another one is made of.
pub(in crate::codegen) fn part(
    e: &mut Emitter<'_>,
    whole: Value,
    index: usize,
    part: Type,
) -> Value {
    let shifted = e.ins().ushr_imm_u(whole, i64::from(part.bits()) * index as i64);
    e.resize(shifted, part, false)
}
