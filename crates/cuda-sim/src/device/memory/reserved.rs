//! The part of a device's window whose addresses the program reserves, and maps memory to.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::protection::Protection;
use super::ranges::Ranges;
use super::window::Window;

/// Addresses for the program to reserve.
#[derive(Debug)]
pub(in crate::device) struct Reserved {
    range: Range<u64>,
    free: Mutex<Ranges>,
    /// Mappings whose pages let the device's own kernels do more than they may.
    exposed: AtomicUsize,
}

impl Reserved {
    pub(in crate::device) fn new(range: Range<u64>) -> Reserved {
        let free = Mutex::new(Ranges::new(range.clone()));
        Reserved { range, free, exposed: AtomicUsize::new(0) }
    }

    pub(in crate::device) fn range(&self) -> &Range<u64> {
        &self.range
    }

    /// Whether the pages alone keep the device's own kernels from what they may not touch.
    pub(in crate::device) fn is_enforced_by_pages(&self) -> bool {
        self.exposed.load(Ordering::Acquire) == 0
    }

    /// Takes addresses out, at `hint` if they are free there.
    pub(super) fn take(&self, bytes: u64, alignment: u64, hint: u64) -> Option<Range<u64>> {
        let start = self.free(|free| {
            let at_hint = hint != 0 && hint.is_multiple_of(alignment);
            let wished = at_hint.then(|| hint.checked_add(bytes)).flatten();
            match wished {
                Some(end) if free.take_at(hint..end) => Some(hint),
                _ => free.take_aligned(bytes, alignment),
            }
        })?;
        Some(start..start + bytes)
    }

    /// Gives them back. Nothing is mapped there.
    pub(super) fn give_back(&self, range: &Range<u64>) {
        self.free(|free| free.give(range.clone()));
    }

    /// Sets what may be done with the pages of a mapping, which was and is exposed or not: open to
    /// more than the device itself may do.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if the machine has no room for another mapping.
    pub(super) fn protect(
        &self,
        window: &Window,
        range: &Range<u64>,
        protection: Protection,
        [was_exposed, is_exposed]: [bool; 2],
    ) -> Result<(), CUresult> {
        window.protect(range, protection).map_err(|error| {
            tracing::warn!(%error, "the access to memory was not changed");
            CUresult::CUDA_ERROR_OUT_OF_MEMORY
        })?;
        self.count_exposed(was_exposed, is_exposed);
        Ok(())
    }

    /// Takes what is mapped somewhere away: touching it is a fault from now on.
    pub(super) fn unmap(&self, window: &Window, range: Range<u64>, was_exposed: bool) {
        window.release(range);
        self.count_exposed(was_exposed, false);
    }

    fn free<R>(&self, change: impl FnOnce(&mut Ranges) -> R) -> R {
        change(&mut self.free.lock())
    }

    fn count_exposed(&self, was: bool, is: bool) {
        if is && !was {
            self.exposed.fetch_add(1, Ordering::AcqRel);
        } else if was && !is {
            self.exposed.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
