//! Arithmetic over several registers, linked by the carry flag.
//!
//! Subtraction adds the complement, so the flag that it sets is the opposite of a borrow. The two
//! kinds meet: what nvcc writes for a division of 128 bits ends a chain of `subc.cc` with an `addc`
//! that looks at the flag.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx::{Carry, IntegerForm, IntegerOp, ScalarType};
use smallvec::smallvec;

use super::ScalarResults;
use super::integer::product;
use crate::codegen::emitter::Emitter;

/// The result and the carry flag of an operation that takes the flag, sets it, or both.
pub(super) fn with_carry(
    e: &mut Emitter<'_>,
    form: IntegerForm,
    operands: &[Value],
) -> ScalarResults {
    let ty = form.ty;
    let a = operands[0];
    let b = operands[1];
    let (result, out) = match form.op {
        IntegerOp::SubCarry(carry) => {
            let carry = carry_in(e, operands, 2, carry, a);
            subtract(e, a, b, carry)
        }
        IntegerOp::MultiplyAddCarry { part, carry } => {
            let product = product(e, part, a, b, ty.is_signed());
            let c = operands[2];
            let carry = carry_in(e, operands, 3, carry, a);
            add(e, product, c, carry)
        }
        IntegerOp::AddCarry(carry) => {
            let carry = carry_in(e, operands, 2, carry, a);
            add(e, a, b, carry)
        }
        _ => unreachable!("only operations with a carry are lowered here"),
    };
    // The flag is the second destination of those that set it.
    smallvec![(result, ty), (out, ScalarType::Pred)]
}

/// The carry flag as an integer like `like`, if the operation takes it.
fn carry_in(
    e: &mut Emitter<'_>,
    operands: &[Value],
    index: usize,
    carry: Carry,
    like: Value,
) -> Option<Value> {
    carry.takes.then(|| {
        let flag = operands[index];
        let ty = e.type_of(like);
        e.resize(flag, ty, false)
    })
}

fn add(e: &mut Emitter<'_>, a: Value, b: Value, carry: Option<Value>) -> (Value, Value) {
    let sum = e.ins().iadd(a, b);
    let out = e.ins().icmp(IntCC::UnsignedLessThan, sum, a);
    let Some(carry) = carry else {
        return (sum, out);
    };
    let total = e.ins().iadd(sum, carry);
    let again = e.ins().icmp(IntCC::UnsignedLessThan, total, sum);
    (total, e.ins().bor(out, again))
}

fn subtract(e: &mut Emitter<'_>, a: Value, b: Value, carry: Option<Value>) -> (Value, Value) {
    let difference = e.ins().isub(a, b);
    let out = e.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
    let Some(carry) = carry else {
        return (difference, out);
    };
    let borrow = e.ins().bxor_imm_u(carry, 1);
    let total = e.ins().isub(difference, borrow);
    let still = e.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, difference, borrow);
    (total, e.ins().band(out, still))
}
