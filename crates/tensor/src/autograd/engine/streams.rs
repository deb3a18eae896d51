//! The streams that a backward pass enqueues on.

use gpu_runtime::{Stream, StreamGuard};

use crate::Result;

/// The streams, other than the caller's current ones, that a walk has enqueued work on.
#[derive(Default)]
pub(super) struct SideStreams {
    others: Vec<Stream>,
}

impl SideStreams {
    /// Makes a node's stream current, unless it is.
    pub(super) fn enter(&mut self, stream: Option<&Stream>) -> Result<Option<StreamGuard>> {
        let Some(stream) = stream else { return Ok(None) };
        if stream.device().current_stream_ref()? == *stream {
            return Ok(None);
        }
        if !self.others.contains(stream) {
            self.others.push(stream.clone());
        }
        Ok(Some(stream.enter()?))
    }

    /// Makes the caller's current streams wait for the others. So the whole walk is ordered like
    /// one operation on the caller's current streams, in manual order too (as PyTorch's engine does
    /// it).
    pub(super) fn join(&self) -> Result<()> {
        for stream in &self.others {
            stream.device().current_stream_ref()?.wait_stream(stream)?;
        }
        Ok(())
    }
}
