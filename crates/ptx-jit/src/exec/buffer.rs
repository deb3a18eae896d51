//! Host memory for what belongs to a block: shared and local memory, spilled registers.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;

/// A multiple of all alignments that PTX knows, and where pages begin.
const ALIGN: usize = 4096;

/// The number of buffers that a thread keeps: as many as a block has.
const MAX_SPARES: usize = 3;

/// The most bytes of a buffer that a thread keeps.
const MAX_SPARE_BYTES: usize = 4 << 20;

/// Memory at an address that is a multiple of 4096, so that every PTX alignment holds in it.
///
/// Native code reads and writes it through pointers; the pages of what is never touched take no
/// memory. It goes back to its thread, which uses it again: most launches take less time than the
/// system does to hand out such memory.
pub(super) struct Buffer {
    memory: Option<BlockMemory>,
    bytes: usize,
}

impl Buffer {
    /// A buffer of zeros.
    pub(super) fn zeroed(bytes: usize) -> Buffer {
        match Buffer::spare(bytes) {
            Some(mut buffer) => {
                buffer.fill(0);
                buffer
            }
            None => Buffer::new(bytes),
        }
    }

    /// A buffer of zeros and of what blocks of other kernels have left there.
    pub(super) fn unspecified(bytes: usize) -> Buffer {
        Buffer::spare(bytes).unwrap_or_else(|| Buffer::new(bytes))
    }

    fn new(bytes: usize) -> Buffer {
        Buffer { memory: Some(BlockMemory::zeroed(bytes)), bytes }
    }

    /// A buffer in memory that the thread has used before.
    fn spare(bytes: usize) -> Option<Buffer> {
        let spare = SPARES.try_with(|spares| take_spare(&mut spares.borrow_mut(), bytes));
        Some(Buffer { memory: Some(spare.ok().flatten()?), bytes })
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::null_mut(), BlockMemory::start)
    }

    /// Overwrites everything with a byte.
    pub(super) fn fill(&mut self, byte: u8) {
        // SAFETY: the memory belongs to `self` and has so many bytes, and no native code runs while
        // it is borrowed mutably.
        unsafe { self.start().write_bytes(byte, self.bytes) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        // At the end of its thread, the memory goes too.
        let _ = SPARES.try_with(|spares| keep_spare(&mut spares.borrow_mut(), memory));
    }
}

thread_local! {
    static SPARES: RefCell<Vec<BlockMemory>> = const { RefCell::new(Vec::new()) };
}

/// The smallest of the spares that has so many bytes.
fn take_spare(spares: &mut Vec<BlockMemory>, bytes: usize) -> Option<BlockMemory> {
    let fitting = spares.iter().enumerate().filter(|(_, spare)| spare.bytes >= bytes);
    let (place, _) = fitting.min_by_key(|(_, spare)| spare.bytes)?;
    Some(spares.swap_remove(place))
}

/// Keeps the largest.
fn keep_spare(spares: &mut Vec<BlockMemory>, memory: BlockMemory) {
    if memory.bytes > MAX_SPARE_BYTES {
        return;
    }
    spares.push(memory);
    if spares.len() > MAX_SPARES {
        let smallest = spares.iter().enumerate().min_by_key(|(_, spare)| spare.bytes);
        if let Some((place, _)) = smallest {
            spares.swap_remove(place);
        }
    }
}

/// Bytes all of which have been written.
struct BlockMemory {
    allocation: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

impl BlockMemory {
    /// Zeros. At least one byte is allocated, so that there is always an address.
    fn zeroed(bytes: usize) -> BlockMemory {
        // Asked for without the alignment, zeros come from the system, which makes pages of them
        // when they are touched.
        let bytes = bytes.max(1).next_multiple_of(ALIGN);
        let layout = Layout::from_size_align(bytes + ALIGN, 16);
        let layout = layout.expect("blocks have at most 1024 threads with less than a MiB each");
        // SAFETY: the layout has a size.
        let allocation = unsafe { alloc_zeroed(layout) };
        let Some(allocation) = NonNull::new(allocation) else { handle_alloc_error(layout) };
        BlockMemory { allocation, layout, bytes }
    }

    /// The first multiple of the alignment, behind which all bytes lie in the allocation.
    fn start(&self) -> *mut u8 {
        let allocation = self.allocation.as_ptr();
        let offset = allocation.addr().next_multiple_of(ALIGN) - allocation.addr();
        allocation.wrapping_add(offset)
    }
}

impl Drop for BlockMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout.
        unsafe { dealloc(self.allocation.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_uses_its_memory_again_and_zeros_are_asked_for() {
        let mut first = Buffer::zeroed(10_000);
        let place = first.start();
        assert_eq!(place.addr() % ALIGN, 0);
        first.fill(7);
        drop(first);
        let read = |buffer: &Buffer, offset: usize| {
            // SAFETY: all bytes of a buffer have been written.
            unsafe { buffer.start().add(offset).read() }
        };
        let again = Buffer::unspecified(9_000);
        assert_eq!((again.start(), read(&again, 8_999)), (place, 7));
        drop(again);
        let zeroed = Buffer::zeroed(9_000);
        assert_eq!((zeroed.start(), read(&zeroed, 8_999)), (place, 0));
        let other = Buffer::unspecified(9_000);
        assert_ne!(other.start(), place);
    }

    #[test]
    fn a_thread_keeps_the_largest_of_its_buffers_but_not_what_is_huge() {
        let sizes = [1, 5_000, 20_000, 9_000, MAX_SPARE_BYTES + 1];
        drop(sizes.map(Buffer::unspecified));
        let mut kept =
            SPARES.with_borrow(|spares| spares.iter().map(|spare| spare.bytes).collect::<Vec<_>>());
        kept.sort_unstable();
        assert_eq!(kept, [8_192, 12_288, 20_480]);
    }
}
