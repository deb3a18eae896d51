//! Host callbacks: functions of this program that a stream calls.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;

use parking_lot::{Mutex, MutexGuard};

use super::enqueue::enqueue;
use crate::error::Result;
use crate::observe;
use crate::panics::attempt;
use crate::stream::{Request, Stream};
use crate::types::{Work, WorkId};

/// The functions that the driver has been asked to call, by the number that it hands over.
struct HostFunctions {
    waiting: BTreeMap<usize, Box<dyn FnOnce() + Send>>,
    next: usize,
}

static HOST_FUNCTIONS: Mutex<HostFunctions> =
    Mutex::new(HostFunctions { waiting: BTreeMap::new(), next: 0 });

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
        let number = put(callback);
        let request = Request::new(&Work::Callback, "cuLaunchHostFunc");
        let outcome = enqueue(self, &request, |driver, stream| {
            // SAFETY: `run` takes numbers of callbacks, whatever has become of them.
            unsafe {
                (driver.cuLaunchHostFunc)(stream, Some(run), ptr::without_provenance_mut(number))
            }
        });
        if !outcome.is_taken() {
            // Even if the driver calls `run` after all, it finds nothing to call.
            drop(take(number));
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

fn host_functions() -> MutexGuard<'static, HostFunctions> {
    HOST_FUNCTIONS.lock()
}

/// Keeps a function for the driver; returns its number.
fn put(callback: Box<dyn FnOnce() + Send>) -> usize {
    let mut functions = host_functions();
    let number = functions.next;
    // It would take centuries to come round.
    functions.next = number.wrapping_add(1);
    functions.waiting.insert(number, callback);
    number
}

/// Takes a function, unless somebody has. It is to be called and dropped without the lock.
fn take(number: usize) -> Option<Box<dyn FnOnce() + Send>> {
    host_functions().waiting.remove(&number)
}

unsafe extern "C" fn run(number: *mut c_void) {
    let Some(callback) = take(number.addr()) else { return };
    // A panic must not cross into the driver, which is not Rust.
    if let Err(panic) = attempt(callback) {
        tracing::error!(panic, "a host callback panicked");
    }
}
