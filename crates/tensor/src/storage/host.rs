//! Host memory: of the heap, or page-locked.

use super::Fresh;
use super::heap::Heap;
use super::pinned::Pinned;
use crate::Result;

/// Host memory, with what orders its users.
pub(crate) enum HostMemory {
    /// Nobody but this crate knows where it lies, so that it can move.
    Heap(Heap),
    /// Devices know where it lies.
    Pinned(Pinned),
}

impl HostMemory {
    pub(super) fn heap(bytes: usize, fresh: Fresh) -> Result<HostMemory> {
        Ok(HostMemory::Heap(Heap::new(bytes, fresh)?))
    }

    #[track_caller]
    pub(super) fn pinned(bytes: usize, fresh: Fresh) -> Result<HostMemory> {
        Ok(HostMemory::Pinned(Pinned::new(bytes, fresh)?))
    }

    /// Where the bytes begin: aligned for every dtype, also when there are none. While the memory is
    /// not held, others may move and write them.
    pub(crate) fn start(&self) -> *mut u8 {
        match self {
            HostMemory::Heap(heap) => heap.start(),
            HostMemory::Pinned(pinned) => pinned.start(),
        }
    }
}
