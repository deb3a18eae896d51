//! The heap of a context, from which kernels allocate with `malloc` and `new`.
//!
//! Each block of it is an allocation of the device like any other, so that accesses beyond its end
//! and after its release are found where others are.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::device::memory::allocation::{GlobalAllocation, Purpose};
use crate::device::memory::global_memory::GlobalMemory;

#[derive(Debug, Default)]
pub(crate) struct MallocHeap {
    heap: Mutex<HeapBlocks>,
}

#[derive(Debug, Default)]
struct HeapBlocks {
    blocks: HashMap<u64, Arc<GlobalAllocation>>,
    taken: u64,
}

impl MallocHeap {
    /// Memory for a kernel of the context `owner`; nothing if the heap, which may have so many
    /// bytes as `limit` says, has not so much.
    pub(in crate::device) fn allocate(
        &self,
        memory: &'static GlobalMemory,
        owner: u64,
        bytes: u64,
        limit: u64,
    ) -> Option<u64> {
        // Even nothing has an address of its own.
        let bytes = bytes.max(1);
        let mut heap = self.heap.lock();
        if bytes > limit.saturating_sub(heap.taken) {
            return None;
        }
        let allocation = memory.allocate(bytes, owner, Purpose::Heap).ok()?;
        let address = allocation.address;
        heap.taken += bytes;
        heap.blocks.insert(address, allocation);
        Some(address)
    }

    /// Takes a block back; `false` if there is none that begins there.
    pub(in crate::device) fn release(&self, memory: &'static GlobalMemory, address: u64) -> bool {
        let mut heap = self.heap.lock();
        let Some(block) = heap.blocks.remove(&address) else { return false };
        heap.taken -= block.bytes;
        memory.free(&block);
        true
    }
}
