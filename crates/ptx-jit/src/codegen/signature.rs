//! The types that operations expect their sources in.

use ptx::{BitsOp, Carry, IntegerForm, IntegerOp, Operation, ProductPart, ScalarType};
use smallvec::{SmallVec, smallvec};

type Types = SmallVec<[ScalarType; 4]>;

/// The types of the sources of an operation with `count` of them.
///
/// Nothing for operations that are more than a function of their sources, and for those whose
/// types are not in the operation but in the registers.
pub(super) fn source_types(operation: Operation, count: usize) -> Option<Types> {
    Some(match operation {
        Operation::Move(ty) => smallvec![ty],
        Operation::Integer(form) => integer(form),
        Operation::Bits(form) => {
            let mut types: Types = smallvec![ScalarType::B32; count];
            let own = match form.op {
                BitsOp::Insert | BitsOp::And | BitsOp::Or | BitsOp::Xor => 2,
                _ => 1,
            };
            types.iter_mut().take(own).for_each(|ty| *ty = form.ty);
            types
        }
        Operation::Float(form) => smallvec![form.ty; count],
        Operation::Compare(form) => {
            let mut types: Types = smallvec![form.ty; 2];
            types.extend(form.combine.map(|_| ScalarType::Pred));
            types
        }
        Operation::Test(_, ty) => smallvec![ScalarType::untyped(ty.bits())],
        Operation::Select(ty) => smallvec![ty, ty, ScalarType::Pred],
        Operation::SelectBySign { ty, tested, .. } => smallvec![ty, ty, tested],
        Operation::Convert(form) => smallvec![form.from; count],
        Operation::ConvertBytes(form) => match (form.to, form.from) {
            (ScalarType::F16x2, _) => smallvec![ScalarType::B16],
            (_, ScalarType::F32) => smallvec![ScalarType::F32; 2],
            _ => smallvec![ScalarType::B32],
        },
        _ => return None,
    })
}

fn integer(form: IntegerForm) -> Types {
    let ty = form.ty;
    match form.op {
        IntegerOp::Negate | IntegerOp::Absolute => smallvec![ty],
        IntegerOp::MultiplyAdd { part: ProductPart::Wide, .. } => smallvec![ty, ty, double(ty)],
        IntegerOp::MultiplyAdd { .. }
        | IntegerOp::MultiplyAdd24 { .. }
        | IntegerOp::SumOfDifferences => smallvec![ty; 3],
        IntegerOp::AddCarry(carry) | IntegerOp::SubCarry(carry) => {
            with_flag(smallvec![ty; 2], carry)
        }
        IntegerOp::MultiplyAddCarry { carry, .. } => with_flag(smallvec![ty; 3], carry),
        IntegerOp::DotProduct4 { .. } | IntegerOp::DotProduct2 { .. } => {
            smallvec![ScalarType::B32; 3]
        }
        _ => smallvec![ty; 2],
    }
}

fn with_flag(mut types: Types, carry: Carry) -> Types {
    types.extend(carry.takes.then_some(ScalarType::Pred));
    types
}

/// The integers of twice the width.
pub(super) fn double(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}
