//! Integer arithmetic.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FuncInstBuilder;
use ptx::{IntegerForm, IntegerOp, ProductPart, ScalarType};
use smallvec::smallvec;

use super::ScalarResults;
use super::carry::with_carry;
use super::dot::dot_product;
use crate::codegen::emitter::Emitter;
use crate::codegen::signature::double;
use crate::codegen::types::integer_type;

/// The results of an operation on integers.
pub(super) fn integer(e: &mut Emitter<'_>, form: IntegerForm, operands: &[Value]) -> ScalarResults {
    let IntegerForm { op, ty } = form;
    let signed = ty.is_signed();
    let a = operands[0];
    let value = match op {
        IntegerOp::Negate => e.ins().ineg(a),
        IntegerOp::Absolute => e.ins().iabs(a),
        IntegerOp::AddCarry(_) | IntegerOp::SubCarry(_) | IntegerOp::MultiplyAddCarry { .. } => {
            return with_carry(e, form, operands);
        }
        IntegerOp::DotProduct4 { .. } | IntegerOp::DotProduct2 { .. } => {
            return smallvec![(dot_product(e, op, operands), ScalarType::B32)];
        }
        _ => {
            let b = operands[1];
            match op {
                IntegerOp::Add { saturate: false } => e.ins().iadd(a, b),
                IntegerOp::Sub { saturate: false } => e.ins().isub(a, b),
                IntegerOp::Add { .. } => saturating(e, a, b, |ins, a, b| ins.iadd(a, b)),
                IntegerOp::Sub { .. } => saturating(e, a, b, |ins, a, b| ins.isub(a, b)),
                IntegerOp::Multiply(part) => product(e, part, a, b, signed),
                IntegerOp::Multiply24(part) => product24(e, part, a, b, signed),
                IntegerOp::Divide => divide(e, a, b, signed, true),
                IntegerOp::Remainder => divide(e, a, b, signed, false),
                IntegerOp::Minimum => e.choose_integer(less(signed), a, b),
                IntegerOp::Maximum => e.choose_integer(less(signed).swap_args(), a, b),
                _ => ternary(e, form, operands, a, b),
            }
        }
    };
    let result = match op {
        IntegerOp::Multiply(ProductPart::Wide)
        | IntegerOp::MultiplyAdd { part: ProductPart::Wide, .. } => double(ty),
        _ => ty,
    };
    smallvec![(value, result)]
}

fn ternary(
    e: &mut Emitter<'_>,
    form: IntegerForm,
    operands: &[Value],
    a: Value,
    b: Value,
) -> Value {
    let signed = form.ty.is_signed();
    let (product, saturate) = match form.op {
        IntegerOp::MultiplyAdd { part, saturate } => (product(e, part, a, b, signed), saturate),
        IntegerOp::MultiplyAdd24 { part, saturate } => (product24(e, part, a, b, signed), saturate),
        // The sum of absolute differences.
        _ => {
            let smaller = e.choose_integer(less(signed), a, b);
            let larger = e.choose_integer(less(signed).swap_args(), a, b);
            (e.ins().isub(larger, smaller), false)
        }
    };
    let c = operands[2];
    if saturate {
        return saturating(e, product, c, |ins, a, b| ins.iadd(a, b));
    }
    e.ins().iadd(product, c)
}

/// A part of a product.
pub(super) fn product(
    e: &mut Emitter<'_>,
    part: ProductPart,
    a: Value,
    b: Value,
    signed: bool,
) -> Value {
    let ty = e.type_of(a);
    match part {
        ProductPart::Low => e.ins().imul(a, b),
        ProductPart::High if ty == types::I64 && signed => e.ins().smulhi(a, b),
        ProductPart::High if ty == types::I64 => e.ins().umulhi(a, b),
        ProductPart::High => {
            let wide = wide_product(e, a, b, signed);
            high_half(e, wide, ty)
        }
        ProductPart::Wide => wide_product(e, a, b, signed),
    }
}

fn wide_product(e: &mut Emitter<'_>, a: Value, b: Value, signed: bool) -> Value {
    let ty = integer_type(2 * e.type_of(a).bits());
    let (a, b) = (e.resize(a, ty, signed), e.resize(b, ty, signed));
    e.ins().imul(a, b)
}

fn high_half(e: &mut Emitter<'_>, wide: Value, ty: Type) -> Value {
    let high = e.ins().ushr_imm_u(wide, i64::from(ty.bits()));
    e.ins().ireduce(ty, high)
}

/// A product of the low 24 bits: its low 32 bits, or its bits 16 to 47.
fn product24(e: &mut Emitter<'_>, part: ProductPart, a: Value, b: Value, signed: bool) -> Value {
    let [a, b] = [a, b].map(|value| {
        let top = e.ins().ishl_imm_u(value, 8);
        match signed {
            true => e.ins().sshr_imm_u(top, 8),
            false => e.ins().ushr_imm_u(top, 8),
        }
    });
    let wide = wide_product(e, a, b, signed);
    let shift = if part == ProductPart::High { 16 } else { 0 };
    let shifted = e.ins().ushr_imm_u(wide, shift);
    e.ins().ireduce(types::I32, shifted)
}

/// An operation on 32-bit signed integers whose result is clamped.
fn saturating(
    e: &mut Emitter<'_>,
    a: Value,
    b: Value,
    operation: impl Fn(FuncInstBuilder<'_, '_>, Value, Value) -> Value,
) -> Value {
    let (a, b) = (e.resize(a, types::I64, true), e.resize(b, types::I64, true));
    let exact = operation(e.ins(), a, b);
    let lowest = e.int(types::I64, i64::from(i32::MIN));
    let highest = e.int(types::I64, i64::from(i32::MAX));
    let raised = e.choose_integer(IntCC::SignedGreaterThan, exact, lowest);
    let clamped = e.choose_integer(IntCC::SignedLessThan, raised, highest);
    e.ins().ireduce(types::I32, clamped)
}

/// Quotient or remainder. The host traps where the manual leaves the result open: a division by
/// 0 gives all ones and the dividend here, the lowest number divided by -1 gives itself and 0.
fn divide(e: &mut Emitter<'_>, a: Value, b: Value, signed: bool, quotient: bool) -> Value {
    let ty = e.type_of(b);
    let is_zero = e.ins().icmp_imm_u(IntCC::Equal, b, 0);
    let one = e.int(ty, 1);
    let ones = e.int(ty, -1);
    let mut special = is_zero;
    if signed {
        let is_ones = e.ins().icmp(IntCC::Equal, b, ones);
        special = e.ins().bor(is_zero, is_ones);
    }
    let safe = e.ins().select(special, one, b);
    // With a divisor of 1 instead, the quotient is the dividend and the remainder 0.
    let plain = match (quotient, signed) {
        (true, true) => e.ins().sdiv(a, safe),
        (true, false) => e.ins().udiv(a, safe),
        (false, true) => e.ins().srem(a, safe),
        (false, false) => e.ins().urem(a, safe),
    };
    let mut result = plain;
    if quotient && signed {
        let is_ones = e.ins().icmp(IntCC::Equal, b, ones);
        let negated = e.ins().ineg(a);
        result = e.ins().select(is_ones, negated, plain);
    }
    let by_zero = if quotient { ones } else { a };
    e.ins().select(is_zero, by_zero, result)
}

fn less(signed: bool) -> IntCC {
    if signed { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan }
}
