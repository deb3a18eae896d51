//! Allocations as checks know them: the living ones and, for a while, those that were freed.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use super::api_call::ApiCall;
use super::contents::Contents;
use super::report::AllocationInfo;
use super::shadow::ShadowMemory;

/// Kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Memory that the program allocated on a device.
    Device,
    /// Memory that the program allocated from a pool.
    Pool,
    /// Memory that a launch of a graph allocated.
    Graph,
    /// Physical memory that the program mapped.
    Mapped,
    /// A variable of a module.
    Variable,
    /// Memory that kernels allocated.
    Heap,
    /// Managed memory, which the host can write.
    Managed,
    /// Page-locked host memory.
    Host,
}

impl MemoryKind {
    /// Whether the program is to free it.
    fn is_the_programs(self) -> bool {
        !matches!(self, MemoryKind::Variable | MemoryKind::Heap)
    }

    /// Whether its first bytes are nobody's; the rest the host can write.
    fn starts_unwritten(self) -> bool {
        !matches!(self, MemoryKind::Variable | MemoryKind::Managed | MemoryKind::Host)
    }

    /// Whether each device has a say in what its kernels may do.
    fn has_protection(self) -> bool {
        matches!(self, MemoryKind::Pool | MemoryKind::Mapped)
    }

    fn words(self) -> &'static str {
        match self {
            MemoryKind::Device => "allocation",
            MemoryKind::Pool => "allocation from a pool",
            MemoryKind::Graph => "allocation of a graph",
            MemoryKind::Mapped => "mapped memory",
            MemoryKind::Variable => "module variable",
            MemoryKind::Heap => "memory of the device's heap",
            MemoryKind::Managed => "managed memory",
            MemoryKind::Host => "page-locked memory",
        }
    }
}

/// An allocation.
pub(crate) struct Tracked {
    pub(crate) id: u64,
    pub(crate) range: Range<u64>,
    kind: MemoryKind,
    /// Whether kernels only read it.
    is_constant: AtomicBool,
    /// The number of the context that it belongs to.
    pub(crate) owner: u64,
    pub(crate) made: ApiCall,
    freed: OnceLock<ApiCall>,
    contents: Arc<Contents>,
    /// The address of the contents' first byte; 0 if they go by addresses.
    base: u64,
}

impl Tracked {
    /// An allocation that the calling thread's call makes.
    pub(crate) fn new(range: Range<u64>, kind: MemoryKind, owner: u64) -> Tracked {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Tracked {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            range,
            kind,
            is_constant: AtomicBool::new(false),
            owner,
            made: ApiCall::with_backtrace(),
            freed: OnceLock::new(),
            contents: Arc::default(),
            base: 0,
        }
    }

    /// A mapping of memory whose contents outlive it.
    pub(crate) fn mapping(range: Range<u64>, contents: Arc<Contents>) -> Tracked {
        let base = range.start;
        Tracked { contents, base, ..Tracked::new(range, MemoryKind::Mapped, 0) }
    }

    pub(crate) fn covers(&self, accessed: &Range<u64>) -> bool {
        self.range.start <= accessed.start && accessed.end <= self.range.end
    }

    /// Whether kernels only read it.
    pub(crate) fn is_constant(&self) -> bool {
        self.is_constant.load(Ordering::Relaxed)
    }

    pub(crate) fn set_constant(&self) {
        self.is_constant.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_freed(&self) -> bool {
        self.freed.get().is_some()
    }

    /// Whether each device has a say in what its kernels may do to it.
    pub(crate) fn has_protection(&self) -> bool {
        self.kind.has_protection()
    }

    /// The call that is missing, in words, for kernels of a device to touch it.
    pub(crate) fn permission(&self) -> &'static str {
        match self.kind {
            MemoryKind::Mapped => "cuMemSetAccess did not allow it to the device",
            MemoryKind::Pool => "cuMemPoolSetAccess did not allow it to the device",
            _ => "cuCtxEnablePeerAccess was not called",
        }
    }

    /// The shadow of its bytes, by their places.
    pub(crate) fn shadow(&self) -> &ShadowMemory {
        let places = self.place(self.range.start)..self.place(self.range.end);
        self.contents.shadow(&places, !self.kind.starts_unwritten())
    }

    /// The place of an address in the shadow.
    pub(crate) fn place(&self, address: u64) -> u64 {
        address - self.base
    }

    /// The address of a place in the shadow.
    pub(crate) fn address(&self, place: u64) -> u64 {
        place + self.base
    }

    /// The allocation as part of a report on an address.
    pub(crate) fn info(&self, address: u64) -> AllocationInfo {
        AllocationInfo {
            id: self.id,
            address: self.range.start,
            bytes: self.range.end - self.range.start,
            offset: address.wrapping_sub(self.range.start) as i64,
            what: self.kind.words(),
            made: self.made.clone(),
            freed: self.freed.get().cloned(),
        }
    }
}

struct AllocationTable {
    live: BTreeMap<u64, Arc<Tracked>>,
    /// Allocations of streams that have not come to them yet.
    coming: Vec<Arc<Tracked>>,
    /// Freed ones, none of which overlaps with what lives, and their order.
    freed: BTreeMap<u64, Arc<Tracked>>,
    order: VecDeque<u64>,
}

static ALLOCATIONS: RwLock<AllocationTable> = RwLock::new(AllocationTable {
    live: BTreeMap::new(),
    coming: Vec::new(),
    freed: BTreeMap::new(),
    order: VecDeque::new(),
});

/// The number of freed allocations that are remembered.
const MAX_FREED: usize = 4096;

/// The distance in bytes at which an address still counts as next to an allocation.
const MAX_DISTANCE: u64 = 16 << 20;

/// Memory has been allocated.
pub(crate) fn allocated(range: Range<u64>, kind: MemoryKind, owner: u64) {
    enter(Arc::new(Tracked::new(range, kind, owner)));
}

/// An allocation's life will begin, or never will.
pub(crate) fn expect(tracked: &Arc<Tracked>) {
    let mut table = ALLOCATIONS.write();
    table.coming.push(Arc::clone(tracked));
}

/// Ends what [`expect`] began.
pub(crate) fn expect_no_more(tracked: &Arc<Tracked>) {
    let mut table = ALLOCATIONS.write();
    table.coming.retain(|coming| !Arc::ptr_eq(coming, tracked));
}

/// The allocation that an address will lie in.
pub(crate) fn find_coming(address: u64) -> Option<Arc<Tracked>> {
    let table = ALLOCATIONS.read();
    table.coming.iter().find(|coming| coming.range.contains(&address)).cloned()
}

/// An allocation's life begins.
pub(crate) fn enter(tracked: Arc<Tracked>) {
    let range = tracked.range.clone();
    let mut table = ALLOCATIONS.write();
    let overlapping: Vec<u64> = table
        .freed
        .range(..range.end)
        .rev()
        .take_while(|(_, freed)| freed.range.end > range.start)
        .map(|(&start, _)| start)
        .collect();
    for start in overlapping {
        table.freed.remove(&start);
    }
    if let Some(old) = table.live.insert(range.start, tracked) {
        // A graph that is launched again frees what its last launch left.
        let _ = old.freed.set(old.made.clone());
    }
}

/// Memory that starts there has been freed.
pub(crate) fn freed(start: u64) {
    freed_by(start, ApiCall::with_backtrace());
}

/// Memory that starts there has been freed by a call that was made earlier.
pub(crate) fn freed_by(start: u64, call: ApiCall) {
    let mut table = ALLOCATIONS.write();
    let Some(tracked) = table.live.remove(&start) else { return };
    let _ = tracked.freed.set(call);
    table.freed.insert(start, tracked);
    table.order.push_back(start);
    while table.order.len() > MAX_FREED {
        let oldest = table.order.pop_front();
        oldest.and_then(|start| table.freed.remove(&start));
    }
}

/// The living allocation that an address lies in.
pub(crate) fn find(address: u64) -> Option<Arc<Tracked>> {
    let table = ALLOCATIONS.read();
    let (_, tracked) = table.live.range(..=address).next_back()?;
    tracked.range.contains(&address).then(|| Arc::clone(tracked))
}

/// The freed allocation that an address lies in.
pub(crate) fn find_freed(address: u64) -> Option<Arc<Tracked>> {
    let table = ALLOCATIONS.read();
    let (_, tracked) = table.freed.range(..=address).next_back()?;
    tracked.range.contains(&address).then(|| Arc::clone(tracked))
}

/// The living allocation that an address lies next to.
pub(crate) fn nearest(address: u64) -> Option<Arc<Tracked>> {
    let table = ALLOCATIONS.read();
    let below = table.live.range(..=address).next_back().map(|(_, tracked)| tracked);
    let above = table.live.range(address..).next().map(|(_, tracked)| tracked);
    let distance = |tracked: &&Arc<Tracked>| {
        let Range { start, end } = tracked.range;
        start.saturating_sub(address).max(address.saturating_sub(end))
    };
    let closest = below.into_iter().chain(above).min_by_key(distance)?;
    (distance(&closest) <= MAX_DISTANCE).then(|| Arc::clone(closest))
}

/// The living allocations of the program that belong to a context.
pub(crate) fn owned_by(owner: u64) -> Vec<Arc<Tracked>> {
    let table = ALLOCATIONS.read();
    let belongs =
        |tracked: &&Arc<Tracked>| tracked.owner == owner && tracked.kind.is_the_programs();
    table.live.values().filter(belongs).cloned().collect()
}

/// The living allocations of the program.
pub(crate) fn of_the_program() -> Vec<Arc<Tracked>> {
    let table = ALLOCATIONS.read();
    let of_the_program = |tracked: &&Arc<Tracked>| tracked.kind.is_the_programs();
    table.live.values().filter(of_the_program).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_is_remembered_until_its_place_is_taken() {
        let place = |offset: u64| (1 << 60) + offset;
        allocated(place(0)..place(100), MemoryKind::Device, 7);
        allocated(place(512)..place(612), MemoryKind::Device, 7);
        assert!(find(place(99)).is_some() && find(place(100)).is_none());
        assert_eq!(nearest(place(110)).expect("near").info(place(110)).offset, 110);
        assert_eq!(nearest(place(500)).expect("near").info(place(500)).offset, -12);
        assert_eq!(owned_by(7).len(), 2);
        freed(place(0));
        assert!(find(place(0)).is_none() && find_freed(place(99)).is_some());
        allocated(place(64)..place(80), MemoryKind::Device, 7);
        assert!(find_freed(place(0)).is_none());
        freed(place(64));
        freed(place(512));
    }
}
