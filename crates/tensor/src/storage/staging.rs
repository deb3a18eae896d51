//! Host memory that a copy from a device to the heap goes through.

use gpu_alloc::PinnedMemory;
use gpu_runtime::Uses;

use super::Fresh;
use super::block::Block;
use crate::Result;

/// Memory that nobody else knows, page-locked where there is some: the device writes it while
/// nothing of the program is held.
pub(crate) enum Staging {
    /// Its record keeps it until the copy is done.
    Pinned(PinnedMemory),
    /// Where no page-locked memory is left: the driver's own copy has to do, which is over when its
    /// call is, and waits in there while the use records are locked.
    Heap(Block),
}

impl Staging {
    /// Of so many bytes.
    ///
    /// # Errors
    /// There is no memory of either kind.
    #[track_caller]
    pub(crate) fn new(bytes: usize) -> Result<Staging> {
        match gpu_alloc::allocate_pinned(bytes) {
            Ok(memory) => Ok(Staging::Pinned(memory)),
            Err(_no_more_of_it) => Ok(Staging::Heap(Block::new(bytes, Fresh::Overwritten)?)),
        }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        match self {
            Staging::Pinned(memory) => memory.as_ptr(),
            Staging::Heap(block) => block.start().as_ptr(),
        }
    }

    pub(crate) fn uses(&self) -> Option<&Uses> {
        match self {
            Staging::Pinned(memory) => Some(memory.uses()),
            Staging::Heap(_) => None,
        }
    }
}
