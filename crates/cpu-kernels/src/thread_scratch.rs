//! Memory that a thread keeps for what it packs.

use std::cell::RefCell;

use crate::loops::CACHE_LINE;

thread_local! {
    /// New memory has to be mapped page by page, and that takes as long as to fill it.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends memory of so many bytes, which begins at a line of the cache and has any contents.
///
/// # Panics
/// `f` calls this again.
pub(crate) fn with_thread_scratch<R>(bytes: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.reserve(bytes + CACHE_LINE);
        let start = scratch.as_mut_ptr();
        f(start.wrapping_add(start.align_offset(CACHE_LINE)))
    })
}
