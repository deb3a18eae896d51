//! Functions that are told when a device is out of memory.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use gpu_runtime::panics::attempt;
use parking_lot::{Mutex, MutexGuard};

use super::OutOfMemory;

thread_local! {
    /// Whether the thread is in an observer.
    static TELLS: Cell<bool> = const { Cell::new(false) };
}

type OutOfMemoryObserver = dyn Fn(&OutOfMemory) + Send + Sync;

/// Calls `observer` with each request that a device cannot serve, until the result is dropped: to
/// log it, or to write a [snapshot](crate::memory_snapshot) while the memory is still as it was.
///
/// It is called in the thread whose request it is, just before that gets its error, with no lock
/// held: it may allocate and free, which does not change that the request fails. If it is refused
/// memory itself, no observer is told of that. A panic in it is
/// reported through `tracing` and changes nothing. Another thread may still be in a call when the
/// result is dropped.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// let seen = Arc::new(AtomicUsize::new(0));
/// let observation = gpu_alloc::observe_out_of_memory({
///     let seen = Arc::clone(&seen);
///     move |report| seen.store(report.requested, Ordering::Relaxed)
/// });
/// assert!(gpu_alloc::allocate(device, 1 << 50, &device.current_stream()?).is_err());
/// assert_eq!(seen.load(Ordering::Relaxed), 1 << 50);
/// drop(observation);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn observe_out_of_memory(
    observer: impl Fn(&OutOfMemory) + Send + Sync + 'static,
) -> OutOfMemoryObservation {
    let observer: Arc<OutOfMemoryObserver> = Arc::new(observer);
    observers().push(Arc::clone(&observer));
    OutOfMemoryObservation(observer)
}

/// Keeps an observer of out-of-memory errors until it is dropped; see [`observe_out_of_memory`].
#[must_use = "the observer is told nothing once this is dropped"]
pub struct OutOfMemoryObservation(Arc<OutOfMemoryObserver>);

impl Drop for OutOfMemoryObservation {
    fn drop(&mut self) {
        let mut observers = observers();
        let own = observers.iter().position(|other| Arc::ptr_eq(other, &self.0));
        let _own = own.map(|own| observers.remove(own));
        // What the observer owns is dropped with `self`, after the lock.
        drop(observers);
    }
}

impl fmt::Debug for OutOfMemoryObservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutOfMemoryObservation")
    }
}

/// Tells the observers, in the order of their registration. What one of them is refused is told to
/// none: it might ask for memory again and again.
pub(crate) fn tell(report: &OutOfMemory) {
    if TELLS.replace(true) {
        return;
    }
    let registered: Vec<_> = observers().iter().map(Arc::clone).collect();
    for observer in registered {
        if let Err(panic) = attempt(|| observer(report)) {
            tracing::error!(panic, "an observer of out-of-memory errors panicked");
        }
    }
    TELLS.set(false);
}

fn observers() -> MutexGuard<'static, Vec<Arc<OutOfMemoryObserver>>> {
    static OBSERVERS: Mutex<Vec<Arc<OutOfMemoryObserver>>> = Mutex::new(Vec::new());
    OBSERVERS.lock()
}
