//! Device memory as PyTorch's native allocator keeps it: segments by pool and stream, split and
//! merged, best fit.

mod free_set;
mod policy;
mod size;
mod snapshot;

use std::collections::BTreeSet;

use self::free_set::{FreeBlock, FreeSet};
use self::size::Size;
use super::pending::Pending;
use super::slab::{Slab, Slot};
use super::{Address, Block, Home, MemoryStats, Pool, PoolId, StreamName};

/// PyTorch's native policy.
///
/// Requests are rounded to 512 bytes. Those up to 1 MiB share segments of 2 MiB, those below 10 MiB
/// segments of 20 MiB, and larger ones get segments of their own, in multiples of 2 MiB. A request
/// takes the smallest free block of its stream that fits, at the lowest address among equals; what
/// is left over is split off and stays free. A freed block merges with free neighbours of the same
/// segment, so two neighbours are never both free.
///
/// A block waits, after it was freed, for its uses on other streams. Its uses on its own stream
/// hold nothing back, as whoever gets it next comes later in the same queue; a segment waits for
/// them before it is released.
///
/// Pools keep memory apart for graphs ([`Home::pool`]): it serves nobody else, and is not given back
/// before [`end_pool`](crate::policy::Policy::end_pool), since a graph uses it whether or not anybody holds it.
#[derive(Debug)]
pub struct Pytorch<K> {
    blocks: Slab<Record<K>>,
    small: FreeSet<K>,
    large: FreeSet<K>,
    pending: Pending<K>,
    /// The pools that graphs may still use. Their memory is not given back.
    pools: BTreeSet<PoolId>,
    statistics: MemoryStats,
}

/// A block, free or not. The blocks of a segment are linked in the order of their addresses.
#[derive(Debug)]
struct Record<K> {
    address: Address,
    bytes: u64,
    requested: u64,
    home: Home<K>,
    pool: Pool,
    state: State,
    previous: Option<Slot>,
    next: Option<Slot>,
    /// The last use on `stream` of any byte since the segment came from the source. It only grows,
    /// through splits and merges, so it holds for owners before the last one, too.
    last_use: u64,
    /// Whether any byte was handed out since the segment came from the source.
    is_recycled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Allocated,
    Pending,
}

impl<K: StreamName> Pytorch<K> {
    /// A policy that has no memory yet.
    pub fn new() -> Self {
        Pytorch {
            blocks: Slab::default(),
            small: FreeSet::default(),
            large: FreeSet::default(),
            pending: Pending::default(),
            pools: BTreeSet::new(),
            statistics: MemoryStats::default(),
        }
    }

    /// What it has done and holds.
    pub fn statistics(&self) -> &MemoryStats {
        &self.statistics
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.statistics.reset_peak();
    }

    /// Sets the totals of what was added and taken away, and all counts, to zero.
    pub fn reset_accumulated_statistics(&mut self) {
        self.statistics.reset_accumulated();
    }

    fn free_set(&self, pool: Pool) -> &FreeSet<K> {
        match pool {
            Pool::Small => &self.small,
            Pool::Large => &self.large,
        }
    }

    fn free_set_mut(&mut self, pool: Pool) -> &mut FreeSet<K> {
        match pool {
            Pool::Small => &mut self.small,
            Pool::Large => &mut self.large,
        }
    }

    fn free_block(&self, slot: Slot) -> FreeBlock<K> {
        let block = &self.blocks[slot];
        let split = block.previous.is_some() || block.next.is_some();
        FreeBlock { home: block.home, bytes: block.bytes, address: block.address, slot, split }
    }

    fn insert_free(&mut self, slot: Slot) {
        let entry = self.free_block(slot);
        self.free_set_mut(self.blocks[slot].pool).insert(entry);
    }

    fn remove_free(&mut self, slot: Slot) {
        let entry = self.free_block(slot);
        self.free_set_mut(self.blocks[slot].pool).remove(entry);
    }

    /// Adds a segment that came from the source, as one block that is not in the free set yet.
    fn add_segment(&mut self, address: Address, bytes: u64, pool: Pool, home: Home<K>) -> Slot {
        self.statistics.segment.increase(pool, 1);
        self.statistics.reserved_bytes.increase(pool, bytes);
        self.statistics.num_device_alloc += 1;
        let (state, requested, last_use, is_recycled) = (State::Free, 0, 0, false);
        let (previous, next) = (None, None);
        self.blocks.insert(Record {
            address,
            bytes,
            requested,
            home,
            pool,
            state,
            previous,
            next,
            last_use,
            is_recycled,
        })
    }

    /// Makes a free block that is in no set the program's: splits it if there is enough to spare,
    /// and counts it.
    fn hand_out(&mut self, slot: Slot, requested: u64, size: Size) -> Block {
        if size.splits(self.blocks[slot].bytes - size.rounded) {
            let rest = self.split(slot, size.rounded);
            self.insert_free(rest);
        }
        let block = &mut self.blocks[slot];
        block.state = State::Allocated;
        block.requested = requested;
        let (address, bytes, last_use) = (block.address, block.bytes, block.last_use);
        let is_recycled = std::mem::replace(&mut block.is_recycled, true);
        let statistics = &mut self.statistics;
        for count in [&mut statistics.allocation, &mut statistics.active] {
            count.increase(size.pool, 1);
        }
        for sum in [&mut statistics.allocated_bytes, &mut statistics.active_bytes] {
            sum.increase(size.pool, bytes);
        }
        statistics.requested_bytes.increase(size.pool, requested);
        self.settle_inactive(size.pool);
        Block { slot, address, bytes, last_use, is_recycled }
    }

    /// Cuts a block after `bytes`; returns what follows, in the same state.
    fn split(&mut self, slot: Slot, bytes: u64) -> Slot {
        let block = &mut self.blocks[slot];
        let rest = Record {
            address: Address(block.address.0 + bytes),
            bytes: block.bytes - bytes,
            requested: 0,
            previous: Some(slot),
            ..*block
        };
        block.bytes = bytes;
        let after = rest.next;
        let rest = self.blocks.insert(rest);
        self.blocks[slot].next = Some(rest);
        if let Some(after) = after {
            self.blocks[after].previous = Some(rest);
        }
        rest
    }

    /// Ends the wait of a freed block: it merges with its free neighbours and can be handed out
    /// again.
    fn complete_free(&mut self, mut slot: Slot) {
        let block = &mut self.blocks[slot];
        let (pool, bytes, requested) = (block.pool, block.bytes, block.requested);
        block.state = State::Free;
        block.requested = 0;
        if let Some(next) = block.next.filter(|next| self.is_free(*next)) {
            self.remove_free(next);
            self.absorb_next(slot);
        }
        if let Some(previous) =
            self.blocks[slot].previous.filter(|previous| self.is_free(*previous))
        {
            self.remove_free(previous);
            self.absorb_next(previous);
            slot = previous;
        }
        self.insert_free(slot);
        self.statistics.active.decrease(pool, 1);
        self.statistics.active_bytes.decrease(pool, bytes);
        self.statistics.requested_bytes.decrease(pool, requested);
        self.settle_inactive(pool);
    }

    fn is_free(&self, slot: Slot) -> bool {
        self.blocks[slot].state == State::Free
    }

    /// Joins a block with the one that follows it in the segment.
    fn absorb_next(&mut self, slot: Slot) {
        let next = self.blocks[slot].next.expect("only a block that has a next one absorbs it");
        let next = self.blocks.remove(next);
        let block = &mut self.blocks[slot];
        block.bytes += next.bytes;
        block.next = next.next;
        block.last_use = block.last_use.max(next.last_use);
        block.is_recycled |= next.is_recycled;
        if let Some(after) = next.next {
            self.blocks[after].previous = Some(slot);
        }
    }

    fn settle_inactive(&mut self, pool: Pool) {
        let (blocks, bytes) = self.free_set(pool).split();
        self.statistics.inactive_split.settle(pool, blocks);
        self.statistics.inactive_split_bytes.settle(pool, bytes);
    }

    /// The free blocks that are whole segments and that no graph may use, with the last use of each
    /// on its stream.
    fn whole_segments(&self) -> impl Iterator<Item = (FreeBlock<K>, u64)> {
        let free = self.small.iter().chain(self.large.iter());
        let whole = free.filter(|free| !free.split && !self.is_of_graphs(free.home));
        whole.map(|free| (*free, self.blocks[free.slot].last_use))
    }

    /// Whether graphs may use memory of a home also when nobody holds it.
    fn is_of_graphs(&self, home: Home<K>) -> bool {
        home.pool.is_some_and(|pool| self.pools.contains(&pool))
    }
}

impl<K: StreamName> Default for Pytorch<K> {
    fn default() -> Self {
        Self::new()
    }
}
