//! The opcode that converts between number types.

use smallvec::smallvec;

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::{Clamp, ConvertBytesForm, ConvertForm, Operation, Rounding};
use crate::types::ScalarType::{self, *};

/// `cvt`.
pub(super) fn cvt(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let integral_rounding = modifiers.choose(&[
        ("rni", Rounding::Nearest),
        ("rzi", Rounding::TowardZero),
        ("rmi", Rounding::Down),
        ("rpi", Rounding::Up),
    ]);
    let rounding = modifiers.rounding();
    let ftz = modifiers.take("ftz");
    let finite = modifiers.take("satfinite");
    let clamp = modifiers.clamp();
    let (to, from) = (modifiers.scalar()?, modifiers.scalar()?);
    if to.is_byte_pair() || from.is_byte_pair() {
        let plain = rounding == Some(Rounding::Nearest) && !ftz && integral_rounding.is_none();
        let fits = finite == to.is_byte_pair() && clamp != Clamp::Saturate;
        return match plain && fits {
            true => byte_pairs(ConvertBytesForm { to, from, relu: clamp == Clamp::Relu }),
            false => Err(ErrorKind::Unsupported("a conversion with these modifiers")),
        };
    }
    let form = ConvertForm {
        to,
        from,
        rounding: integral_rounding.or(rounding).unwrap_or(Rounding::Nearest),
        integral: integral_rounding.is_some(),
        ftz,
        clamp,
        finite,
    };
    check(form, rounding.is_some())?;
    let sources = if to.is_half_pair() {
        smallvec![OperandKind::Value(from), OperandKind::Value(from)]
    } else {
        smallvec![OperandKind::Wide(from)]
    };
    Ok(InstructionForm {
        operation: Operation::Convert(form),
        destinations: smallvec![OperandKind::Wide(to)],
        sources,
    })
}

/// 8-bit numbers are always made of and made to pairs.
fn byte_pairs(form: ConvertBytesForm) -> Result<InstructionForm, ErrorKind> {
    let sources: &[OperandKind] = match (form.to, form.from) {
        (E4M3x2 | E5M2x2, F32) => &[OperandKind::Value(F32), OperandKind::Value(F32)],
        (E4M3x2 | E5M2x2, F16x2) => &[OperandKind::Value(B32)],
        (F16x2, E4M3x2 | E5M2x2) => &[OperandKind::Value(B16)],
        _ => return Err(ErrorKind::Unsupported("a conversion between these types")),
    };
    let result = ScalarType::untyped(form.to.bits());
    Ok(InstructionForm::new(Operation::ConvertBytes(form), &[OperandKind::Value(result)], sources))
}

fn check(form: ConvertForm, rounded: bool) -> Result<(), ErrorKind> {
    let ConvertForm { to, from, .. } = form;
    let number = |ty: ScalarType| ty.is_integer() || ty.is_float();
    if !number(to) || !number(from) || from.is_half_pair() || to.is_half_pair() && from != F32 {
        return Err(ErrorKind::Unsupported("a conversion between these types"));
    }
    let narrowing = to.is_float() && from.is_float() && to.element().bits() < from.bits();
    let needs_rounding = narrowing || from.is_integer() && to.is_float();
    if needs_rounding && !rounded {
        return Err(ErrorKind::MissingModifier("a rounding mode"));
    }
    let needs_integral = from.is_float() && to.is_integer();
    if needs_integral && !form.integral {
        return Err(ErrorKind::MissingModifier("a rounding mode to integers"));
    }
    let may_be_integral = needs_integral || from == to && from.is_float();
    if form.integral && !may_be_integral || rounded && !needs_rounding {
        return Err(ErrorKind::Unsupported("a rounding mode in this conversion"));
    }
    if form.ftz && ![to, from].contains(&F32) {
        return Err(ErrorKind::UnsupportedModifier("ftz".to_owned()));
    }
    let to_half = to.element().is_half();
    if form.clamp == Clamp::Relu && !(to_half && from == F32) {
        return Err(ErrorKind::UnsupportedModifier("relu".to_owned()));
    }
    if form.finite && !(to_half && from == F32) {
        return Err(ErrorKind::UnsupportedModifier("satfinite".to_owned()));
    }
    Ok(())
}
