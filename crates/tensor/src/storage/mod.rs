//! The memory of tensors: a block on one device that tensors and their views share.

mod cache;
mod cuda;
mod guard;
mod host;

use std::sync::atomic::{AtomicU64, Ordering};

pub use guard::ReadGuard;
pub(crate) use guard::{lock, lock_unordered, read};
pub(crate) use host::HostMemory;

use crate::Result;
use crate::device::Place;

/// Who owns the bytes, and by what they are ordered.
pub(crate) enum Memory {
    /// Ordered by a reader-writer lock, and where it is page-locked by its copies in flight.
    Host(HostMemory),
    /// Ordered by the streams that use it.
    Cuda(gpu_alloc::DeviceMemory),
}

/// A block of memory on one device. Views share it; in-place operations change it.
pub(crate) struct Storage {
    place: Place,
    memory: Memory,
    version: AtomicU64,
}

/// What new host memory must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// Every byte is written before anybody can read it.
    Overwritten,
    /// The bytes may be read as they are, so they must have a value; for an operation's output that
    /// is not known to be written in full.
    Zeroed,
}

impl Storage {
    /// Memory for `bytes` at `place`; on CUDA it belongs to the device's current stream.
    ///
    /// # Errors
    /// There is no such memory left.
    #[track_caller]
    pub(crate) fn allocate(place: Place, bytes: usize, fresh: Fresh) -> Result<Storage> {
        let memory = match place {
            Place::Cpu => Memory::Host(HostMemory::heap(bytes, fresh)?),
            Place::Cuda(device) => Memory::Cuda(cuda::allocate(device, bytes)?),
        };
        Ok(Storage::of(place, memory))
    }

    /// Page-locked host memory for `bytes`.
    ///
    /// # Errors
    /// The limit of pinned memory is reached, or there is no driver.
    #[track_caller]
    pub(crate) fn allocate_pinned(bytes: usize, fresh: Fresh) -> Result<Storage> {
        Ok(Storage::of(Place::Cpu, Memory::Host(HostMemory::pinned(bytes, fresh)?)))
    }

    fn of(place: Place, memory: Memory) -> Storage {
        Storage { place, memory, version: AtomicU64::new(0) }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The host memory, or `None` on CUDA.
    pub(crate) fn host(&self) -> Option<&HostMemory> {
        match &self.memory {
            Memory::Host(memory) => Some(memory),
            Memory::Cuda(_) => None,
        }
    }

    /// Where the block begins, in the address space that its device's kernels see.
    pub(crate) fn address(&self) -> u64 {
        match &self.memory {
            Memory::Host(memory) => memory.as_ptr().expose_provenance() as u64,
            Memory::Cuda(memory) => memory.ptr().address(),
        }
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.host().is_some_and(HostMemory::is_pinned)
    }

    /// How often the contents were changed in place.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Notes a change in place, so that gradients saved before it are known to be stale.
    pub(crate) fn bump_version(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}
