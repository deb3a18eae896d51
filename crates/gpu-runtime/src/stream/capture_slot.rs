//! A stream's part in captures.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::{CUresult, CUstream, Driver};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::handle::Stream;
use super::request::Request;
use crate::device::CaptureMode;
use crate::error::Result;

/// A capture in progress, as streams, use records and `enqueue` see it. What it consists of is known in
/// the room `capture`, above them.
pub(crate) trait OpenCapture: Any + Send + Sync {
    /// Whether it is in progress.
    fn is_open(&self) -> bool;

    /// The mode of the capture, if it began in the calling thread.
    fn mode_in_this_thread(&self) -> Option<CaptureMode>;

    /// Takes a stream in that takes part in no capture; false if this one is over.
    ///
    /// # Errors
    /// The driver's, if it does not let the stream take part.
    fn take_in(self: Arc<Self>, stream: &Stream) -> Result<bool>;

    /// Has `issue` hand work to the driver, which captures it.
    ///
    /// # Errors
    /// [`CaptureProblem::Once`](crate::CaptureProblem::Once) for what a graph cannot do again, and the
    /// driver's.
    fn enqueue(
        self: Arc<Self>,
        stream: &Stream,
        request: &Request<'_>,
        issue: &mut dyn FnMut(&Driver, CUstream) -> CUresult,
    ) -> Result<()>;

    /// The number of a stream's branch, if it takes part.
    fn branch_of(&self, stream: &Stream) -> Option<usize>;

    /// Does something when the capture has ended.
    fn defer(&self, what: Box<dyn FnOnce() + Send>);

    /// Takes note that the driver may have captured what nobody knows of. It takes no lock: the
    /// caller may hold any.
    fn give_up(&self);
}

/// The capture that a stream takes part in, if any.
#[derive(Default)]
pub(crate) struct CaptureSlot {
    /// Written while the stream enters a capture, and read while work is handed over that must not be
    /// captured. It is taken after the locks of use records and of a capture, and before all others.
    entrance: RwLock<()>,
    /// The lock is held for no other call.
    capture: Mutex<Option<Arc<dyn OpenCapture>>>,
    /// In how many captures the stream ever took part.
    count: AtomicU64,
}

impl CaptureSlot {
    /// The capture that the stream takes part in.
    pub(crate) fn get(&self) -> Option<Arc<dyn OpenCapture>> {
        self.capture.lock().clone()
    }

    /// Makes the stream part of a capture, after `prepare`; false if it is part of one already.
    ///
    /// # Errors
    /// Those of `prepare`. The stream enters nothing then.
    pub(crate) fn enter(
        &self,
        capture: Arc<dyn OpenCapture>,
        prepare: impl FnOnce() -> Result<()>,
    ) -> Result<bool> {
        // Nobody else enters one meanwhile, and what must run either has an event or finds the capture.
        let _entering = self.entrance.write();
        if self.get().is_some() {
            return Ok(false);
        }
        prepare()?;
        *self.capture.lock() = Some(capture);
        // Before the driver captures anything: who has enqueued something, and finds this number
        // changed, knows that it may have been captured.
        self.count.fetch_add(1, Ordering::Release);
        Ok(true)
    }

    /// Keeps the stream from entering a capture as long as the guard lives; nothing if it takes part
    /// in one.
    pub(crate) fn keep_out(&self) -> Option<RwLockReadGuard<'_, ()>> {
        let apart = self.entrance.read();
        self.get().is_none().then_some(apart)
    }

    /// In how many captures the stream took part, the present one included.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Ends the stream's part in its capture.
    pub(crate) fn leave(&self) {
        let capture = self.capture.lock().take();
        // Outside of the lock.
        drop(capture);
    }
}
