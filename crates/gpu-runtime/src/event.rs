//! Events: marks on a stream that streams and the host can wait for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_sys::{CUevent, CUevent_flags};

use crate::check;
use crate::device_state::DeviceState;
use crate::enqueue::enqueue;
use crate::error::{Error, EventProblem, Result};
use crate::event_pool as raw_event;
use crate::handle::Handle;
use crate::ledger::Work;
use crate::observe::{self, Request, WaitReason, WorkId};
use crate::stream::{Stream, StreamId};
use crate::waits::Leave;

/// A mark that can be recorded on a stream, and be waited for there and elsewhere.
///
/// The driver's event is created at the first [`record`](Event::record) and belongs to that
/// stream's device from then on. Streams of any device may wait for it. A wait refers to the
/// recording that it finds: recording the event anew does not change what is waited for already.
/// An event that was never recorded is complete, and waiting for it does nothing.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, Event};
///
/// let stream = Device::get(0)?.default_stream()?;
/// let (start, end) = (Event::with_timing(), Event::with_timing());
/// start.record(&stream)?;
/// end.record(&stream)?;
/// end.synchronize()?;
/// assert!(start.elapsed_time(&end)? >= 0.0);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct Event {
    timing: bool,
    recording: Mutex<Option<Recording>>,
}

/// The newest recording of an event.
#[derive(Debug, Clone)]
struct Recording {
    event: Arc<OwnedEvent>,
    stream: StreamId,
    /// How many pieces of the stream's work came before it.
    sequence: u64,
}

/// An event of the driver, destroyed when dropped.
struct OwnedEvent {
    raw: Handle<CUevent>,
    state: &'static DeviceState,
}

impl Recording {
    fn work(&self) -> WorkId {
        WorkId { stream: self.stream, sequence: self.sequence }
    }
}

impl Event {
    /// An event that takes no time stamps, which makes it cheaper.
    pub fn new() -> Event {
        Event { timing: false, recording: Mutex::new(None) }
    }

    /// An event between which and another one [`elapsed_time`](Event::elapsed_time) can be asked.
    pub fn with_timing() -> Event {
        Event { timing: true, recording: Mutex::new(None) }
    }

    /// Records the event: it stands for everything enqueued on the stream so far.
    ///
    /// # Errors
    /// [`Error::InvalidEvent`] if the event belongs to another device than the stream.
    #[track_caller]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        let mut recording = self.lock();
        let event = match recording.as_ref() {
            Some(earlier) => Arc::clone(&earlier.event),
            None => Arc::new(self.create(stream.state())?),
        };
        if event.state.device != stream.device() {
            let problem =
                EventProblem::OtherDevice { event: event.state.device, stream: stream.id() };
            return Err(Error::InvalidEvent { operation: "record", problem });
        }
        let sequence = stream.sequence();
        enqueue(stream, &Request::new(&Work::Record, "cuEventRecord"), |driver, raw| {
            // SAFETY: the event lives as long as `event`, on the stream's device.
            unsafe { (driver.cuEventRecord)(event.raw.0, raw) }
        })?;
        *recording = Some(Recording { event, stream: stream.id(), sequence });
        Ok(())
    }

    /// Makes later work on `stream`, of any device, wait for the event. The host does not wait.
    ///
    /// # Errors
    /// The driver's, for either device.
    #[track_caller]
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        let recording = self.lock();
        let Some(recording) = recording.as_ref() else { return Ok(()) };
        let awaited = recording.work();
        if awaited.stream == stream.id() {
            return Ok(());
        }
        stream.enqueue_wait(recording.event.raw.0, awaited)?;
        stream.note_edge(awaited.stream, awaited.sequence);
        Ok(())
    }

    /// Whether the stream has passed the event. It does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if work before the event failed.
    pub fn query(&self) -> Result<bool> {
        match self.newest() {
            Some(recording) => {
                let is_past = raw_event::query(recording.event.state, recording.event.raw)?;
                if is_past {
                    observe::learned(|| recording.work());
                }
                Ok(is_past)
            }
            None => Ok(true),
        }
    }

    /// Blocks until the stream has passed the event.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if work before the event failed.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        match self.newest() {
            Some(recording) => {
                let Recording { event, .. } = &recording;
                let leave = Leave::ask(event.state.device, WaitReason::Event)?;
                raw_event::synchronize(event.state, event.raw, leave, recording.work())
            }
            None => Ok(()),
        }
    }

    /// The time between this event and `end`, in milliseconds. It does not wait.
    ///
    /// # Errors
    /// [`Error::InvalidEvent`] unless both were made by [`Event::with_timing`], recorded on one
    /// device, and are complete.
    pub fn elapsed_time(&self, end: &Event) -> Result<f32> {
        let invalid = |problem| Error::InvalidEvent { operation: "elapsed_time", problem };
        if !(self.timing && end.timing) {
            return Err(invalid(EventProblem::WithoutTiming));
        }
        let (Some(start), Some(end)) = (self.newest(), end.newest()) else {
            return Err(invalid(EventProblem::NotRecorded));
        };
        let state = start.event.state;
        if state.device != end.event.state.device {
            let (start, end) = (state.device, end.event.state.device);
            return Err(invalid(EventProblem::TwoDevices { start, end }));
        }
        state.bind()?;
        let mut milliseconds = 0.0;
        let (first, last) = (start.event.raw.0, end.event.raw.0);
        // SAFETY: `milliseconds` is writable, and both events are alive.
        let result = unsafe { (state.driver.cuEventElapsedTime)(&mut milliseconds, first, last) };
        if !check::query(state, None, "cuEventElapsedTime", result)? {
            return Err(invalid(EventProblem::NotComplete));
        }
        for passed in [start, end] {
            observe::learned(|| passed.work());
        }
        Ok(milliseconds)
    }

    fn create(&self, state: &'static DeviceState) -> Result<OwnedEvent> {
        let flags = match self.timing {
            true => CUevent_flags::CU_EVENT_DEFAULT,
            false => CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        Ok(OwnedEvent { raw: raw_event::create(state, flags)?, state })
    }

    fn newest(&self) -> Option<Recording> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Recording>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Event {
    fn default() -> Event {
        Event::new()
    }
}

impl Drop for OwnedEvent {
    fn drop(&mut self) {
        raw_event::destroy(self.state, self.raw);
    }
}

impl std::fmt::Debug for OwnedEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "event of {}", self.state.device)
    }
}
