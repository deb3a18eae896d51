//! Observers: who is told of every enqueued piece of work and of every wait of the host.

mod ambient;
mod operation;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

pub use ambient::at_place;
pub(crate) use ambient::{Ambient, place};
pub(crate) use operation::Request;
pub use operation::{HostWait, MemoryAccess, Operation, WaitReason, WorkId};

/// Is told of every enqueued piece of work, and of every wait of the host, while it is registered
/// with [`observe`].
///
/// Its methods are called in the thread that enqueues or waits. What one stream is given is told in
/// the order in which the stream does it: other threads that enqueue on that stream stand by
/// meanwhile. They must not enqueue, wait or drop streams, or the thread would wait for itself. A
/// panic in one is reported through `tracing` and changes nothing.
pub trait Observer: Send + Sync {
    /// The work is about to be handed to the driver.
    fn enqueuing(&self, operation: &Operation<'_>) {
        let _ = operation;
    }

    /// The driver took the work, as the stream's piece of that number; a [record] has the number of
    /// the piece that it comes after. `None` says that the driver refused it.
    ///
    /// [record]: crate::Work::Record
    fn enqueued(&self, operation: &Operation<'_>, sequence: Option<u64>) {
        let _ = (operation, sequence);
    }

    /// The calling thread is about to wait for a device.
    fn waiting(&self, wait: &HostWait<'_>) {
        let _ = wait;
    }

    /// The calling thread has waited, whether or not the device works.
    fn waited(&self, wait: &HostWait<'_>) {
        let _ = wait;
    }
}

/// Keeps an [`Observer`] registered until it is dropped.
#[must_use = "the observer is told nothing once this is dropped"]
pub struct Observation(Arc<dyn Observer>);

/// Tells `observer` of everything that any thread enqueues or waits for from now on, until the
/// result is dropped. Work that another thread is just enqueuing may still pass by untold.
///
/// Without any observer, that costs an enqueue one relaxed load and a branch.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use gpu_runtime::{Device, DeviceBuffer, Observer, Operation, Work, observe};
///
/// #[derive(Default)]
/// struct Fills(AtomicUsize);
///
/// impl Observer for Fills {
///     fn enqueuing(&self, operation: &Operation<'_>) {
///         if matches!(operation.work, Work::Fill { .. }) {
///             self.0.fetch_add(1, Ordering::Relaxed);
///             assert_eq!(operation.accesses.len(), 1);
///         }
///     }
/// }
///
/// let fills = Arc::new(Fills::default());
/// let observation = observe(fills.clone());
/// DeviceBuffer::<f32>::zeroed(&Device::get(0)?.default_stream()?, 10)?;
/// drop(observation);
/// assert_eq!(fills.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn observe(observer: Arc<dyn Observer>) -> Observation {
    change(|observers| observers.push(Arc::clone(&observer)));
    Observation(observer)
}

impl Drop for Observation {
    fn drop(&mut self) {
        change(|observers| {
            let own = |other: &Arc<dyn Observer>| Arc::ptr_eq(other, &self.0);
            if let Some(index) = observers.iter().position(own) {
                observers.remove(index);
            }
        });
    }
}

impl std::fmt::Debug for Observation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observation")
    }
}

type Observers = Arc<[Arc<dyn Observer>]>;

/// Whether there are any, so that usually nothing else is looked at.
static OBSERVED: AtomicBool = AtomicBool::new(false);
static OBSERVERS: RwLock<Option<Observers>> = RwLock::new(None);

/// Whether anybody is told.
#[inline]
pub(crate) fn is_on() -> bool {
    OBSERVED.load(Ordering::Relaxed)
}

/// Who is told.
pub(crate) fn observers() -> Option<Observers> {
    OBSERVERS.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Tells each observer.
pub(crate) fn tell(observers: &Observers, what: impl Fn(&dyn Observer)) {
    for observer in observers.iter() {
        if catch_unwind(AssertUnwindSafe(|| what(&**observer))).is_err() {
            tracing::error!("an observer of the runtime panicked");
        }
    }
}

fn change(how: impl FnOnce(&mut Vec<Arc<dyn Observer>>)) {
    let mut observers = OBSERVERS.write().unwrap_or_else(PoisonError::into_inner);
    let mut list = observers.as_deref().unwrap_or_default().to_vec();
    how(&mut list);
    OBSERVED.store(!list.is_empty(), Ordering::Relaxed);
    *observers = (!list.is_empty()).then(|| list.into());
}
