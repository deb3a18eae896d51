//! The choice between two values, whose type does not matter.

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
