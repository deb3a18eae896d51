//! Memory for small values, of which each thread keeps some that was freed for the values to come.
//!
//! An operation on a few elements makes and drops four or five values of some hundred bytes: a tensor,
//! its storage, its bytes, a node, a backward function. The process's allocator, which serves any size
//! and any thread, takes a third of such an operation's time for them.
//!
//! A block may be freed by another thread than allocated it, and after the thread's own blocks are
//! gone at its end: all of them are memory of the process's allocator, and go back to it then.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr;

/// The bytes by which the blocks of two classes differ.
const CLASS_BYTES: usize = 64;

/// The number of classes: the largest blocks have a kilobyte and room for a header.
const CLASSES: usize = 20;

/// The most blocks of a class that a thread keeps: four hundred kilobytes, if it has used all classes.
const MAX_KEPT: usize = 32;

/// The alignment of blocks, which the process's allocator gives without being asked for more.
const BLOCK_ALIGNMENT: usize = align_of::<u128>();

/// The blocks of one size that a thread keeps.
struct Class {
    blocks: [Cell<*mut u8>; MAX_KEPT],
    count: Cell<usize>,
}

impl Class {
    const fn new() -> Class {
        Class { blocks: [const { Cell::new(ptr::null_mut()) }; MAX_KEPT], count: Cell::new(0) }
    }

    #[inline]
    fn take(&self) -> Option<*mut u8> {
        let last = self.count.get().checked_sub(1)?;
        self.count.set(last);
        self.blocks.get(last).map(Cell::get)
    }

    /// Keeps a block, if there is room for it.
    #[inline]
    fn keep(&self, block: *mut u8) -> bool {
        let count = self.count.get();
        match self.blocks.get(count) {
            Some(place) => {
                place.set(block);
                self.count.set(count + 1);
                true
            }
            None => false,
        }
    }
}

/// The blocks that a thread keeps.
struct KeptBlocks([Class; CLASSES]);

impl Drop for KeptBlocks {
    fn drop(&mut self) {
        for (number, class) in self.0.iter().enumerate() {
            while let Some(block) = class.take() {
                // SAFETY: the block was allocated with this layout, and nobody else has it.
                unsafe { dealloc(block, of_class(number)) };
            }
        }
    }
}

thread_local! {
    static KEPT: KeptBlocks = const { KeptBlocks([const { Class::new() }; CLASSES]) };
}

/// The class of the blocks for a layout; `None` for one that the process's allocator serves itself. In
/// debug builds it serves all, so that tools which watch it see each value.
#[inline]
fn class(layout: Layout) -> Option<usize> {
    let number = layout.size().checked_sub(1)? / CLASS_BYTES;
    let is_small = number < CLASSES && layout.align() <= BLOCK_ALIGNMENT;
    (is_small && !cfg!(debug_assertions)).then_some(number)
}

/// The layout of the blocks of a class.
fn of_class(number: usize) -> Layout {
    let bytes = (number + 1) * CLASS_BYTES;
    Layout::from_size_align(bytes, BLOCK_ALIGNMENT).expect("a small power of two")
}

/// Memory for a layout; null if there is none.
///
/// # Panics
/// The layout has no size.
#[inline]
pub(crate) fn allocate(layout: Layout) -> *mut u8 {
    assert!(layout.size() > 0, "values have a size");
    let layout = match class(layout) {
        Some(number) => match KEPT.try_with(|kept| kept.0[number].take()) {
            Ok(Some(block)) => return block,
            _ => of_class(number),
        },
        None => layout,
    };
    // SAFETY: the layout has a size (asserted above; blocks have more).
    unsafe { alloc(layout) }
}

/// Frees memory.
///
/// # Safety
/// [`allocate`] gave the memory for this layout, and nobody uses it any more.
#[inline]
pub(crate) unsafe fn free(memory: *mut u8, layout: Layout) {
    let layout = match class(layout) {
        Some(number) => match KEPT.try_with(|kept| kept.0[number].keep(memory)) {
            Ok(true) => return,
            _ => of_class(number),
        },
        None => layout,
    };
    // SAFETY: `allocate` allocated it with this layout, and nobody uses it (a condition of this function).
    unsafe { dealloc(memory, layout) };
}
