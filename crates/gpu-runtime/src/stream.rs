//! Streams: queues of work on a device.

mod edges;
mod milestones;

use std::ffi::c_int;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use cuda_sys::{CUstream, CUstream_flags};

use crate::check;
use crate::device::Device;
use crate::device_state::DeviceState;
use crate::enqueue::enqueue;
use crate::error::Result;
use crate::event::Event;
use crate::handle::Handle;
use crate::ledger::{LaunchRecord, Ledger, Work};
use crate::point::StreamPoint;
use crate::retired;
use crate::teardown;
use crate::wait::host_wait;
use edges::Edges;
use milestones::Milestones;

/// A queue of work on one device: work on a stream runs in the order in which it was enqueued, work
/// on different streams may run at the same time.
///
/// Each device has one default stream, the same in every thread ([`Device::default_stream`]); all
/// others are made here. Which stream a thread's work goes to is the thread's *current stream* of
/// that device, changed by [`enter`](Stream::enter). Handles are cheap to clone, equal if they name
/// the same stream, and may be used from several threads at once. A stream whose last handle is
/// dropped is destroyed once it has done its work; nobody waits for that.
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

/// The name of a stream: unique in a process, and never used again for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    device: Device,
    ordinal: u64,
}

pub(crate) struct StreamInner {
    id: StreamId,
    raw: Handle<CUstream>,
    state: &'static DeviceState,
    /// How many pieces of work were enqueued.
    ///
    /// It is raised *after* the driver took the work. Whoever reads n and then records an event
    /// therefore knows that the event comes after the first n pieces, without any lock.
    sequence: AtomicU64,
    milestones: Milestones,
    edges: Edges,
    ledger: Ledger,
}

impl Stream {
    /// A new stream, which does not order itself against any other.
    ///
    /// # Errors
    /// The driver's, if it cannot create a stream.
    pub fn new(device: Device) -> Result<Stream> {
        let ordinal = device.state().next_stream_ordinal();
        Stream::create(device, ordinal, CUstream_flags::CU_STREAM_NON_BLOCKING, 0)
    }

    /// A new stream with a priority: lower numbers run first, 0 is what [`Stream::new`] gives, and
    /// the driver clamps what is out of its range.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn with_priority(device: Device, priority: i32) -> Result<Stream> {
        let ordinal = device.state().next_stream_ordinal();
        Stream::create(device, ordinal, CUstream_flags::CU_STREAM_NON_BLOCKING, priority)
    }

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
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if some of it failed.
    pub fn synchronize(&self) -> Result<()> {
        let sequence = self.sequence();
        host_wait(self.state(), Some(self.id()), "cuStreamSynchronize", |driver| {
            // SAFETY: the stream lives as long as `self`.
            unsafe { (driver.cuStreamSynchronize)(self.raw()) }
        })?;
        self.0.milestones.reached(sequence);
        retired::VALUES.collect();
        Ok(())
    }

    /// Whether all work enqueued so far is done. It does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if some of it failed.
    pub fn query(&self) -> Result<bool> {
        let state = self.state();
        let sequence = self.sequence();
        state.bind()?;
        // SAFETY: the stream lives as long as `self`.
        let result = unsafe { (state.driver.cuStreamQuery)(self.raw()) };
        let done = check::query(state, Some(self.id()), "cuStreamQuery", result)?;
        if done {
            self.0.milestones.reached(sequence);
        }
        Ok(done)
    }

    /// Makes later work on this stream wait for all work enqueued on `other` so far, on whichever
    /// device that is. The host does not wait.
    ///
    /// # Errors
    /// The driver's, for either device.
    pub fn wait_stream(&self, other: &Stream) -> Result<()> {
        self.wait_point(&other.point())
    }

    /// Makes later work on this stream wait for an event; see [`Event::wait`].
    ///
    /// # Errors
    /// The driver's, for either device.
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
    /// The driver's, for either device.
    pub fn wait_point(&self, point: &StreamPoint) -> Result<()> {
        let other = point.stream();
        if self == other || other.0.milestones.completed() >= point.sequence() {
            return Ok(());
        }
        // Held until the wait is enqueued: who finds the edge in here may rely on it.
        let mut edges = self.0.edges.lock();
        if edges.reach(other.id()) >= point.sequence() {
            return Ok(());
        }
        if let Some(milestone) = other.0.milestones.covering(other, point.sequence())? {
            self.enqueue_wait(milestone.event.raw())?;
            edges.note(other.id(), milestone.sequence);
        }
        Ok(())
    }

    /// A new event without timing, recorded here.
    ///
    /// # Errors
    /// The driver's, if it cannot create or record an event.
    pub fn record_event(&self) -> Result<Event> {
        let event = Event::new();
        event.record(self)?;
        Ok(event)
    }

    /// The point after everything enqueued so far. It costs no call to the driver.
    pub fn point(&self) -> StreamPoint {
        StreamPoint::new(self.clone(), self.sequence())
    }

    /// The point after the first `sequence` pieces of work; [`point`](Stream::point) if that many were
    /// not enqueued yet. Who remembers an earlier point as a number gets it back here.
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
    pub fn completed(&self) -> u64 {
        self.0.milestones.poll(self)
    }
}

/// What the runtime itself needs of a stream.
impl Stream {
    /// The default stream of a device. It is ordered with respect to foreign work on the driver's
    /// legacy stream, which the runtime itself never uses.
    pub(crate) fn create_default(device: Device) -> Result<Stream> {
        Stream::create(device, 0, CUstream_flags::CU_STREAM_DEFAULT, 0)
    }

    fn create(
        device: Device,
        ordinal: u64,
        flags: CUstream_flags,
        priority: i32,
    ) -> Result<Stream> {
        let state = device.state();
        let mut raw: CUstream = null_mut();
        state.call("cuStreamCreateWithPriority", |driver| {
            // SAFETY: `raw` is writable, and the device's context is current.
            unsafe { (driver.cuStreamCreateWithPriority)(&mut raw, flags.0, priority as c_int) }
        })?;
        let stream = Stream(Arc::new(StreamInner {
            id: StreamId { device, ordinal },
            raw: Handle(raw),
            state,
            sequence: AtomicU64::new(0),
            milestones: Milestones::new(),
            edges: Edges::new(),
            ledger: Ledger::default(),
        }));
        state.register(&stream);
        Ok(stream)
    }

    #[inline]
    pub(crate) fn state(&self) -> &'static DeviceState {
        self.0.state
    }

    #[inline]
    pub(crate) fn raw(&self) -> CUstream {
        self.0.raw.0
    }

    pub(crate) fn downgrade(&self) -> Weak<StreamInner> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(stream: &Weak<StreamInner>) -> Option<Stream> {
        stream.upgrade().map(Stream)
    }

    /// Counts and notes a piece of work that the driver took.
    #[inline]
    pub(crate) fn enqueued(&self, work: &Work) {
        if work.advances() {
            let sequence = self.0.sequence.fetch_add(1, Ordering::AcqRel) + 1;
            if work.runs_on_device() {
                self.0.ledger.note(sequence, work);
            }
        }
    }

    /// Makes later work on this stream wait for an event that was recorded.
    pub(crate) fn enqueue_wait(&self, event: cuda_sys::CUevent) -> Result<()> {
        enqueue(self, &Work::Wait, "cuStreamWaitEvent", |driver, stream| {
            // SAFETY: the caller keeps the event until this call returns, and the driver remembers
            // by itself what the event stood for.
            unsafe { (driver.cuStreamWaitEvent)(stream, event, 0) }
        })
    }

    /// Notes that later work on this stream waits for the first `sequence` pieces of another.
    pub(crate) fn note_edge(&self, other: StreamId, sequence: u64) {
        self.0.edges.lock().note(other, sequence);
    }

    /// Records an event now, if work was enqueued since the newest one, so that who later waits for
    /// this work waits for nothing else. A failure only costs that precision.
    pub(crate) fn mark(&self) {
        if let Err(error) = self.0.milestones.mark(self) {
            tracing::debug!(%error, stream = %self.id(), "no event recorded");
        }
    }

    /// Blocks until the first `sequence` pieces of work are done.
    pub(crate) fn wait_for(&self, sequence: u64) -> Result<()> {
        if self.0.milestones.completed() >= sequence {
            return Ok(());
        }
        if let Some(milestone) = self.0.milestones.covering(self, sequence)? {
            milestone.event.synchronize()?;
            self.0.milestones.reached(milestone.sequence);
        }
        retired::VALUES.collect();
        Ok(())
    }

    /// Whether the first `sequence` pieces of work are done.
    pub(crate) fn has_reached(&self, sequence: u64) -> Result<bool> {
        if self.0.milestones.completed() >= sequence {
            return Ok(true);
        }
        match self.0.milestones.covering(self, sequence)? {
            None => Ok(true),
            Some(milestone) => {
                let reached = milestone.event.is_complete()?;
                if reached {
                    self.0.milestones.reached(milestone.sequence);
                }
                Ok(reached)
            }
        }
    }

    /// Notes that the first `sequence` pieces of work are done.
    pub(crate) fn reached(&self, sequence: u64) {
        self.0.milestones.reached(sequence);
    }

    /// The work that is not known to be done, as far as the ledger remembers, oldest first.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = LaunchRecord> + use<> {
        let stream = self.id();
        let work = self.0.ledger.after(self.0.milestones.completed());
        work.into_iter().map(move |(sequence, work)| LaunchRecord { stream, sequence, work })
    }
}

impl StreamId {
    /// The device of the stream.
    pub fn device(self) -> Device {
        self.device
    }

    /// Whether it names the default stream of its device.
    pub fn is_default(self) -> bool {
        self.ordinal == 0
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        teardown::destroy(self.state, "cuStreamDestroy_v2", |driver| {
            // SAFETY: this was the last handle. The driver finishes the stream's work by itself.
            unsafe { (driver.cuStreamDestroy_v2)(self.raw.0) }
        });
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

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ordinal {
            0 => write!(f, "{} default stream", self.device),
            ordinal => write!(f, "{} stream {ordinal}", self.device),
        }
    }
}
