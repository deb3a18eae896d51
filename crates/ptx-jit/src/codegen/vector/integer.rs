//! Integer arithmetic.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{Carry, IntegerForm, IntegerOp, ProductPart, ScalarType};
use smallvec::smallvec;

use super::arrays::{LaneFunction, call};
use super::lanes::{Lanes, Results};
use super::make::vector;
use super::mask::{fit, pick, predicates};
use super::shape::{narrow, upper, widen};
use crate::codegen::signature::double;
use crate::runtime::IntegerCall;

pub(super) fn integer(
    b: &mut FunctionBuilder<'_>,
    form: IntegerForm,
    operands: &[Lanes],
) -> Results {
    let IntegerForm { op, ty } = form;
    let signed = ty.is_signed();
    let x = &operands[0];
    let mut result = ty;
    let all: Vec<&Lanes> = operands.iter().collect();
    let in_array = |b: &mut FunctionBuilder<'_>, function, parameter| {
        call(b, LaneFunction::Integer(function), parameter, &all, ty)
    };
    let divide = |b: &mut FunctionBuilder<'_>, unsigned, of_signed| {
        in_array(b, if signed { of_signed } else { unsigned }, ty.bits())
    };
    let lanes = match op {
        IntegerOp::Negate => x.map(|x| b.ins().ineg(x)),
        IntegerOp::Absolute => x.map(|x| b.ins().iabs(x)),
        IntegerOp::Add { saturate } => add(b, x, &operands[1], saturate),
        IntegerOp::Sub { saturate: false } => x.zip(&operands[1], |x, y| b.ins().isub(x, y)),
        IntegerOp::Sub { saturate: true } => x.zip(&operands[1], |x, y| subtract_clamped(b, x, y)),
        IntegerOp::Multiply(part) => {
            result = if part == ProductPart::Wide { double(ty) } else { ty };
            product(b, part, x, &operands[1], signed)
        }
        IntegerOp::MultiplyAdd { part, saturate } => {
            result = if part == ProductPart::Wide { double(ty) } else { ty };
            let product = product(b, part, x, &operands[1], signed);
            add(b, &product, &operands[2], saturate)
        }
        IntegerOp::Multiply24(part) => product24(b, part, x, &operands[1], signed),
        IntegerOp::MultiplyAdd24 { part, saturate } => {
            let product = product24(b, part, x, &operands[1], signed);
            add(b, &product, &operands[2], saturate)
        }
        IntegerOp::Minimum => extreme(b, x, &operands[1], signed, true),
        IntegerOp::Maximum => extreme(b, x, &operands[1], signed, false),
        IntegerOp::SumOfDifferences => {
            let smaller = extreme(b, x, &operands[1], signed, true);
            let larger = extreme(b, x, &operands[1], signed, false);
            let distance = larger.zip(&smaller, |x, y| b.ins().isub(x, y));
            add(b, &distance, &operands[2], false)
        }
        IntegerOp::AddCarry(_) | IntegerOp::SubCarry(_) | IntegerOp::MultiplyAddCarry { .. } => {
            return with_carry(b, form, operands);
        }
        IntegerOp::Divide => divide(b, IntegerCall::Divide, IntegerCall::DivideSigned),
        IntegerOp::Remainder => divide(b, IntegerCall::Remainder, IntegerCall::RemainderSigned),
        IntegerOp::DotProduct4 { a_signed, b_signed } => {
            in_array(b, IntegerCall::DotProduct4, flags([a_signed, b_signed, false]))
        }
        IntegerOp::DotProduct2 { a_signed, b_signed, high } => {
            in_array(b, IntegerCall::DotProduct2, flags([a_signed, b_signed, high]))
        }
    };
    smallvec![(lanes, result)]
}

/// A sum; clamped sums are of signed 32-bit integers.
fn add(b: &mut FunctionBuilder<'_>, x: &Lanes, y: &Lanes, clamped: bool) -> Lanes {
    x.zip(y, |x, y| {
        let sum = b.ins().iadd(x, y);
        if !clamped {
            return sum;
        }
        // It went over where both have another sign than the sum.
        let (x_differs, y_differs) = (b.ins().bxor(x, sum), b.ins().bxor(y, sum));
        let over = b.ins().band(x_differs, y_differs);
        clamp(b, x, sum, over)
    })
}

fn subtract_clamped(b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
    let difference = b.ins().isub(x, y);
    // It went over where x has another sign than y and than the difference.
    let (apart, differs) = (b.ins().bxor(x, y), b.ins().bxor(x, difference));
    let over = b.ins().band(apart, differs);
    clamp(b, x, difference, over)
}

/// The result, or where `over` is negative the extreme with the sign of `x`.
fn clamp(b: &mut FunctionBuilder<'_>, x: Value, result: Value, over: Value) -> Value {
    let over = b.ins().sshr_imm_u(over, 31);
    let sign = b.ins().sshr_imm_u(x, 31);
    let highest = vector(b, types::I32X4, i32::MAX as u64);
    let extreme = b.ins().bxor(sign, highest);
    b.ins().bitselect(over, extreme, result)
}

/// Bits of a parameter.
fn flags(flags: [bool; 3]) -> u32 {
    flags.into_iter().enumerate().map(|(bit, set)| u32::from(set) << bit).sum()
}

/// A part of a product.
fn product(
    b: &mut FunctionBuilder<'_>,
    part: ProductPart,
    x: &Lanes,
    y: &Lanes,
    signed: bool,
) -> Lanes {
    let ty = b.func.dfg.value_type(x.values[0]);
    match part {
        ProductPart::Low => x.zip(y, |x, y| b.ins().imul(x, y)),
        ProductPart::High if ty == types::I64X2 => {
            let function =
                if signed { IntegerCall::MultiplyHighSigned } else { IntegerCall::MultiplyHigh };
            call(b, LaneFunction::Integer(function), 64, &[x, y], ScalarType::B64)
        }
        ProductPart::High => {
            let wide = wide_product(b, x, y, signed);
            upper(b, &wide)
        }
        ProductPart::Wide => wide_product(b, x, y, signed),
    }
}

fn wide_product(b: &mut FunctionBuilder<'_>, x: &Lanes, y: &Lanes, signed: bool) -> Lanes {
    let (x, y) = (widen(b, x, signed), widen(b, y, signed));
    x.zip(&y, |x, y| b.ins().imul(x, y))
}

/// A product of the low 24 bits: its low 32 bits, or its bits 16 to 47.
fn product24(
    b: &mut FunctionBuilder<'_>,
    part: ProductPart,
    x: &Lanes,
    y: &Lanes,
    signed: bool,
) -> Lanes {
    let [x, y] = [x, y].map(|lanes| {
        lanes.map(|value| {
            let top = b.ins().ishl_imm_u(value, 8);
            match signed {
                true => b.ins().sshr_imm_u(top, 8),
                false => b.ins().ushr_imm_u(top, 8),
            }
        })
    });
    if part == ProductPart::Low {
        return x.zip(&y, |x, y| b.ins().imul(x, y));
    }
    let wide = wide_product(b, &x, &y, signed);
    let shifted = wide.map(|value| b.ins().ushr_imm_u(value, 16));
    narrow(b, &shifted)
}

/// The smaller or larger ones.
pub(super) fn extreme(
    b: &mut FunctionBuilder<'_>,
    x: &Lanes,
    y: &Lanes,
    signed: bool,
    minimum: bool,
) -> Lanes {
    let ty = b.func.dfg.value_type(x.values[0]);
    x.zip(y, |x, y| {
        let ins = b.ins();
        match (minimum, signed) {
            (true, true) if ty != types::I64X2 => ins.smin(x, y),
            (true, false) if ty != types::I64X2 => ins.umin(x, y),
            (false, true) if ty != types::I64X2 => ins.smax(x, y),
            (false, false) if ty != types::I64X2 => ins.umax(x, y),
            _ => {
                let less = if signed { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
                let mask = ins.icmp(less, x, y);
                let (first, second) = if minimum { (x, y) } else { (y, x) };
                pick(b, mask, first, second)
            }
        }
    })
}

/// Arithmetic linked by the carry flag, which subtraction sets to the opposite of a borrow.
fn with_carry(b: &mut FunctionBuilder<'_>, form: IntegerForm, operands: &[Lanes]) -> Results {
    let ty = b.func.dfg.value_type(operands[0].values[0]);
    let flag = |b: &mut FunctionBuilder<'_>, carry: Carry, index: usize| {
        carry.takes.then(|| fit(b, &operands[index], ty))
    };
    let (result, out) = match form.op {
        IntegerOp::SubCarry(carry) => {
            let carry = flag(b, carry, 2);
            difference_and_carry(b, &operands[0], &operands[1], carry)
        }
        IntegerOp::MultiplyAddCarry { part, carry } => {
            let product = product(b, part, &operands[0], &operands[1], form.ty.is_signed());
            let carry = flag(b, carry, 3);
            sum_and_carry(b, &product, &operands[2], carry)
        }
        IntegerOp::AddCarry(carry) => {
            let carry = flag(b, carry, 2);
            sum_and_carry(b, &operands[0], &operands[1], carry)
        }
        _ => unreachable!("only operations with a carry are lowered here"),
    };
    let out = predicates(b, &out);
    smallvec![(result, form.ty), (out, ScalarType::Pred)]
}

fn sum_and_carry(
    b: &mut FunctionBuilder<'_>,
    x: &Lanes,
    y: &Lanes,
    carry: Option<Lanes>,
) -> (Lanes, Lanes) {
    let sum = x.zip(y, |x, y| b.ins().iadd(x, y));
    let out = sum.zip(x, |sum, x| b.ins().icmp(IntCC::UnsignedLessThan, sum, x));
    let Some(carry) = carry else { return (sum, out) };
    // A mask is -1 where it holds.
    let total = sum.zip(&carry, |sum, carry| b.ins().isub(sum, carry));
    let again = total.zip(&sum, |total, sum| b.ins().icmp(IntCC::UnsignedLessThan, total, sum));
    let out = out.zip(&again, |x, y| b.ins().bor(x, y));
    (total, out)
}

fn difference_and_carry(
    b: &mut FunctionBuilder<'_>,
    x: &Lanes,
    y: &Lanes,
    carry: Option<Lanes>,
) -> (Lanes, Lanes) {
    let difference = x.zip(y, |x, y| b.ins().isub(x, y));
    let out = x.zip(y, |x, y| b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, x, y));
    let Some(carry) = carry else { return (difference, out) };
    // The borrow is 1 where the carry is not set: its complement as a mask.
    let borrow = carry.map(|carry| b.ins().bnot(carry));
    let total = difference.zip(&borrow, |value, borrow| b.ins().iadd(value, borrow));
    let is_zero = |b: &mut FunctionBuilder<'_>, value: Value| {
        let ty = b.func.dfg.value_type(value);
        let zero = vector(b, ty, 0);
        b.ins().icmp(IntCC::Equal, value, zero)
    };
    // Only 0 is smaller than a borrow of 1.
    let under = difference.zip(&borrow, |value, borrow| {
        let zero = is_zero(b, value);
        b.ins().band(zero, borrow)
    });
    let out = out.zip(&under, |out, under| b.ins().band_not(out, under));
    (total, out)
}
