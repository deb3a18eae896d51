//! Host memory that is held: locked against other uses for as long as a CPU kernel runs.

use gpu_runtime::{
    Access, HostHold, MemoryAccess, UseRecord, hold_on_host, host_access, is_observed,
};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

use crate::storage::{HostMemory, PageableContent, Pinned, Storage};
use crate::{Error, Result, Tensor};

/// The host memory of an operation's operands while it is held. Nobody else writes what the
/// operation reads, nobody else uses what it writes, and all of it stays where it is. It must be
/// dropped before code of the program runs.
pub(crate) struct HeldOperands<'a> {
    _pageable: SmallVec<[PageableLock<'a>; 6]>,
    _pinned: HostHold<'a>,
}

/// The lock of one piece of pageable memory.
enum PageableLock<'a> {
    Read { _guard: RwLockReadGuard<'a, PageableContent> },
    Write { _guard: RwLockWriteGuard<'a, PageableContent> },
}

/// The storages to hold, each once, with the stronger of its accesses, in the order of their
/// addresses.
type Sorted<'a> = SmallVec<[(&'a Storage, Access); 6]>;

/// Holds the host memory of `operands`, after waiting for the copies in flight that use it.
///
/// # Errors
/// Page-locked memory is to be written while a guard of it lives; the host has no memory for a copy
/// of pageable memory that a guard reads; a copy in flight failed. Nothing is held then, and no
/// element has changed.
#[track_caller]
pub(crate) fn hold<'a>(
    op: &'static str,
    operands: &[(&'a Tensor, Access)],
) -> Result<HeldOperands<'a>> {
    let mut sorted: Sorted<'a> =
        operands.iter().map(|&(tensor, access)| (tensor.storage(), access)).collect();
    // Writes come first among the accesses to one storage, so that `dedup` leaves the stronger
    // access.
    sorted
        .sort_unstable_by_key(|(storage, access)| (storage.id(), !matches!(access, Access::Write)));
    sorted.dedup_by_key(|(storage, _)| storage.id());
    // Devices are waited for before anything is held, since the work that is waited for may wait
    // for code of the program. Meanwhile new copies may be enqueued; then all is unlocked and begun
    // again.
    loop {
        let waited = wait_for_copies(&sorted)?;
        let Some(pageable) = lock_pageable(&sorted)? else {
            settle(&sorted)?;
            continue;
        };
        if waited.is_empty() {
            return Ok(HeldOperands { _pageable: pageable, _pinned: HostHold::default() });
        }
        // Page-locked memory always comes after pageable memory, so that no two threads deadlock.
        let uses = pinned(&sorted).map(|(pinned, access)| (pinned.uses(), access));
        let held = hold_on_host(uses).map_err(|error| Error::of_host_access(op, error))?;
        let is_settled =
            |(pinned, access, waited): &Waited<'_>| pinned.is_settled_since(waited, *access);
        if waited.iter().all(is_settled) {
            tell(operands)?;
            return Ok(HeldOperands { _pageable: pageable, _pinned: held });
        }
    }
}

/// Page-locked memory, an access to it, and the record of the uses that were waited for.
type Waited<'a> = (&'a Pinned, Access, UseRecord);

/// Waits for the copies in flight of page-locked memory.
#[track_caller]
fn wait_for_copies<'a>(sorted: &Sorted<'a>) -> Result<SmallVec<[Waited<'a>; 2]>> {
    let mut waited = SmallVec::new();
    for (pinned, access) in pinned(sorted) {
        waited.push((pinned, access, pinned.wait(access)?));
    }
    Ok(waited)
}

/// Locks the pageable memory in the order of addresses, which is the same for every thread. `None`
/// if a copy from a device is due.
fn lock_pageable<'a>(sorted: &Sorted<'a>) -> Result<Option<SmallVec<[PageableLock<'a>; 6]>>> {
    let mut held = SmallVec::new();
    for &(storage, access) in sorted {
        let Some(HostMemory::Pageable(memory)) = storage.host() else { continue };
        let locked = match access {
            Access::Read => memory.lock_to_read().map(|guard| PageableLock::Read { _guard: guard }),
            Access::Write => {
                memory.lock_to_write()?.map(|guard| PageableLock::Write { _guard: guard })
            }
        };
        match locked {
            Some(locked) => held.push(locked),
            None => return Ok(None),
        }
    }
    Ok(Some(held))
}

/// Waits for the copies from devices that are due.
#[cold]
#[track_caller]
fn settle(sorted: &Sorted<'_>) -> Result<()> {
    for (storage, _) in sorted {
        if let Some(HostMemory::Pageable(memory)) = storage.host() {
            memory.settle()?;
        }
    }
    Ok(())
}

/// The page-locked memory among the storages, with the access to each.
fn pinned<'a>(sorted: &Sorted<'a>) -> impl Iterator<Item = (&'a Pinned, Access)> {
    sorted.iter().filter_map(|&(storage, access)| match storage.host() {
        Some(HostMemory::Pinned(pinned)) => Some((pinned, access)),
        _ => None,
    })
}

/// Tells observers of accesses to page-locked memory, which devices use as well.
///
/// # Errors
/// An observer refuses the access.
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
