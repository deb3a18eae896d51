//! Page-locked host memory. It stays where it is, so a write is refused while a guard of it lives.

use std::panic::Location;

use gpu_alloc::PinnedMemory;
use gpu_runtime::{Access, HostGuard, StreamPoint, UseRecord, Uses};

use super::{ALIGNMENT, Fresh};
use crate::Result;

/// Page-locked memory. Its [`Uses`] order its users on the host and on devices.
pub(crate) struct Pinned(PinnedMemory);

impl Pinned {
    #[track_caller]
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<Pinned> {
        let memory = gpu_alloc::allocate_pinned(bytes)?;
        if fresh != Fresh::Overwritten && bytes > 0 {
            // SAFETY: the memory is `bytes` long and nobody else knows it yet.
            unsafe { memory.as_ptr().write_bytes(0, bytes) };
        }
        Ok(Pinned(memory))
    }

    /// The address of the first byte, which never changes.
    pub(crate) fn start(&self) -> *mut u8 {
        match self.0.bytes() {
            0 => std::ptr::without_provenance_mut(ALIGNMENT),
            _ => self.0.as_ptr(),
        }
    }

    /// Whether no device, graph or guard uses the memory, nor will without a handle on it.
    pub(super) fn is_idle(&self) -> bool {
        self.0.is_idle()
    }

    /// The record of the memory's uses.
    pub(crate) fn uses(&self) -> &Uses {
        self.0.uses()
    }

    /// The points in streams after which all copies are done that were enqueued so far.
    pub(crate) fn copies(&self) -> Vec<StreamPoint> {
        self.uses().snapshot().points().cloned().collect()
    }

    /// Waits for the copies into the memory, and gives a guard for the program that called at
    /// `location`.
    ///
    /// # Errors
    /// A copy failed.
    #[track_caller]
    pub(crate) fn guard(&self, location: &'static Location<'static>) -> Result<HostGuard> {
        Ok(self.uses().guard(location)?.expect("page-locked memory has a side of the host"))
    }

    /// Waits for the copies in flight that an access must come after, and gives the record of the
    /// uses that were waited for. No lock is held meanwhile: those copies may wait for code of the
    /// program.
    ///
    /// # Errors
    /// A copy failed.
    #[track_caller]
    pub(crate) fn wait(&self, access: Access) -> Result<UseRecord> {
        let uses = self.uses().snapshot();
        match access {
            Access::Read => uses.wait_for_read()?,
            Access::Write => uses.wait_for_write()?,
        }
        Ok(uses)
    }

    /// Whether no use has been enqueued since `waited` that an access must come after.
    pub(crate) fn is_settled_since(&self, waited: &UseRecord, access: Access) -> bool {
        let is_known = |point: &StreamPoint| {
            waited.points().any(|known| {
                known.stream() == point.stream() && known.sequence() >= point.sequence()
            })
        };
        self.uses().snapshot().points_before(access).all(is_known)
    }
}
