//! Opcodes that compare and choose.

use smallvec::smallvec;

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::{Combine, CompareForm, Comparison, FloatClass, Operation};
use crate::types::ScalarType::{self, *};

/// `set`, `setp`.
pub(super) fn set(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let comparison = modifiers.require("a comparison", COMPARISONS)?;
    let combine =
        modifiers.choose(&[("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)]);
    let ftz = modifiers.take("ftz");
    let result = match modifiers.name {
        "setp" => Pred,
        _ => modifiers.scalar_of(&[U32, S32, F32, U16, S16, F16, BF16, F16x2, BF16x2])?,
    };
    let ty = modifiers.scalar()?;
    if matches!(ty, Pred | B8 | U8 | S8 | E4M3x2 | E5M2x2) || !defined_on(comparison, ty) {
        return Err(ErrorKind::Unsupported("this comparison of this type"));
    }
    if ftz && matches!(ty, F64) {
        return Err(ErrorKind::UnsupportedModifier("ftz".to_owned()));
    }
    // A pair gives a pair of results, or one mask for both.
    if result.is_half_pair() && result != ty
        || ty.is_half_pair() && matches!(result, F32 | F16 | BF16 | U16 | S16)
    {
        return Err(ErrorKind::Unsupported("this result of a comparison of this type"));
    }
    let form = CompareForm { comparison, ty, ftz, combine, result };
    let mut sources = smallvec![OperandKind::Value(ty), OperandKind::Value(ty)];
    if combine.is_some() {
        sources.push(OperandKind::Condition);
    }
    let mut destinations = smallvec![OperandKind::Value(result)];
    if result == Pred {
        destinations.push(OperandKind::Joined(Pred));
    }
    Ok(InstructionForm { operation: Operation::Compare(form), destinations, sources })
}

/// `selp`.
pub(super) fn select(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let ty = selectable(modifiers)?;
    let sources = [OperandKind::Value(ty), OperandKind::Value(ty), OperandKind::Condition];
    Ok(InstructionForm::new(Operation::Select(ty), &[OperandKind::Value(ty)], &sources))
}

/// `slct`.
pub(super) fn select_by_sign(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let ftz = modifiers.take("ftz");
    let ty = selectable(modifiers)?;
    let tested = modifiers.scalar_of(&[S32, F32])?;
    let sources = [OperandKind::Value(ty), OperandKind::Value(ty), OperandKind::Value(tested)];
    let operation = Operation::SelectBySign { ty, tested, ftz };
    Ok(InstructionForm::new(operation, &[OperandKind::Value(ty)], &sources))
}

/// `testp`.
pub(super) fn test(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let classes = [
        ("finite", FloatClass::Finite),
        ("infinite", FloatClass::Infinite),
        ("number", FloatClass::Number),
        ("notanumber", FloatClass::NotANumber),
        ("normal", FloatClass::Normal),
        ("subnormal", FloatClass::Subnormal),
    ];
    let class = modifiers.require("a class of numbers", &classes)?;
    let ty = modifiers.scalar_of(&[F32, F64])?;
    Ok(InstructionForm::new(
        Operation::Test(class, ty),
        &[OperandKind::Value(Pred)],
        &[OperandKind::Value(ty)],
    ))
}

const COMPARISONS: &[(&str, Comparison)] = &[
    ("eq", Comparison::Equal),
    ("ne", Comparison::NotEqual),
    ("lt", Comparison::Less),
    ("le", Comparison::LessEqual),
    ("gt", Comparison::Greater),
    ("ge", Comparison::GreaterEqual),
    ("lo", Comparison::Lower),
    ("ls", Comparison::LowerSame),
    ("hi", Comparison::Higher),
    ("hs", Comparison::HigherSame),
    ("equ", Comparison::EqualUnordered),
    ("neu", Comparison::NotEqualUnordered),
    ("ltu", Comparison::LessUnordered),
    ("leu", Comparison::LessEqualUnordered),
    ("gtu", Comparison::GreaterUnordered),
    ("geu", Comparison::GreaterEqualUnordered),
    ("num", Comparison::Ordered),
    ("nan", Comparison::Unordered),
];

/// Untyped bits are only equal or not; the unordered comparisons are for floating-point numbers.
fn defined_on(comparison: Comparison, ty: ScalarType) -> bool {
    use Comparison::*;
    match comparison {
        Equal | NotEqual => true,
        Less | LessEqual | Greater | GreaterEqual => ty.is_integer() || ty.is_float(),
        Lower | LowerSame | Higher | HigherSame => ty.is_integer(),
        _ => ty.is_float(),
    }
}

fn selectable(modifiers: &mut Modifiers<'_>) -> Result<ScalarType, ErrorKind> {
    modifiers.scalar_of(&[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64, F16, BF16])
}
