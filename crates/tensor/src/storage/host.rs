//! Host memory: pageable or page-locked.

use super::Fresh;
use super::pageable::PageableStorage;
use super::pinned::Pinned;
use crate::Result;

/// Host memory, with the lock or the record that orders its users.
pub(crate) enum HostMemory {
    /// Ordinary memory. Only this crate knows its address, so a writer can move it away from a
    /// reader.
    Pageable(PageableStorage),
    /// Page-locked memory. Devices know its address, so it stays where it is.
    Pinned(Pinned),
}

impl HostMemory {
    #[track_caller]
    pub(super) fn pinned(bytes: usize, fresh: Fresh) -> Result<HostMemory> {
        Ok(HostMemory::Pinned(Pinned::new(bytes, fresh)?))
    }

    /// Whether nobody uses the memory, nor will without a handle on its storage: neither a device,
    /// nor a guard.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            HostMemory::Pageable(pageable) => pageable.is_idle(),
            HostMemory::Pinned(pinned) => pinned.is_idle(),
        }
    }

    /// The address of the first byte, aligned for every dtype, also when there are none. Other
    /// threads may move and write the bytes while the memory is not held.
    pub(crate) fn start(&self) -> *mut u8 {
        match self {
            HostMemory::Pageable(pageable) => pageable.start(),
            HostMemory::Pinned(pinned) => pinned.start(),
        }
    }
}
