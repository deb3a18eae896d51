//! Operations on the values of one thread.
//!
//! Each is a function of its operands: it reads no register and no memory. `vector` has the same for
//! the 32 lanes of a warp, and both give the same bits for every operand.

mod bits;
mod bytes;
mod carry;
mod compare;
mod convert;
mod dot;
mod float;
mod half;
mod integer;
mod pack;

use cranelift_codegen::ir::{InstBuilder, Value};
use ptx::{Instruction, Operation, ScalarType};
use smallvec::{SmallVec, smallvec};

use super::emitter::Emitter;

pub(super) use pack::{join, part};

/// The results of an operation: for each destination the value, and the type that it has.
pub(super) type ScalarResults = SmallVec<[(Value, ScalarType); 2]>;

/// The results of an operation whose sources are `operands`, of the types that
/// [`source_types`](super::signature::source_types) gives, or nothing if it is more than a function of
/// them. `observed` says whether something looks at the bits of the result and not only at its value.
pub(super) fn operation(
    e: &mut Emitter<'_>,
    instruction: &Instruction,
    operands: &[Value],
    observed: bool,
) -> Option<ScalarResults> {
    let one = |value: Value, ty: ScalarType| -> ScalarResults { smallvec![(value, ty)] };
    Some(match instruction.operation {
        Operation::Move(ty) => one(operands[0], ty),
        Operation::Integer(form) => integer::integer(e, form, operands),
        Operation::Bits(form) => smallvec![bits::bits(e, form, operands, &instruction.sources)],
        Operation::Float(form) => one(float::float(e, form, operands, observed), form.ty),
        Operation::Compare(form) => {
            let both = matches!(instruction.destinations.get(1), Some(Some(_)));
            compare::compare(e, form, operands, both)
        }
        Operation::Test(class, ty) => {
            one(compare::test(e, class, ty, operands[0]), ScalarType::Pred)
        }
        Operation::Select(ty) => one(e.ins().select(operands[2], operands[0], operands[1]), ty),
        Operation::SelectBySign { ty, tested, ftz } => {
            one(compare::select_by_sign(e, tested, ftz, operands), ty)
        }
        Operation::Convert(form) => one(convert::convert(e, form, operands), form.to),
        Operation::ConvertBytes(form) => {
            let pair = bytes::convert_bytes(e, form, operands);
            one(pair, ScalarType::untyped(form.to.bits()))
        }
        _ => return None,
    })
}
