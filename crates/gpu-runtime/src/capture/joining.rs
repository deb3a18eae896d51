//! Streams that come to a capture, and wait for each other in it.

use std::sync::Arc;

use super::branches::CapturedPoint;
use super::state::CaptureState;
use crate::error::{CaptureProblem, Error, Result};
use crate::stream::Stream;

/// Makes a stream part of a capture. Its work so far gets an event before: nobody can record one for it
/// while the stream is captured.
///
/// # Errors
/// [`CaptureProblem::StreamTaken`] if it is part of one already, and the driver's.
pub(super) fn enter(
    stream: &Stream,
    operation: &'static str,
    capture: &Arc<CaptureState>,
) -> Result<()> {
    let entered = Arc::<CaptureState>::clone(capture);
    match stream.capture_slot().enter(entered, || stream.history().mark(stream))? {
        true => Ok(()),
        false => {
            let problem = CaptureProblem::StreamTaken { stream: stream.id() };
            Err(Error::Capture { operation, problem })
        }
    }
}

impl Stream {
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
    pub fn wait_stream(&self, other: impl AsRef<Stream>) -> Result<()> {
        let other = other.as_ref();
        match CaptureState::of(other) {
            Some(capture) if self != other => self.wait_captured("wait_stream", &capture, other),
            _ => self.wait_work(other, other.now()),
        }
    }

    /// Makes what is captured here come after what was captured on another stream so far.
    fn wait_captured(
        &self,
        operation: &'static str,
        capture: &Arc<CaptureState>,
        other: &Stream,
    ) -> Result<()> {
        match capture.captured_point(other) {
            Some(point) => self.wait_for_captured(operation, capture, other, &point),
            // It ended meanwhile.
            None => self.wait_point(&other.point()),
        }
    }

    /// Makes what is captured here come after a point of what was captured on another stream.
    ///
    /// # Errors
    /// [`CaptureProblem::TwoCaptures`] if this stream takes part in another capture,
    /// [`CaptureProblem::Over`] if that of the other stream has ended.
    pub(crate) fn wait_for_captured(
        &self,
        operation: &'static str,
        capture: &Arc<CaptureState>,
        other: &Stream,
        point: &CapturedPoint,
    ) -> Result<()> {
        let (stream, other) = (self.id(), other.id());
        let problem = match CaptureState::of(self) {
            Some(own) if !Arc::ptr_eq(&own, capture) => {
                CaptureProblem::TwoCaptures { stream, awaited: other }
            }
            _ if capture.wait_for(self, point)? => return Ok(()),
            _ => CaptureProblem::Over,
        };
        Err(Error::Capture { operation, problem })
    }
}
