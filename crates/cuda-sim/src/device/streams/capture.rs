//! Captures as streams and events know them. Graphs implement them.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use cuda_sys::CUresult;

use super::operation::StreamOperation;
use super::stream::Stream;

/// A capture that a stream takes part in: what is enqueued in the stream goes there instead of
/// running.
pub(crate) trait StreamCapture: Any + Debug + Send + Sync {
    /// Whether no rule of captures was broken yet.
    fn is_valid(&self) -> bool;

    /// Takes note that a rule was broken.
    fn invalidate(&self);

    /// Adds what is enqueued in a stream, as a node after all that the stream has so far.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`, and those of adding a node.
    fn add(&self, stream: &Stream, operation: StreamOperation) -> Result<(), CUresult>;

    /// Records an event in a stream that is being captured: the event stands for the stream's nodes
    /// so far.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
    fn record(self: Arc<Self>, stream: &Stream) -> Result<Arc<dyn CapturedEvent>, CUresult>;

    /// A stream is being destroyed: the capture cannot succeed any more.
    fn stream_destroyed(&self, stream: u64);
}

/// An event's last record, in a stream that was being captured.
pub(crate) trait CapturedEvent: Debug + Send + Sync {
    /// Makes a stream wait for the event: it becomes part of the capture, if it is not yet.
    ///
    /// # Errors
    /// `CUDA_ERROR_CAPTURED_EVENT` if the capture is over, `CUDA_ERROR_STREAM_CAPTURE_MERGE` if the
    /// stream is part of another, `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
    fn hold_back(&self, stream: &Arc<Stream>) -> Result<(), CUresult>;

    /// Breaks the capture: the event was used for what it cannot be.
    fn invalidate(&self);
}
