//! Events: marks on a stream that streams and the host can wait for.

mod recording;

use std::panic::Location;
use std::sync::{Arc, OnceLock};

use cuda_sys::{CUevent, CUevent_flags};

use crate::capture::CaptureState;
use crate::device::{DeviceState, Handle, check, event_pool};
use crate::error::{CaptureProblem, Error, EventProblem, Result};
use crate::observe;
use crate::queue::enqueue;
use crate::stream::{Request, Stream, captures};
use crate::types::{WaitReason, Work, WorkId};
use crate::wait::{WaitPermit, wait_for_event};
use recording::{Captured, RecordedPoint, Recording};

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
    /// The driver's event, once there is one.
    raw: OnceLock<OwnedEvent>,
    recording: Recording,
}

/// An event of the driver, destroyed when dropped.
struct OwnedEvent {
    raw: Handle<CUevent>,
    state: &'static DeviceState,
}

impl Event {
    /// An event that takes no time stamps, which makes it cheaper.
    pub fn new() -> Event {
        Event::made(false)
    }

    /// An event between which and another one [`elapsed_time`](Event::elapsed_time) can be asked.
    pub fn with_timing() -> Event {
        Event::made(true)
    }

    fn made(timing: bool) -> Event {
        Event { timing, raw: OnceLock::new(), recording: Recording::new() }
    }

    /// Records the event: it stands for everything enqueued on the stream so far. Where the stream
    /// is being captured, it stands for what was captured, and streams that wait for it take part in
    /// the capture.
    ///
    /// # Errors
    /// [`Error::InvalidEvent`] if the event belongs to another device than the stream.
    #[track_caller]
    pub fn record(&self, stream: impl AsRef<Stream>) -> Result<()> {
        let stream = stream.as_ref();
        let mut recording = self.recording.lock();
        if let Some(capture) = CaptureState::of(stream)
            && let Some(point) = capture.captured_point(stream)
        {
            let (stream, capture) = (stream.clone(), Arc::downgrade(&capture));
            recording.set_captured(Captured { stream, capture, point });
            return Ok(());
        }
        let event = match self.raw.get() {
            Some(event) => event,
            None => {
                let created = self.create(stream.state())?;
                // Nobody else has put one there: the lock is held.
                self.raw.get_or_init(|| created)
            }
        };
        if event.state.device != stream.device() {
            let problem =
                EventProblem::OtherDevice { event: event.state.device, stream: stream.id() };
            return Err(Error::InvalidEvent { operation: "record", problem });
        }
        let sequence = stream.sequence();
        enqueue(stream, &Request::new(&Work::Record, "cuEventRecord"), |driver, raw| {
            // SAFETY: the event lives as long as `self`, on the stream's device.
            unsafe { (driver.cuEventRecord)(event.raw.0, raw) }
        })
        .into_result()?;
        recording.set_work(WorkId { stream: stream.id(), sequence });
        Ok(())
    }

    /// Makes later work on `stream`, of any device, wait for the event. The host does not wait.
    ///
    /// # Errors
    /// The driver's, for either device. [`Error::Capture`] if one of the stream and the event is
    /// being captured, and the other is not or is no more.
    #[track_caller]
    pub fn wait(&self, stream: impl AsRef<Stream>) -> Result<()> {
        let stream = stream.as_ref();
        let recording = self.recording.lock();
        match recording.get() {
            None => Ok(()),
            Some(RecordedPoint::Captured(Captured { stream: recorded_on, capture, point })) => {
                let capture = capture.upgrade().ok_or_else(|| is_over("wait"))?;
                stream.wait_for_captured("wait", &capture, &recorded_on, &point)
            }
            Some(RecordedPoint::Work(work)) => {
                let Some(event) = self.raw.get() else { return Ok(()) };
                if work.stream == stream.id() {
                    return Ok(());
                }
                if captures::of(stream).is_some() {
                    return Err(captures::outside("wait", stream, work.stream));
                }
                stream.enqueue_wait(Location::caller(), event.raw.0, work)?;
                stream.edges().note(work.stream, work.sequence);
                Ok(())
            }
        }
    }

    /// Whether the stream has passed the event. It does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if work before the event failed; [`Error::Capture`] if it was recorded
    /// in a capture.
    pub fn query(&self) -> Result<bool> {
        if self.recording.is_captured() || observe::is_observed() {
            let Some((event, work)) = self.newest("query")? else { return Ok(true) };
            let is_past = event_pool::query(event.state, event.raw)?;
            if is_past {
                observe::learned(|| work);
            }
            return Ok(is_past);
        }
        match self.raw.get() {
            Some(event) => event_pool::query(event.state, event.raw),
            None => Ok(true),
        }
    }

    /// Blocks until the stream has passed the event.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if work before the event failed; [`Error::Capture`] if it was recorded
    /// in a capture, or a capture forbids to wait.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        match self.newest("synchronize")? {
            Some((event, awaited)) => {
                let permit = WaitPermit::ask(event.state.device, WaitReason::Event)?;
                wait_for_event(event.state, event.raw, permit, awaited)
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
        let captured = |_| invalid(EventProblem::Captured);
        let newest = (
            self.newest("elapsed_time").map_err(captured)?,
            end.newest("elapsed_time").map_err(captured)?,
        );
        let (Some((start, before)), Some((end, after))) = newest else {
            return Err(invalid(EventProblem::NotRecorded));
        };
        let state = start.state;
        if state.device != end.state.device {
            let (start, end) = (state.device, end.state.device);
            return Err(invalid(EventProblem::TwoDevices { start, end }));
        }
        state.bind()?;
        let mut milliseconds = 0.0;
        let (first, last) = (start.raw.0, end.raw.0);
        // SAFETY: `milliseconds` is writable, and both events are alive.
        let result = unsafe { (state.driver.cuEventElapsedTime)(&mut milliseconds, first, last) };
        if !check::query(state, None, "cuEventElapsedTime", result)? {
            return Err(invalid(EventProblem::NotComplete));
        }
        for passed in [before, after] {
            observe::learned(|| passed);
        }
        Ok(milliseconds)
    }

    fn create(&self, state: &'static DeviceState) -> Result<OwnedEvent> {
        let flags = match self.timing {
            true => CUevent_flags::CU_EVENT_DEFAULT,
            false => CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        Ok(OwnedEvent { raw: event_pool::create(state, flags)?, state })
    }

    /// The driver's event and what it stands for, if it was recorded.
    ///
    /// # Errors
    /// It stands for what was captured.
    fn newest(&self, operation: &'static str) -> Result<Option<(&OwnedEvent, WorkId)>> {
        let recorded = self.recording.lock().get();
        match recorded {
            Some(RecordedPoint::Work(work)) => Ok(self.raw.get().map(|event| (event, work))),
            Some(RecordedPoint::Captured(Captured { stream, capture, .. })) => {
                Err(match capture.upgrade() {
                    Some(_) => captures::nothing_runs(operation, &stream),
                    None => is_over(operation),
                })
            }
            None => Ok(None),
        }
    }
}

impl Stream {
    /// Makes later work on this stream wait for an event; see [`Event::wait`].
    ///
    /// # Errors
    /// The driver's, for either device.
    #[track_caller]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        event.wait(self)
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
}

/// The error for an event that was recorded in a capture which is over.
fn is_over(operation: &'static str) -> Error {
    Error::Capture { operation, problem: CaptureProblem::Over }
}

impl Default for Event {
    fn default() -> Event {
        Event::new()
    }
}

impl Drop for OwnedEvent {
    fn drop(&mut self) {
        event_pool::destroy(self.state, self.raw);
    }
}

impl std::fmt::Debug for OwnedEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "event of {}", self.state.device)
    }
}
