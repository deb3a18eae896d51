//! A program's own allocator, for the tests: buddies.

use std::collections::{BTreeMap, BTreeSet};

use gpu_alloc::policy::{Address, StreamName, Suballocator};

/// The bytes of a segment, unless a request is larger.
pub(crate) const SEGMENT: u64 = 4 << 20;

/// Blocks whose sizes are powers of two, in segments of 4 MiB; larger ones have segments of their
/// own. All streams share them.
#[derive(Debug, Default)]
pub(crate) struct Buddy {
    /// The bytes of each segment, by address.
    segments: BTreeMap<u64, u64>,
    /// By size, and where.
    free: BTreeSet<(u64, u64)>,
}

impl<K: StreamName> Suballocator<K> for Buddy {
    fn allocate(
        &mut self,
        bytes: u64,
        _: K,
        new_segment: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address> {
        let size = bytes.next_power_of_two();
        let (mut left, address) = match self.free.range((size, 0)..).next().copied() {
            Some(found) if found.0 <= SEGMENT || size > SEGMENT => {
                self.free.remove(&found);
                found
            }
            _ => {
                let segment = size.max(SEGMENT);
                let Address(address) = new_segment(segment)?;
                self.segments.insert(address, segment);
                (segment, address)
            }
        };
        while left > size && left <= SEGMENT {
            left /= 2;
            self.free.insert((left, address + left));
        }
        Some(Address(address))
    }

    fn free(&mut self, Address(mut address): Address, bytes: u64, _: K) {
        let (start, segment) = self.segments.range(..=address).next_back().expect("it is ours");
        let mut size = bytes.next_power_of_two();
        if *segment > SEGMENT {
            size = *segment;
        }
        while size < SEGMENT {
            let buddy = start + ((address - start) ^ size);
            if !self.free.remove(&(size, buddy)) {
                break;
            }
            address = address.min(buddy);
            size *= 2;
        }
        self.free.insert((size, address));
    }

    fn give_up(&mut self, Address(segment): Address, bytes: u64) -> bool {
        self.segments.remove(&segment).is_some() && self.free.remove(&(bytes, segment))
    }
}
