//! In checked mode, addresses that were freed rest for a while, and allocations keep a distance, so
//! that a pointer that outlives its memory, or runs over its end, does not point into other memory.
//!
//! AddressSanitizer does both for the host's heap, under the same names (Serebryany et al.,
//! "AddressSanitizer: A Fast Address Sanity Checker", 2012): red zones and a quarantine.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::ranges::Ranges;
use super::window::GRANULE;
use crate::config::CheckKinds;

/// So many small ranges, and so many of whole granules, rest. More would find older mistakes, but
/// keeps granules from becoming whole, and so memory from other users.
const RESTING: usize = 256;

/// The bytes between two allocations.
pub(in crate::device) fn red_zone(bytes: u64) -> u64 {
    if is_on() { bytes } else { 0 }
}

fn is_on() -> bool {
    cuda_check::kinds().has(CheckKinds::MEMORY)
}

/// Ranges that rest.
#[derive(Debug, Default)]
pub(in crate::device) struct AddressQuarantine {
    /// Whole granules: addresses without memory.
    granules: VecDeque<Range<u64>>,
    /// In granules that other small allocations live in.
    small: VecDeque<Range<u64>>,
    /// The number of small allocations in each granule, by the granule's number.
    living: BTreeMap<u64, u64>,
}

impl AddressQuarantine {
    /// A small allocation was made at that address.
    pub(in crate::device) fn took_small(&mut self, address: u64) {
        if is_on() {
            *self.living.entry(address / GRANULE).or_default() += 1;
        }
    }

    /// A small range was given back. What is returned is free again: when nothing lives in its
    /// granule any more, the last of what makes that whole.
    pub(in crate::device) fn keep_small(
        &mut self,
        range: Range<u64>,
        free: &mut Ranges,
    ) -> Option<Range<u64>> {
        if !is_on() {
            return Some(range);
        }
        let granule = range.start / GRANULE;
        let living = self.living.entry(granule).or_insert(1);
        *living -= 1;
        if *living == 0 {
            self.living.remove(&granule);
            let (here, elsewhere) =
                self.small.drain(..).partition(|resting| resting.start / GRANULE == granule);
            self.small = elsewhere;
            let here: VecDeque<Range<u64>> = here;
            here.into_iter().for_each(|resting| {
                free.give(resting);
            });
            return Some(range);
        }
        self.small.push_back(range);
        if self.small.len() <= RESTING { None } else { self.small.pop_front() }
    }

    /// Whole granules were given back. What is returned is free again.
    pub(in crate::device) fn keep_granules(&mut self, range: Range<u64>) -> Option<Range<u64>> {
        if !is_on() {
            return Some(range);
        }
        self.granules.push_back(range);
        if self.granules.len() <= RESTING { None } else { self.granules.pop_front() }
    }

    /// Gives back all small ranges.
    pub(in crate::device) fn release_small(&mut self, free: &mut Ranges) {
        self.small.drain(..).for_each(|resting| {
            free.give(resting);
        });
    }

    /// Gives back all granules.
    pub(in crate::device) fn release_granules(&mut self, free: &mut Ranges) {
        self.granules.drain(..).for_each(|resting| {
            free.give(resting);
        });
    }
}
