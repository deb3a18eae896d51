//! Arithmetic over several registers, linked by the carry flag.
//!
//! Subtraction adds the complement, so the flag that it sets is the opposite of a borrow. The two
//! kinds meet: what nvcc writes for a division of 128 bits ends a chain of `subc.cc` with an `addc`
//! that looks at the flag.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx::{Carry, Instruction, IntegerForm, IntegerOp, ScalarType};

use super::function::Lowering;

impl Lowering<'_, '_> {
    pub(super) fn with_carry(&mut self, instruction: &Instruction, form: IntegerForm) {
        let ty = form.ty;
        let a = self.source(instruction, 0, ty);
        let b = self.source(instruction, 1, ty);
        let (result, out) = match form.op {
            IntegerOp::SubCarry(carry) => {
                let carry = self.carry_in(instruction, 2, carry, a);
                self.subtract(a, b, carry)
            }
            IntegerOp::MultiplyAddCarry { part, carry } => {
                let product = self.product(part, a, b, ty.is_signed());
                let c = self.source(instruction, 2, ty);
                let carry = self.carry_in(instruction, 3, carry, a);
                self.add(product, c, carry)
            }
            IntegerOp::AddCarry(carry) => {
                let carry = self.carry_in(instruction, 2, carry, a);
                self.add(a, b, carry)
            }
            _ => unreachable!("only operations with a carry are lowered here"),
        };
        self.define(instruction, 0, result, ty);
        // The flag is the second destination of those that set it.
        self.define(instruction, 1, out, ScalarType::Pred);
    }

    /// The carry flag as an integer like `like`, if the operation takes it.
    fn carry_in(
        &mut self,
        instruction: &Instruction,
        index: usize,
        carry: Carry,
        like: Value,
    ) -> Option<Value> {
        carry.takes.then(|| {
            let flag = self.source(instruction, index, ScalarType::Pred);
            let ty = self.builder.func.dfg.value_type(like);
            self.resize(flag, ty, false)
        })
    }

    fn add(&mut self, a: Value, b: Value, carry: Option<Value>) -> (Value, Value) {
        let sum = self.builder.ins().iadd(a, b);
        let out = self.builder.ins().icmp(IntCC::UnsignedLessThan, sum, a);
        let Some(carry) = carry else {
            return (sum, out);
        };
        let total = self.builder.ins().iadd(sum, carry);
        let again = self.builder.ins().icmp(IntCC::UnsignedLessThan, total, sum);
        (total, self.builder.ins().bor(out, again))
    }

    fn subtract(&mut self, a: Value, b: Value, carry: Option<Value>) -> (Value, Value) {
        let difference = self.builder.ins().isub(a, b);
        let out = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
        let Some(carry) = carry else {
            return (difference, out);
        };
        let borrow = self.builder.ins().bxor_imm_u(carry, 1);
        let total = self.builder.ins().isub(difference, borrow);
        let still = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, difference, borrow);
        (total, self.builder.ins().band(out, still))
    }
}
