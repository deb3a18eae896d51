//! Pageable memory that is held while it is only read: the short way of the most frequent calls.

use std::ptr;

use parking_lot::RwLockReadGuard;

use crate::storage::{PageableContent, PageableStorage};

/// The locks of one or two pieces of memory. They must be dropped before code of the program runs.
pub(crate) struct HeldToRead<'a> {
    _first: RwLockReadGuard<'a, PageableContent>,
    _second: Option<RwLockReadGuard<'a, PageableContent>>,
}

/// Holds two pieces of memory, which may be the same, so that nobody writes or moves them. `None` if
/// that is not possible at once: [`hold`](super::hold) waits for copies that are due.
#[inline]
pub(crate) fn hold_to_read<'a>(
    a: &'a PageableStorage,
    b: &'a PageableStorage,
) -> Option<HeldToRead<'a>> {
    // In the order of addresses, as everywhere, so that no two threads wait for each other. The memory
    // lies at the same place within each storage, so this is the order of storages in `hold` too.
    let (first, second) = if ptr::from_ref(a) <= ptr::from_ref(b) { (a, b) } else { (b, a) };
    let first_lock = first.lock_to_read()?;
    // A lock that this thread holds must not be taken again: a writer may wait in between.
    let second_lock = if ptr::eq(first, second) { None } else { Some(second.lock_to_read()?) };
    Some(HeldToRead { _first: first_lock, _second: second_lock })
}
