//! One allocation of device memory.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::global_memory::GlobalMemory;
use super::managed::Managed;
use super::protection::Protection;
use crate::device::properties::DeviceId;
use crate::queue::QueuePoint;
use cuda_check::MemoryKind;

/// Memory that was allocated on a device. It goes back to the device when the last one lets go:
/// the device's table of allocations, or a copy in flight.
#[derive(Debug)]
pub(crate) struct GlobalAllocation {
    /// The first byte, aligned to 512 bytes at least.
    pub(crate) address: u64,
    /// The size that was asked for; what was taken of the window may be more.
    pub(crate) bytes: u64,
    /// The device on which it lies.
    pub(crate) device: DeviceId,
    /// The number of the context that it belongs to.
    pub(crate) owner: u64,
    /// The purpose that it serves, which says who frees it.
    pub(crate) purpose: Purpose,
    /// A number that no other allocation of the process ever has.
    pub(crate) id: u64,
    /// Whether copies and fills that do not wait otherwise wait where this memory is concerned.
    pub(crate) synchronous: AtomicBool,
    pub(in crate::device) memory: &'static GlobalMemory,
    /// The part of the device's window that it takes up.
    pub(in crate::device) taken: Range<u64>,
    /// The pool that it was taken from.
    pub(crate) pool: Option<Box<dyn OwningPool>>,
    /// The program's advice (`cuMemAdvise`), if it is managed memory.
    pub(crate) managed: Option<Managed>,
}

/// The memory pool that an allocation was taken from, as the allocation knows it.
pub(crate) trait OwningPool: Debug + Send + Sync {
    /// The pool's handle.
    fn handle(&self) -> u64;

    /// The access that the device of that ordinal has to the pool's memory.
    fn access(&self, ordinal: u32) -> Protection;

    /// Takes the allocation's memory back, after the work up to a point, or at once.
    fn take_back(&self, allocation: &GlobalAllocation, after: Option<QueuePoint>);
}

/// The purpose of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `cuMemAlloc`, `cuMemAllocManaged`: the program frees it.
    Program,
    /// `cuMemAllocAsync`: the program frees it.
    Pool,
    /// An array's: it lives as long as that.
    Array,
    /// A variable of a module: it lives as long as that.
    Module,
    /// A node of a graph allocates it.
    Graph,
    /// `malloc` in a kernel: kernels free it, or it lives as long as the context.
    Heap,
}

/// A number that no other allocation of the process has.
pub(in crate::device) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Purpose {
    /// The kind of memory that checks see in it.
    pub(crate) fn memory_kind(self) -> MemoryKind {
        match self {
            Purpose::Module => MemoryKind::Variable,
            Purpose::Heap => MemoryKind::Heap,
            Purpose::Pool => MemoryKind::Pool,
            Purpose::Graph => MemoryKind::Graph,
            Purpose::Program | Purpose::Array => MemoryKind::Device,
        }
    }
}

impl GlobalAllocation {
    /// The addresses that belong to the program.
    pub(crate) fn range(&self) -> Range<u64> {
        self.address..self.address + self.bytes
    }

    /// Whether its memory comes fresh from the system, which fills it with zeros; small allocations
    /// get what others had before.
    pub(in crate::device) fn begins_as_zero(&self) -> bool {
        self.pool.is_none() && self.memory.has_whole_granules(&self.taken)
    }
}

impl Drop for GlobalAllocation {
    fn drop(&mut self) {
        let taken = self.taken.clone();
        match (&self.pool, &self.managed) {
            (Some(_), _) => {}
            (None, Some(_)) => self.memory.take_managed_back(taken),
            (None, None) => self.memory.take_back(taken),
        }
    }
}
