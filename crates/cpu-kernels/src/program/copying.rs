//! Programs that only copy.

use super::layout::{Strided, copy_box};
use super::walk::BlockWalk;
use super::{Program, StridedPointer};
use crate::movers::copy;
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// Elements of a block, which is only a piece of work where all that is done is a copy.
pub(super) const COPIED_LENGTH: usize = 1 << 13;

impl Program {
    /// Copies dense elements, of so many bytes each.
    ///
    /// # Safety
    /// The conditions of [`Program::run`], for dense operands.
    pub(super) unsafe fn copy_dense(
        &self,
        size: usize,
        count: usize,
        output: StridedPointer<'_>,
        input: StridedPointer<'_>,
    ) {
        let (to, from) = (SharedPointer::new(output.start), SharedPointer::new(input.start));
        pool::split(count, 2 * size, |range| {
            let start = range.start * size;
            // SAFETY: both have the elements of the range, and are the same or apart.
            unsafe {
                let (to, from) = (to.get().add(start), from.get().add(start));
                to.copy_from(from, range.len() * size);
            }
        });
    }

    /// Copies the elements of a walk, of so many bytes each.
    ///
    /// # Safety
    /// The conditions of [`Program::run`].
    pub(super) unsafe fn copy_walk(
        &self,
        size: usize,
        walk: BlockWalk<'_>,
        output: StridedPointer<'_>,
        input: StridedPointer<'_>,
    ) {
        let (to, from) = (SharedPointer::new(output.start), SharedPointer::new(input.start));
        let mover = (copy(size, self.set), size);
        pool::split(walk.blocks(), walk.largest() * 2 * size, |range| {
            let mut position = walk.position(range.start);
            for _ in range {
                let at = |start: SharedPointer<u8>, strides| {
                    let bytes = position.offset(strides) * size as isize;
                    // SAFETY: the block is within the operand.
                    Strided { start: unsafe { start.get().offset(bytes) }, strides }
                };
                let (to, from) = (at(to, output.strides), at(from, input.strides));
                // SAFETY: the block's elements are valid, and the same or apart.
                unsafe { copy_box(mover, to, from, &position.block()) };
                position.advance();
            }
        });
    }
}
