//! Opcodes of floating-point arithmetic, and those that serve both kinds of numbers.

use super::form::InstructionForm;
use super::integer;
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::{Clamp, FloatForm, FloatOp, IntegerOp, MinMax, Operation, Rounding};
use crate::types::ScalarType::{self, *};

/// `add`, `sub`.
pub(super) fn sum(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    if let Some(ty) = modifiers.integer() {
        return integer::sum(modifiers, ty);
    }
    binary(modifiers, if modifiers.name == "add" { FloatOp::Add } else { FloatOp::Sub })
}

/// `add`, `sub`, `mul` of floating-point numbers.
pub(super) fn binary(
    modifiers: &mut Modifiers<'_>,
    op: FloatOp,
) -> Result<InstructionForm, ErrorKind> {
    let rounding = modifiers.rounding();
    let (ftz, clamp) = (modifiers.take("ftz"), modifiers.clamp());
    let ty = modifiers.scalar_of(FLOATS)?;
    check_rounding(ty, rounding)?;
    if clamp == Clamp::Relu {
        return Err(ErrorKind::UnsupportedModifier("relu".to_owned()));
    }
    finish(op, ty, rounding, ftz, clamp, 2)
}

/// `fma`, and `mad`, which is the same on every target of today.
pub(super) fn fused(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let rounding = modifiers.rounding();
    if rounding.is_none() && modifiers.name == "fma" {
        return Err(ErrorKind::MissingModifier("a rounding mode"));
    }
    let (ftz, clamp) = (modifiers.take("ftz"), modifiers.clamp());
    let ty = modifiers.scalar_of(FLOATS)?;
    check_rounding(ty, rounding)?;
    if clamp == Clamp::Relu && matches!(ty, F32 | F64) {
        return Err(ErrorKind::UnsupportedModifier("relu".to_owned()));
    }
    finish(FloatOp::FusedMultiplyAdd, ty, rounding, ftz, clamp, 3)
}

/// `div`, of integers or floating-point numbers. Approximate forms are exact.
pub(super) fn divide(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    if let Some(ty) = modifiers.integer() {
        let operation = integer::operation(IntegerOp::Divide, ty);
        return Ok(InstructionForm::uniform(operation, ty, 2));
    }
    let rounding = modifiers.rounding();
    let approximate = modifiers.take("approx") || modifiers.take("full");
    if approximate == rounding.is_some() {
        return Err(ErrorKind::MissingModifier("a rounding mode, approx or full"));
    }
    let ftz = modifiers.take("ftz");
    let ty = modifiers.scalar_of(if approximate { &[F32] } else { &[F32, F64] })?;
    finish(FloatOp::Divide, ty, rounding, ftz, Clamp::None, 2)
}

/// `rcp`, `sqrt`, `rsqrt`. Approximate forms are exact.
pub(super) fn root(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let rounding = modifiers.rounding();
    let approximate = modifiers.take("approx");
    if approximate == rounding.is_some() {
        return Err(ErrorKind::MissingModifier("a rounding mode or approx"));
    }
    let mut ftz = modifiers.take("ftz");
    let ty = modifiers.scalar_of(&[F32, F64])?;
    let gross = approximate && ftz && ty == F64;
    ftz &= ty == F32;
    let op = match modifiers.name {
        "rcp" if gross => FloatOp::GrossReciprocal,
        "rcp" if ty == F32 || !approximate => FloatOp::Reciprocal,
        "sqrt" if ty == F32 || !approximate => FloatOp::SquareRoot,
        "rsqrt" if gross => FloatOp::GrossReciprocalSquareRoot,
        "rsqrt" if approximate => FloatOp::ReciprocalSquareRoot,
        _ => return Err(ErrorKind::UnsupportedInstruction),
    };
    finish(op, ty, rounding, ftz, Clamp::None, 1)
}

/// `sin`, `cos`, `lg2`, `ex2`, `tanh`.
pub(super) fn approximate(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let (op, types): (_, &[ScalarType]) = match modifiers.name {
        "sin" => (FloatOp::Sine, &[F32]),
        "cos" => (FloatOp::Cosine, &[F32]),
        "lg2" => (FloatOp::Log2, &[F32]),
        "ex2" => (FloatOp::Exp2, &[F32, F16, F16x2, BF16, BF16x2]),
        _ => (FloatOp::Tanh, &[F32, F16, F16x2, BF16, BF16x2]),
    };
    if !modifiers.take("approx") {
        return Err(ErrorKind::MissingModifier("approx"));
    }
    let ftz = modifiers.take("ftz");
    let ty = modifiers.scalar_of(types)?;
    finish(op, ty, None, ftz, Clamp::None, 1)
}

/// `abs`, `neg`, of integers or floating-point numbers.
pub(super) fn unary(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let negate = modifiers.name == "neg";
    if let Some(ty) = modifiers.integer() {
        if !ty.is_signed() {
            return Err(ErrorKind::Unsupported("this instruction with this type"));
        }
        let op = if negate { IntegerOp::Negate } else { IntegerOp::Absolute };
        return Ok(InstructionForm::uniform(integer::operation(op, ty), ty, 1));
    }
    let ftz = modifiers.take("ftz");
    let ty = modifiers.scalar_of(FLOATS)?;
    let op = if negate { FloatOp::Negate } else { FloatOp::Absolute };
    finish(op, ty, None, ftz, Clamp::None, 1)
}

/// `min`, `max`, of integers or floating-point numbers.
pub(super) fn min_max(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let minimum = modifiers.name == "min";
    if let Some(ty) = modifiers.integer() {
        let op = if minimum { IntegerOp::Minimum } else { IntegerOp::Maximum };
        return Ok(InstructionForm::uniform(integer::operation(op, ty), ty, 2));
    }
    let ftz = modifiers.take("ftz");
    let nan = modifiers.take("NaN");
    let xor_sign = modifiers.take("xorsign") && modifiers.take("abs");
    let ty = modifiers.scalar_of(FLOATS)?;
    let variant = MinMax { nan, xor_sign };
    let op = if minimum { FloatOp::Minimum(variant) } else { FloatOp::Maximum(variant) };
    finish(op, ty, None, ftz, Clamp::None, 2)
}

/// `copysign`.
pub(super) fn copy_sign(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let ty = modifiers.scalar_of(&[F32, F64])?;
    finish(FloatOp::CopySign, ty, None, false, Clamp::None, 2)
}

const FLOATS: &[ScalarType] = &[F32, F64, F16, F16x2, BF16, BF16x2];

/// Halves are rounded to nearest only.
fn check_rounding(ty: ScalarType, rounding: Option<Rounding>) -> Result<(), ErrorKind> {
    let half = ty.is_half() || ty.is_half_pair();
    match rounding {
        Some(Rounding::TowardZero | Rounding::Down | Rounding::Up) if half => {
            Err(ErrorKind::Unsupported("this rounding mode with this type"))
        }
        _ => Ok(()),
    }
}

fn finish(
    op: FloatOp,
    ty: ScalarType,
    rounding: Option<Rounding>,
    ftz: bool,
    clamp: Clamp,
    sources: usize,
) -> Result<InstructionForm, ErrorKind> {
    if ftz && ty == F64 {
        return Err(ErrorKind::UnsupportedModifier("ftz".to_owned()));
    }
    if clamp != Clamp::None && ty == F64 {
        return Err(ErrorKind::UnsupportedModifier("sat".to_owned()));
    }
    let rounding = rounding.unwrap_or(Rounding::Nearest);
    let form = FloatForm { op, ty, rounding, ftz, clamp };
    Ok(InstructionForm::uniform(Operation::Float(form), ty, sources))
}
