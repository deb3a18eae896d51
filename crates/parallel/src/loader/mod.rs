//! The `DataLoader`: batches of a dataset, in order, made by worker threads.

mod batches;
mod build;
mod error;
mod order;
mod prefetch;
mod seeds;
mod state;
mod task;
mod workers;

use std::sync::Arc;

use nn::{StateDict, Stateful};
use tensor::{Device, Result};

pub use batches::Batches;
use batches::{BegunEpoch, Tasks};
pub use build::{BuildError, DataLoaderBuilder};
pub use error::LoaderError;
pub use state::DataLoaderState;

use crate::{Collate, Dataset};
use order::BatchOrder;
use prefetch::Prefetch;
use seeds::Seeds;
use state::LoaderProgress;
use task::Recipe;

/// The most batches that are made ahead of the loop.
const MAX_AHEAD: usize = 1 << 16;

/// The batch that a dataset's samples are joined to.
type BatchOf<D> = <<D as Dataset>::Sample as Collate>::Batch;

/// Batches of a dataset (`torch.utils.data.DataLoader`).
///
/// Iterating over `&loader` is one epoch. Batches come in order, and for a given seed they are the
/// same for any number of workers. Workers are threads that live as long as the iterator. They
/// inherit the [`tensor::ExecutionContext`] of the thread that began the epoch. Dropping the
/// iterator, also in the middle of an epoch, stops and joins them after the sample that they are
/// reading.
///
/// A sample that cannot be read, or whose `get` panics, gives an `Err` in place of its batch, and
/// the next batches follow. So does a batch whose worker ends for any reason: no batch is lost, and
/// no loop waits for ever.
///
/// ```
/// use parallel::{DataLoader, TensorDataset};
/// use tensor::Tensor;
///
/// let data = TensorDataset::new(Tensor::arange(5, ())?)?;
/// let loader = DataLoader::builder(data).batch_size(2).build()?;
/// let mut sums = Vec::new();
/// for batch in &loader {
///     sums.push(batch?.sum(())?.item::<i64>()?);
/// }
/// assert_eq!(sums, [1, 5, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Random numbers
/// Each sample is read with a seed of its own, in a scope of [`tensor::with_manual_seed`]. It
/// follows from the seed of [`shuffle`](DataLoaderBuilder::shuffle), or without it from the
/// [`tensor::initial_seed`] of the thread that begins the epoch, and from the number of the epoch
/// and the index of the sample. So random transformations are different in each epoch, and the same
/// for any number of workers. The samples of a batch are joined with a seed of the batch's own.
pub struct DataLoader<D: Dataset>
where
    D::Sample: Collate,
{
    recipe: Arc<Recipe<D>>,
    order: BatchOrder,
    workers: usize,
    prefetch_factor: usize,
    prefetch: Option<Prefetch<BatchOf<D>>>,
    progress: LoaderProgress,
}

/// The function that pins a batch.
type Pin<B> = fn(B) -> Result<B>;
/// The function that copies a batch to a device.
type Move<B> = fn(B, Device, tensor::Blocking) -> Result<B>;

impl<D> DataLoader<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    /// A builder of a loader.
    pub fn builder(dataset: D) -> DataLoaderBuilder<D> {
        DataLoaderBuilder::new(dataset)
    }

    /// The number of batches of an epoch.
    pub fn len(&self) -> usize {
        self.order.batches(self.recipe.dataset.len())
    }

    /// Whether an epoch has no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dataset.
    pub fn dataset(&self) -> &D {
        &self.recipe.dataset
    }

    /// Sets the number of the next epoch, from which its order and its random numbers follow.
    pub fn set_epoch(&self, epoch: u64) {
        self.set_state(DataLoaderState { epoch, batches: 0 });
    }

    /// The place in the epoch of the iterator that was begun last: how many batches the loop has
    /// got. After the last one it is the beginning of the next epoch.
    ///
    /// ```
    /// use parallel::{DataLoader, TensorDataset};
    /// use tensor::Tensor;
    ///
    /// let data = TensorDataset::new(Tensor::arange(6, ())?)?;
    /// let loader = || DataLoader::builder(data.clone()).batch_size(2).shuffle(0).build();
    /// let first = loader()?;
    /// let mut epoch = first.iter();
    /// epoch.next();
    /// let state = first.state();
    /// let rest: Vec<i64> = epoch.next().expect("a second batch")?.to_vec()?;
    ///
    /// let second = loader()?; // in another process, perhaps
    /// second.set_state(state);
    /// let resumed: Vec<i64> = second.iter().next().expect("a second batch")?.to_vec()?;
    /// assert_eq!(resumed, rest);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn state(&self) -> DataLoaderState {
        self.progress.state()
    }

    /// Goes to a place that [`state`](DataLoader::state) has told: the next iterator gives the rest
    /// of that epoch. Its batches are those that would have come, for any number of workers, if the
    /// data set and the options of the loader are the same; without
    /// [`shuffle`](DataLoaderBuilder::shuffle) the thread's [`tensor::initial_seed`] has to be, too.
    pub fn set_state(&self, state: DataLoaderState) {
        self.progress.set_state(state);
    }
}

impl<D> DataLoader<D>
where
    D: Dataset + 'static,
    D::Sample: Collate + 'static,
    BatchOf<D>: Send + 'static,
{
    /// Begins the next epoch, or goes on with one after [`set_state`](DataLoader::set_state).
    pub fn iter(&self) -> Batches<D> {
        let DataLoaderState { epoch, batches: before } = self.progress.begin();
        let samples = self.recipe.dataset.len();
        let order = match self.order.epoch(samples, epoch) {
            Ok(order) => order,
            Err(source) => return Batches::failed(LoaderError::Shuffle { samples, source }),
        };
        let seed = self.order.shuffle.unwrap_or_else(tensor::initial_seed);
        let tasks = Tasks::new(order, Seeds::of_epoch(seed, epoch), before);
        let ahead = self.workers.saturating_mul(self.prefetch_factor).min(MAX_AHEAD);
        let begun = BegunEpoch { epoch, before, progress: self.progress.clone() };
        let recipe = Arc::clone(&self.recipe);
        Batches::new(recipe, tasks, begun, (self.workers, ahead), self.prefetch.clone())
    }
}

/// The place in the epochs, under the names `epoch` and `batches`.
impl<D> Stateful for DataLoader<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    fn state(&self) -> Result<StateDict> {
        state::saved(self.progress.state())
    }

    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        self.progress.set_state(state::taken_over(state)?);
        Ok(())
    }
}

impl<D> IntoIterator for &DataLoader<D>
where
    D: Dataset + 'static,
    D::Sample: Collate + 'static,
    BatchOf<D>: Send + 'static,
{
    type Item = std::result::Result<BatchOf<D>, LoaderError>;
    type IntoIter = Batches<D>;

    fn into_iter(self) -> Batches<D> {
        self.iter()
    }
}
