//! The builder of loaders.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tensor::Device;

use super::DataLoader;
use super::pool::WorkerPool;
use super::reader::BatchSize;
use super::source::{DatasetOf, Move, Pin, ReadOrder};
use super::state::LoaderProgress;
use super::task::{IdleBench, Recipe};
use crate::{Dataset, PinMemory, SampleSource, Sampler, ToDevice};

/// A builder of a [`DataLoader`]. Without further calls the loader makes batches of one sample, in
/// order, in the calling thread.
#[must_use = "call `build`"]
pub struct DataLoaderBuilder<D: SampleSource> {
    source: D,
    batch_size: Option<usize>,
    drop_last: Option<bool>,
    shuffle: Option<u64>,
    sampler: Option<ReadOrder>,
    seed: Option<u64>,
    in_order: bool,
    workers: usize,
    prefetch_factor: Option<usize>,
    timeout: Option<Duration>,
    pin: Option<Pin<D::Batch>>,
    prefetch: Option<(Device, Move<D::Batch>)>,
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
    /// The calling thread, which makes the batches, cannot give up on itself.
    #[error("timeout is {0:?}, but there are no workers; call workers(n), or leave it out")]
    TimeoutWithoutWorkers(Duration),
    /// SampleList have one order.
    #[error("there is a sampler and shuffle; shuffle in the sampler, or leave one of them out")]
    SamplerAndShuffle,
    /// A sampler of batches says itself which samples a batch has.
    #[error("there is a batch_sampler, which excludes {0}; leave one of them out")]
    BatchSamplerExcludes(&'static str),
    /// There is no page-locked memory without a driver and a device.
    #[error("pin_memory is true, but there is no driver to do it: {0}; call pin_memory(false)")]
    PinMemoryWithoutDriver(String),
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

impl<D: SampleSource> DataLoaderBuilder<D> {
    pub(super) fn new(source: D) -> Self {
        DataLoaderBuilder {
            source,
            batch_size: None,
            drop_last: None,
            shuffle: None,
            sampler: None,
            seed: None,
            in_order: true,
            workers: 0,
            prefetch_factor: None,
            timeout: None,
            pin: None,
            prefetch: None,
        }
    }

    /// Sets the number of samples of a batch; 1 by default.
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.batch_size = Some(batch_size);
        self
    }

    /// Sets whether the last batch of an epoch is left out if it is short.
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.drop_last = Some(drop_last);
        self
    }

    /// Sets the seed of the random numbers that are drawn for samples and batches; by default that
    /// of [`shuffle`](DataLoaderBuilder::shuffle), or without it the
    /// [`tensor::initial_seed`] of the thread that begins an epoch.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
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

    /// Sets whether batches come in order, which they do by default. Otherwise each comes as soon
    /// as it is made, so that one that takes long holds up no other; the batches are the same.
    pub fn in_order(mut self, in_order: bool) -> Self {
        self.in_order = in_order;
        self
    }

    /// Sets the longest time that the loop waits for a batch. Then it gets
    /// [`LoaderError::Timeout`](crate::LoaderError::Timeout), and may ask again for the same batch.
    /// The end of an iterator and of the loader waits no longer either: then a worker whose sample
    /// never comes is left to end by itself. By default all of them wait as long as it takes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets whether batches lie in page-locked memory, which copies to a GPU can use
    /// asynchronously. The workers make them there; what a batch has that they do not make there,
    /// they copy.
    pub fn pin_memory(mut self, pin_memory: bool) -> Self
    where
        D::Batch: PinMemory,
    {
        self.pin = pin_memory.then_some(D::Batch::into_pinned as Pin<D::Batch>);
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
        D::Batch: ToDevice,
    {
        self.prefetch = Some((device, D::Batch::into_device));
        self
    }

    /// Builds the loader. Its workers are started with the first epoch.
    ///
    /// # Errors
    /// The arguments contradict each other; memory is to be page-locked, and there is no driver.
    pub fn build(self) -> Result<DataLoader<D>, BuildError> {
        let (order, size) = self.order()?;
        let prefetch_factor = match (self.prefetch_factor, self.workers) {
            (Some(0), _) => return Err(BuildError::ZeroPrefetchFactor),
            (Some(n), 0) => return Err(BuildError::PrefetchFactorWithoutWorkers(n)),
            (given, _) => given.unwrap_or(2),
        };
        if let (Some(timeout), 0) = (self.timeout, self.workers) {
            return Err(BuildError::TimeoutWithoutWorkers(timeout));
        }
        if self.pin.is_some() {
            expect_driver()?;
        }
        let seed = self.seed.or(self.shuffle);
        let recipe = Arc::new(Recipe { source: self.source, pin: self.pin });
        Ok(DataLoader {
            pool: Arc::new(WorkerPool::new(&recipe, self.workers, self.timeout)),
            recipe,
            order,
            size,
            seed,
            in_order: self.in_order,
            workers: self.workers,
            prefetch_factor,
            prefetch: self.prefetch,
            progress: LoaderProgress::default(),
            idle: IdleBench::default(),
        })
    }

    /// The order of the samples, and the size of the batches.
    fn order(&self) -> Result<(ReadOrder, BatchSize), BuildError> {
        let (batch_size, drop_last) = (self.batch_size, self.drop_last);
        let excluded = [
            ("batch_size", batch_size.is_some()),
            ("drop_last", drop_last.is_some()),
            ("shuffle", self.shuffle.is_some()),
        ];
        let order = match (&self.sampler, self.shuffle) {
            (Some(ReadOrder::Batches(sampler)), _) => {
                if let Some((name, _)) = excluded.into_iter().find(|(_, is_given)| *is_given) {
                    return Err(BuildError::BatchSamplerExcludes(name));
                }
                ReadOrder::Batches(Arc::clone(sampler))
            }
            (Some(_), Some(_)) => return Err(BuildError::SamplerAndShuffle),
            (Some(sampler), None) => sampler.clone(),
            (None, Some(seed)) => ReadOrder::Shuffled(seed),
            (None, None) => ReadOrder::Sequential,
        };
        if batch_size == Some(0) {
            return Err(BuildError::ZeroBatchSize);
        }
        let (batch_size, drop_last) = (batch_size.unwrap_or(1), drop_last.unwrap_or(false));
        Ok((order, BatchSize { batch_size, drop_last }))
    }
}

/// # Errors
/// There is no driver that pins memory.
fn expect_driver() -> Result<(), BuildError> {
    match gpu_runtime::Device::count() {
        Ok(0) => Err(BuildError::PinMemoryWithoutDriver("it has no device".to_owned())),
        Ok(_) => Ok(()),
        Err(why) => Err(BuildError::PinMemoryWithoutDriver(why.to_string())),
    }
}

impl<D> DataLoaderBuilder<D>
where
    D: SampleSource,
    DatasetOf<D>: Dataset,
{
    /// Shuffles the samples, differently in each epoch. The order follows from `seed`, and so do
    /// the random numbers that are drawn for samples and batches.
    pub fn shuffle(mut self, seed: u64) -> Self {
        self.shuffle = Some(seed);
        self
    }

    /// Reads the samples in the order that `sampler` gives.
    pub fn sampler(mut self, sampler: impl Sampler + 'static) -> Self {
        self.sampler = Some(ReadOrder::Sampler(Arc::new(sampler)));
        self
    }

    /// Makes batches of the samples that `sampler` gives for each. There is no batch size then, nor
    /// an order of the samples.
    pub fn batch_sampler(mut self, sampler: impl Sampler<Vec<usize>> + 'static) -> Self {
        self.sampler = Some(ReadOrder::Batches(Arc::new(sampler)));
        self
    }
}
