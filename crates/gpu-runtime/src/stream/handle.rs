//! Streams: queues of work on a device.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::RefUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use cuda_sys::CUstream;
use parking_lot::{Mutex, MutexGuard};

use super::capture_slot::CaptureSlot;
use super::ledger::Ledger;
use super::origin::{Legacy, Origin};
use crate::device::{DeviceState, Handle, PooledEvent};
use crate::shared::{Edges, EventHistory};
use crate::types::{Device, LaunchRecord, StreamId, Work};

/// A queue of work on one device: work on a stream runs in the order in which it was enqueued, work
/// on different streams may run at the same time.
///
/// Each device has one default stream, the same in every thread ([`Device::default_stream`]); all
/// others are taken from a pool ([`Stream::new`]) or were made by other code
/// ([`Stream::from_raw`]). Which stream a thread's work goes to is the thread's *current stream* of
/// that device, changed by [`enter`](Stream::enter). Handles are cheap to clone, equal if they name
/// the same stream, and may be used from several threads at once. A stream whose last handle is
/// dropped does its work to the end; nobody waits for that.
///
/// Enqueuing returns before the work is done. The host waits only in
/// [`synchronize`](Stream::synchronize), [`StreamPoint::wait`](crate::StreamPoint::wait),
/// [`Event::synchronize`](crate::Event::synchronize) and [`Pending::wait`](crate::Pending::wait).
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, Stream};
///
/// let device = Device::get(0)?;
/// let side = Stream::new(device)?;
/// {
///     let _side = side.enter()?;
///     assert_eq!(device.current_stream()?, side);
/// }
/// assert!(device.current_stream()?.is_default());
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream(pub(super) Arc<StreamInner>);

/// A stream's locks are taken after those of use records, and in this order: `edges` of the stream
/// that waits, `history` of the one that is waited for, the pool of events. `observed`, while
/// observers are told of what is enqueued here, is taken after all of those, and a ledger's lock
/// after it. The host waits under none of them, except that under `CUDA_LAUNCH_BLOCKING=1` each
/// launch is waited for with the use records of its operands locked.
pub(crate) struct StreamInner {
    pub(super) id: StreamId,
    pub(super) raw: Handle<CUstream>,
    pub(super) state: &'static DeviceState,
    pub(super) priority: i32,
    pub(super) origin: Origin,
    pub(super) legacy: Legacy,
    /// Whether code outside of the runtime may enqueue here, of which nobody tells.
    pub(super) shared: AtomicBool,
    /// The number of pieces of work that were enqueued.
    ///
    /// It is raised *after* the driver took the work. Whoever reads n and then records an event
    /// therefore knows that the event comes after the first n pieces, without any lock.
    pub(super) sequence: AtomicU64,
    pub(super) history: EventHistory<Arc<PooledEvent>>,
    pub(super) edges: Edges<StreamId>,
    pub(super) ledger: Ledger,
    pub(super) observed: Mutex<()>,
    pub(super) captures: CaptureSlot,
    /// The number of its handles that are [kept](crate::StreamKeepAlive).
    pub(super) keepers: AtomicUsize,
}

// What its locks guard is whole whenever other code can run, also after a panic.
impl RefUnwindSafe for StreamInner {}

impl Stream {
    /// The device on which the stream's work runs.
    pub fn device(&self) -> Device {
        self.0.id.device()
    }

    /// The stream's name.
    pub fn id(&self) -> StreamId {
        self.0.id
    }

    /// Whether this is its device's default stream.
    pub fn is_default(&self) -> bool {
        self.0.id.is_default()
    }

    /// The number of pieces of work that were enqueued so far: launches, copies, fills, callbacks,
    /// waits.
    pub fn sequence(&self) -> u64 {
        self.0.sequence.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn state(&self) -> &'static DeviceState {
        self.0.state
    }

    #[inline]
    pub(crate) fn raw(&self) -> CUstream {
        self.0.raw.0
    }

    #[inline]
    pub(crate) fn legacy(&self) -> Legacy {
        self.0.legacy
    }

    pub(crate) fn downgrade(&self) -> Weak<StreamInner> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(stream: &Weak<StreamInner>) -> Option<Stream> {
        stream.upgrade().map(Stream)
    }

    /// The number of the point after everything enqueued so far. Where others may enqueue as well,
    /// what they did counts as one more piece of work, each time that anybody asks.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        if !self.0.shared.load(Ordering::Relaxed) {
            return self.sequence();
        }
        let sequence = self.0.sequence.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.ledger.pass(sequence);
        sequence
    }

    /// Counts and notes a piece of work that the driver took. Its number, or for what is not
    /// counted that of the newest work.
    #[inline]
    pub(crate) fn enqueued(&self, work: &Work) -> u64 {
        if !work.advances() {
            return self.sequence();
        }
        let sequence = self.0.sequence.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.ledger.note(sequence, work);
        sequence
    }

    /// Keeps other threads from enqueuing here while observers are told of something.
    pub(crate) fn lock_for_observers(&self) -> MutexGuard<'_, ()> {
        self.0.observed.lock()
    }

    /// The events that were recorded here, and how far the stream is known to be.
    #[inline]
    pub(crate) fn history(&self) -> &EventHistory<Arc<PooledEvent>> {
        &self.0.history
    }

    /// The work of other streams that later work here waits for already.
    #[inline]
    pub(crate) fn edges(&self) -> &Edges<StreamId> {
        &self.0.edges
    }

    /// The stream's part in captures.
    #[inline]
    pub(crate) fn capture_slot(&self) -> &CaptureSlot {
        &self.0.captures
    }

    /// The work that is not known to be done, as far as the ledger remembers, oldest first.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = LaunchRecord> + use<> {
        let stream = self.id();
        let work = self.0.ledger.between(self.0.history.completed(), self.sequence());
        work.into_iter().map(move |(sequence, work)| LaunchRecord { stream, sequence, work })
    }
}

/// So that streams of the crates above, which have this one inside, are taken as well.
impl AsRef<Stream> for Stream {
    fn as_ref(&self) -> &Stream {
        self
    }
}

impl PartialEq for Stream {
    #[inline]
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl Hash for Stream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.0.id)
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.id.fmt(f)
    }
}
