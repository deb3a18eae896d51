//! Accesses by the memory that they reach, which two addresses may show.

use std::ops::Range;

use smallvec::SmallVec;

use crate::types::{Access, MemoryAccess};
use crate::virtual_memory::{AddressRun, address_runs};

/// An access to bytes that follow on each other in memory too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    piece: AddressRun,
    pub(super) access: Access,
}

/// The memory that accesses reach, by what is mapped now.
pub(super) fn placed(accesses: &[MemoryAccess]) -> SmallVec<[Placed; 4]> {
    let pieces_of = |access: &MemoryAccess| {
        let kind = access.access;
        address_runs(range_of(access)).into_iter().map(move |piece| Placed { piece, access: kind })
    };
    accesses.iter().flat_map(pieces_of).filter(|placed| !placed.is_empty()).collect()
}

/// The addresses of an access; memory that would go around the end of the address space ends there.
fn range_of(access: &MemoryAccess) -> Range<u64> {
    access.start..access.start.saturating_add(access.bytes as u64)
}

impl Placed {
    /// The places of the bytes.
    pub(super) fn places(&self) -> Range<u64> {
        places(&self.piece)
    }

    /// The address by which a place is accessed.
    pub(super) fn address(&self, place: u64) -> u64 {
        self.piece.address + (place - self.piece.place)
    }

    fn is_empty(&self) -> bool {
        self.piece.bytes == 0
    }
}

/// The places of the bytes that addresses show.
pub(super) fn places(piece: &AddressRun) -> Range<u64> {
    piece.place..piece.place + piece.bytes
}

#[cfg(test)]
impl Placed {
    /// Memory that is accessed by an address other than its place.
    pub(super) fn at(place: u64, access: MemoryAccess) -> Placed {
        let MemoryAccess { start, bytes, access } = access;
        Placed { piece: AddressRun { address: start, bytes: bytes as u64, place }, access }
    }
}
