//! The heap of a context, from which kernels allocate with `malloc` and `new`.
//!
//! Each block of it is an allocation of the device like any other, so that accesses beyond its end
//! and after its release are found where others are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::memory::allocation::{Allocation, Purpose};
use crate::device::memory::device_memory::DeviceMemory;

#[derive(Debug, Default)]
pub(crate) struct Heap {
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    blocks: HashMap<u64, Arc<Allocation>>,
    taken: u64,
}

impl Heap {
    /// Memory for a kernel of the context `owner`; nothing if the heap, which may have so many bytes
    /// as `limit` says, has not so much.
    pub(in crate::device) fn allocate(
        &self,
        memory: &'static DeviceMemory,
        owner: u64,
        bytes: u64,
        limit: u64,
    ) -> Option<u64> {
        // Even nothing has an address of its own.
        let bytes = bytes.max(1);
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > limit.saturating_sub(books.taken) {
            return None;
        }
        let allocation = memory.allocate(bytes, owner, Purpose::Heap).ok()?;
        let address = allocation.address;
        books.taken += bytes;
        books.blocks.insert(address, allocation);
        Some(address)
    }

    /// Takes a block back; `false` if there is none that begins there.
    pub(in crate::device) fn release(&self, memory: &'static DeviceMemory, address: u64) -> bool {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(block) = books.blocks.remove(&address) else { return false };
        books.taken -= block.bytes;
        memory.free(&block);
        true
    }
}
