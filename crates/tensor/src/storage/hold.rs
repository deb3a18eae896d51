//! The host memory of an operation's operands, held for as long as the operation runs.

use gpu_runtime::{Access, MemoryAccess, UseRecord, host_access, is_observed};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

use super::block::Block;
use super::pinned::Pinned;
use super::{HostMemory, Storage};
use crate::shared::Inside;
use crate::{Result, Tensor};

/// Host memory that is held: what is read changes by nobody, what is written is nobody else's, and all
/// of it stays where it is. It must be let go before code of the program runs.
pub(crate) struct Held<'a> {
    _heap: SmallVec<[HeldHeap<'a>; 6]>,
    _pinned: SmallVec<[Inside<'a>; 2]>,
}

enum HeldHeap<'a> {
    Read { _guard: RwLockReadGuard<'a, Block> },
    Write { _guard: RwLockWriteGuard<'a, Block> },
}

/// Each piece of memory once, with the stronger access.
type Sorted<'a> = SmallVec<[(&'a Storage, Access); 6]>;

/// Holds the host memory of `operands`, after the copies in flight that their accesses must come after.
///
/// # Errors
/// Page-locked memory is to be written while a guard of it lives; there is no memory for a copy of
/// what a guard reads; a copy in flight failed. Nothing is held then, and no element has changed.
#[track_caller]
pub(crate) fn hold<'a>(op: &'static str, operands: &[(&'a Tensor, Access)]) -> Result<Held<'a>> {
    let mut sorted: Sorted<'a> =
        operands.iter().map(|&(tensor, access)| (tensor.storage(), access)).collect();
    // Writers first among equals, so that the one access that stays is the stronger.
    sorted
        .sort_unstable_by_key(|(storage, access)| (storage.id(), !matches!(access, Access::Write)));
    sorted.dedup_by_key(|(storage, _)| storage.id());
    if !sorted.iter().any(|(storage, _)| storage.is_pinned()) {
        return Ok(Held { _heap: lock_heap(&sorted)?, _pinned: SmallVec::new() });
    }
    let held = hold_pinned(op, &sorted)?;
    tell(operands)?;
    Ok(held)
}

/// Locks what lies on the heap, in the order of addresses, which is the same for every thread.
fn lock_heap<'a>(sorted: &Sorted<'a>) -> Result<SmallVec<[HeldHeap<'a>; 6]>> {
    let mut held = SmallVec::new();
    for &(storage, access) in sorted {
        let Some(HostMemory::Heap(heap)) = storage.host() else { continue };
        held.push(match access {
            Access::Read => HeldHeap::Read { _guard: heap.lock_to_read() },
            Access::Write => HeldHeap::Write { _guard: heap.lock_to_write()? },
        });
    }
    Ok(held)
}

/// As [`hold`], where some of the memory is page-locked: the heap first, then that, each in the order
/// of addresses. Copies are waited for before anything is held, since code of the program may have to
/// run until they are done; so there may be new ones, and then it is tried again.
#[track_caller]
fn hold_pinned<'a>(op: &'static str, sorted: &Sorted<'a>) -> Result<Held<'a>> {
    loop {
        let mut waited: SmallVec<[(&Pinned, UseRecord); 2]> = SmallVec::new();
        for (pinned, access) in pinned(sorted) {
            waited.push((pinned, pinned.wait(access)?));
        }
        let heap = lock_heap(sorted)?;
        let mut inside = SmallVec::new();
        for (pinned, access) in pinned(sorted) {
            inside.push(pinned.enter(op, access)?);
        }
        if waited.iter().all(|(pinned, waited)| pinned.is_settled_since(waited)) {
            return Ok(Held { _heap: heap, _pinned: inside });
        }
    }
}

fn pinned<'a>(sorted: &Sorted<'a>) -> impl Iterator<Item = (&'a Pinned, Access)> {
    sorted.iter().filter_map(|&(storage, access)| match storage.host() {
        Some(HostMemory::Pinned(pinned)) => Some((pinned, access)),
        _ => None,
    })
}

/// Has observers hear of the accesses to page-locked memory, which devices use as well.
///
/// # Errors
/// One of them objects.
#[inline]
#[track_caller]
pub(super) fn tell(operands: &[(&Tensor, Access)]) -> Result<()> {
    if !is_observed() {
        return Ok(());
    }
    let pinned = operands.iter().filter(|(tensor, _)| tensor.is_pinned());
    let accesses: SmallVec<[MemoryAccess; 4]> =
        pinned.flat_map(|(tensor, access)| tensor.accesses(*access)).collect();
    Ok(host_access(&accesses)?)
}
