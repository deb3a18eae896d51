//! Host callbacks: functions of this program that a stream calls.

use std::ffi::c_void;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::enqueue::enqueue;
use crate::error::Result;
use crate::ledger::Work;
use crate::observe::{self, Request, WorkId};
use crate::stream::Stream;

/// A function of the program's, for whichever comes first of its two owners: the driver, which calls
/// it, or the caller of [`Stream::add_callback`], who takes it back if the driver refuses it.
type Callback = Mutex<Option<Box<dyn FnOnce() + Send>>>;

impl Stream {
    /// Enqueues a function of the host: the stream calls it once its earlier work is done, and goes
    /// on with later work when it returns.
    ///
    /// It runs on a thread of the driver and must not use any device, nor wait for anything that
    /// does: the driver may need that very thread. If the device is lost before, it is never
    /// called. A panic in it ends it, and is reported through `tracing`.
    ///
    /// # Errors
    /// The driver's, if it cannot enqueue the call; [`Error::Capture`](crate::Error::Capture) where
    /// the stream is being captured, since it could be called only once. The function is dropped
    /// then, and never called.
    #[track_caller]
    pub fn add_callback(&self, callback: impl FnOnce() + Send + 'static) -> Result<()> {
        let callback: Box<dyn FnOnce() + Send> = match observe::is_observed() {
            true => Box::new(self.telling(callback)),
            false => Box::new(callback),
        };
        let ours: Arc<Callback> = Arc::new(Mutex::new(Some(callback)));
        let theirs = Arc::into_raw(Arc::clone(&ours));
        let mut was_asked = false;
        let request = Request::new(&Work::Callback, "cuLaunchHostFunc");
        let outcome = enqueue(self, &request, |driver, stream| {
            was_asked = true;
            // SAFETY: `run` takes what `theirs` is, and owns that share of the callback.
            unsafe { (driver.cuLaunchHostFunc)(stream, Some(run), theirs.cast_mut().cast()) }
        });
        if !outcome.is_taken() {
            // Even if the driver calls `run` after all, it finds nothing to call. Only its share, a
            // few words, is left to it.
            drop(take(&ours));
            if !was_asked {
                // SAFETY: the driver has never heard of the share.
                drop(unsafe { Arc::from_raw(theirs) });
            }
        }
        outcome.into_result()
    }

    /// The same function, which first has observers hear that the work before it is done.
    fn telling<F: FnOnce() + Send>(&self, callback: F) -> impl FnOnce() + Send + use<F> {
        let before = WorkId { stream: self.id(), sequence: self.sequence() };
        move || {
            observe::learned(|| before);
            callback();
        }
    }
}

/// Takes the function, if the other owner has not.
fn take(callback: &Callback) -> Option<Box<dyn FnOnce() + Send>> {
    callback.lock().unwrap_or_else(PoisonError::into_inner).take()
}

unsafe extern "C" fn run(data: *mut c_void) {
    // SAFETY: `data` is a share of a callback from `add_callback`, given up there for this call, and
    // the driver calls this once.
    let shared = unsafe { Arc::from_raw(data.cast::<Callback>()) };
    let Some(callback) = take(&shared) else { return };
    // A panic must not cross into the driver, which is not Rust.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(callback)) {
        // Its destructor might panic too.
        mem::forget(payload);
        tracing::error!("a host callback panicked");
    }
}
