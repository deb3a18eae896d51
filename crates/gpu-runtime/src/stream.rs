//! Streams: queues of work on a device.

mod captured;
mod id;
mod kept;
mod line;
mod origin;
mod pool;
mod progress;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use cuda_sys::CUstream;

use crate::check;
use crate::device::Device;
use crate::device_state::DeviceState;
use crate::error::Result;
use crate::event::Event;
use crate::event_pool::PooledEvent;
use crate::graph::{self, Books};
use crate::handle::Handle;
use crate::ledger::Ledger;
use crate::observe::{self, WaitReason, WorkId};
use crate::point::StreamPoint;
use crate::shared::{Edges, Milestones};
use crate::waits::Leave;
pub use id::StreamId;
pub use kept::KeptStream;
pub(crate) use origin::Legacy;
use origin::Origin;
pub(crate) use pool::StreamPool;

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
/// [`synchronize`](Stream::synchronize), [`StreamPoint::wait`], [`Event::synchronize`] and
/// [`Pending::wait`](crate::Pending::wait).
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
pub struct Stream(Arc<StreamInner>);

/// A stream's locks are taken after those of use records, and in this order: `edges` of the stream
/// that waits, `milestones` of the one that is waited for, the pool of events. `observed`, while
/// observers are told of what is enqueued here, is taken after all of those, and a ledger's lock
/// after it. No lock is held while the host waits.
pub(crate) struct StreamInner {
    id: StreamId,
    raw: Handle<CUstream>,
    state: &'static DeviceState,
    priority: i32,
    origin: Origin,
    legacy: Legacy,
    /// Whether code outside of the runtime may enqueue here, of which nobody tells.
    shared: AtomicBool,
    /// How many pieces of work were enqueued.
    ///
    /// It is raised *after* the driver took the work. Whoever reads n and then records an event
    /// therefore knows that the event comes after the first n pieces, without any lock.
    sequence: AtomicU64,
    milestones: Milestones<Arc<PooledEvent>>,
    edges: Edges<StreamId>,
    ledger: Ledger,
    observed: Mutex<()>,
    /// Written while the stream enters a capture, and read while work is handed over that must not be
    /// captured. It is taken after the locks of use records and of a capture, and before all others.
    entrance: RwLock<()>,
    /// The capture that the stream takes part in. The lock is held for no other call.
    capture: Mutex<Option<Arc<Books>>>,
    /// In how many captures it ever took part.
    captures: AtomicU64,
    /// How many of its handles are [kept](KeptStream).
    keepers: AtomicUsize,
}

impl Stream {
    /// The device on which the stream's work runs.
    pub fn device(&self) -> Device {
        self.0.id.device
    }

    /// The stream's name.
    pub fn id(&self) -> StreamId {
        self.0.id
    }

    /// Whether this is its device's default stream.
    pub fn is_default(&self) -> bool {
        self.0.id.is_default()
    }

    /// Blocks until all work enqueued so far is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if some of it failed;
    /// [`Error::Capture`](crate::Error::Capture) if the stream is being captured, or a capture
    /// forbids to wait.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        self.runs("synchronize")?;
        self.synchronize_with(Leave::ask(self.device(), WaitReason::Stream)?)
    }

    /// Whether all work enqueued so far is done. It does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if some of it failed;
    /// [`Error::Capture`](crate::Error::Capture) if the stream is being captured.
    pub fn query(&self) -> Result<bool> {
        self.runs("query")?;
        let state = self.state();
        let sequence = self.sequence();
        state.bind()?;
        // SAFETY: the stream lives as long as `self`.
        let result = unsafe { (state.driver.cuStreamQuery)(self.raw()) };
        let done = check::query(state, Some(self.id()), "cuStreamQuery", result)?;
        if done {
            self.0.milestones.reached(sequence);
            observe::learned(|| WorkId { stream: self.id(), sequence });
        }
        Ok(done)
    }

    /// Makes later work on this stream wait for all work enqueued on `other` so far, on whichever
    /// device that is. The host does not wait.
    ///
    /// If `other` is being captured, this stream takes part in the capture from here on, and what is
    /// captured on it comes after what was captured on `other`.
    ///
    /// # Errors
    /// The driver's, for either device. [`Error::Capture`](crate::Error::Capture) if this stream is
    /// being captured and `other` is not, or is for another graph.
    #[track_caller]
    pub fn wait_stream(&self, other: &Stream) -> Result<()> {
        match graph::of(other) {
            Some(capture) if self != other => self.wait_captured("wait_stream", &capture, other),
            _ => self.wait_work(other, other.now()),
        }
    }

    /// Makes later work on this stream wait for an event; see [`Event::wait`].
    ///
    /// # Errors
    /// The driver's, for either device.
    #[track_caller]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        event.wait(self)
    }

    /// Makes later work on this stream wait for a point of another one. The host does not wait.
    ///
    /// It costs no call to the driver where the point is known to be past, lies on this stream, or
    /// was waited for already. Otherwise it may wait for a little more than the point; see
    /// [`StreamPoint`].
    ///
    /// # Errors
    /// The driver's, for either device. [`Error::Capture`](crate::Error::Capture) if this stream is
    /// being captured: points are of work that runs.
    #[track_caller]
    pub fn wait_point(&self, point: &StreamPoint) -> Result<()> {
        self.wait_work(point.stream(), point.sequence())
    }

    /// A new event without timing, recorded here.
    ///
    /// # Errors
    /// The driver's, if it cannot create or record an event.
    #[track_caller]
    pub fn record_event(&self) -> Result<Event> {
        let event = Event::new();
        event.record(self)?;
        Ok(event)
    }

    /// The point after everything enqueued so far. It costs no call to the driver.
    pub fn point(&self) -> StreamPoint {
        StreamPoint::new(self.clone(), self.now())
    }

    /// The point after the first `sequence` pieces of work; [`point`](Stream::point) if that many
    /// were not enqueued yet. Who remembers an earlier point as a number gets it back here.
    pub fn point_at(&self, sequence: u64) -> StreamPoint {
        StreamPoint::new(self.clone(), sequence.min(self.sequence()))
    }

    /// How many pieces of work were enqueued so far: launches, copies, fills, callbacks, waits.
    pub fn sequence(&self) -> u64 {
        self.0.sequence.load(Ordering::Acquire)
    }

    /// The number of the newest piece of work that is known to be done, as all before it are.
    ///
    /// It polls, and waits for nothing. If no event is on its way that could tell of unfinished
    /// work, it records one, so that who polls again and again learns of every completion.
    #[track_caller]
    pub fn completed(&self) -> u64 {
        self.0.milestones.poll(self)
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
