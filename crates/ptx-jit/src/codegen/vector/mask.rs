//! Masks: predicates of all lanes.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;

use super::lanes::{LANES, Lanes};
use super::make::elements;
use super::shape::{bitcast, cast, pairs, vector_type, widen, words};

/// `a` where the mask holds, else `c`.
pub(in crate::codegen) fn select(
    b: &mut FunctionBuilder<'_>,
    mask: &Lanes,
    a: &Lanes,
    c: &Lanes,
    ty: ScalarType,
) -> Lanes {
    let mask = fit(b, mask, vector_type(ty));
    choose(b, &mask, a, c)
}

/// Whether the mask holds in any lane.
pub(in crate::codegen) fn any(b: &mut FunctionBuilder<'_>, mask: &Lanes) -> Value {
    let joined = joined(mask, |x, y| b.ins().bor(x, y));
    b.ins().vany_true(joined)
}

/// Whether the mask holds in all lanes.
pub(in crate::codegen) fn all(b: &mut FunctionBuilder<'_>, mask: &Lanes) -> Value {
    let joined = joined(mask, |x, y| b.ins().band(x, y));
    b.ins().vall_true(joined)
}

/// The mask as a word, the lowest bit for lane 0.
pub(in crate::codegen) fn bits(b: &mut FunctionBuilder<'_>, mask: &Lanes) -> Value {
    let halves = pairs(mask, |low, high| b.ins().snarrow(low, high));
    let bytes = pairs(&halves, |low, high| b.ins().snarrow(low, high));
    let low = b.ins().vhigh_bits(types::I32, bytes.values[0]);
    let high = b.ins().vhigh_bits(types::I32, bytes.values[1]);
    let high = b.ins().ishl_imm_u(high, 16);
    b.ins().bor(low, high)
}

/// The mask whose bits a word holds.
pub(in crate::codegen) fn from_bits(b: &mut FunctionBuilder<'_>, word: Value) -> Lanes {
    let word = b.ins().splat(types::I32X4, word);
    let values = (0..LANES).step_by(4).map(|first| {
        let own = elements(b, types::I32X4, |lane| 1 << (first + lane));
        let bit = b.ins().band(word, own);
        b.ins().icmp(IntCC::Equal, bit, own)
    });
    Lanes { values: values.collect() }
}

/// `a` where a mask of the same width holds, else `c`.
pub(super) fn choose(b: &mut FunctionBuilder<'_>, mask: &Lanes, a: &Lanes, c: &Lanes) -> Lanes {
    let ty = b.func.dfg.value_type(a.values[0]);
    let mask = cast(b, mask, ty);
    let operands = mask.values.iter().zip(&a.values).zip(&c.values);
    let values = operands.map(|((&mask, &a), &c)| b.ins().bitselect(mask, a, c));
    Lanes { values: values.collect() }
}

/// `a` where a mask of that width holds, else `c`; for single vectors.
pub(super) fn pick(b: &mut FunctionBuilder<'_>, mask: Value, a: Value, c: Value) -> Value {
    let ty = b.func.dfg.value_type(a);
    let mask = bitcast(b, mask, ty);
    b.ins().bitselect(mask, a, c)
}

/// The predicates as masks of the elements of a vector type.
pub(super) fn fit(b: &mut FunctionBuilder<'_>, mask: &Lanes, ty: Type) -> Lanes {
    match ty.lane_bits() {
        16 => pairs(mask, |low, high| b.ins().snarrow(low, high)),
        64 => widen(b, mask, true),
        _ => mask.clone(),
    }
}

/// Masks of elements of any width as predicates.
pub(super) fn predicates(b: &mut FunctionBuilder<'_>, mask: &Lanes) -> Lanes {
    match b.func.dfg.value_type(mask.values[0]).lane_bits() {
        16 => widen(b, mask, true),
        64 => pairs(mask, |low, high| words(b, low, high, 0)),
        _ => mask.clone(),
    }
}

/// All vectors as one.
fn joined(mask: &Lanes, mut join: impl FnMut(Value, Value) -> Value) -> Value {
    let mut mask = mask.clone();
    while mask.values.len() > 1 {
        mask = pairs(&mask, &mut join);
    }
    mask.values[0]
}
