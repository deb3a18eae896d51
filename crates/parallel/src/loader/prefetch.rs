//! Prefetching: batches are copied to a device ahead of the loop, on a stream of its own.

use tensor::cuda::{Stream, current_stream};
use tensor::{Blocking, Device};

use super::task::Made;
use super::{LoaderError, Move};

/// The device that batches are copied to, and the function that copies them.
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

/// Copies the batches of an epoch on a side stream.
///
/// The loop gets a batch as soon as its copy is enqueued. The loop's current stream is made to wait
/// for the side stream, in manual order too, since a program cannot wait for a stream that it does
/// not know.
pub(super) struct Prefetcher<B> {
    prefetch: Prefetch<B>,
    stream: Option<Stream>,
    ahead: Option<Copied<B>>,
}

/// A batch whose copy is enqueued, for which no other stream waits yet.
pub(super) struct Copied<B> {
    batch: usize,
    result: Made<B>,
}

impl<B> Prefetcher<B> {
    pub(super) fn new(prefetch: Prefetch<B>) -> Self {
        Prefetcher { prefetch, stream: None, ahead: None }
    }

    /// Takes the batch that was copied ahead.
    pub(super) fn take(&mut self) -> Option<Copied<B>> {
        self.ahead.take()
    }

    /// Enqueues the copy of a batch.
    pub(super) fn copy(&mut self, batch: usize, made: Made<B>) -> Copied<B> {
        let device = self.prefetch.device;
        let result = made.and_then(|made| {
            self.enqueue(made).map_err(|source| LoaderError::Prefetch { batch, device, source })
        });
        Copied { batch, result }
    }

    /// Enqueues the copy of the batch that the loop takes next.
    pub(super) fn copy_ahead(&mut self, batch: usize, made: Made<B>) {
        self.ahead = Some(self.copy(batch, made));
    }

    /// Gives the batch to the loop, whose current stream waits for the copy.
    pub(super) fn hand_over(&self, copied: Copied<B>) -> (usize, Made<B>) {
        let (batch, device) = (copied.batch, self.prefetch.device);
        let given = copied.result.and_then(|copy| {
            let ordered = self.order_before_the_loop();
            ordered.map_err(|source| LoaderError::Prefetch { batch, device, source })?;
            Ok(copy)
        });
        (batch, given)
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
