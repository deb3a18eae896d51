//! Physical memory, and where it is mapped.

use std::ops::Range;

use gpu_alloc::policy::{Address, Physical};

use crate::range_map::RangeMap;

/// A part of a piece of physical memory, and where it is mapped.
#[derive(Clone, Debug)]
pub(super) struct MappedPart {
    pub(super) memory: Physical,
    pub(super) bytes: Range<u64>,
    /// The address of the memory's first byte.
    origin: u64,
}

impl MappedPart {
    /// What some addresses have of a piece of memory that is mapped as a whole, if anything.
    pub(super) fn of(
        addresses: &Range<u64>,
        (address, memory, bytes): (Address, Physical, u64),
    ) -> Option<MappedPart> {
        let origin = address.0;
        let start = addresses.start.max(origin);
        let end = addresses.end.min(origin + bytes);
        (start < end).then(|| MappedPart { memory, bytes: start - origin..end - origin, origin })
    }

    pub(super) fn address(&self) -> Address {
        Address(self.origin + self.bytes.start)
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

/// Parts that share no memory.
pub(super) struct MappedParts {
    origins: RangeMap<Physical, u64>,
}

impl MappedParts {
    pub(super) fn new() -> MappedParts {
        MappedParts { origins: RangeMap::new() }
    }

    /// Adds a part, instead of where its memory was mapped before.
    pub(super) fn insert(&mut self, place: &MappedPart) {
        self.origins.update(place.memory, &place.bytes, |_| place.origin);
    }

    /// Whether it has any of a part's memory.
    pub(super) fn meets(&self, place: &MappedPart) -> bool {
        self.origins.within(place.memory, &place.bytes).next().is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = MappedPart> {
        self.origins.iter().map(|(memory, bytes, origin)| MappedPart { memory, bytes, origin })
    }
}
