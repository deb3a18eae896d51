//! Host memory for what belongs to a block: shared and local memory, spilled registers.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Zeroed memory at an address that is a multiple of 4096, so that every PTX alignment holds in it.
///
/// Native code reads and writes it through pointers; the pages of what is never touched take no
/// memory.
pub(super) struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

impl Buffer {
    /// At least one byte is allocated, so that there is always an address.
    pub(super) fn new(bytes: usize) -> Buffer {
        let layout = Layout::from_size_align(bytes.max(1), 4096);
        let layout = layout.expect("blocks have at most 1024 threads with less than a MiB each");
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Buffer { start, layout }
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Overwrites everything with a byte.
    pub(super) fn fill(&mut self, byte: u8) {
        // SAFETY: the memory belongs to `self`, and no native code runs while it is borrowed
        // mutably.
        unsafe { self.start.as_ptr().write_bytes(byte, self.layout.size()) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
