//! Page-locked memory, which stays where it is: a writer that finds a guard of it is told so.

use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use gpu_alloc::PinnedMemory;
use gpu_runtime::{Access, StreamPoint, UseRecord};

use super::{ALIGNMENT, Fresh};
use crate::shared::{HostGate, Inside};
use crate::{Error, Result};

/// Page-locked memory with what orders its users: the copies in flight, and the host's side.
pub(crate) struct Pinned {
    memory: PinnedMemory,
    gate: HostGate,
}

impl Pinned {
    #[track_caller]
    pub(super) fn new(bytes: usize, fresh: Fresh) -> Result<Pinned> {
        let memory = gpu_alloc::allocate_pinned(bytes)?;
        if fresh == Fresh::Zeroed && bytes > 0 {
            // SAFETY: the block is `bytes` long and nobody else knows it yet.
            unsafe { memory.as_ptr().write_bytes(0, bytes) };
        }
        Ok(Pinned { memory, gate: HostGate::new() })
    }

    /// Where the bytes begin, which never changes.
    pub(crate) fn start(&self) -> *mut u8 {
        match self.memory.bytes() {
            0 => std::ptr::without_provenance_mut(ALIGNMENT),
            _ => self.memory.as_ptr(),
        }
    }

    /// The copies in flight that the memory takes part in.
    pub(crate) fn uses(&self) -> &Mutex<UseRecord> {
        self.memory.uses()
    }

    /// The points after which no copy that was enqueued so far uses the memory.
    pub(crate) fn copies(&self) -> Vec<StreamPoint> {
        self.record().points().cloned().collect()
    }

    /// Keeps others of the host away as an access needs it: for as long as a kernel of this crate
    /// runs, or a copy is enqueued.
    ///
    /// # Errors
    /// [`Error::GuardHeld`] for a write while a guard lives.
    pub(crate) fn enter(&self, op: &'static str, access: Access) -> Result<Inside<'_>> {
        match access {
            Access::Read => Ok(self.gate.enter_to_read()),
            Access::Write => {
                self.gate.enter_to_write().map_err(|place| Error::GuardHeld { op, place })
            }
        }
    }

    /// Waits until the copies in flight are done that an access must come after, and gives what was
    /// waited for. Nothing is locked meanwhile: those copies may wait for code of the program.
    ///
    /// # Errors
    /// A copy failed.
    #[track_caller]
    pub(super) fn wait(&self, access: Access) -> Result<UseRecord> {
        let record = self.record();
        match access {
            Access::Read => record.wait_for_read()?,
            Access::Write => record.wait_for_write()?,
        }
        Ok(record)
    }

    /// Whether no copy has been enqueued since others were waited for.
    pub(super) fn is_settled_since(&self, waited: &UseRecord) -> bool {
        let is_known = |point: &StreamPoint| {
            waited.points().any(|known| {
                known.stream() == point.stream() && known.sequence() >= point.sequence()
            })
        };
        self.record().points().all(is_known)
    }

    pub(super) fn note_guard(&self, place: &'static Location<'static>) {
        self.gate.note_guard(place);
    }

    pub(super) fn forget_guard(&self, place: &'static Location<'static>) {
        self.gate.forget_guard(place);
    }

    fn record(&self) -> UseRecord {
        self.memory.uses().lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
