//! Operations on the 32 lanes of a warp at once, on vectors of 128 bits.
//!
//! They give the bits that the lowering of one thread gives, for every operand. What has no short
//! form in vector instructions is a call of a function over arrays of lanes; what has no form at
//! all is left to the caller, who then goes lane by lane.

mod arrays;
mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod make;
mod mask;
mod memory;
mod min_max;
mod shape;
mod shift;
mod signature;
#[cfg(test)]
mod tests;
mod warp;

use cranelift_codegen::ir::Value;
use cranelift_frontend::FunctionBuilder;
use ptx::{Operation, ScalarType};
use smallvec::{SmallVec, smallvec};

pub(in crate::codegen) use make::{constant, lane, splat, with_lane};
pub(in crate::codegen) use mask::{all, any, bits, from_bits, select};
pub(in crate::codegen) use memory::{RAW, from_memory, join, part, raw_vectors, to_memory};
pub(in crate::codegen) use shape::{read, resize, vector_type, write};
pub(in crate::codegen) use signature::source_types;
pub(in crate::codegen) use warp::{match_any, permute, permute_by, reduce};

/// Lanes of a warp.
pub(in crate::codegen) const LANES: usize = 32;

/// One value for each lane of a warp, in the order of the lanes.
///
/// The vectors are those of [`vector_type`]: 8 of four 32-bit numbers, 16 of two 64-bit ones, 4 of
/// eight 16-bit ones (halves are their bits), and for predicates 8 of four 32-bit masks, all ones
/// or zero. 8-bit numbers are the lower halves of 16 bits, and the upper ones may hold anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::codegen) struct Lanes {
    pub(in crate::codegen) values: SmallVec<[Value; 16]>,
}

impl Lanes {
    /// The same value in every vector.
    fn repeated(value: Value, count: usize) -> Lanes {
        Lanes { values: smallvec![value; count] }
    }

    /// An operation on each vector. Equal vectors, as in a uniform value, share it.
    fn map(&self, mut operation: impl FnMut(Value) -> Value) -> Lanes {
        self.zip(self, |value, _| operation(value))
    }

    /// An operation on each pair of vectors. Equal pairs share it.
    fn zip(&self, other: &Lanes, mut operation: impl FnMut(Value, Value) -> Value) -> Lanes {
        debug_assert_eq!(self.values.len(), other.values.len());
        let mut values: SmallVec<[Value; 16]> = SmallVec::new();
        let mut last = None;
        for (&a, &b) in self.values.iter().zip(&other.values) {
            let value = match last {
                Some((pair, value)) if pair == (a, b) => value,
                _ => operation(a, b),
            };
            last = Some(((a, b), value));
            values.push(value);
        }
        Lanes { values }
    }
}

/// Whether the host has the vector instructions that everything here is made of.
pub(in crate::codegen) fn is_supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("sse4.2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What an operation gives: for each destination the lanes, and the type that they have.
pub(in crate::codegen) type Results = SmallVec<[(Lanes, ScalarType); 2]>;

/// The results of an operation whose sources are `operands`, of the types that [`source_types`]
/// gives, or nothing if there is no vector form. `observed` says whether something looks at the
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
