//! Operations on the 32 lanes of a warp at once, on vectors of 128 bits.
//!
//! They give the bits that the lowering of one thread gives, for every operand. What has no short
//! form in the instructions of SSE4.2, which is what is asked of the host, is a call of a function over
//! arrays of lanes; what has no form at all is left to the caller, who then goes lane by lane.

mod arrays;
mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod lanes;
mod make;
mod mask;
mod matrix;
mod memory;
mod min_max;
mod shape;
mod shift;
#[cfg(test)]
mod tests;
mod warp;

use cranelift_frontend::FunctionBuilder;
use ptx::{Operation, ScalarType};
use smallvec::smallvec;

use lanes::Results;

pub(in crate::codegen) use lanes::{LANES, Lanes};
pub(in crate::codegen) use make::{constant, constants, lane, splat, with_lane};
pub(in crate::codegen) use mask::{all, any, bits, from_bits, select};
pub(in crate::codegen) use matrix::{
    FramePlace, LoadedRows, MatrixOperand, exchange_rows, load_rows, multiply,
};
pub(in crate::codegen) use memory::{from_memory, join, part, raw_type, raw_vectors, to_memory};
pub(in crate::codegen) use shape::{read, resize, vector_type, write};

pub(in crate::codegen) use warp::{match_any, permute, permute_by, reduce};

/// Whether the host has the vector instructions that everything here is made of.
pub(in crate::codegen) fn is_supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("sse4.2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The results of an operation whose sources are `operands`, of the types that
/// [`source_types`](super::signature::source_types) gives, or nothing if there is no vector form. `observed` says whether something looks at the
/// bits of the result and not only at its value.
pub(in crate::codegen) fn operation(
    b: &mut FunctionBuilder<'_>,
    operation: Operation,
    operands: &[Lanes],
    observed: bool,
) -> Option<Results> {
    match operation {
        Operation::Move(ty) => Some(smallvec![(operands[0].clone(), ty)]),
        Operation::Integer(form) => Some(integer::integer(b, form, operands)),
        Operation::Bits(form) => Some(smallvec![bits::bits(b, form, operands)]),
        Operation::Float(form) => one(float::float(b, form, operands, observed), form.ty),
        Operation::Convert(form) => one(convert::convert(b, form, operands), form.to),
        Operation::ConvertBytes(form) => {
            let lanes = convert::convert_bytes(b, form, operands);
            Some(smallvec![(lanes, ScalarType::untyped(form.to.bits()))])
        }
        Operation::Compare(form) => Some(compare::compare(b, form, operands)),
        Operation::Test(class, ty) => {
            Some(smallvec![(compare::test(b, class, ty, &operands[0]), ScalarType::Pred)])
        }
        Operation::Select(ty) => {
            Some(smallvec![(select(b, &operands[2], &operands[0], &operands[1], ty), ty)])
        }
        Operation::SelectBySign { ty, tested, ftz } => {
            one(compare::select_by_sign(b, ty, tested, ftz, operands), ty)
        }
        _ => None,
    }
}

fn one(lanes: Option<Lanes>, ty: ScalarType) -> Option<Results> {
    lanes.map(|lanes| smallvec![(lanes, ty)])
}
