//! Host callbacks: functions of this program that a stream calls.

use std::ffi::c_void;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::enqueue::enqueue;
use crate::error::Result;
use crate::ledger::Work;
use crate::observe::{self, Request, WorkId};
use crate::stream::Stream;

type Callback = Box<dyn FnOnce() + Send>;

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
    /// the stream is being captured, since it could be called only once.
    #[track_caller]
    pub fn add_callback(&self, callback: impl FnOnce() + Send + 'static) -> Result<()> {
        let callback: Callback = match observe::is_observed() {
            true => Box::new(self.telling(callback)),
            false => Box::new(callback),
        };
        let boxed: Box<Callback> = Box::new(callback);
        let data = Box::into_raw(boxed).cast::<c_void>();
        let request = Request::new(&Work::Callback, "cuLaunchHostFunc");
        let enqueued = enqueue(self, &request, |driver, stream| {
            // SAFETY: the driver calls `run` once with `data`, which `run` owns from then on.
            unsafe { (driver.cuLaunchHostFunc)(stream, Some(run), data) }
        });
        if enqueued.is_err() {
            // SAFETY: the driver did not take the callback, so `data` is still ours.
            drop(unsafe { Box::from_raw(data.cast::<Callback>()) });
        }
        enqueued
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

unsafe extern "C" fn run(data: *mut c_void) {
    // SAFETY: `data` came from `Box::into_raw` in `add_callback`, and the driver calls this once.
    let callback = unsafe { Box::from_raw(data.cast::<Callback>()) };
    // A panic must not cross into the driver, which is not Rust.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(callback)) {
        // Its destructor might panic too.
        mem::forget(payload);
        tracing::error!("a host callback panicked");
    }
}
