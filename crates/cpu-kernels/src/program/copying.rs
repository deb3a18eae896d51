//! Programs that only copy.

use super::layout::{Strided, copy_box, is_dense};
use super::walk::Walk;
use super::{Program, Shared, StridedPointer};
use crate::movers::copy;
use crate::pool;

/// Elements of a block, which is only a piece of work here.
const LENGTH: usize = 1 << 13;

impl Program {
    /// Copies all elements, of so many bytes each.
    ///
    /// # Safety
    /// The conditions of [`Program::run`]; there is an element.
    pub(super) unsafe fn copy_all(
        &self,
        size: usize,
        sizes: &[usize],
        output: StridedPointer<'_>,
        input: StridedPointer<'_>,
    ) {
        let (to, from) = (Shared(output.start), Shared(input.start));
        if is_dense(sizes, output.strides) && is_dense(sizes, input.strides) {
            let count = sizes.iter().product();
            return pool::split(count, 2 * size, |range| {
                let start = range.start * size;
                // SAFETY: both have the elements of the range, and are the same or apart.
                unsafe {
                    let (to, from) = (to.address().add(start), from.address().add(start));
                    to.copy_from(from, range.len() * size);
                }
            });
        }
        // There is a dimension, since an element alone is dense.
        let walk = Walk::new(sizes, LENGTH);
        let mover = (copy(size, self.set), size);
        pool::split(walk.blocks(), walk.largest() * 2 * size, |range| {
            let mut position = walk.position(range.start);
            for _ in range {
                let at = |start: Shared, strides| {
                    let bytes = position.offset(strides) * size as isize;
                    // SAFETY: the block is within the operand.
                    Strided { start: unsafe { start.address().offset(bytes) }, strides }
                };
                let (to, from) = (at(to, output.strides), at(from, input.strides));
                // SAFETY: the block's elements are valid, and the same or apart.
                unsafe { copy_box(mover, to, from, &position.block()) };
                position.advance();
            }
        });
    }
}
