//! The builder of loaders.

use std::fmt;
use std::sync::Arc;

use tensor::Device;

use super::order::BatchOrder;
use super::prefetch::Prefetch;
use super::state::LoaderProgress;
use super::task::Recipe;
use super::{BatchOf, DataLoader, Pin};
use crate::{Collate, Dataset, PinMemory, ToDevice};

/// A builder of a [`DataLoader`]. Without further calls the loader makes batches of one sample, in
/// order, in the calling thread.
#[must_use = "call `build`"]
pub struct DataLoaderBuilder<D: Dataset>
where
    D::Sample: Collate,
{
    dataset: D,
    order: BatchOrder,
    workers: usize,
    prefetch_factor: Option<usize>,
    pin: Option<Pin<BatchOf<D>>>,
    prefetch: Option<Prefetch<BatchOf<D>>>,
}

/// The reason why a loader cannot be built.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A batch must have at least one sample.
    #[error("batch_size is 0; a batch must have at least one sample")]
    ZeroBatchSize,
    /// Workers that may make no batch ahead cannot work.
    #[error("prefetch_factor is 0; each worker must be allowed at least one batch ahead")]
    ZeroPrefetchFactor,
    /// Without workers no batch is made ahead.
    #[error("prefetch_factor is {0}, but there are no workers; call workers(n), or leave it out")]
    PrefetchFactorWithoutWorkers(usize),
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error as one of tensors, which programs have.
impl From<BuildError> for tensor::Error {
    fn from(error: BuildError) -> tensor::Error {
        tensor::Error::other(error)
    }
}

impl<D> DataLoaderBuilder<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    pub(super) fn new(dataset: D) -> Self {
        let order = BatchOrder { batch_size: 1, drop_last: false, shuffle: None };
        DataLoaderBuilder {
            dataset,
            order,
            workers: 0,
            prefetch_factor: None,
            pin: None,
            prefetch: None,
        }
    }

    /// Sets the number of samples of a batch; 1 by default.
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.order.batch_size = batch_size;
        self
    }

    /// Sets whether the last batch of an epoch is left out if it is short.
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.order.drop_last = drop_last;
        self
    }

    /// Shuffles the samples, differently in each epoch. The order follows from `seed`, and so do
    /// the random numbers that are drawn for samples and batches.
    pub fn shuffle(mut self, seed: u64) -> Self {
        self.order.shuffle = Some(seed);
        self
    }

    /// Sets the number of worker threads. With 0, the default, the calling thread makes the
    /// batches.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets the number of batches that each worker may make ahead; 2 by default. All workers
    /// together make at most 65,536 ahead.
    pub fn prefetch_factor(mut self, prefetch_factor: usize) -> Self {
        self.prefetch_factor = Some(prefetch_factor);
        self
    }

    /// Sets whether batches are copied to page-locked memory, which copies to a GPU can use
    /// asynchronously. The workers do it.
    pub fn pin_memory(mut self, pin_memory: bool) -> Self
    where
        BatchOf<D>: PinMemory,
    {
        self.pin = pin_memory.then_some(BatchOf::<D>::into_pinned as Pin<BatchOf<D>>);
        self
    }

    /// Copies batches to `device` on a stream of its own, one batch ahead of the loop if workers
    /// have made the next one already. With [`pin_memory`](Self::pin_memory) the copies overlap
    /// with the computation.
    ///
    /// The stream that is current when a batch is taken waits for its copy, in manual
    /// [`Order`](tensor::cuda::Order) too.
    pub fn prefetch_to(mut self, device: Device) -> Self
    where
        BatchOf<D>: ToDevice,
    {
        self.prefetch = Some(Prefetch::new(device, BatchOf::<D>::into_device));
        self
    }

    /// Builds the loader.
    ///
    /// # Errors
    /// The arguments contradict each other.
    pub fn build(self) -> Result<DataLoader<D>, BuildError> {
        if self.order.batch_size == 0 {
            return Err(BuildError::ZeroBatchSize);
        }
        let prefetch_factor = match (self.prefetch_factor, self.workers) {
            (Some(0), _) => return Err(BuildError::ZeroPrefetchFactor),
            (Some(n), 0) => return Err(BuildError::PrefetchFactorWithoutWorkers(n)),
            (given, _) => given.unwrap_or(2),
        };
        Ok(DataLoader {
            recipe: Arc::new(Recipe { dataset: self.dataset, pin: self.pin }),
            order: self.order,
            workers: self.workers,
            prefetch_factor,
            prefetch: self.prefetch,
            progress: LoaderProgress::default(),
        })
    }
}
