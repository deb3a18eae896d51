//! Locks of host memory: for the dispatch, several at once in address order; for users, a guard.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Deref;

use gpu_runtime::{Access, MemoryAccess, Uses, host_access, is_observed};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

use super::{HostMemory, Storage};
use crate::{DType, Element, Error, Result, Tensor};

thread_local! {
    /// The storages whose read guards this thread holds. Locking one of them for writing would wait
    /// for the thread itself.
    static HELD: RefCell<Vec<*const Storage>> = const { RefCell::new(Vec::new()) };
}

/// A lock of one storage, held while a host kernel runs or a copy is enqueued.
pub(crate) enum HostGuard<'a> {
    Read { _guard: RwLockReadGuard<'a, ()> },
    Write { _guard: RwLockWriteGuard<'a, ()> },
}

/// Locks the host storages of `operands`, each once and in address order, and waits until the
/// copies in flight that the access must come after are done.
///
/// # Errors
/// This thread holds a read guard of a storage to be written, or a copy in flight failed.
#[track_caller]
pub(crate) fn lock<'a>(
    op: &'static str,
    operands: &[(&'a Tensor, Access)],
) -> Result<SmallVec<[HostGuard<'a>; 6]>> {
    let mut sorted: SmallVec<[(&Storage, Access); 6]> =
        operands.iter().map(|(tensor, access)| (&**tensor.storage(), *access)).collect();
    // Writers first among equals, so that the one lock that is taken is the stronger.
    sorted.sort_unstable_by_key(|(storage, access)| {
        (std::ptr::from_ref(*storage), !matches!(access, Access::Write))
    });
    sorted.dedup_by_key(|(storage, _)| std::ptr::from_ref(*storage));
    let mut guards = SmallVec::new();
    for (storage, access) in sorted {
        if let Some(memory) = storage.host() {
            guards.push(lock_one(op, storage, memory, access)?);
        }
    }
    tell(operands)?;
    Ok(guards)
}

/// Locks a host storage for a copy that a stream will order after the copies in flight.
///
/// # Errors
/// The storage is to be written, and this thread holds a read guard of it.
#[track_caller]
pub(crate) fn lock_unordered<'a>(
    op: &'static str,
    storage: &'a Storage,
    access: Access,
) -> Result<Option<HostGuard<'a>>> {
    storage.host().map(|memory| guard(op, storage, memory, access)).transpose()
}

#[track_caller]
fn lock_one<'a>(
    op: &'static str,
    storage: &Storage,
    memory: &'a HostMemory,
    access: Access,
) -> Result<HostGuard<'a>> {
    let guard = guard(op, storage, memory, access)?;
    if let Some(uses) = memory.uses() {
        wait(uses, access)?;
    }
    Ok(guard)
}

fn guard<'a>(
    op: &'static str,
    storage: &Storage,
    memory: &'a HostMemory,
    access: Access,
) -> Result<HostGuard<'a>> {
    let held_here = || {
        let contains = HELD.try_with(|held| held.borrow().contains(&std::ptr::from_ref(storage)));
        contains.unwrap_or(false)
    };
    Ok(match access {
        Access::Write if held_here() => return Err(Error::GuardHeld { op }),
        Access::Write => HostGuard::Write { _guard: memory.lock.write() },
        // A reader that queued behind a writer could wait for a guard of its own thread, directly
        // or over other threads' locks; so readers never queue.
        Access::Read => HostGuard::Read { _guard: memory.lock.read_recursive() },
    })
}

/// Has observers hear of the accesses to page-locked memory, which devices use as well.
///
/// # Errors
/// One of them objects.
#[inline]
#[track_caller]
fn tell(operands: &[(&Tensor, Access)]) -> Result<()> {
    if !is_observed() {
        return Ok(());
    }
    let pinned = operands.iter().filter(|(tensor, _)| tensor.is_pinned());
    let accesses: SmallVec<[MemoryAccess; 4]> =
        pinned.flat_map(|(tensor, access)| tensor.accesses(*access)).collect();
    Ok(host_access(&accesses)?)
}

#[track_caller]
fn wait(uses: &Uses, access: Access) -> Result<()> {
    match access {
        Access::Read => uses.wait_for_read()?,
        Access::Write => uses.wait_for_write()?,
    }
    Ok(())
}

/// The elements of a tensor on the CPU, as a slice. While it lives nothing writes the memory:
/// operations of other threads that would wait for it, those of its own thread are errors.
///
/// A guard that is forgotten (`mem::forget`) leaves the memory readable and never writable again.
pub struct ReadGuard<'a, T> {
    elements: *const T,
    len: usize,
    storage: *const Storage,
    _lock: HostGuard<'a>,
    _memory: PhantomData<&'a [T]>,
}

/// The elements of a CPU tensor, once the copies in flight into them are done.
///
/// # Errors
/// The tensor is on a CUDA device, not contiguous, or of another dtype than `T`; or a copy failed.
#[track_caller]
pub(crate) fn read<'a, T: Element>(
    op: &'static str,
    tensor: &'a Tensor,
) -> Result<ReadGuard<'a, T>> {
    let Some(memory) = tensor.storage().host() else {
        return Err(Error::NotOnHost { op, device: tensor.device() });
    };
    tensor.expect_dtype(op, T::DTYPE)?;
    if !tensor.is_contiguous() {
        return Err(tensor.not_contiguous(op));
    }
    let storage: &Storage = tensor.storage();
    let lock = lock_one(op, storage, memory, Access::Read)?;
    tell(&[(tensor, Access::Read)])?;
    // Wrapping, since a view of no elements may begin anywhere.
    let elements = memory.as_ptr().cast::<T>().wrapping_add(tensor.offset());
    if T::DTYPE == DType::Bool {
        // SAFETY: the layout of a tensor lies inside its storage, which is locked; any byte is a
        // valid `u8`.
        let bytes = unsafe { std::slice::from_raw_parts(elements.cast::<u8>(), tensor.numel()) };
        if bytes.iter().any(|&byte| byte > 1) {
            return Err(Error::InvalidBool { op });
        }
    }
    let _gone_at_thread_end =
        HELD.try_with(|held| held.borrow_mut().push(std::ptr::from_ref(storage)));
    Ok(ReadGuard { elements, len: tensor.numel(), storage, _lock: lock, _memory: PhantomData })
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the layout of the tensor that `read` was given lies inside its storage, whose memory
        // is aligned for each dtype; any bytes are a number, and those of a bool were looked at. The
        // lock keeps writers away.
        unsafe { std::slice::from_raw_parts(self.elements, self.len) }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        let _gone_at_thread_end = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(position) = held.iter().rposition(|&storage| storage == self.storage) {
                held.swap_remove(position);
            }
        });
    }
}
