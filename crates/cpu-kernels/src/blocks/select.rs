//! The choice between two values, whose type does not matter, and bounds.

use expression::ComputeType;

use super::block::{BlockKernel, implement};
use crate::instruction_set::InstructionSet;

/// The loop for values of so many bytes.
pub(super) fn kernel(size: usize, set: InstructionSet) -> BlockKernel {
    match size {
        1 => set.version::<SelectBytes>(),
        4 => set.version::<SelectWords>(),
        _ => set.version::<SelectLongs>(),
    }
}

struct SelectBytes;
struct SelectWords;
struct SelectLongs;

implement!(SelectBytes: map3 |condition: u8, a: u8, b: u8| if condition != 0 { a } else { b });
implement!(SelectWords: map3 |condition: u8, a: u32, b: u32| if condition != 0 { a } else { b });
implement!(SelectLongs: map3 |condition: u8, a: u64, b: u64| if condition != 0 { a } else { b });

/// The loop of `select(x <= bound, bound, x)` of floats; a NaN stays.
pub(super) fn lower_bound(of: ComputeType, set: InstructionSet) -> Option<BlockKernel> {
    match of {
        ComputeType::F32 => Some(set.version::<LowerBoundSingle>()),
        ComputeType::F64 => Some(set.version::<LowerBoundDouble>()),
        _ => None,
    }
}

struct LowerBoundSingle;
struct LowerBoundDouble;

implement!(LowerBoundSingle: map2 |x: f32, bound: f32| if x <= bound { bound } else { x });
implement!(LowerBoundDouble: map2 |x: f64, bound: f64| if x <= bound { bound } else { x });
