//! Observers are told of memory that is allocated and freed, and of accesses of the host.

use std::cell::Cell;
use std::panic::Location;

use super::{is_observed, observers, place, tell};
use crate::error::Result;
use crate::stream::Stream;
use crate::types::{Allocation, DevicePtr, MemoryAccess, WorkId};

/// Memory that was given back.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Freed<'a> {
    /// The first address.
    pub start: DevicePtr,
    /// The size, in bytes.
    pub bytes: usize,
    /// Whether it is a part of memory from the driver: see [`Allocation::is_part`].
    pub is_part: bool,
    /// The work that is done before the memory is given to anybody else, whoever that is.
    pub until: &'a [WorkId],
}

/// An access of the host to memory that devices use.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HostAccess<'a> {
    /// The ranges of memory that are accessed.
    pub accesses: &'a [MemoryAccess],
    /// The place in the source that asked for it.
    pub place: &'static Location<'static>,
}

impl Allocation {
    /// Tells observers that an allocator hands this memory out; of memory from the driver they are
    /// told by this crate. Without any observer, that costs a relaxed load and a branch.
    #[inline]
    pub fn tell(&self) {
        if is_observed() {
            self.told();
        }
    }

    #[cold]
    fn told(&self) {
        let allocation = Allocation { place: place(self.place), ..*self };
        if let Some(observers) = observers() {
            tell(&observers, |observer| observer.allocated(&allocation));
        }
    }
}

impl<'a> Freed<'a> {
    /// Memory that goes back to the allocator which shared it out, and is given to nobody else
    /// before the work in `until` is done.
    pub const fn part(start: DevicePtr, bytes: usize, until: &'a [WorkId]) -> Freed<'a> {
        Freed { start, bytes, is_part: true, until }
    }

    /// Memory that goes back to the driver.
    pub(crate) const fn whole(start: DevicePtr, bytes: usize) -> Freed<'static> {
        Freed { start, bytes, is_part: false, until: &[] }
    }

    /// Tells observers of it, before anybody else can get the memory. Without any, that costs a
    /// relaxed load and a branch.
    #[inline]
    pub fn tell(&self) {
        if is_observed() {
            self.told();
        }
    }

    #[cold]
    fn told(&self) {
        if let Some(observers) = observers() {
            tell(&observers, |observer| observer.freed(self));
        }
    }
}

/// Tells observers that the calling thread is about to access memory that devices use, such as
/// page-locked memory. It waits for nothing; [`ordered_on_host`](crate::ordered_on_host) does.
///
/// # Errors
/// Those of an [`Observer::accessing`](crate::Observer::accessing): then the access must not be
/// made. A race checker that was asked for by the environment has
/// [`Error::DataRace`](crate::Error::DataRace).
#[inline]
#[track_caller]
pub fn host_access(accesses: &[MemoryAccess]) -> Result<()> {
    match is_observed() {
        true => told_access(accesses, place(Location::caller())),
        false => Ok(()),
    }
}

#[cold]
fn told_access(accesses: &[MemoryAccess], place: &'static Location<'static>) -> Result<()> {
    let Some(observers) = observers() else { return Ok(()) };
    let access = HostAccess { accesses, place };
    super::ask(&observers, |observer| observer.accessing(&access))
}

thread_local! {
    /// Whether observers are not to be told of what this thread finds out.
    static ON_OWN_ACCOUNT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, of which observers do not take what it learns for something that the program learns:
/// an allocator that asks which of its memory can be used again orders nothing in the program.
pub fn on_own_account<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ON_OWN_ACCOUNT.set(self.0);
        }
    }
    let _restore = Restore(ON_OWN_ACCOUNT.replace(true));
    f()
}

/// Tells observers that the program found work to be done.
#[inline]
pub(crate) fn learned(work: impl FnOnce() -> WorkId) {
    if is_observed() && !ON_OWN_ACCOUNT.get() {
        told_learned(work());
    }
}

#[cold]
fn told_learned(work: WorkId) {
    if let Some(observers) = observers() {
        tell(&observers, |observer| observer.learned(work));
    }
}

/// Tells observers that later work on `stream` comes after work that is done already.
#[cold]
pub(crate) fn told_awaited(stream: &Stream, awaited: WorkId) {
    if let Some(observers) = observers() {
        let _in_order = stream.lock_for_observers();
        tell(&observers, |observer| observer.awaited(stream, awaited));
    }
}
