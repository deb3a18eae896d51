//! Opcodes of integer arithmetic.

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::{Carry, Clamp, FloatOp, IntegerForm, IntegerOp, Operation, ProductPart};
use crate::types::ScalarType::{self, *};

pub(super) const INTEGERS: &[ScalarType] = &[U16, U32, U64, S16, S32, S64];
const WORDS: &[ScalarType] = &[U32, S32];

pub(super) fn operation(op: IntegerOp, ty: ScalarType) -> Operation {
    Operation::Integer(IntegerForm { op, ty })
}

/// `add`, `sub` on integers, also with the carry as result.
pub(super) fn sum(
    modifiers: &mut Modifiers<'_>,
    ty: ScalarType,
) -> Result<InstructionForm, ErrorKind> {
    if modifiers.take("cc") {
        return carry_sum(modifiers.name, ty, Carry { takes: false, gives: true });
    }
    let saturate = modifiers.clamp() == Clamp::Saturate;
    if saturate && ty != S32 || !INTEGERS.contains(&ty) {
        return Err(ErrorKind::Unsupported("this instruction with this type"));
    }
    let op = match modifiers.name {
        "add" => IntegerOp::Add { saturate },
        _ => IntegerOp::Sub { saturate },
    };
    Ok(InstructionForm::uniform(operation(op, ty), ty, 2))
}

/// `addc`, `subc`, `madc`.
pub(super) fn with_carry(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let carry = Carry { takes: true, gives: modifiers.take("cc") };
    if modifiers.name == "madc" {
        let part = part(modifiers)?;
        let ty = modifiers.scalar_of(&[U32, S32, U64, S64])?;
        return Ok(carry_product(part, ty, carry));
    }
    let ty = modifiers.scalar_of(&[U32, S32, U64, S64])?;
    carry_sum(modifiers.name, ty, carry)
}

/// `mul`, of integers or floating-point numbers.
pub(super) fn multiply(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let Some(part) = modifiers.choose(PARTS) else {
        return super::float::binary(modifiers, FloatOp::Multiply);
    };
    let ty = modifiers.scalar_of(allowed(part))?;
    let mut form = InstructionForm::uniform(operation(IntegerOp::Multiply(part), ty), ty, 2);
    form.destinations[0] = OperandKind::Value(product_type(part, ty));
    Ok(form)
}

/// `mad`, of integers or floating-point numbers.
pub(super) fn multiply_add(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let Some(part) = modifiers.choose(PARTS) else {
        return super::float::fused(modifiers);
    };
    if modifiers.take("cc") {
        let ty = modifiers.scalar_of(&[U32, S32, U64, S64])?;
        return Ok(carry_product(part, ty, Carry { takes: false, gives: true }));
    }
    let saturate = modifiers.clamp() == Clamp::Saturate;
    let ty = modifiers.scalar_of(allowed(part))?;
    if saturate && (part != ProductPart::High || ty != S32) {
        return Err(ErrorKind::UnsupportedModifier("sat".to_owned()));
    }
    let mut form =
        InstructionForm::uniform(operation(IntegerOp::MultiplyAdd { part, saturate }, ty), ty, 3);
    form.destinations[0] = OperandKind::Value(product_type(part, ty));
    form.sources[2] = form.destinations[0];
    Ok(form)
}

/// `mul24`, `mad24`.
pub(super) fn multiply24(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let part = modifiers.require("lo or hi", &PARTS[..2])?;
    let saturate = modifiers.clamp() == Clamp::Saturate;
    let ty = modifiers.scalar_of(WORDS)?;
    if modifiers.name == "mul24" {
        return Ok(InstructionForm::uniform(operation(IntegerOp::Multiply24(part), ty), ty, 2));
    }
    if saturate && (part != ProductPart::High || ty != S32) {
        return Err(ErrorKind::UnsupportedModifier("sat".to_owned()));
    }
    Ok(InstructionForm::uniform(operation(IntegerOp::MultiplyAdd24 { part, saturate }, ty), ty, 3))
}

/// `rem`.
pub(super) fn remainder(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let ty = modifiers.scalar_of(INTEGERS)?;
    Ok(InstructionForm::uniform(operation(IntegerOp::Remainder, ty), ty, 2))
}

/// `sad`.
pub(super) fn sum_of_differences(
    modifiers: &mut Modifiers<'_>,
) -> Result<InstructionForm, ErrorKind> {
    let ty = modifiers.scalar_of(INTEGERS)?;
    Ok(InstructionForm::uniform(operation(IntegerOp::SumOfDifferences, ty), ty, 3))
}

/// `dp4a`, `dp2a`.
pub(super) fn dot_product(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let high = match modifiers.name {
        "dp2a" => Some(modifiers.require("lo or hi", &[("lo", false), ("hi", true)])?),
        _ => None,
    };
    let a_signed = modifiers.scalar_of(WORDS)? == S32;
    let b_signed = modifiers.scalar_of(WORDS)? == S32;
    let op = match high {
        Some(high) => IntegerOp::DotProduct2 { a_signed, b_signed, high },
        None => IntegerOp::DotProduct4 { a_signed, b_signed },
    };
    let ty = if a_signed || b_signed { S32 } else { U32 };
    Ok(InstructionForm::uniform(operation(op, ty), ty, 3))
}

const PARTS: &[(&str, ProductPart)] =
    &[("lo", ProductPart::Low), ("hi", ProductPart::High), ("wide", ProductPart::Wide)];

fn part(modifiers: &mut Modifiers<'_>) -> Result<ProductPart, ErrorKind> {
    modifiers.require("lo or hi", &PARTS[..2])
}

fn allowed(part: ProductPart) -> &'static [ScalarType] {
    match part {
        ProductPart::Wide => &[U16, U32, S16, S32],
        _ => INTEGERS,
    }
}

fn product_type(part: ProductPart, ty: ScalarType) -> ScalarType {
    match (part, ty) {
        (ProductPart::Wide, U16) => U32,
        (ProductPart::Wide, S16) => S32,
        (ProductPart::Wide, U32) => U64,
        (ProductPart::Wide, S32) => S64,
        _ => ty,
    }
}

fn carry_sum(name: &str, ty: ScalarType, carry: Carry) -> Result<InstructionForm, ErrorKind> {
    if ![U32, S32, U64, S64].contains(&ty) {
        return Err(ErrorKind::Unsupported("this instruction with this type"));
    }
    let op = match name {
        "add" | "addc" => IntegerOp::AddCarry(carry),
        _ => IntegerOp::SubCarry(carry),
    };
    Ok(with_flag(InstructionForm::uniform(operation(op, ty), ty, 2), carry))
}

fn carry_product(part: ProductPart, ty: ScalarType, carry: Carry) -> InstructionForm {
    let op = IntegerOp::MultiplyAddCarry { part, carry };
    with_flag(InstructionForm::uniform(operation(op, ty), ty, 3), carry)
}

fn with_flag(mut form: InstructionForm, carry: Carry) -> InstructionForm {
    if carry.takes {
        form.sources.push(OperandKind::Carry);
    }
    if carry.gives {
        form.destinations.push(OperandKind::Carry);
    }
    form
}
