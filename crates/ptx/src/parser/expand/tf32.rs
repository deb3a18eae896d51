//! Conversions of `f32` to `tf32`, which is an `f32` with ten bits of fraction.

use super::expander::Expander;
use crate::ast::Operand;
use crate::error::Error;
use crate::operation::{BitsOp, CompareForm, Comparison, IntegerOp, Operation};
use crate::types::RegisterType;
use crate::types::ScalarType::{B32, F32, U32};

/// The bits of an `f32` that `tf32` does not have.
const DROPPED: u64 = 0x1fff;
/// The bits without the sign, and those of infinity.
const MAGNITUDE: u64 = 0x7fff_ffff;
const INFINITY: u64 = 0x7f80_0000;
/// The one NaN of PTX.
const NAN: u64 = 0x7fff_ffff;

/// `cvt.{rna,rn,rz}.tf32.f32 d, a`; `false` for all others.
pub(super) fn convert(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<bool, Error> {
    let Some(rounding) = modifiers.strip_suffix(".tf32.f32") else { return Ok(false) };
    if !["rna", "rn", "rz"].contains(&rounding) {
        return Ok(false);
    }
    let mut operands = expander.operands();
    let result = operands.result(B32)?;
    operands.comma()?;
    let source = operands.value(F32)?;
    let mut code = expander.code();
    let number = Operand::Immediate;
    let add = IntegerOp::Add { saturate: false };
    // Half of what is dropped is added, or a bit less where ties go to the even neighbour.
    let raised = match rounding {
        "rz" => source,
        "rna" => code.integer(add, U32, &[source, number((DROPPED >> 1) + 1)]),
        _ => {
            let odd = code.bits(BitsOp::Extract, U32, &[source, number(13), number(1)]);
            let raised = code.integer(add, U32, &[source, number(DROPPED >> 1)]);
            code.integer(add, U32, &[raised, odd])
        }
    };
    let rounded = code.bits(BitsOp::And, B32, &[raised, number(DROPPED ^ 0xffff_ffff)]);
    let magnitude = code.bits(BitsOp::And, B32, &[source, number(MAGNITUDE)]);
    let is_number = code.temporary(RegisterType::Predicate);
    let compare = Operation::Compare(CompareForm::integers(Comparison::LessEqual, U32));
    code.emit(compare, &[Some(is_number), None], &[magnitude, number(INFINITY)]);
    let sources = [rounded, number(NAN), Operand::Register(is_number)];
    code.emit(Operation::Select(B32), &[result], &sources);
    Ok(true)
}
