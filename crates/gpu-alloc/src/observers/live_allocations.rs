//! The last allocation at each block, with who asked for it.

use std::collections::HashMap;
use std::panic::Location;

use gpu_runtime::StreamId;

use super::Tag;
use crate::policy::{Address, Block, StreamAndPool};

/// The caller who asks for memory: a location in the source, and the tag in force there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallSite {
    pub(crate) location: &'static Location<'static>,
    pub(crate) tag: Option<Tag>,
}

/// An allocation: who got which block, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllocationRecord {
    pub(crate) address: Address,
    pub(crate) requested: u64,
    /// The stream and pool; `None` for memory that belongs to no stream.
    pub(crate) owner: Option<StreamAndPool<StreamId>>,
    pub(crate) call_site: CallSite,
    /// The number of allocations of the device before it; about that many, where several streams
    /// allocate at once.
    pub(crate) number: u64,
    /// The time of the allocation, in microseconds since 1970, if the memory history was on.
    pub(crate) time: Option<u64>,
}

/// A block that was handed out, and to whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewAllocation<'a> {
    pub(crate) block: &'a Block,
    pub(crate) requested: u64,
    pub(crate) owner: Option<StreamAndPool<StreamId>>,
    pub(crate) call_site: CallSite,
    /// The `time` of its [`AllocationRecord`].
    pub(crate) time: Option<u64>,
}

/// The holders, by the place that a policy has for each block.
///
/// It is written with each allocation, and not at all when memory is freed: who asks looks for the
/// newest holder of an address that is in use.
#[derive(Debug, Default)]
pub(crate) struct LiveAllocations {
    parts: Vec<CacheAllocations>,
    count: u64,
}

/// The live allocations of one stream cache, which are lent with it.
#[derive(Debug, Default)]
pub(crate) struct CacheAllocations {
    last: Vec<Option<AllocationRecord>>,
    /// The number of allocations so far, as far as is known here.
    count: u64,
    /// The number when it was lent.
    lent_at: u64,
}

impl LiveAllocations {
    pub(crate) fn hold(&mut self, handout: NewAllocation<'_>) -> &AllocationRecord {
        let count = self.count;
        self.count += 1;
        let part = self.part(handout.block.place().0);
        part.count = count;
        part.hold(handout)
    }

    /// The allocation of a block that is not given back yet.
    pub(crate) fn of(&self, block: &Block) -> Option<&AllocationRecord> {
        let (part, index) = block.place();
        self.parts.get(part)?.last.get(index)?.as_ref()
    }

    pub(crate) fn lend(&mut self, part: usize) -> CacheAllocations {
        let count = self.count;
        CacheAllocations { count, lent_at: count, ..std::mem::take(self.part(part)) }
    }

    pub(crate) fn take_back(&mut self, part: usize, holders: CacheAllocations) {
        self.count += holders.count - holders.lent_at;
        *self.part(part) = holders;
    }

    fn part(&mut self, part: usize) -> &mut CacheAllocations {
        if part >= self.parts.len() {
            self.parts.resize_with(part + 1, CacheAllocations::default);
        }
        &mut self.parts[part]
    }

    /// The number of allocations.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The last holder of each address that was handed out, and perhaps given back since.
    pub(crate) fn by_address(&self) -> HashMap<Address, AllocationRecord> {
        let mut newest = HashMap::<_, AllocationRecord>::new();
        for holder in self.parts.iter().flat_map(|part| part.last.iter().flatten()) {
            let known = newest.entry(holder.address).or_insert(*holder);
            if known.number < holder.number {
                *known = *holder;
            }
        }
        newest
    }
}

impl CacheAllocations {
    #[inline]
    pub(crate) fn hold(&mut self, handout: NewAllocation<'_>) -> &AllocationRecord {
        let NewAllocation { block, requested, owner, call_site, time } = handout;
        let (index, number) = (block.place().1, self.count);
        self.count += 1;
        if index >= self.last.len() {
            self.last.resize(index + 1, None);
        }
        let address = block.address();
        self.last[index].insert(AllocationRecord {
            address,
            requested,
            owner,
            call_site,
            number,
            time,
        })
    }
}
