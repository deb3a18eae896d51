//! Stream-ordered memory: pools from which streams allocate, and to which they free.
//!
//! A block that was freed in a stream is used again for work that comes after: in the same stream,
//! in one that waits for the free, once the free is complete, or, if there is no other memory, in
//! a stream that is made to wait.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::CUresult;
use parking_lot::{Mutex, MutexGuard};

use super::blocks::Blocks;
use crate::device::gpu::Device;
use crate::device::memory::allocation::{GlobalAllocation, OwningPool};
use crate::device::memory::free_addresses::ALIGNMENT;
use crate::device::memory::global_memory::GlobalMemory;
use crate::device::memory::protection::Protection;
use crate::device::memory::window::GRANULE;
use crate::queue::{self, QueuePoint};

/// A memory pool.
#[derive(Debug)]
pub(crate) struct StreamOrderedPool {
    pub(crate) handle: u64,
    pub(crate) device: &'static Device,
    pub(crate) is_default: bool,
    /// The most that it may reserve.
    pub(crate) most: u64,
    state: Mutex<PoolState>,
    /// Not zero if a call that synchronises has something to do: blocks were freed, or less is to
    /// be kept.
    unsettled: AtomicUsize,
}

#[derive(Debug)]
struct PoolState {
    blocks: Blocks,
    settings: PoolAttributes,
    usage: Usage,
    /// The access that devices have, by ordinal; others have none.
    access: BTreeMap<u32, Protection>,
    /// Keeps nothing: its handle is gone.
    is_destroyed: bool,
}

/// The attributes that a program can set (`CUmemPool_attribute`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolAttributes {
    /// The bytes that the pool keeps when a synchronisation finds them unused.
    pub(crate) release_threshold: u64,
    /// Whether a free that the allocation's stream waits for is followed.
    pub(crate) follow_dependencies: bool,
    /// Whether a free that happens to be complete is.
    pub(crate) opportunistic: bool,
    /// Whether a stream may be made to wait for a free.
    pub(crate) internal_dependencies: bool,
}

/// The memory that a pool has reserved and that is in use, with the highest values so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) reserved: u64,
    pub(crate) reserved_high: u64,
    pub(crate) used: u64,
    pub(crate) used_high: u64,
}

/// Memory that a pool has of a device.
#[derive(Debug)]
pub(crate) struct PoolSegment {
    memory: &'static GlobalMemory,
    pub(super) range: Range<u64>,
}

impl Drop for PoolSegment {
    fn drop(&mut self) {
        self.memory.take_segment_back(self.range.clone());
    }
}

impl StreamOrderedPool {
    pub(super) fn new(
        handle: u64,
        device: &'static Device,
        most: u64,
        is_default: bool,
    ) -> StreamOrderedPool {
        let settings = PoolAttributes {
            release_threshold: 0,
            follow_dependencies: true,
            opportunistic: true,
            internal_dependencies: true,
        };
        let state = PoolState {
            blocks: Blocks::default(),
            settings,
            usage: Usage::default(),
            access: BTreeMap::new(),
            is_destroyed: false,
        };
        let (state, unsettled) = (Mutex::new(state), AtomicUsize::new(0));
        StreamOrderedPool { handle, device, is_default, most, state, unsettled }
    }

    /// Allocates for the work that is enqueued in a stream from now on.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn allocate(
        self: &Arc<StreamOrderedPool>,
        bytes: u64,
        stream: &queue::Stream,
    ) -> Result<Arc<GlobalAllocation>, CUresult> {
        let out_of_memory = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let size = bytes.checked_next_multiple_of(ALIGNMENT).ok_or(out_of_memory)?;
        let mut state = self.lock();
        let settings = state.settings;
        let after = match settings.follow_dependencies {
            true => stream.awaited(),
            false => vec![stream.end()],
        };
        let follows = |freed: &QueuePoint| after.iter().any(|point| freed.precedes(point));
        let complete = |freed: &QueuePoint| follows(freed) || freed.is_complete();
        // The reuse policies of the CUDA programming guide ("Stream Ordered Memory Allocator"), the
        // cheapest first: what was freed before in the order of streams, what is free by now, new
        // memory, and at last what the stream has to be made to wait for.
        let blocks = &mut state.blocks;
        let mut found = blocks.take(size, follows);
        if found.is_none() && settings.opportunistic {
            found = blocks.take(size, complete);
        }
        if found.is_none() {
            found = self.grow(&mut state, size).then(|| state.blocks.take(size, follows)).flatten();
        }
        if found.is_none() && settings.internal_dependencies {
            found = state.blocks.take(size, |_| true);
        }
        let taken = found.ok_or(out_of_memory)?;
        for freed in taken.freed.iter().filter(|freed| !follows(freed)) {
            stream.wait_for(freed);
        }
        let usage = &mut state.usage;
        usage.used += size;
        usage.used_high = usage.used_high.max(usage.used);
        let address = taken.start;
        let part = Box::new(PoolPart { pool: Arc::clone(self), _segment: taken.segment });
        let taken = address..address + size;
        Ok(self.device.memory.enter_pooled(bytes, taken, part))
    }

    /// Takes a block back, after the work up to a point, or as it is: nobody uses it.
    fn free(&self, allocation: &GlobalAllocation, after: Option<QueuePoint>) {
        let block = allocation.taken.clone();
        let mut state = self.lock();
        state.usage.used -= block.end - block.start;
        self.unsettled.fetch_add(1, Ordering::AcqRel);
        state.blocks.give(block, after);
    }

    /// The host has synchronised with work of the device of that ordinal: sees what has been freed,
    /// and gives back what is too much.
    ///
    /// A thread that synchronises with one device changes nothing in what threads on others find:
    /// another device's pool notices only what was freed in streams of this one.
    pub(crate) fn settle(&self, device: u32) {
        if self.unsettled.load(Ordering::Acquire) == 0 {
            return;
        }
        let is_own = self.device.id.ordinal == device;
        let mut state = self.lock();
        if !is_own && !state.blocks.has_freed_on(device) {
            return;
        }
        let left = state.blocks.settle(|freed| is_own || freed.is_on(device));
        self.unsettled.store(left, Ordering::Release);
        let keep = if state.is_destroyed { 0 } else { state.settings.release_threshold };
        state.release(keep);
    }

    /// Gives unused memory back, down to so many bytes.
    pub(crate) fn trim(&self, keep: u64) {
        self.lock().release(keep);
    }

    /// The handle is gone: what is left goes when it is freed.
    pub(super) fn destroy(&self) {
        let mut state = self.lock();
        state.is_destroyed = true;
        state.release(0);
        self.unsettled.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().usage.reserved == 0
    }

    pub(crate) fn settings(&self) -> PoolAttributes {
        self.lock().settings
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut PoolAttributes)) {
        change(&mut self.lock().settings);
        // What was kept may have to go.
        self.unsettled.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn usage(&self) -> Usage {
        self.lock().usage
    }

    /// Starts the highest reserved and used amounts anew.
    pub(crate) fn forget_highs(&self, reserved: bool, used: bool) {
        let usage = &mut self.lock().usage;
        if reserved {
            usage.reserved_high = usage.reserved;
        }
        if used {
            usage.used_high = usage.used;
        }
    }

    /// The access that the device of that ordinal has.
    pub(crate) fn access(&self, ordinal: u32) -> Protection {
        if ordinal == self.device.id.ordinal {
            return Protection::ReadWrite;
        }
        self.lock().access.get(&ordinal).copied().unwrap_or_default()
    }

    pub(crate) fn set_access(&self, ordinal: u32, protection: Protection) {
        self.lock().access.insert(ordinal, protection);
    }

    /// Gets more memory from the device.
    fn grow(&self, state: &mut PoolState, size: u64) -> bool {
        let Some(bytes) = size.checked_next_multiple_of(GRANULE) else { return false };
        let memory = &self.device.memory;
        let fits = |state: &PoolState| state.usage.reserved.saturating_add(bytes) <= self.most;
        let take = |state: &PoolState| fits(state).then(|| memory.take_segment(bytes)).flatten();
        let taken = take(state).or_else(|| {
            // The limit may be reached by segments of which no run is long enough: given back, they
            // make room for one that is.
            state.release(0);
            take(state)
        });
        let Some(range) = taken else { return false };
        state.usage.reserved += bytes;
        state.usage.reserved_high = state.usage.reserved_high.max(state.usage.reserved);
        state.blocks.add(PoolSegment { memory, range });
        true
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }
}

impl PoolState {
    /// Gives memory back, down to `keep` bytes. Both the segments and the count of what is reserved
    /// change under the lock, so that nobody sees memory that is neither the pool's nor free.
    fn release(&mut self, keep: u64) {
        self.usage.reserved = self.blocks.release(self.usage.reserved, keep);
    }
}

impl PoolSegment {
    pub(super) fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// The pool of an allocation, and a hold on the segment that it lies in.
#[derive(Debug)]
struct PoolPart {
    pool: Arc<StreamOrderedPool>,
    _segment: Arc<PoolSegment>,
}

impl OwningPool for PoolPart {
    fn handle(&self) -> u64 {
        self.pool.handle
    }

    fn access(&self, ordinal: u32) -> Protection {
        self.pool.access(ordinal)
    }

    fn take_back(&self, allocation: &GlobalAllocation, after: Option<QueuePoint>) {
        self.pool.free(allocation, after);
    }
}
