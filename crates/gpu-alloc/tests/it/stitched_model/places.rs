//! Physical memory, and where it is mapped.

use std::ops::Range;

use gpu_alloc::policy::{Address, Physical};

use crate::range_map::RangeMap;

/// A part of a piece of physical memory, and where it is mapped.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) memory: Physical,
    pub(super) bytes: Range<u64>,
    /// The address of the memory's first byte.
    origin: u64,
}

impl Place {
    /// What some addresses have of a piece of memory that is mapped as a whole, if anything.
    pub(super) fn of(
        addresses: &Range<u64>,
        (address, memory, bytes): (Address, Physical, u64),
    ) -> Option<Place> {
        let origin = address.0;
        let start = addresses.start.max(origin);
        let end = addresses.end.min(origin + bytes);
        (start < end).then(|| Place { memory, bytes: start - origin..end - origin, origin })
    }

    pub(super) fn address(&self) -> Address {
        Address(self.origin + self.bytes.start)
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

/// Places that share no memory.
pub(super) struct PlaceSet {
    origins: RangeMap<Physical, u64>,
}

impl PlaceSet {
    pub(super) fn new() -> PlaceSet {
        PlaceSet { origins: RangeMap::new() }
    }

    /// Adds a place, instead of where its memory was mapped before.
    pub(super) fn insert(&mut self, place: &Place) {
        self.origins.update(place.memory, &place.bytes, |_| place.origin);
    }

    /// Whether it has any of a place's memory.
    pub(super) fn meets(&self, place: &Place) -> bool {
        self.origins.within(place.memory, &place.bytes).next().is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Place> {
        self.origins.iter().map(|(memory, bytes, origin)| Place { memory, bytes, origin })
    }
}
