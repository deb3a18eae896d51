//! The primitives as loops over dense blocks: one for each primitive, type and instruction set; and
//! some that are several primitives.

mod block;
mod convert;
mod elementary;
mod float;
mod integer;
mod integer_arithmetic;
mod joint;
mod rounding;
mod select;
mod truth;

use expression::{ComputeType, Primitive};

pub(crate) use block::{BlockArguments, BlockKernel};
pub(crate) use joint::Joint;

use crate::instruction_set::InstructionSet;

/// The loop of a primitive of values of type `of` (for [`Primitive::Select`] the type of the second
/// and third), or `None` if there is no such function.
pub(crate) fn kernel(
    primitive: Primitive,
    of: ComputeType,
    set: InstructionSet,
) -> Option<BlockKernel> {
    if primitive == Primitive::Select {
        return Some(select::kernel(of.size(), set));
    }
    if let Primitive::Convert(to) = primitive {
        return Some(convert::kernel(of, to, set));
    }
    match of {
        ComputeType::F64 => {
            float::kernel_f64(primitive, set).or_else(|| elementary::kernel_f64(primitive, set))
        }
        ComputeType::F32 => {
            float::kernel_f32(primitive, set).or_else(|| elementary::kernel_f32(primitive, set))
        }
        ComputeType::I64 => {
            integer::kernel_i64(primitive, set).or_else(|| elementary::kernel_i64(primitive, set))
        }
        ComputeType::I32 => {
            integer::kernel_i32(primitive, set).or_else(|| elementary::kernel_i32(primitive, set))
        }
        ComputeType::Bool => truth::kernel(primitive, set),
    }
}

/// The loop of several primitives at once, or `None` if they are not joined for the type.
pub(crate) fn joint_kernel(
    joint: Joint,
    of: ComputeType,
    set: InstructionSet,
) -> Option<BlockKernel> {
    joint::kernel(joint, of, set)
}

#[cfg(test)]
mod tests;
