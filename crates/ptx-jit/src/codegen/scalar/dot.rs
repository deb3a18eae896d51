//! Dot products of bytes.

use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use ptx::IntegerOp;

use crate::codegen::emitter::Emitter;

/// The sum of the third operand and of the products of the bytes of the others.
pub(super) fn dot_product(e: &mut Emitter<'_>, op: IntegerOp, operands: &[Value]) -> Value {
    let a = operands[0];
    let b = operands[1];
    let mut sum = operands[2];
    let terms: Vec<[Value; 2]> = match op {
        IntegerOp::DotProduct2 { a_signed, b_signed, high } => (0..2)
            .map(|index| {
                let half = part(e, a, 16 * index, 16, a_signed);
                let byte = part(e, b, 8 * (index + if high { 2 } else { 0 }), 8, b_signed);
                [half, byte]
            })
            .collect(),
        IntegerOp::DotProduct4 { a_signed, b_signed } => (0..4)
            .map(|index| [part(e, a, 8 * index, 8, a_signed), part(e, b, 8 * index, 8, b_signed)])
            .collect(),
        _ => unreachable!("only dot products are lowered here"),
    };
    for [x, y] in terms {
        let product = e.ins().imul(x, y);
        sum = e.ins().iadd(sum, product);
    }
    sum
}

/// Some bits of a word, extended to a word.
fn part(e: &mut Emitter<'_>, word: Value, from: i64, bits: u16, signed: bool) -> Value {
    let shifted = e.ins().ushr_imm_u(word, from);
    let ty = Type::int(bits).expect("8 and 16 are widths of integers");
    let low = e.ins().ireduce(ty, shifted);
    e.resize(low, types::I32, signed)
}
