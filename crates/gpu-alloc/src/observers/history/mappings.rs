//! The memory that a history has seen mapped, and where it has left old mappings.

use std::collections::{BTreeSet, HashMap};

use crate::policy::{Address, Physical};

/// The places where physical memory is mapped. Memory that moves is mapped at its new place first:
/// from then on the old mapping counts as ended, since the memory counts once.
#[derive(Debug, Default)]
pub(crate) struct MappedMemoryPlaces {
    at: HashMap<Physical, (Address, u64)>,
    /// Mappings that memory has left, and that are not ended yet.
    left: BTreeSet<u64>,
}

impl MappedMemoryPlaces {
    /// Notes a mapping; returns the one that the memory has left, if it has.
    pub(crate) fn mapped(
        &mut self,
        physical: Physical,
        address: Address,
        bytes: u64,
    ) -> Option<(Address, u64)> {
        let old = self.at.insert(physical, (address, bytes));
        self.left.extend(old.map(|(address, _)| address.0));
        old
    }

    /// Notes that mappings are ended; false if memory has left them before.
    pub(crate) fn unmapped(&mut self, address: Address, bytes: u64) -> bool {
        let range = address.0..address.0.saturating_add(bytes);
        let left = self.left.extract_if(range.clone(), |_| true).count();
        if left == 0 {
            self.at.retain(|_, (address, _)| !range.contains(&address.0));
        }
        left == 0
    }

    pub(crate) fn destroyed(&mut self, physical: Physical) {
        self.at.remove(&physical);
    }
}
