//! Host memory: from the heap or page-locked, behind one reader-writer lock.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use gpu_alloc::PinnedMemory;
use gpu_runtime::{StreamPoint, Uses};
use parking_lot::RwLock;

use super::{Fresh, cache};
use crate::{Error, Result};

/// Cache lines, and the widest vector registers, begin at multiples of this.
pub(super) const ALIGNMENT: usize = 64;

/// Host memory with the lock that orders its users. Only a holder of the lock touches the bytes.
pub(crate) struct HostMemory {
    pub(super) lock: RwLock<()>,
    owner: Owner,
}

enum Owner {
    Heap(Heap),
    Pinned(PinnedMemory),
}

impl HostMemory {
    pub(super) fn heap(bytes: usize, fresh: Fresh) -> Result<HostMemory> {
        Ok(HostMemory { lock: RwLock::new(()), owner: Owner::Heap(Heap::new(bytes, fresh)?) })
    }

    #[track_caller]
    pub(super) fn pinned(bytes: usize, fresh: Fresh) -> Result<HostMemory> {
        let memory = gpu_alloc::allocate_pinned(bytes)?;
        if fresh == Fresh::Zeroed && bytes > 0 {
            // SAFETY: the block is `bytes` long and nobody else knows it yet.
            unsafe { memory.as_ptr().write_bytes(0, bytes) };
        }
        Ok(HostMemory { lock: RwLock::new(()), owner: Owner::Pinned(memory) })
    }

    /// Where the bytes begin: aligned for every dtype, also when there are none.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        match &self.owner {
            Owner::Heap(heap) => heap.start.as_ptr(),
            Owner::Pinned(memory) if memory.bytes() == 0 => dangling().as_ptr(),
            Owner::Pinned(memory) => memory.as_ptr(),
        }
    }

    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self.owner, Owner::Pinned(_))
    }

    /// The copies in flight that page-locked memory takes part in; heap memory has none.
    pub(crate) fn uses(&self) -> Option<&Uses> {
        match &self.owner {
            Owner::Heap(_) => None,
            Owner::Pinned(memory) => Some(memory.uses()),
        }
    }

    /// The points after which no copy that was enqueued so far uses the memory.
    pub(crate) fn copies(&self) -> Vec<StreamPoint> {
        let uses = self.uses().map(Uses::snapshot);
        uses.map(|uses| uses.points().cloned().collect()).unwrap_or_default()
    }
}

/// A block from the global allocator.
struct Heap {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block is owned, and its bytes are reached under `HostMemory`'s lock only.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    fn new(bytes: usize, fresh: Fresh) -> Result<Heap> {
        let out_of_memory = || Error::HostOutOfMemory { bytes };
        let layout = Layout::from_size_align(cache::block_size(bytes), ALIGNMENT)
            .map_err(|_too_large| out_of_memory())?;
        if bytes == 0 {
            return Ok(Heap { start: dangling(), layout });
        }
        if let Some(start) = cache::take(layout) {
            if fresh == Fresh::Zeroed {
                // SAFETY: the block is as large as its layout says, and nobody else knows it.
                unsafe { start.write_bytes(0, layout.size()) };
            }
            return Ok(Heap { start, layout });
        }
        // SAFETY: the layout has a size.
        let start = unsafe {
            match fresh {
                Fresh::Overwritten => alloc::alloc(layout),
                Fresh::Zeroed => alloc::alloc_zeroed(layout),
            }
        };
        Ok(Heap { start: NonNull::new(start).ok_or_else(out_of_memory)?, layout })
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: `new` allocated the block with this layout, and its owner is gone.
            unsafe { cache::keep(self.start, self.layout) };
        }
    }
}

/// An address for no bytes, aligned as every other.
fn dangling() -> NonNull<u8> {
    NonNull::without_provenance(std::num::NonZero::new(ALIGNMENT).expect("64 is not zero"))
}
