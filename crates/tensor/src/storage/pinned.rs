//! Page-locked memory, which stays where it is: a writer that finds a guard of it is told so.

use std::panic::Location;

use gpu_alloc::PinnedMemory;
use gpu_runtime::{Access, HostGuard, StreamPoint, UseRecord, Uses};

use super::{ALIGNMENT, Fresh};
use crate::Result;

/// Page-locked memory. What orders its users, on the host and on devices, is its [`Uses`].
pub(crate) struct Pinned(PinnedMemory);

impl Pinned {
    #[track_caller]
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<Pinned> {
        let memory = gpu_alloc::allocate_pinned(bytes)?;
        if fresh == Fresh::Zeroed && bytes > 0 {
            // SAFETY: the block is `bytes` long and nobody else knows it yet.
            unsafe { memory.as_ptr().write_bytes(0, bytes) };
        }
        Ok(Pinned(memory))
    }

    /// Where the bytes begin, which never changes.
    pub(crate) fn start(&self) -> *mut u8 {
        match self.0.bytes() {
            0 => std::ptr::without_provenance_mut(ALIGNMENT),
            _ => self.0.as_ptr(),
        }
    }

    /// Who uses the memory.
    pub(crate) fn uses(&self) -> &Uses {
        self.0.uses()
    }

    /// The points after which no copy that was enqueued so far uses the memory.
    pub(crate) fn copies(&self) -> Vec<StreamPoint> {
        self.uses().snapshot().points().cloned().collect()
    }

    /// A guard of the program's that was asked for at `place`, once the copies into the memory are done.
    ///
    /// # Errors
    /// A copy failed.
    #[track_caller]
    pub(crate) fn guard(&self, place: &'static Location<'static>) -> Result<HostGuard> {
        Ok(self.uses().guard(place)?.expect("page-locked memory has a side of the host"))
    }

    /// Waits until the copies in flight are done that an access must come after, and gives what was
    /// waited for. Nothing is held meanwhile: those copies may wait for code of the program.
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

    /// Whether nothing has been enqueued since others were waited for that an access must come after.
    pub(crate) fn is_settled_since(&self, waited: &UseRecord, access: Access) -> bool {
        let is_known = |point: &StreamPoint| {
            waited.points().any(|known| {
                known.stream() == point.stream() && known.sequence() >= point.sequence()
            })
        };
        self.uses().snapshot().points_before(access).all(is_known)
    }
}
