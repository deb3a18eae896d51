//! Observers: who is told of every enqueued piece of work and of every wait of the host.

mod ambient;
mod memory;
mod range;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::error::Result;
use crate::panics::attempt;
use crate::stream::Stream;
use crate::types::{Allocation, WorkId};
pub(crate) use ambient::{Ambient, accesses, outermost_place as place};
pub use ambient::{at_place, outermost_place};
pub use memory::{Freed, HostAccess, host_access, on_own_account};
pub(crate) use memory::{learned, told_awaited};
pub use range::NamedRange;
pub(crate) use range::{range_entered, range_left};
pub use work::{EnqueuedWork, HostWait};

/// Is told of every enqueued piece of work, of every wait of the host, and of memory, while it is
/// registered with [`observe`].
///
/// Its methods are called in the thread that does what they tell of. What one stream is given is told in
/// the order in which the stream does it: other threads that enqueue on that stream stand by
/// meanwhile. They must not enqueue, wait, get memory or drop streams, or the thread would wait for itself. A
/// panic in one is reported through `tracing` and changes nothing.
pub trait Observer: Send + Sync {
    /// Whether the work may be enqueued at all. An error is what the caller gets, and the driver
    /// does not hear of the work.
    ///
    /// # Errors
    /// Whatever the observer has against it.
    fn admit(&self, work: &EnqueuedWork<'_>) -> Result<()> {
        let _ = work;
        Ok(())
    }

    /// The work is about to be handed to the driver.
    fn enqueuing(&self, work: &EnqueuedWork<'_>) {
        let _ = work;
    }

    /// The driver took the work, as the stream's piece of that number; a [record] has the number of
    /// the piece that it comes after. `None` says that the driver refused it.
    ///
    /// [record]: crate::Work::Record
    fn enqueued(&self, work: &EnqueuedWork<'_>, sequence: Option<u64>) {
        let _ = (work, sequence);
    }

    /// The calling thread is about to wait for a device.
    fn waiting(&self, wait: &HostWait<'_>) {
        let _ = wait;
    }

    /// The calling thread has waited, whether or not the device works.
    fn waited(&self, wait: &HostWait<'_>) {
        let _ = wait;
    }

    /// The program found this work, and what comes before it, to be done without waiting for it: it
    /// asked, or there was nothing to wait for, or a callback behind it runs.
    fn learned(&self, work: WorkId) {
        let _ = work;
    }

    /// Later work on the stream comes after `awaited`, for which no wait was enqueued, since it is
    /// done already.
    fn awaited(&self, stream: &Stream, awaited: WorkId) {
        let _ = (stream, awaited);
    }

    /// The calling thread is about to access memory that devices use, as far as it says so
    /// ([`host_access`]).
    ///
    /// # Errors
    /// Whatever the observer has against it: then the access is not made.
    fn accessing(&self, access: &HostAccess<'_>) -> Result<()> {
        let _ = access;
        Ok(())
    }

    /// Somebody got memory, from the driver or from an allocator.
    fn allocated(&self, allocation: &Allocation) {
        let _ = allocation;
    }

    /// Memory is about to be given back.
    fn freed(&self, freed: &Freed<'_>) {
        let _ = freed;
    }

    /// The calling thread enters a named range ([`range`](crate::range())).
    fn range_entered(&self, range: &NamedRange<'_>) {
        let _ = range;
    }

    /// The calling thread leaves the range with this number, of which this observer may not have
    /// been told.
    fn range_left(&self, id: u64) {
        let _ = id;
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
/// use gpu_runtime::{Device, DeviceBuffer, Observer, EnqueuedWork, Work, observe};
///
/// #[derive(Default)]
/// struct Fills(AtomicUsize);
///
/// impl Observer for Fills {
///     fn enqueuing(&self, enqueued: &EnqueuedWork<'_>) {
///         if matches!(enqueued.work, Work::Fill { .. }) {
///             self.0.fetch_add(1, Ordering::Relaxed);
///             assert_eq!(enqueued.accesses.len(), 1);
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

/// Whether anybody is told, so that it is worth to find out what to tell. It costs a relaxed load.
#[inline]
pub fn is_observed() -> bool {
    OBSERVED.load(Ordering::Relaxed)
}

/// The observers that are registered.
pub(crate) fn observers() -> Option<Observers> {
    OBSERVERS.read().clone()
}

/// Tells each observer.
pub(crate) fn tell(observers: &Observers, what: impl Fn(&dyn Observer)) {
    for observer in observers.iter() {
        if let Err(panic) = attempt(|| what(&**observer)) {
            panicked(&panic);
        }
    }
}

/// Asks each observer; the first objection holds, but all are asked.
pub(crate) fn ask(observers: &Observers, what: impl Fn(&dyn Observer) -> Result<()>) -> Result<()> {
    let answer = |observer: &Arc<dyn Observer>| {
        attempt(|| what(&**observer)).unwrap_or_else(|panic| {
            panicked(&panic);
            Ok(())
        })
    };
    observers.iter().map(answer).fold(Ok(()), Result::and)
}

fn panicked(panic: &str) {
    tracing::error!(panic, "an observer of the runtime panicked");
}

fn change(how: impl FnOnce(&mut Vec<Arc<dyn Observer>>)) {
    let mut observers = OBSERVERS.write();
    let mut list = observers.as_deref().unwrap_or_default().to_vec();
    how(&mut list);
    OBSERVED.store(!list.is_empty(), Ordering::Relaxed);
    *observers = (!list.is_empty()).then(|| list.into());
}
