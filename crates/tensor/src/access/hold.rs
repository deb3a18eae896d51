//! The host memory of an operation's operands, held for as long as the operation runs.

use gpu_runtime::{
    Access, HostHold, MemoryAccess, UseRecord, hold_on_host, host_access, is_observed,
};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

use crate::storage::{HeapContent, HostMemory, Pinned, Storage};
use crate::{Error, Result, Tensor};

/// Host memory that is held: what is read changes by nobody, what is written is nobody else's, and all
/// of it stays where it is. It must be let go before code of the program runs.
pub(crate) struct Held<'a> {
    _heap: SmallVec<[HeldHeap<'a>; 6]>,
    _pinned: HostHold<'a>,
}

enum HeldHeap<'a> {
    Read { _guard: RwLockReadGuard<'a, HeapContent> },
    Write { _guard: RwLockWriteGuard<'a, HeapContent> },
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
    // Devices are waited for before anything is held: code of the program may have to run until they
    // are done. So there may be something new to wait for afterwards, and then it is done again.
    loop {
        let waited = wait_for_copies(&sorted)?;
        let Some(heap) = lock_heap(&sorted)? else {
            settle(&sorted)?;
            continue;
        };
        if waited.is_empty() {
            return Ok(Held { _heap: heap, _pinned: HostHold::default() });
        }
        // After the heap, in every thread.
        let uses = pinned(&sorted).map(|(pinned, access)| (pinned.uses(), access));
        let held = hold_on_host(uses).map_err(|error| Error::of_host_access(op, error))?;
        let is_settled =
            |(pinned, access, waited): &Waited<'_>| pinned.is_settled_since(waited, *access);
        if waited.iter().all(is_settled) {
            tell(operands)?;
            return Ok(Held { _heap: heap, _pinned: held });
        }
    }
}

/// Page-locked memory, an access to it, and what was waited for.
type Waited<'a> = (&'a Pinned, Access, UseRecord);

/// Waits for the copies in flight of page-locked memory, and gives what was waited for.
#[track_caller]
fn wait_for_copies<'a>(sorted: &Sorted<'a>) -> Result<SmallVec<[Waited<'a>; 2]>> {
    let mut waited = SmallVec::new();
    for (pinned, access) in pinned(sorted) {
        waited.push((pinned, access, pinned.wait(access)?));
    }
    Ok(waited)
}

/// Locks what lies on the heap, in the order of addresses, which is the same for every thread. Nothing,
/// where copies from devices are due.
fn lock_heap<'a>(sorted: &Sorted<'a>) -> Result<Option<SmallVec<[HeldHeap<'a>; 6]>>> {
    let mut held = SmallVec::new();
    for &(storage, access) in sorted {
        let Some(HostMemory::Heap(heap)) = storage.host() else { continue };
        let locked = match access {
            Access::Read => heap.lock_to_read().map(|guard| HeldHeap::Read { _guard: guard }),
            Access::Write => heap.lock_to_write()?.map(|guard| HeldHeap::Write { _guard: guard }),
        };
        match locked {
            Some(locked) => held.push(locked),
            None => return Ok(None),
        }
    }
    Ok(Some(held))
}

/// Lets the copies from devices arrive that are due.
#[cold]
#[track_caller]
fn settle(sorted: &Sorted<'_>) -> Result<()> {
    for (storage, _) in sorted {
        if let Some(HostMemory::Heap(heap)) = storage.host() {
            heap.settle()?;
        }
    }
    Ok(())
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
