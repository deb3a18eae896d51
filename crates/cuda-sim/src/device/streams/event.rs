//! Events: each recording is a point in a stream; the event remembers the last one.

use std::sync::Arc;

use cuda_sys::{CUevent_flags, CUresult};
use parking_lot::Mutex;

use super::capture::CapturedEvent;
use super::stream::StreamRef;
use crate::device::contexts::context::Context;
use crate::queue::{self, QueuePoint, StreamWork};
use crate::time::Timestamp;

/// An event of a context.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Arc<Context>,
    flags: u32,
    last: Mutex<Last>,
}

/// An event's last record.
#[derive(Debug, Clone, Default)]
pub(crate) enum Last {
    /// Nothing: it stands for no work at all.
    #[default]
    Never,
    /// Work in a stream.
    Work(EventRecord),
    /// Work that was captured into a graph instead of running.
    Capture(Arc<dyn CapturedEvent>),
}

/// A record of an event in a stream that runs: the point that it stands for.
#[derive(Debug, Clone)]
pub(crate) struct EventRecord {
    pub(crate) point: QueuePoint,
    time: Option<Arc<Timestamp>>,
}

impl Event {
    pub(crate) fn new(context: Arc<Context>, flags: u32) -> Event {
        Event { context, flags, last: Mutex::default() }
    }

    /// Stands for the work that is in a stream now, in place of what it stood for before.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
    pub(crate) fn record(&self, stream: &StreamRef) -> Result<(), CUresult> {
        if let StreamRef::Other(stream) = stream
            && let Some(capture) = stream.capture()
        {
            self.replace(Last::Capture(capture.record(stream)?));
            return Ok(());
        }
        self.record_in(stream.queue());
        Ok(())
    }

    /// Stands for all the work that is in its context now.
    pub(crate) fn record_context(&self) {
        self.record_in(self.context.joined());
    }

    fn record_in(&self, stream: &queue::Stream) {
        let recording = if self.has_timing() {
            let time = Arc::new(Timestamp::default());
            let point = stream.enqueue(StreamWork::Timestamp(Arc::clone(&time)));
            EventRecord { point, time: Some(time) }
        } else {
            EventRecord { point: stream.mark(), time: None }
        };
        self.set(recording);
    }

    /// Makes it stand for work that was enqueued in its name.
    pub(crate) fn set(&self, recording: EventRecord) {
        self.replace(Last::Work(recording));
    }

    /// Its last record.
    pub(crate) fn last(&self) -> Last {
        self.last.lock().clone()
    }

    /// The end of the work that it stands for. `None` stands for no work at all.
    ///
    /// # Errors
    /// `CUDA_ERROR_CAPTURED_EVENT` if it was recorded in a capture, which is thereby invalid.
    pub(crate) fn point(&self) -> Result<Option<QueuePoint>, CUresult> {
        match self.last() {
            Last::Never => Ok(None),
            Last::Work(recording) => Ok(Some(recording.point)),
            Last::Capture(recorded) => {
                recorded.invalidate();
                Err(CUresult::CUDA_ERROR_CAPTURED_EVENT)
            }
        }
    }

    /// Milliseconds from this event to a later one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` if one was not recorded, takes no time, or is of another
    /// device; `CUDA_ERROR_NOT_READY` if the work that one captured is not done.
    pub(crate) fn elapsed(&self, end: &Event) -> Result<f32, CUresult> {
        let same_device = std::ptr::eq(self.context.device, end.context.device);
        if !same_device || !self.has_timing() || !end.has_timing() {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        let nanoseconds = end.last().nanoseconds()? - self.last().nanoseconds()?;
        Ok((nanoseconds as f64 / 1e6) as f32)
    }

    /// Whether it takes the time.
    pub(crate) fn has_timing(&self) -> bool {
        self.flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0
    }

    fn replace(&self, new: Last) {
        let mut last = self.last.lock();
        let old = std::mem::replace(&mut *last, new);
        drop(last);
        drop(old);
    }
}

impl Last {
    fn nanoseconds(&self) -> Result<i64, CUresult> {
        match self {
            Last::Never => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
            Last::Work(recording) => recording.nanoseconds(),
            Last::Capture(_) => Err(CUresult::CUDA_ERROR_CAPTURED_EVENT),
        }
    }
}

impl EventRecord {
    /// Work up to a point, passed at a time.
    pub(crate) fn new(point: QueuePoint, time: Option<Arc<Timestamp>>) -> EventRecord {
        EventRecord { point, time }
    }

    fn nanoseconds(&self) -> Result<i64, CUresult> {
        let time = self.time.as_ref().ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        let passed = if self.point.is_passed() { time.nanoseconds() } else { None };
        let nanoseconds = passed.ok_or(CUresult::CUDA_ERROR_NOT_READY)?;
        i64::try_from(nanoseconds).map_err(|_| CUresult::CUDA_ERROR_UNKNOWN)
    }
}
