//! The errors of a loader.

use std::collections::TryReserveError;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The reason why a batch could not be made. Batches after it are not affected.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LoaderError {
    /// The epoch could not begin: the sampler gives no order of the samples, for which there may
    /// be no memory, or the iterable dataset cannot be read. There are no batches.
    #[error("epoch {epoch} could not begin: {source}")]
    Begin {
        /// The number of the epoch.
        epoch: u64,
        /// The sampler's or the dataset's own error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The host has no memory for the samples of a batch.
    #[error(
        "batch {batch}: no memory for {samples} samples: {source}; choose a smaller batch_size"
    )]
    TooLarge {
        /// The batch's number in its epoch.
        batch: usize,
        /// The number of samples that it should have.
        samples: usize,
        /// The error of the allocation.
        source: TryReserveError,
    },
    /// The dataset could not read a sample.
    #[error("batch {batch}: sample {index} could not be read: {source}")]
    Sample {
        /// The batch's number in its epoch.
        batch: usize,
        /// The sample's index in the dataset.
        index: usize,
        /// The dataset's own error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The dataset panicked.
    #[error("batch {batch}: {thread} panicked at sample {index}: {message}")]
    Panicked {
        /// The batch's number in its epoch.
        batch: usize,
        /// The sample's index in the dataset; of the first one if the samples were being joined.
        index: usize,
        /// The thread: `worker 1`, or `the calling thread` of a loader without workers.
        thread: String,
        /// The panic's message.
        message: String,
    },
    /// The samples could not be joined.
    #[error("batch {batch}: the samples could not be joined: {source}")]
    Collate {
        /// The batch's number in its epoch.
        batch: usize,
        /// The error.
        source: tensor::Error,
    },
    /// The batch could not be put into pinned memory.
    #[error("batch {batch}: no pinned memory: {source}")]
    Pin {
        /// The batch's number in its epoch.
        batch: usize,
        /// The error.
        source: tensor::Error,
    },
    /// The batch could not be copied to the device that it should be prefetched to.
    #[error("batch {batch}: it could not be copied to {device}: {source}")]
    Prefetch {
        /// The batch's number in its epoch.
        batch: usize,
        /// The device.
        device: tensor::Device,
        /// The error.
        source: tensor::Error,
    },
    /// A worker thread could not be started; the epoch ends here.
    #[error("worker {worker} could not be started: {source}")]
    Spawn {
        /// The worker's number.
        worker: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// A worker ended while it made the batch. The others go on.
    #[error("batch {batch}: the worker that made it ended")]
    WorkerGone {
        /// The batch's number in its epoch.
        batch: usize,
    },
    /// The batch was not made in the time that the loader may wait for one. It is not lost: the
    /// next call waits for it again.
    #[error("batch {batch}: it was not made within {after:?}; a sample takes longer, or for ever")]
    Timeout {
        /// The batch's number in its epoch.
        batch: usize,
        /// The time-out.
        after: Duration,
    },
    /// Another thread has cancelled the epoch, which ends here.
    #[error("the epoch was cancelled")]
    Cancelled,
    /// All workers ended before their work was done; the epoch ends here.
    #[error("the workers ended before batch {batch}")]
    WorkersGone {
        /// The batch that was waited for.
        batch: usize,
    },
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for LoaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error as one of tensors, which programs have.
impl From<LoaderError> for tensor::Error {
    fn from(error: LoaderError) -> tensor::Error {
        tensor::Error::other(error)
    }
}
