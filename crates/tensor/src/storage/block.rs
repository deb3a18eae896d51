//! A block of the heap that is freed when the last of its owners is gone.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use super::{ALIGNMENT, Fresh, cache};
use crate::shared::Owners;
use crate::{Error, Result};

/// What lies before the bytes, in a cache line of its own.
#[repr(C, align(64))]
struct Header {
    owners: Owners,
    /// What was allocated, header included.
    whole: Whole,
}

const _: () = assert!(size_of::<Header>() == ALIGNMENT && align_of::<Header>() == ALIGNMENT);

/// What allocators give without being asked for an alignment. Where one is asked for, glibc's cuts a
/// larger piece in three, which takes ten times as long as a small operation's work.
const GIVEN_ALIGNMENT: usize = align_of::<u128>();

/// An allocation, in which the header has its place at the first multiple of [`ALIGNMENT`].
#[derive(Clone, Copy)]
struct Whole {
    start: NonNull<u8>,
    layout: Layout,
}

impl Whole {
    /// The layout of a block with `bytes`, or `None` where none is so large.
    fn layout(bytes: usize) -> Option<Layout> {
        let around = ALIGNMENT + (ALIGNMENT - GIVEN_ALIGNMENT);
        let size = cache::block_size(bytes).checked_add(around)?;
        Layout::from_size_align(size, GIVEN_ALIGNMENT).ok()
    }

    /// # Safety
    /// The layout is one of [`Whole::layout`].
    unsafe fn header(&self) -> NonNull<Header> {
        let before = self.start.align_offset(ALIGNMENT);
        // SAFETY: the layout has room for what lies before the next multiple, and for a header there.
        unsafe { self.start.add(before) }.cast()
    }
}

/// An owner of a block of memory. Clones own the same block.
///
/// Who has one may read the bytes, as long as nobody writes them. Who may write is the storage's
/// affair: see [`Heap`](super::heap::Heap).
pub(crate) struct Block {
    header: NonNull<Header>,
}

// SAFETY: the owners are counted with atomics; and whoever frees the block is the last.
unsafe impl Send for Block {}
// SAFETY: as above. Through a shared reference nothing is written but that count.
unsafe impl Sync for Block {}

impl Block {
    /// A block of at least `bytes`.
    ///
    /// # Errors
    /// There is no such memory left.
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<Block> {
        let out_of_memory = || Error::HostOutOfMemory { bytes };
        let layout = Whole::layout(bytes).ok_or_else(out_of_memory)?;
        let start = match cache::take(layout) {
            Some(start) => {
                if fresh == Fresh::Zeroed {
                    // SAFETY: the block is as large as its layout says, and nobody else knows it.
                    unsafe { start.write_bytes(0, layout.size()) };
                }
                start
            }
            None => {
                // SAFETY: the layout has a size.
                let start = unsafe {
                    match fresh {
                        Fresh::Overwritten => alloc::alloc(layout),
                        Fresh::Zeroed => alloc::alloc_zeroed(layout),
                    }
                };
                NonNull::new(start).ok_or_else(out_of_memory)?
            }
        };
        let whole = Whole { start, layout };
        // SAFETY: the layout is a block's, so that a header fits in, and the memory is nobody else's.
        let header = unsafe {
            let header = whole.header();
            header.write(Header { owners: Owners::one(), whole });
            header
        };
        Ok(Block { header })
    }

    /// Where the bytes begin: aligned for every dtype, also when there are none.
    pub(crate) fn start(&self) -> NonNull<u8> {
        // SAFETY: the bytes lie behind the header, in the same block.
        unsafe { self.header.add(1).cast() }
    }

    /// A block of its own with the same bytes, which nobody may be writing.
    ///
    /// # Errors
    /// There is no memory left.
    pub(super) fn copied(&self, bytes: usize) -> Result<Block> {
        let copy = Block::new(bytes, Fresh::Overwritten)?;
        // SAFETY: both have as many bytes and more, the copy is nobody else's, and this one is only
        // read as long as somebody else owns it.
        unsafe { copy.start().copy_from_nonoverlapping(self.start(), bytes) };
        Ok(copy)
    }

    /// Whether nobody else owns the block.
    pub(super) fn is_sole(&self) -> bool {
        self.header().owners.is_sole()
    }

    fn header(&self) -> &Header {
        // SAFETY: `new` wrote it, and it stays as long as there is an owner, such as this one.
        unsafe { self.header.as_ref() }
    }
}

impl Clone for Block {
    fn clone(&self) -> Block {
        self.header().owners.join();
        Block { header: self.header }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Whole { start, layout } = self.header().whole;
        if self.header().owners.leave() {
            // SAFETY: `new` allocated the block with this layout, and its last owner is gone.
            unsafe { cache::keep(start, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_bytes_and_is_owned_apart() {
        let block = Block::new(5, Fresh::Zeroed).expect("memory");
        // SAFETY: nobody else knows the block, which has five bytes.
        unsafe { block.start().write_bytes(7, 5) };
        let shared = block.clone();
        assert!(!block.is_sole() && shared.start() == block.start());
        let copy = shared.copied(5).expect("memory");
        assert!(copy.is_sole() && copy.start() != block.start());
        drop(block);
        assert!(shared.is_sole());
        drop(shared);
        // SAFETY: the copy has five bytes, which nobody writes.
        assert_eq!(unsafe { std::slice::from_raw_parts(copy.start().as_ptr(), 5) }, [7; 5]);
    }

    #[test]
    fn bytes_are_aligned_and_begin_as_zeros_where_that_is_asked_for() {
        for bytes in [0, 1, 100, 100_000] {
            for _recycled in 0..2 {
                let block = Block::new(bytes, Fresh::Zeroed).expect("memory");
                assert_eq!(block.start().addr().get() % ALIGNMENT, 0);
                // SAFETY: the block has so many bytes, and nobody writes them.
                let seen = unsafe { std::slice::from_raw_parts(block.start().as_ptr(), bytes) };
                assert!(seen.iter().all(|&byte| byte == 0));
                // SAFETY: nobody else knows the block.
                unsafe { block.start().write_bytes(255, bytes) };
            }
        }
    }

    #[test]
    fn what_no_memory_can_hold_is_an_error() {
        for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
            assert!(matches!(
                Block::new(bytes, Fresh::Overwritten),
                Err(Error::HostOutOfMemory { bytes: asked }) if asked == bytes
            ));
        }
    }
}
