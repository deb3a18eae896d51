//! Free addresses of a device's window, and how many bytes of it are in use.
//!
//! Large allocations take whole granules, which have memory only while they are in use. Small ones
//! share granules. NVIDIA's driver does it in the same way, and programs see it: `cuMemGetInfo`
//! counts granules.

use std::ops::Range;

use super::quarantine::{AddressQuarantine, red_zone};
use super::ranges::Ranges;
use super::window::{GRANULE, Window};

/// Every allocation starts at a multiple of this.
pub(in crate::device) const ALIGNMENT: u64 = 512;

/// Allocations up to here share granules; larger ones have their own.
const SMALL: u64 = GRANULE / 2;

/// The free addresses of a window.
#[derive(Debug)]
pub(super) struct FreeAddresses {
    /// Whole granules that have no memory.
    granules: Ranges,
    /// Addresses in granules that small allocations share.
    small: Ranges,
    /// Addresses that were freed lately and rest, in checked mode.
    quarantine: AddressQuarantine,
    /// Bytes in granules that are in use.
    used: u64,
}

/// Whether what an allocation took shares its granule with others.
pub(super) fn is_small(taken: &Range<u64>) -> bool {
    taken.end - taken.start <= SMALL
}

impl FreeAddresses {
    /// All of a range is free.
    pub(super) fn new(addresses: Range<u64>) -> FreeAddresses {
        FreeAddresses {
            granules: Ranges::new(addresses),
            small: Ranges::with_seam(GRANULE),
            quarantine: AddressQuarantine::default(),
            used: 0,
        }
    }

    /// Bytes in granules that are in use.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Takes addresses with memory for an allocation. `None` where `limit` or the machine has no
    /// more.
    pub(super) fn take(&mut self, window: &Window, limit: u64, bytes: u64) -> Option<Range<u64>> {
        let small = bytes.checked_next_multiple_of(ALIGNMENT)?.checked_add(red_zone(ALIGNMENT))?;
        if small > SMALL {
            return self.take_granules(window, limit, bytes);
        }
        let address = self.small.take(small).or_else(|| {
            let Some(granule) = self.take_granules(window, limit, GRANULE) else {
                // What rests is better used again than refused.
                self.quarantine.release_small(&mut self.small);
                return self.small.take(small);
            };
            self.small.give(granule);
            self.small.take(small)
        })?;
        self.quarantine.took_small(address);
        Some(address..address + small)
    }

    /// Takes whole granules.
    pub(super) fn take_granules(
        &mut self,
        window: &Window,
        limit: u64,
        bytes: u64,
    ) -> Option<Range<u64>> {
        let bytes = bytes.checked_next_multiple_of(GRANULE)?;
        let used = self.used.checked_add(bytes).filter(|used| *used <= limit)?;
        let range = self.commit(window, bytes)?;
        self.used = used;
        Some(range)
    }

    /// Takes whole granules that no limit counts.
    pub(super) fn commit(&mut self, window: &Window, bytes: u64) -> Option<Range<u64>> {
        let spaced = bytes.checked_add(red_zone(GRANULE))?;
        let address = self.granules.take(spaced).or_else(|| {
            self.quarantine.release_granules(&mut self.granules);
            self.granules.take(spaced)
        })?;
        let range = address..address + bytes;
        if let Err(error) = window.commit(range.clone()) {
            tracing::warn!(%error, bytes, "the machine has no memory for a device");
            self.granules.give(address..address + spaced);
            return None;
        }
        Some(range)
    }

    /// Takes back what an allocation took.
    pub(super) fn take_back(&mut self, window: &Window, taken: Range<u64>) {
        if !is_small(&taken) {
            return self.take_granules_back(window, taken);
        }
        let Some(taken) = self.quarantine.keep_small(taken, &mut self.small) else { return };
        let free = self.small.give(taken);
        if free.end - free.start == GRANULE {
            self.small.take_range(&free);
            self.take_granules_back(window, free);
        }
    }

    /// Takes whole granules back.
    pub(super) fn take_granules_back(&mut self, window: &Window, range: Range<u64>) {
        self.used -= range.end - range.start;
        self.release(window, range);
    }

    /// Takes back whole granules that no limit counts.
    pub(super) fn release(&mut self, window: &Window, range: Range<u64>) {
        window.release(range.clone());
        let spaced = range.start..range.end + red_zone(GRANULE);
        if let Some(free) = self.quarantine.keep_granules(spaced) {
            self.granules.give(free);
        }
    }

    /// Counts memory that is elsewhere. False if that would exceed the limit.
    pub(super) fn charge(&mut self, limit: u64, bytes: u64) -> bool {
        let used = self.used.checked_add(bytes).filter(|used| *used <= limit);
        self.used = used.unwrap_or(self.used);
        used.is_some()
    }

    /// Counts it no more.
    pub(super) fn discharge(&mut self, bytes: u64) {
        self.used -= bytes;
    }
}
