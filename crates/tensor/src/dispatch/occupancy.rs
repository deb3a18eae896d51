//! What keeps a large GPU busy. Launches are planned for it, whatever the device: so the bits of a
//! result do not depend on that.

/// The threads that fill it.
pub(super) const FULL: usize = 1 << 17;

/// The blocks that keep it busy to the end.
const BLOCKS: usize = 1024;

pub(super) const WARP: usize = 32;

/// The number of parts into which work is cut that takes so many blocks as a whole, and of which more
/// than `most` parts would be too small.
pub(super) fn parts(blocks: usize, most: usize) -> usize {
    (BLOCKS / blocks.max(1)).min(most).max(1)
}
