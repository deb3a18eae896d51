//! Cancellation: the end of an epoch that another thread asks for.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The signal that nobody wants the batches of an epoch any more.
#[derive(Debug, Default)]
pub(super) struct CancelFlag(AtomicBool);

impl CancelFlag {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Something that threads wait at, and that can have them look again.
pub(super) trait WakeLoops: Send + Sync {
    fn wake(&self);
}

/// Ends an epoch from any thread: see [`Batches::canceller`](crate::Batches::canceller).
#[derive(Clone)]
pub struct EpochCanceller {
    flag: Arc<CancelFlag>,
    waiting: Option<Weak<dyn WakeLoops>>,
}

impl EpochCanceller {
    pub(super) fn new(
        flag: &Arc<CancelFlag>,
        waiting: Option<Weak<dyn WakeLoops>>,
    ) -> EpochCanceller {
        EpochCanceller { flag: Arc::clone(flag), waiting }
    }

    /// Ends the epoch: a loop that waits for a batch, or asks for the next one, gets
    /// [`LoaderError::Cancelled`](crate::LoaderError::Cancelled) once, and then no more batches.
    /// Workers stop after the samples at hand; a dataset that reads for long can ask
    /// [`is_cancelled`] meanwhile. It does not block. The loader can go on later, where the loop
    /// was: see [`DataLoader::set_state`](crate::DataLoader::set_state).
    pub fn cancel(&self) {
        self.flag.set();
        if let Some(waiting) = self.waiting.as_ref().and_then(Weak::upgrade) {
            waiting.wake();
        }
    }
}

impl fmt::Debug for EpochCanceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochCanceller").field("is_cancelled", &self.flag.is_set()).finish()
    }
}

thread_local! {
    /// The signal for the batch that this thread is making.
    static SIGNAL: RefCell<Option<Arc<CancelFlag>>> = const { RefCell::new(None) };
}

/// Whether nobody wants the sample any more that this thread is reading for a loader: the epoch was
/// cancelled, or its iterator dropped. A dataset that takes long, or waits for something, can give
/// up then with any error. Elsewhere it is `false`.
///
/// ```
/// assert!(!parallel::is_cancelled());
/// ```
pub fn is_cancelled() -> bool {
    SIGNAL
        .try_with(|signal| signal.borrow().as_ref().is_some_and(|flag| flag.is_set()))
        .unwrap_or(false)
}

/// Has [`is_cancelled`] tell of `flag` in this thread until the guard is dropped.
pub(super) fn enter_cancelled(flag: &Arc<CancelFlag>) -> SignalGuard {
    SignalGuard { found: SIGNAL.replace(Some(Arc::clone(flag))) }
}

/// Restores the signal that the thread had.
pub(super) struct SignalGuard {
    found: Option<Arc<CancelFlag>>,
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        let found = self.found.take();
        let _gone_at_thread_end = SIGNAL.try_with(|signal| signal.replace(found));
    }
}
