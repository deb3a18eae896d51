//! Reference-counted memory of the process's allocator, the bytes of pageable storages and of their
//! snapshots.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use super::{ALIGNMENT, Fresh, cache};
use crate::shared::Owners;
use crate::{Error, Result};

/// The header that lies before the bytes, in a cache line of its own.
#[repr(C, align(64))]
struct Header {
    owners: Owners,
    /// The allocation that the header and the bytes lie in.
    allocation: RawAllocation,
}

const _: () = assert!(size_of::<Header>() == ALIGNMENT && align_of::<Header>() == ALIGNMENT);

/// The alignment that allocators give without being asked for more. For a larger one glibc's
/// allocator cuts a larger block in three, which takes ten times as long as the work of a small
/// operation, so room for aligning is allocated instead.
const GIVEN_ALIGNMENT: usize = align_of::<u128>();

/// Memory as the allocator gave it. The header lies at the first multiple of [`ALIGNMENT`] in it.
#[derive(Clone, Copy)]
struct RawAllocation {
    start: NonNull<u8>,
    layout: Layout,
}

impl RawAllocation {
    /// The layout of an allocation for `bytes` and the header, or `None` if it would be too large.
    fn layout(bytes: usize) -> Option<Layout> {
        let around = ALIGNMENT + (ALIGNMENT - GIVEN_ALIGNMENT);
        let size = cache::block_size(bytes).checked_add(around)?;
        Layout::from_size_align(size, GIVEN_ALIGNMENT).ok()
    }

    /// The address of the header.
    ///
    /// # Safety
    /// `start` is memory of the layout, which is one of [`RawAllocation::layout`].
    unsafe fn header(&self) -> NonNull<Header> {
        let before = self.start.align_offset(ALIGNMENT);
        // SAFETY: the layout has room for the bytes before the next multiple, and for a header
        // there.
        unsafe { self.start.add(before) }.cast()
    }
}

/// A handle on reference-counted bytes. Clones own the same bytes, which are freed with the last
/// one.
///
/// A buffer with several owners is only read: [`PageableMemory`](super::pageable::PageableMemory),
/// which hands the clones out, copies it before it writes (copy on write).
pub(crate) struct SharedBuffer {
    header: NonNull<Header>,
}

// SAFETY: the owners are counted with atomics, and only the last one, in whatever thread, frees the
// memory, which the global allocator allows.
unsafe impl Send for SharedBuffer {}
// SAFETY: through a shared reference nothing is written but the number of owners, which is atomic.
unsafe impl Sync for SharedBuffer {}

impl SharedBuffer {
    /// A buffer of at least `bytes`.
    ///
    /// # Errors
    /// The host has no memory left.
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<SharedBuffer> {
        let out_of_memory = || Error::HostOutOfMemory { bytes };
        let layout = RawAllocation::layout(bytes).ok_or_else(out_of_memory)?;
        let start = match cache::take(layout) {
            Some(start) => {
                if fresh == Fresh::Zeroed {
                    // SAFETY: the memory is as large as its layout says, and the cache gave it to
                    // nobody else.
                    unsafe { start.write_bytes(0, layout.size()) };
                }
                start
            }
            None => {
                // SAFETY: the layout's size is not 0: it has room for the header.
                let start = unsafe {
                    match fresh {
                        Fresh::Overwritten => alloc::alloc(layout),
                        Fresh::Zeroed => alloc::alloc_zeroed(layout),
                    }
                };
                NonNull::new(start).ok_or_else(out_of_memory)?
            }
        };
        let allocation = RawAllocation { start, layout };
        // SAFETY: the layout is one of `RawAllocation::layout`, so a header fits in, and nobody
        // else knows the memory.
        let header = unsafe {
            let header = allocation.header();
            header.write(Header { owners: Owners::one(), allocation });
            header
        };
        Ok(SharedBuffer { header })
    }

    /// The address of the first byte, aligned for every dtype, also when there are none.
    pub(crate) fn start(&self) -> NonNull<u8> {
        // SAFETY: the bytes lie behind the header in the same allocation.
        unsafe { self.header.add(1).cast() }
    }

    /// A copy of the first `bytes` bytes in a buffer of its own. Nobody may be writing them.
    ///
    /// # Errors
    /// The host has no memory left.
    pub(super) fn copied(&self, bytes: usize) -> Result<SharedBuffer> {
        let copy = SharedBuffer::new(bytes, Fresh::Overwritten)?;
        // SAFETY: both have as many bytes and more, the copy is nobody else's, and this one is only
        // read as long as somebody else owns it.
        unsafe { copy.start().copy_from_nonoverlapping(self.start(), bytes) };
        Ok(copy)
    }

    /// Whether there is no other owner.
    pub(super) fn is_sole(&self) -> bool {
        self.header().owners.is_sole()
    }

    fn header(&self) -> &Header {
        // SAFETY: `new` wrote it, and it stays as long as there is an owner, such as this one.
        unsafe { self.header.as_ref() }
    }
}

impl Clone for SharedBuffer {
    fn clone(&self) -> SharedBuffer {
        self.header().owners.join();
        SharedBuffer { header: self.header }
    }
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        let RawAllocation { start, layout } = self.header().allocation;
        if self.header().owners.leave() {
            // SAFETY: `new` allocated the memory with this layout, and its last owner is gone.
            unsafe { cache::keep(start, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_bytes_and_is_owned_apart() {
        let buffer = SharedBuffer::new(5, Fresh::Zeroed).expect("memory");
        // SAFETY: nobody else knows the buffer, which has five bytes.
        unsafe { buffer.start().write_bytes(7, 5) };
        let shared = buffer.clone();
        assert!(!buffer.is_sole() && shared.start() == buffer.start());
        let copy = shared.copied(5).expect("memory");
        assert!(copy.is_sole() && copy.start() != buffer.start());
        drop(buffer);
        assert!(shared.is_sole());
        drop(shared);
        // SAFETY: the copy has five bytes, which nobody writes.
        assert_eq!(unsafe { std::slice::from_raw_parts(copy.start().as_ptr(), 5) }, [7; 5]);
    }

    #[test]
    fn bytes_are_aligned_and_begin_as_zeros_where_that_is_asked_for() {
        for bytes in [0, 1, 100, 100_000] {
            for _recycled in 0..2 {
                let buffer = SharedBuffer::new(bytes, Fresh::Zeroed).expect("memory");
                assert_eq!(buffer.start().addr().get() % ALIGNMENT, 0);
                // SAFETY: the buffer has so many bytes, and nobody writes them.
                let seen = unsafe { std::slice::from_raw_parts(buffer.start().as_ptr(), bytes) };
                assert!(seen.iter().all(|&byte| byte == 0));
                // SAFETY: nobody else knows the buffer.
                unsafe { buffer.start().write_bytes(255, bytes) };
            }
        }
    }

    #[test]
    fn what_no_memory_can_hold_is_an_error() {
        for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
            assert!(matches!(
                SharedBuffer::new(bytes, Fresh::Overwritten),
                Err(Error::HostOutOfMemory { bytes: asked }) if asked == bytes
            ));
        }
    }
}
