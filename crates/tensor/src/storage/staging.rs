//! Staging memory: the host memory that a copy from a device to pageable memory goes through.

use gpu_alloc::PinnedMemory;
use gpu_runtime::Uses;

use super::Fresh;
use super::shared_buffer::SharedBuffer;
use crate::Result;

/// Memory that nobody else knows, page-locked if there is some left: the device writes it while no
/// memory of the program is locked.
pub(crate) enum Staging {
    /// Page-locked memory. Its use record keeps it until the copy is done.
    Pinned(PinnedMemory),
    /// Pageable memory, if no page-locked memory is left. Then the copy is done when the driver's
    /// call returns, which waits for the device while the use records are locked.
    Pageable(SharedBuffer),
}

impl Staging {
    /// Staging memory for so many bytes.
    ///
    /// # Errors
    /// There is no memory of either kind.
    #[track_caller]
    pub(crate) fn new(bytes: usize) -> Result<Staging> {
        match gpu_alloc::allocate_pinned(bytes) {
            Ok(memory) => Ok(Staging::Pinned(memory)),
            Err(_no_more_of_it) => {
                Ok(Staging::Pageable(SharedBuffer::new(bytes, Fresh::Overwritten)?))
            }
        }
    }

    /// The address of the first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        match self {
            Staging::Pinned(memory) => memory.as_ptr(),
            Staging::Pageable(buffer) => buffer.start().as_ptr(),
        }
    }

    /// The use record; pageable memory has none.
    pub(crate) fn uses(&self) -> Option<&Uses> {
        match self {
            Staging::Pinned(memory) => Some(memory.uses()),
            Staging::Pageable(_) => None,
        }
    }
}
