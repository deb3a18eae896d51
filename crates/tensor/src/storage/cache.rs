//! The cache of freed host memory, for the next tensor of its size.
//!
//! The system hands out large blocks page by page, which costs more than most operations on them,
//! and takes them back as soon as they are freed. Programs make tensors of the same few sizes again
//! and again, so the blocks that were freed last are kept, up to a limit in bytes.

use std::alloc::{self, Layout};
use std::collections::VecDeque;
use std::ptr::NonNull;

use parking_lot::Mutex;

/// The smallest block that is kept. The global allocator gives smaller ones as fast as the cache
/// would.
const MIN_BYTES: usize = 1 << 16;

/// The most bytes that are kept; beyond that the oldest blocks are freed.
const MAX_CACHED_BYTES: usize = 256 << 20;

static CACHE: Mutex<Cache> = Mutex::new(Cache { blocks: VecDeque::new(), bytes: 0 });

/// A block that nobody uses.
struct IdleBlock {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory belongs to this value alone, and may be freed in any thread.
unsafe impl Send for IdleBlock {}

impl Drop for IdleBlock {
    fn drop(&mut self) {
        // SAFETY: `keep` was given the block with the layout that it was allocated with.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

struct Cache {
    /// Ordered by when they were freed, the last one at the back.
    blocks: VecDeque<IdleBlock>,
    bytes: usize,
}

/// The size of the block for a request: rounded up by at most an eighth, so that requests of almost
/// equal sizes can use each other's blocks.
pub(super) fn block_size(bytes: usize) -> usize {
    if bytes < MIN_BYTES {
        return bytes;
    }
    let step = 1 << (bytes.ilog2() - 3);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// Takes a block of exactly this layout out of the cache, if there is one. Its contents are those
/// that were there when it was freed.
pub(super) fn take(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() < MIN_BYTES {
        return None;
    }
    let mut cache = CACHE.lock();
    let position = cache.blocks.iter().rposition(|block| block.layout == layout)?;
    let block = cache.blocks.remove(position)?;
    cache.bytes -= layout.size();
    let start = block.start;
    // The caller owns the memory now.
    std::mem::forget(block);
    Some(start)
}

/// Gives a block to the cache, for a later [`take`], or back to the system.
///
/// # Safety
/// The global allocator gave the block with this layout, and nobody uses it any more.
pub(super) unsafe fn keep(start: NonNull<u8>, layout: Layout) {
    let block = IdleBlock { start, layout };
    if layout.size() < MIN_BYTES || layout.size() > MAX_CACHED_BYTES {
        return;
    }
    // Freed after the lock is: giving memory to the system takes long.
    let mut surplus: Vec<IdleBlock> = Vec::new();
    let mut cache = CACHE.lock();
    cache.bytes += layout.size();
    cache.blocks.push_back(block);
    while cache.bytes > MAX_CACHED_BYTES {
        let Some(oldest) = cache.blocks.pop_front() else { break };
        cache.bytes -= oldest.layout.size();
        surplus.push(oldest);
    }
    drop(cache);
}

#[cfg(test)]
mod tests {
    use super::super::ALIGNMENT;
    use super::*;

    fn fresh(bytes: usize) -> (NonNull<u8>, Layout) {
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("small");
        // SAFETY: the layout has a size.
        let start = unsafe { alloc::alloc(layout) };
        (NonNull::new(start).expect("there is memory"), layout)
    }

    #[test]
    fn a_kept_block_is_given_once_to_a_request_of_its_size() {
        // A size that no other test has.
        let (start, layout) = fresh(MIN_BYTES + 8 * 1234);
        // SAFETY: the block was just allocated with the layout, and is not used.
        unsafe { keep(start, layout) };
        assert_eq!(take(layout), Some(start));
        assert_eq!(take(layout), None);
        // SAFETY: `take` gave the block back, whose layout is this one, and it is not used.
        unsafe { keep(start, layout) };
    }

    #[test]
    fn small_blocks_are_not_kept() {
        let (start, layout) = fresh(MIN_BYTES / 2);
        // SAFETY: the block was just allocated with the layout, and is not used.
        unsafe { keep(start, layout) };
        assert_eq!(take(layout), None);
    }

    #[test]
    fn blocks_are_at_most_an_eighth_larger_than_asked_for() {
        for bytes in [1, 100, MIN_BYTES, MIN_BYTES + 1, 1_000_000, (1 << 26) + 5] {
            let size = block_size(bytes);
            assert!(size >= bytes && size - bytes <= bytes / 8, "{bytes} in {size}");
        }
        assert_eq!(block_size(1 << 20), 1 << 20);
    }
}
