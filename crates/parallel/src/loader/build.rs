//! Setting a loader up.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tensor::Device;

use super::order::BatchOrder;
use super::prefetch::Prefetch;
use super::task::Recipe;
use super::{BatchOf, DataLoader, Pin};
use crate::{Collate, Dataset, PinMemory, ToDevice};

/// Sets a [`DataLoader`] up. Without further calls: batches of one, in order, made by the calling
/// thread.
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

/// Why a loader cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A batch must have at least one sample.
    #[error("batch_size is 0; a batch must have at least one sample")]
    ZeroBatchSize,
    /// Workers that may hold no batch cannot work.
    #[error("prefetch_factor is 0; each worker must be allowed at least one batch ahead")]
    ZeroPrefetchFactor,
    /// Without workers nothing is made ahead.
    #[error("prefetch_factor is {0}, but there are no workers; call workers(n), or leave it out")]
    PrefetchFactorWithoutWorkers(usize),
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

    /// The number of samples of a batch.
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.order.batch_size = batch_size;
        self
    }

    /// Leaves out the last batch of an epoch if it is short.
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.order.drop_last = drop_last;
        self
    }

    /// Permutes the samples, in each epoch in another way that `seed` decides; as it does the random
    /// numbers that are drawn for samples and batches.
    pub fn shuffle(mut self, seed: u64) -> Self {
        self.order.shuffle = Some(seed);
        self
    }

    /// The number of worker threads; 0 lets the calling thread do the work.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How many batches each worker may be ahead; 2 by default. All workers together are at most
    /// 65,536 ahead.
    pub fn prefetch_factor(mut self, prefetch_factor: usize) -> Self {
        self.prefetch_factor = Some(prefetch_factor);
        self
    }

    /// Puts batches into page-locked memory, from where copies to a GPU can be asynchronous. The
    /// workers do it.
    pub fn pin_memory(mut self, pin_memory: bool) -> Self
    where
        BatchOf<D>: PinMemory,
    {
        self.pin = pin_memory.then_some(BatchOf::<D>::into_pinned as Pin<BatchOf<D>>);
        self
    }

    /// Copies batches to `device` on a stream of their own; where workers have made the next batch
    /// already, one batch ahead of the loop. With [`pin_memory`](Self::pin_memory) the copies overlap
    /// with the computation.
    ///
    /// The stream that is current where a batch is asked for waits for its copy, whatever the
    /// [`Order`](tensor::cuda::Order) is.
    pub fn prefetch_to(mut self, device: Device) -> Self
    where
        BatchOf<D>: ToDevice,
    {
        self.prefetch = Some(Prefetch::new(device, BatchOf::<D>::into_device));
        self
    }

    /// The loader.
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
            epoch: AtomicU64::new(0),
        })
    }
}
