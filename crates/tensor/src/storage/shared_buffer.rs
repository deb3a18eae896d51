//! Reference-counted host memory, the bytes of pageable storages and of their snapshots.

use std::alloc::Layout;
use std::ptr::NonNull;

use gpu_alloc::PageableMemory;

use super::{ALIGNMENT, Fresh};
use crate::shared::{Owners, blocks};
use crate::{Error, Result};

/// The smallest buffer whose memory comes from the caching allocator. The process's allocator gives
/// smaller ones as fast, and keeps them itself.
const MIN_CACHED: usize = 1 << 16;

/// The header that lies before the bytes, in a cache line of its own.
#[repr(C, align(64))]
struct Header {
    owners: Owners,
    /// The memory that the header and the bytes lie in.
    memory: BufferMemory,
}

const _: () = assert!(size_of::<Header>() == ALIGNMENT && align_of::<Header>() == ALIGNMENT);

/// The memory of a buffer, which goes back when it is dropped.
#[expect(dead_code, reason = "nothing else is done with it")]
enum BufferMemory {
    System(SystemMemory),
    Cached(PageableMemory),
}

/// The alignment that allocators give without being asked for more. For a larger one glibc's
/// allocator cuts a larger block in three, which takes ten times as long as the work of a small
/// operation, so room for aligning is allocated instead.
const GIVEN_ALIGNMENT: usize = align_of::<u128>();

/// Memory of the process's allocator.
struct SystemMemory {
    start: NonNull<u8>,
    layout: Layout,
}

impl SystemMemory {
    #[inline]
    fn new(layout: Layout, fresh: Fresh) -> Option<SystemMemory> {
        let start = NonNull::new(blocks::allocate(layout))?;
        if fresh != Fresh::Overwritten {
            // SAFETY: the memory has so many bytes, and nobody else knows it.
            unsafe { start.write_bytes(0, layout.size()) };
        }
        Some(SystemMemory { start, layout })
    }
}

impl Drop for SystemMemory {
    fn drop(&mut self) {
        // SAFETY: `new` got the memory for this layout, and this value was its only owner.
        unsafe { blocks::free(self.start.as_ptr(), self.layout) };
    }
}

/// A handle on reference-counted bytes. Clones own the same bytes, which are freed with the last
/// one.
///
/// A buffer with several owners is only read: [`PageableStorage`](super::pageable::PageableStorage),
/// which hands the clones out, copies it before it writes (copy on write).
pub(crate) struct SharedBuffer {
    header: NonNull<Header>,
}

// SAFETY: the owners are counted with atomics, and only the last one, in whatever thread, frees the
// memory, which both allocators allow.
unsafe impl Send for SharedBuffer {}
// SAFETY: through a shared reference nothing is written but the number of owners, which is atomic.
unsafe impl Sync for SharedBuffer {}

impl SharedBuffer {
    /// A buffer of at least `bytes`.
    ///
    /// # Errors
    /// The host has no memory left.
    #[inline]
    #[track_caller]
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<SharedBuffer> {
        match SharedBuffer::small(bytes, fresh) {
            Some(buffer) => Ok(buffer),
            None if bytes < MIN_CACHED => Err(Error::HostOutOfMemory { bytes }),
            None => SharedBuffer::cached(bytes, fresh),
        }
    }

    /// A buffer in memory of the process's allocator, if it is small and there is some. An option of it
    /// is a pointer, which takes less than a result to hand over.
    fn small(bytes: usize, fresh: Fresh) -> Option<SharedBuffer> {
        if bytes >= MIN_CACHED {
            return None;
        }
        let size = bytes + ALIGNMENT + (ALIGNMENT - GIVEN_ALIGNMENT);
        let layout = Layout::from_size_align(size, GIVEN_ALIGNMENT).ok()?;
        let memory = SystemMemory::new(layout, fresh)?;
        let before = memory.start.align_offset(ALIGNMENT);
        // SAFETY: there is room in the memory for the bytes before that multiple, for the header and
        // for the bytes behind it, and nobody else knows it.
        unsafe {
            let header = memory.start.add(before).cast();
            Some(SharedBuffer::begin(header, BufferMemory::System(memory)))
        }
    }

    /// A buffer in memory of the caching allocator.
    #[inline(never)]
    #[track_caller]
    fn cached(bytes: usize, fresh: Fresh) -> Result<SharedBuffer> {
        let out_of_memory = || Error::HostOutOfMemory { bytes };
        let size = bytes.checked_add(ALIGNMENT).ok_or_else(out_of_memory)?;
        let memory = gpu_alloc::allocate_pageable(size).map_err(|error| match error {
            gpu_alloc::Error::Runtime(gpu_runtime::Error::HostOutOfMemory { .. }) => {
                out_of_memory()
            }
            error => error.into(),
        })?;
        let start = NonNull::new(memory.as_ptr()).expect("memory with a size has an address");
        debug_assert!(
            start.cast::<Header>().is_aligned(),
            "pageable memory is aligned to 64 bytes"
        );
        // The system maps pages of zeros, so what the allocator has is always initialised.
        if fresh == Fresh::Zeroed {
            // SAFETY: the memory has so many bytes, and nobody else knows it.
            unsafe { start.write_bytes(0, size) };
        }
        // SAFETY: the memory has room for a header and the bytes behind it, the allocator's addresses
        // are aligned for a header, and nobody else knows it.
        unsafe { Ok(SharedBuffer::begin(start.cast(), BufferMemory::Cached(memory))) }
    }

    /// The first handle on the bytes behind a header, which is written here.
    ///
    /// # Safety
    /// The header lies in the memory, aligned, before the bytes, and nobody else knows the memory.
    #[inline]
    unsafe fn begin(header: NonNull<Header>, memory: BufferMemory) -> SharedBuffer {
        // SAFETY: there is room for a header, which is aligned, as the caller has seen to.
        unsafe { header.write(Header { owners: Owners::one(), memory }) };
        SharedBuffer { header }
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
        if self.header().owners.leave() {
            // SAFETY: `new` wrote the header, and its last owner is gone, so nobody uses it; the
            // memory, which it lies in, is freed after it was moved out.
            drop(unsafe { self.header.read() }.memory);
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
