//! The ranges of addresses in which faults are the driver's affair, as a signal handler may read
//! them.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The head of a list that only grows.
static WINDOWS: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

struct Watched {
    range: Range<u64>,
    next: *const Watched,
}

/// Adds a range of addresses: from now on, an [`attempt`](super::attempt) ends at a wild access in
/// it. The range is the driver's for as long as the process lives.
pub fn watch(range: Range<u64>) {
    let watched = Box::into_raw(Box::new(Watched { range, next: ptr::null() }));
    let mut first = WINDOWS.load(Ordering::Relaxed);
    loop {
        // SAFETY: nobody else knows of it yet.
        unsafe { (*watched).next = first };
        match WINDOWS.compare_exchange_weak(first, watched, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

/// Whether an address is in one of the ranges.
pub(super) fn contain(address: u64) -> bool {
    let mut next: *const Watched = WINDOWS.load(Ordering::Acquire);
    // SAFETY: what is in the list was leaked, and does not change.
    while let Some(watched) = unsafe { next.as_ref() } {
        if watched.range.contains(&address) {
            return true;
        }
        next = watched.next;
    }
    false
}
