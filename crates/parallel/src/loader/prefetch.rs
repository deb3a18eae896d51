//! Copying batches to a device ahead of the loop, on a stream of their own.

use tensor::cuda::Stream;
use tensor::{Blocking, Device};

use super::{LoaderError, Move};

/// That batches shall be copied ahead, and where to.
pub(super) struct Prefetch<B> {
    device: Device,
    to_device: Move<B>,
}

impl<B> Prefetch<B> {
    pub(super) fn new(device: Device, to_device: Move<B>) -> Self {
        Prefetch { device, to_device }
    }
}

impl<B> Clone for Prefetch<B> {
    fn clone(&self) -> Self {
        Prefetch { device: self.device, to_device: self.to_device }
    }
}

/// Copies the batches of one epoch.
///
/// The copies run on a side stream. What the loop does with a batch waits for its copy by the edge
/// between the streams that every use of memory gets, so nothing here waits.
pub(super) struct Prefetcher<B> {
    prefetch: Prefetch<B>,
    stream: Option<Stream>,
    ahead: Option<Result<B, LoaderError>>,
    batch: usize,
}

impl<B> Prefetcher<B> {
    pub(super) fn new(prefetch: Prefetch<B>) -> Self {
        Prefetcher { prefetch, stream: None, ahead: None, batch: 0 }
    }

    /// The batch that was copied ahead.
    pub(super) fn take(&mut self) -> Option<Result<B, LoaderError>> {
        self.ahead.take()
    }

    /// Copies a batch that the loop is about to get.
    pub(super) fn copy(&mut self, made: Result<B, LoaderError>) -> Result<B, LoaderError> {
        let batch = self.batch;
        self.batch += 1;
        let device = self.prefetch.device;
        self.enqueue(made?).map_err(|source| LoaderError::Prefetch { batch, device, source })
    }

    /// Copies a batch for the loop's next turn.
    pub(super) fn copy_ahead(&mut self, made: Result<B, LoaderError>) {
        self.ahead = Some(self.copy(made));
    }

    fn enqueue(&mut self, batch: B) -> tensor::Result<B> {
        let Prefetch { device, to_device } = self.prefetch;
        if !device.is_cuda() {
            return to_device(batch, device, Blocking::Yes);
        }
        let stream = match &self.stream {
            Some(stream) => stream,
            None => self.stream.insert(Stream::new(device)?),
        };
        let target = stream.device();
        let _in = stream.enter()?;
        to_device(batch, target, Blocking::No)
    }
}
