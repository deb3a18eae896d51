//! Copying batches to a device ahead of the loop, on a stream of their own.

use tensor::cuda::{Stream, current_stream};
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

/// Copies the batches of one epoch on a side stream.
///
/// The loop gets a batch when its copy is enqueued. It cannot wait for a stream that it does not
/// know, so its current stream is made to, whatever the order between streams is.
pub(super) struct Prefetcher<B> {
    prefetch: Prefetch<B>,
    stream: Option<Stream>,
    ahead: Option<Copied<B>>,
    next: usize,
}

/// A batch whose copy is enqueued, and nothing after it.
pub(super) struct Copied<B> {
    batch: usize,
    result: Result<B, LoaderError>,
}

impl<B> Prefetcher<B> {
    pub(super) fn new(prefetch: Prefetch<B>) -> Self {
        Prefetcher { prefetch, stream: None, ahead: None, next: 0 }
    }

    /// The batch that was copied ahead.
    pub(super) fn take(&mut self) -> Option<Copied<B>> {
        self.ahead.take()
    }

    /// Enqueues the copy of a batch.
    pub(super) fn copy(&mut self, made: Result<B, LoaderError>) -> Copied<B> {
        let batch = self.next;
        self.next += 1;
        let device = self.prefetch.device;
        let result = made.and_then(|made| {
            self.enqueue(made).map_err(|source| LoaderError::Prefetch { batch, device, source })
        });
        Copied { batch, result }
    }

    /// Copies a batch for the loop's next turn.
    pub(super) fn copy_ahead(&mut self, made: Result<B, LoaderError>) {
        self.ahead = Some(self.copy(made));
    }

    /// Gives the batch to the loop, whose current stream waits for the copy.
    pub(super) fn hand_over(&self, copied: Copied<B>) -> Result<B, LoaderError> {
        let (batch, device) = (copied.batch, self.prefetch.device);
        let made = copied.result?;
        self.order_before_the_loop().map_err(|source| LoaderError::Prefetch {
            batch,
            device,
            source,
        })?;
        Ok(made)
    }

    fn order_before_the_loop(&self) -> tensor::Result<()> {
        let Some(stream) = &self.stream else { return Ok(()) };
        Ok(current_stream(stream.device())?.wait_stream(stream)?)
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
