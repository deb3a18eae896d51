//! Prefetching: batches are copied to devices ahead of the loop, on streams of their own.

use gpu_runtime::panics::discard;
use tensor::cuda::{Stream, current_stream};
use tensor::{Blocking, Device};

use super::error::LoaderError;
use super::source::Move;
use super::task::Made;
use crate::batch::even_sizes;
use crate::{Split, ToDevice};

/// The devices that batches are copied to, each with a stream of its own for the copies.
///
/// The loop gets a batch as soon as its copies are enqueued. The loop's current streams are made to
/// wait for these, in manual order too, since a program cannot wait for a stream that it does not
/// know.
pub(super) struct CopyStreams(Vec<(Device, Option<Stream>)>);

/// Copies batches one ahead of the loop. What becomes of a batch of type `B` is of type `C`.
pub(super) struct Prefetcher<B, C> {
    streams: CopyStreams,
    enqueue: Enqueue<B, C>,
    ahead: Option<Copied<C>>,
}

/// The function that enqueues the copies of a batch. Where it fails it says for which device.
type Enqueue<B, C> = Box<dyn Fn(&mut CopyStreams, B) -> Result<C, PrefetchFailure> + Send>;
type PrefetchFailure = (Device, tensor::Error);

/// A batch whose copies are enqueued, for which no other stream waits yet.
pub(super) struct Copied<C> {
    batch: usize,
    result: Made<C>,
}

impl<B: 'static> Prefetcher<B, B> {
    /// Copies whole batches to a device.
    pub(super) fn whole(device: Device, to_device: Move<B>) -> Self {
        let enqueue = move |streams: &mut CopyStreams, batch| streams.enqueue(0, batch, to_device);
        Prefetcher::new([device], Box::new(enqueue))
    }
}

impl<B: Split + ToDevice + 'static> Prefetcher<B, Vec<B>> {
    /// Splits batches into parts of almost the same size, and copies each to its device.
    pub(super) fn parts(devices: impl IntoIterator<Item = Device>) -> Self {
        let enqueue = |streams: &mut CopyStreams, batch: B| {
            let sizes = match batch.samples() {
                Some(samples) => even_sizes(samples, streams.0.len()),
                None => vec![0; streams.0.len()],
            };
            let first = streams.0.first().map_or(Device::Cpu, |(device, _)| *device);
            let parts = batch.split(&sizes).map_err(|error| (first, error))?;
            let copy = |(place, part)| streams.enqueue(place, part, B::into_device);
            parts.into_iter().enumerate().map(copy).collect()
        };
        Prefetcher::new(devices, Box::new(enqueue))
    }
}

impl<B, C> Prefetcher<B, C> {
    fn new(devices: impl IntoIterator<Item = Device>, enqueue: Enqueue<B, C>) -> Self {
        let streams = devices.into_iter().map(|device| (device, None)).collect();
        Prefetcher { streams: CopyStreams(streams), enqueue, ahead: None }
    }

    /// Takes the batch that was copied ahead.
    pub(super) fn take(&mut self) -> Option<Copied<C>> {
        self.ahead.take()
    }

    /// Enqueues the copies of a batch.
    pub(super) fn copy(&mut self, batch: usize, made: Made<B>) -> Copied<C> {
        let result = made.and_then(|made| {
            (self.enqueue)(&mut self.streams, made)
                .map_err(|(device, source)| LoaderError::Prefetch { batch, device, source })
        });
        Copied { batch, result }
    }

    /// Enqueues the copies of the batch that the loop takes next.
    pub(super) fn copy_ahead(&mut self, batch: usize, made: Made<B>) {
        self.ahead = Some(self.copy(batch, made));
    }

    /// Gives the batch to the loop, whose current streams wait for the copies.
    pub(super) fn hand_over(&self, copied: Copied<C>) -> (usize, Made<C>) {
        let batch = copied.batch;
        let given = copied.result.and_then(|copy| match self.streams.order_before_the_loop() {
            Ok(()) => Ok(copy),
            Err((device, source)) => Err(LoaderError::Prefetch { batch, device, source }),
        });
        (batch, given)
    }
}

impl<B, C> Drop for Prefetcher<B, C> {
    fn drop(&mut self) {
        // A batch that was copied ahead may panic when it is dropped, as any other.
        discard(self.ahead.take());
    }
}

impl CopyStreams {
    /// Enqueues the copy of a batch, or a part of one, to the device at that place.
    fn enqueue<B>(
        &mut self,
        place: usize,
        batch: B,
        to_device: Move<B>,
    ) -> Result<B, PrefetchFailure> {
        let (device, stream) = &mut self.0[place];
        let copy = || {
            if !device.is_cuda() {
                return to_device(batch, *device, Blocking::Yes);
            }
            let stream = match stream {
                Some(stream) => stream,
                None => stream.insert(Stream::new(*device)?),
            };
            let target = stream.device();
            let _in = stream.enter()?;
            to_device(batch, target, Blocking::No)
        };
        copy().map_err(|error| (*device, error))
    }

    fn order_before_the_loop(&self) -> Result<(), PrefetchFailure> {
        for (device, stream) in &self.0 {
            let Some(stream) = stream else { continue };
            let ordered = current_stream(stream.device())
                .and_then(|current| Ok(current.wait_stream(stream)?));
            ordered.map_err(|error| (*device, error))?;
        }
        Ok(())
    }
}
