//! Events: each recording is a point in a stream; the event remembers the last one.

use std::sync::{Arc, Mutex, PoisonError};

use cuda_sys::{CUevent_flags, CUresult};

use super::context::Context;
use super::stream::StreamRef;
use crate::queue::{Point, Scheduler, Timestamp, Work};

/// An event of a context.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Arc<Context>,
    flags: u32,
    last: Mutex<Option<Recording>>,
}

/// What one call of `cuEventRecord` captured.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) point: Point,
    time: Option<Arc<Timestamp>>,
}

impl Event {
    pub(crate) fn new(context: Arc<Context>, flags: u32) -> Event {
        Event { context, flags, last: Mutex::new(None) }
    }

    /// Captures the work that is in a stream now, in place of what was captured before.
    pub(crate) fn record(&self, stream: &StreamRef) {
        let recording = if self.has_timing() {
            let time = Arc::new(Timestamp::default());
            let point = stream.queue().enqueue(Work::Timestamp(Arc::clone(&time)));
            Recording { point, time: Some(time) }
        } else {
            Recording { point: stream.queue().mark(), time: None }
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(recording);
    }

    /// The last recording. `None` stands for no work at all.
    pub(crate) fn last(&self) -> Option<Recording> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the work that it captured is done, for a program that may ask until it is.
    pub(crate) fn is_complete(&self, scheduler: &'static Scheduler) -> bool {
        self.last().is_none_or(|recording| scheduler.is_done(&recording.point))
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
        let [start, end] = [self.last(), end.last()];
        let invalid = CUresult::CUDA_ERROR_INVALID_HANDLE;
        let (start, end) = (start.ok_or(invalid)?, end.ok_or(invalid)?);
        let nanoseconds = end.nanoseconds()? - start.nanoseconds()?;
        Ok((nanoseconds as f64 / 1e6) as f32)
    }

    fn has_timing(&self) -> bool {
        self.flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0
    }
}

impl Recording {
    fn nanoseconds(&self) -> Result<i64, CUresult> {
        let time = self.time.as_ref().ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        let passed = time.nanoseconds().filter(|_| self.point.is_complete());
        let nanoseconds = passed.ok_or(CUresult::CUDA_ERROR_NOT_READY)?;
        i64::try_from(nanoseconds).map_err(|_| CUresult::CUDA_ERROR_UNKNOWN)
    }
}
