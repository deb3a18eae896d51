//! A piece of page-locked host memory, and how to get one.

use std::panic::Location;
use std::ptr;
use std::sync::Arc;

use gpu_runtime::{Allocation, DevicePtr, Freed, StreamPoint, Uses, is_observed, outermost_place};

use crate::allocators::pinned::{self, PinnedAllocator};
use crate::cache::{self, ServedBlock};
use crate::error::Result;
use crate::observers::CallSite;
use crate::observers::Tag;
use crate::policy::Block;

/// Allocates `bytes` of page-locked host memory, which every device can copy from and to without
/// waiting: aligned to at least 64 bytes, not initialised. The processor caches it like all other
/// memory (it is not write-combined), so that reading what a device has written is fast. 0 bytes are
/// a null pointer.
///
/// It takes cached memory if some fits; pinning anew takes long. It blocks only at the limit, as
/// [`allocate`](crate::allocate) does when the device is full: once, until copies have finished
/// with memory that was dropped. Where [`set_pinned_cache_limit`](crate::set_pinned_cache_limit)
/// has memory go back before more is pinned, the driver may wait for all devices.
///
/// # Errors
/// [`Error::PinnedLimit`](crate::Error::PinnedLimit) at the limit of
/// [`set_pinned_limit`](crate::set_pinned_limit),
/// [`Error::InvalidEnvironment`](crate::Error::InvalidEnvironment) if `SLUICE_PINNED_LIMIT` is no
/// size, and [`Error::Runtime`](crate::Error::Runtime) if the system has no such memory or there is
/// no driver.
#[track_caller]
pub fn allocate_pinned(bytes: usize) -> Result<PinnedMemory> {
    if bytes == 0 {
        return Ok(PinnedMemory { taken: None, address: 0, bytes, uses: Uses::shared_with_host() });
    }
    let allocator = pinned::allocator()?;
    // It is handed out when nobody uses it any more.
    let place = outermost_place(Location::caller());
    let call_site = CallSite { location: place, tag: Tag::current() };
    let ServedBlock { block, .. } = allocator
        .allocate(bytes as u64, (), None, call_site)
        .map_err(|error| pinned::explain(allocator, bytes, call_site, error))?;
    let address = block.address().0 as usize;
    let start = DevicePtr::from_address(block.address().0);
    Allocation { start, bytes, device: None, stream: None, is_part: true, place }.tell();
    Ok(PinnedMemory {
        taken: Some((allocator, block)),
        address,
        bytes,
        uses: Uses::shared_with_host(),
    })
}

/// Page-locked host memory, which goes back to its allocator when dropped.
///
/// The drop waits for nothing. The memory is handed out again when all work in its
/// [`uses`](Self::uses) is done, so a copy on its way keeps it; who enqueues such work notes it
/// there, through [`ordered`](gpu_runtime::ordered). A guard of the program
/// ([`Uses::guard`](gpu_runtime::Uses::guard)) keeps it, too.
#[derive(Debug)]
pub struct PinnedMemory {
    /// The block and its allocator; `None` for 0 bytes.
    taken: Option<(&'static PinnedAllocator, Block)>,
    address: usize,
    bytes: usize,
    uses: Arc<Uses>,
}

impl PinnedMemory {
    /// The first byte; null for 0 bytes.
    ///
    /// Devices may be reading and writing behind it. Wait with [`Uses::wait_for_read`] before reading,
    /// with [`Uses::wait_for_write`] before writing.
    pub fn as_ptr(&self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.address)
    }

    /// The size that was asked for, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nobody but the owner keeps the memory: no work that uses it is under way, no graph
    /// uses it, and no guard of it lives. Who owns it alone may fill it anew then.
    pub fn is_idle(&self) -> bool {
        let is_over = |point: StreamPoint| point.is_complete().unwrap_or(false);
        Arc::strong_count(&self.uses) == 1 && self.uses.snapshot().points_to_free().all(is_over)
    }

    /// The record of what used the memory, for [`ordered`](gpu_runtime::ordered).
    pub fn uses(&self) -> &Uses {
        &self.uses
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        let Some((allocator, block)) = self.taken.take() else { return };
        let (start, bytes) = (DevicePtr::from_address(self.address as u64), self.bytes);
        self.uses.release(None, move |uses| {
            if is_observed() {
                let until: Vec<_> = uses.points_to_free().map(|point| point.work()).collect();
                Freed::part(start, bytes, &until).tell();
            }
            // As for device memory: to ask has an event recorded right after the use, for later
            // questions.
            let open = uses.points_to_free().filter(|point| !cache::is_past(point));
            allocator.free(block, open);
        });
    }
}
