//! Pageable memory that is held while it is only read: the short way of the most frequent calls.

use parking_lot::RwLockReadGuard;

use crate::Tensor;
use crate::storage::{HostMemory, PageableContent};

/// The locks of the memory of one or two tensors. They must be dropped before code of the program
/// runs.
pub(crate) struct HeldToRead<'a> {
    _first: RwLockReadGuard<'a, PageableContent>,
    _second: Option<RwLockReadGuard<'a, PageableContent>>,
}

/// Holds the pageable memory of two tensors, which may be the same, so that nobody writes or moves
/// it. `None` if that is not possible at once: [`hold`](super::hold) is for page-locked memory and
/// for copies that are due.
#[inline]
pub(crate) fn hold_to_read<'a>(a: &'a Tensor, b: &'a Tensor) -> Option<HeldToRead<'a>> {
    // In the order of addresses, as everywhere, so that no two threads wait for each other.
    let (first, second) = if a.storage().id() <= b.storage().id() { (a, b) } else { (b, a) };
    let first_lock = lock(first)?;
    // A lock that this thread holds must not be taken again: a writer may wait in between.
    let second_lock = if first.shares_memory_with(second) { None } else { Some(lock(second)?) };
    Some(HeldToRead { _first: first_lock, _second: second_lock })
}

#[inline]
fn lock(tensor: &Tensor) -> Option<RwLockReadGuard<'_, PageableContent>> {
    match tensor.storage().host()? {
        HostMemory::Pageable(memory) => memory.lock_to_read(),
        HostMemory::Pinned(_) => None,
    }
}
