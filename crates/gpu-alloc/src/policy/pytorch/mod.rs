//! Device memory as PyTorch's allocator keeps it: segments by pool and stream, or pages mapped in a
//! row; split and merged, best fit.

mod certificate;
mod expandable;
mod free_set;
mod grow;
mod options;
mod policy;
mod range;
mod release;
mod size;
mod snapshot;

use std::collections::BTreeSet;
use std::time::Duration;

use self::expandable::Expandable;
use self::free_set::{FreeBlockKey, FreeSet};
pub use self::options::{OptionsError, PytorchOptions};
use self::size::{RequestSize, Sizes};
use super::pending::PendingFrees;
use super::slab::{Slab, SlabIndex};
use super::{Address, Block, MemoryStats, Pool, PoolOf, StreamAndPool, StreamName};

/// PyTorch's policy, with its options.
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
/// Pools keep memory apart for graphs ([`StreamAndPool::pool`]): it serves nobody else, and is not
/// given back before [`end_pool`](crate::policy::Policy::end_pool), since a graph uses it whether or
/// not anybody holds it.
///
/// With expandable segments, each stream has a range of addresses for small requests and one for
/// large ones, each larger than the device, into which pages are mapped as they are needed: of 2 MiB
/// for small requests, of 20 MiB for large ones. Free memory then merges across what would have been
/// the ends of segments, and whole pages are given back out of the middle. Where a source has no
/// virtual memory, there are plain segments, and the log says so.
#[derive(Debug)]
pub struct Pytorch<K> {
    sizes: Sizes,
    blocks: Slab<LinkedBlock<K>>,
    small: FreeSet<K>,
    large: FreeSet<K>,
    /// The ranges of addresses that pages are mapped into; nothing where memory comes in segments.
    expandable: Option<Expandable<K>>,
    pending: PendingFrees<K>,
    /// The pools that are still in use. Their memory is not given back.
    pools: BTreeSet<PoolOf>,
    statistics: MemoryStats,
    /// The bytes that may be taken from the source, as far as it was told.
    memory_limit: Option<u64>,
    /// The number of times that large memory which is in no pool was looked for: the clock by which
    /// it ages.
    searches: u64,
}

/// A block, free or not. The blocks of a segment are linked in the order of their addresses.
#[derive(Debug)]
struct LinkedBlock<K> {
    address: Address,
    bytes: u64,
    requested: u64,
    owner: StreamAndPool<K>,
    pool: Pool,
    state: LinkedBlockState,
    previous: Option<SlabIndex>,
    next: Option<SlabIndex>,
    /// The last use on `stream` of any byte since the segment came from the source. It only grows,
    /// through splits and merges, so it holds for owners before the last one, too.
    last_use: u64,
    /// Whether any byte was handed out since the segment came from the source.
    is_recycled: bool,
    /// When it became free, counted in searches.
    freed_at: u64,
    /// The first tick that found it free, if there was one.
    idle_since: Option<Duration>,
    /// The range of addresses that it is part of, if it is not part of a plain segment.
    range: Option<SlabIndex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkedBlockState {
    Free,
    Allocated,
    PendingFrees,
    /// Addresses without memory.
    Unmapped,
}

impl<K: StreamName> Pytorch<K> {
    /// A policy that has no memory yet, with PyTorch's defaults.
    pub fn new() -> Self {
        Self::with_options(PytorchOptions::default(), 0)
    }

    /// A policy that has no memory yet. `device_bytes` is what the device has in all; it matters
    /// only with expandable segments, whose ranges of addresses are so large and an eighth larger.
    pub fn with_options(options: PytorchOptions, device_bytes: u64) -> Self {
        let sizes = Sizes::new(options);
        let expandable = sizes.options().expandable_segments();
        let max_split_size = sizes.options().max_split_size();
        Pytorch {
            sizes,
            blocks: Slab::default(),
            small: FreeSet::default(),
            large: FreeSet::default(),
            expandable: expandable.then(|| Expandable::new(device_bytes)),
            pending: PendingFrees::default(),
            pools: BTreeSet::new(),
            statistics: MemoryStats { max_split_size, ..MemoryStats::default() },
            memory_limit: None,
            searches: 0,
        }
    }

    /// Tells how much may be taken from the source, if there is a limit. The source sees to it that
    /// no more is. The policy collects old segments before that, if its options say so; and with
    /// expandable segments it refuses a request, as PyTorch does, whose whole segment would exceed
    /// the limit, where the source would not refuse before some pages were mapped.
    pub fn set_memory_limit(&mut self, limit: Option<u64>) {
        self.memory_limit = limit;
    }

    /// Its statistics.
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

    /// The free block that a request gets: the smallest that fits, the lowest among equals. One
    /// that could grow counts with what it could grow to.
    fn best_fit(&mut self, size: RequestSize, owner: StreamAndPool<K>) -> Option<FreeBlockKey<K>> {
        self.searches += u64::from(size.pool == Pool::Large && owner.pool.is_none());
        let mut fits = self.free_set(size.pool).fits(owner, size.rounded);
        let mut best = fits.next()?;
        if self.expandable.is_some() {
            for next in fits {
                if self.room(next) >= self.room(best) {
                    break;
                }
                best = next;
            }
        }
        self.sizes.suits(size, best.bytes).then_some(*best)
    }

    fn free_block(&self, slot: SlabIndex) -> FreeBlockKey<K> {
        let block = &self.blocks[slot];
        let in_segment = block.range.is_none();
        let split = in_segment && (block.previous.is_some() || block.next.is_some());
        FreeBlockKey { owner: block.owner, bytes: block.bytes, address: block.address, slot, split }
    }

    /// Puts a block that is free, or without memory, where it is found.
    fn insert_idle(&mut self, slot: SlabIndex) {
        let entry = self.free_block(slot);
        self.blocks[slot].freed_at = self.searches;
        let LinkedBlock { pool, state, .. } = self.blocks[slot];
        match &mut self.expandable {
            Some(expandable) if state == LinkedBlockState::Unmapped => {
                expandable.insert(pool, entry)
            }
            _ => self.free_set_mut(pool).insert(entry),
        }
    }

    fn remove_idle(&mut self, slot: SlabIndex) {
        let entry = self.free_block(slot);
        let LinkedBlock { pool, state, .. } = self.blocks[slot];
        match &mut self.expandable {
            Some(expandable) if state == LinkedBlockState::Unmapped => {
                expandable.remove(pool, entry)
            }
            _ => self.free_set_mut(pool).remove(entry),
        }
    }

    /// Adds memory or addresses that came from the source, as one block that is in no set yet.
    fn add_block(
        &mut self,
        (address, bytes): (Address, u64),
        pool: Pool,
        owner: StreamAndPool<K>,
        (state, range): (LinkedBlockState, Option<SlabIndex>),
    ) -> SlabIndex {
        self.blocks.insert(LinkedBlock {
            address,
            bytes,
            requested: 0,
            owner,
            pool,
            state,
            previous: None,
            next: None,
            last_use: 0,
            is_recycled: false,
            freed_at: self.searches,
            idle_since: None,
            range,
        })
    }

    /// Makes a free block that is in no set the program's: splits it if there is enough to spare,
    /// and counts it.
    fn hand_out(&mut self, slot: SlabIndex, requested: u64, size: RequestSize) -> Block {
        let rest = self.blocks[slot].bytes - size.rounded;
        if self.sizes.splits(size, rest, self.blocks[slot].range.is_some()) {
            let rest = self.split(slot, size.rounded);
            self.insert_idle(rest);
        }
        let block = &mut self.blocks[slot];
        block.state = LinkedBlockState::Allocated;
        block.requested = requested;
        block.idle_since = None;
        let (address, bytes, last_use) = (block.address, block.bytes, block.last_use);
        let is_recycled = std::mem::replace(&mut block.is_recycled, true);
        self.statistics.count_allocation(size.pool, bytes, requested);
        if bytes >= self.sizes.max_split() {
            self.statistics.oversize_allocations.increase(1);
        }
        self.settle_inactive(size.pool);
        Block { slot, address, bytes, last_use, is_recycled, is_shared: false }
    }

    /// Cuts a block after `bytes`; returns what follows, in the same state.
    fn split(&mut self, slot: SlabIndex, bytes: u64) -> SlabIndex {
        let block = &mut self.blocks[slot];
        let rest = LinkedBlock {
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
    fn complete_free(&mut self, slot: SlabIndex) {
        let block = &mut self.blocks[slot];
        let (pool, bytes, requested) = (block.pool, block.bytes, block.requested);
        block.state = LinkedBlockState::Free;
        block.requested = 0;
        let slot = self.merge(slot);
        self.insert_idle(slot);
        self.statistics.count_free_completed(pool, bytes, requested);
        self.settle_inactive(pool);
    }

    /// Joins a block that is in no set with those neighbours that are in its state, and takes them
    /// from their set; returns what it is part of now.
    fn merge(&mut self, slot: SlabIndex) -> SlabIndex {
        let LinkedBlock { state, previous, next, .. } = self.blocks[slot];
        if let Some(next) = next.filter(|next| self.blocks[*next].state == state) {
            self.remove_idle(next);
            self.absorb_next(slot);
        }
        match previous.filter(|previous| self.blocks[*previous].state == state) {
            Some(previous) => {
                self.remove_idle(previous);
                self.absorb_next(previous);
                previous
            }
            None => slot,
        }
    }

    /// Joins a block with the one that follows it in the segment.
    fn absorb_next(&mut self, slot: SlabIndex) {
        let next = self.blocks[slot].next.expect("only a block that has a next one absorbs it");
        let next = self.blocks.remove(next);
        let block = &mut self.blocks[slot];
        block.bytes += next.bytes;
        block.idle_since = None;
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

    /// The living pool that a owner's memory is kept for, if it is.
    fn keeper(&self, owner: StreamAndPool<K>) -> Option<PoolOf> {
        owner.pool.filter(|pool| self.pools.contains(pool))
    }

    fn is_kept(&self, owner: StreamAndPool<K>) -> bool {
        self.keeper(owner).is_some()
    }
}

impl<K: StreamName> Default for Pytorch<K> {
    fn default() -> Self {
        Self::new()
    }
}
