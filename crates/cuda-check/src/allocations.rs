//! The allocations that a launch touches, and whether it may.

use std::ops::Range;
use std::sync::Arc;

use ptx_jit::{AccessInfo, AccessKind, MemoryView};

use super::report::ReportKind;
use super::tracked::{self, Tracked};

/// The allocations that a launch accessed lately.
#[derive(Default)]
pub(crate) struct KnownAllocations(Vec<KnownAllocation>);

struct KnownAllocation {
    tracked: Arc<Tracked>,
    /// Whether the device may touch it at all.
    is_reachable: bool,
    /// By [`AccessKind`]: whether its protection was found to permit such accesses.
    permits: [bool; 3],
}

/// The number of allocations that are remembered: as many as a kernel's inner loop touches, so that a
/// look through them stays short.
const MAX_KNOWN: usize = 16;

impl KnownAllocations {
    /// The allocation of an access that may be made; `None` for memory that is known to the device
    /// only.
    ///
    /// # Errors
    /// What is wrong with the access.
    pub(crate) fn find(
        &mut self,
        address: u64,
        access: AccessInfo,
        memory: &dyn MemoryView,
    ) -> Result<Option<&Arc<Tracked>>, ReportKind> {
        let lies_in = |known: &KnownAllocation| {
            known.tracked.range.contains(&address) && !known.tracked.is_freed()
        };
        let place = match self.0.iter().position(lies_in) {
            Some(0) => 0,
            Some(place) => {
                self.0.swap(place, place - 1);
                place - 1
            }
            None => match tracked::find(address) {
                Some(tracked) => {
                    self.remember(tracked, address, access, memory);
                    0
                }
                None => return unknown(address, access, memory).map(|()| None),
            },
        };
        let known = &mut self.0[place];
        known.check(&(address..address.saturating_add(u64::from(access.bytes))), access, memory)?;
        Ok(Some(&known.tracked))
    }

    /// Takes note of an allocation, before all others.
    fn remember(
        &mut self,
        tracked: Arc<Tracked>,
        address: u64,
        access: AccessInfo,
        memory: &dyn MemoryView,
    ) {
        let is_reachable =
            memory.window().contains(&address) || memory.permits(address, 1, access.access);
        self.0.insert(0, KnownAllocation { tracked, is_reachable, permits: [false; 3] });
        self.0.truncate(MAX_KNOWN);
    }
}

impl KnownAllocation {
    fn check(
        &mut self,
        accessed: &Range<u64>,
        access: AccessInfo,
        memory: &dyn MemoryView,
    ) -> Result<(), ReportKind> {
        let tracked = &self.tracked;
        if !tracked.covers(accessed) {
            return Err(ReportKind::OutOfBounds);
        }
        let permits = &mut self.permits[access.access as usize];
        if !*permits {
            let checked = match self.is_reachable {
                false => Err(ReportKind::NoPeerAccess),
                true if tracked.has_protection() => {
                    check_protection(accessed, access.access, memory)
                }
                true => Ok(()),
            };
            // It may have been freed since it was found.
            checked
                .map_err(|kind| if tracked.is_freed() { ReportKind::UseAfterFree } else { kind })?;
            // One protection is that of a whole mapping, and it stays while the launch runs.
            *permits = true;
        }
        match tracked.is_constant() && access.access != AccessKind::Read {
            true => Err(ReportKind::ReadOnly),
            false => Ok(()),
        }
    }
}

/// An access to memory of which the driver was told nothing.
fn unknown(address: u64, access: AccessInfo, memory: &dyn MemoryView) -> Result<(), ReportKind> {
    if tracked::find_freed(address).is_some() {
        return Err(ReportKind::UseAfterFree);
    }
    // Were it ordered after the allocation, that would have been made.
    if tracked::find_coming(address).is_some() {
        return Err(ReportKind::StreamRace);
    }
    match memory.permits(address, u64::from(access.bytes), access.access) {
        true => Ok(()),
        false => Err(ReportKind::OutOfBounds),
    }
}

/// Memory whose protection may differ from device to device, and from access to access.
fn check_protection(
    accessed: &Range<u64>,
    access: AccessKind,
    memory: &dyn MemoryView,
) -> Result<(), ReportKind> {
    let permits = |access| memory.permits(accessed.start, accessed.end - accessed.start, access);
    match access {
        access if permits(access) => Ok(()),
        AccessKind::Write | AccessKind::Atomic if permits(AccessKind::Read) => {
            Err(ReportKind::ReadOnly)
        }
        _ => Err(ReportKind::NoPeerAccess),
    }
}
