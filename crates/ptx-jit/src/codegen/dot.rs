//! Dot products of bytes.

use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use ptx::{Instruction, IntegerOp, ScalarType};

use super::function::Lowering;

impl Lowering<'_, '_> {
    pub(super) fn dot_product(&mut self, instruction: &Instruction, op: IntegerOp) {
        let a = self.source(instruction, 0, ScalarType::B32);
        let b = self.source(instruction, 1, ScalarType::B32);
        let mut sum = self.source(instruction, 2, ScalarType::B32);
        let terms: Vec<[Value; 2]> = match op {
            IntegerOp::DotProduct2 { a_signed, b_signed, high } => (0..2)
                .map(|index| {
                    let half = self.part(a, 16 * index, 16, a_signed);
                    let byte = self.part(b, 8 * (index + if high { 2 } else { 0 }), 8, b_signed);
                    [half, byte]
                })
                .collect(),
            IntegerOp::DotProduct4 { a_signed, b_signed } => (0..4)
                .map(|index| {
                    [self.part(a, 8 * index, 8, a_signed), self.part(b, 8 * index, 8, b_signed)]
                })
                .collect(),
            _ => unreachable!("only dot products are lowered here"),
        };
        for [x, y] in terms {
            let product = self.builder.ins().imul(x, y);
            sum = self.builder.ins().iadd(sum, product);
        }
        self.define(instruction, 0, sum, ScalarType::B32);
    }

    /// Some bits of a word, extended to a word.
    fn part(&mut self, word: Value, from: i64, bits: u16, signed: bool) -> Value {
        let shifted = self.builder.ins().ushr_imm_u(word, from);
        let ty = Type::int(bits).expect("8 and 16 are widths of integers");
        let low = self.builder.ins().ireduce(ty, shifted);
        self.resize(low, types::I32, signed)
    }
}
