//! The `DataLoader`: batches of a dataset, in order, made by worker threads.

mod batches;
mod build;
mod cancel;
mod epochs;
mod error;
mod pool;
mod prefetch;
mod reader;
mod seeds;
mod source;
mod state;
mod task;
mod worker_info;

use std::sync::Arc;

use gpu_runtime::panics::attempt;
use nn::{StateDict, Stateful};
use tensor::{Device, ExecutionContext, Result};

pub use batches::{BatchParts, Batches};
use batches::{BatchSource, BegunEpoch, CallerEpoch, WorkersEpoch};
pub use build::{BuildError, DataLoaderBuilder};
use cancel::CancelFlag;
pub use cancel::{EpochCanceller, is_cancelled};
use epochs::{OpenEpoch, Reading};
pub use error::LoaderError;
use pool::WorkerPool;
use prefetch::Prefetcher;
use reader::{BatchSize, EpochReader};
use seeds::Seeds;
pub use source::SampleSource;
use source::{DatasetOf, ItemSource, Move, ReadOrder};
pub use state::DataLoaderState;
use state::LoaderProgress;
use task::{IdleBench, Recipe};
pub use worker_info::{WorkerInfo, get_worker_info};

use crate::{Dataset, Iterable, IterableDataset};

/// The most batches that are made ahead of the loop.
const MAX_AHEAD: usize = 1 << 16;

/// Batches of a dataset (`torch.utils.data.DataLoader`).
///
/// Iterating over `&loader` is one epoch. Batches come in order, and for a given seed they are the
/// same for any number of workers. Workers are threads that are started with the first epoch and
/// live as long as the loader; the drop of the loader joins them. In each epoch they inherit the
/// [`tensor::ExecutionContext`] of the thread that began it. Dropping the iterator, also in the
/// middle of an epoch, stops them after the sample that they are reading.
///
/// A sample that cannot be read, or whose `get` panics, gives an `Err` in place of its batch, and
/// the next batches follow. So does a batch whose worker ends for any reason: no batch is lost, and
/// no loop waits for ever. A [time-out](DataLoaderBuilder::timeout) and a
/// [canceller](Batches::canceller) are for samples that take longer than a program can wait.
///
/// Batches are made in memory that the loop is done with: one that it drops is filled anew, once no
/// device is copying it any more. One that it keeps stays as it is.
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
/// follows from the [`seed`](DataLoaderBuilder::seed) or that of
/// [`shuffle`](DataLoaderBuilder::shuffle), or without them from the [`tensor::initial_seed`] of
/// the thread that begins the epoch, and from the number of the epoch and the index of the sample.
/// So random transformations are different in each epoch, and the same for any number of workers.
/// The samples of a batch are joined with a seed of the batch's own.
pub struct DataLoader<D: SampleSource> {
    recipe: Arc<Recipe<D>>,
    pool: Arc<WorkerPool<D>>,
    order: ReadOrder,
    size: BatchSize,
    seed: Option<u64>,
    in_order: bool,
    workers: usize,
    prefetch_factor: usize,
    prefetch: Option<(Device, Move<D::Batch>)>,
    progress: LoaderProgress,
    idle: IdleBench<D>,
}

impl<D: SampleSource> DataLoader<D> {
    /// A builder of a loader of a [`Dataset`], or of one
    /// [with a function that joins its samples](Dataset::collate_with).
    pub fn builder(dataset: D) -> DataLoaderBuilder<D> {
        DataLoaderBuilder::new(dataset)
    }

    /// The dataset that the loader was made of.
    pub fn dataset(&self) -> &DatasetOf<D> {
        self.recipe.source.items().dataset()
    }
}

impl<D> DataLoader<D>
where
    D: SampleSource,
    DatasetOf<D>: Dataset,
{
    /// The number of batches of an epoch.
    pub fn len(&self) -> usize {
        self.total().unwrap_or_default()
    }

    /// Whether an epoch has no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<I> DataLoader<Iterable<I>>
where
    I: IterableDataset,
    Iterable<I>: SampleSource,
{
    /// A builder of a loader of a dataset that is read from the beginning to the end.
    pub fn from_iterable(dataset: I) -> DataLoaderBuilder<Iterable<I>> {
        DataLoaderBuilder::new(Iterable(dataset))
    }
}

impl<D: SampleSource> DataLoader<D> {
    /// The number of batches of an epoch, if that is known.
    fn total(&self) -> Option<usize> {
        let items = self.recipe.source.items().count(&self.order)?;
        Some(match self.order {
            ReadOrder::Batches(_) => items,
            _ => self.size.batches(items),
        })
    }

    /// Sets the number of the next epoch, from which its order and its random numbers follow.
    pub fn set_epoch(&self, epoch: u64) {
        self.set_state(DataLoaderState { epoch, ..DataLoaderState::default() });
    }

    /// The place in the epoch of the iterator that was begun last: how many batches the loop has
    /// got. After the last one it is the beginning of the next epoch; of an iterable dataset, whose
    /// number of batches nobody knows, once the loop has ended.
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
    pub fn set_state(&self, mut state: DataLoaderState) {
        state.early.sort_unstable();
        self.progress.set_state(state);
    }

    /// Begins the next epoch, or goes on with one after [`set_state`](DataLoader::set_state).
    pub fn iter(&self) -> Batches<D> {
        let state = self.progress.begin();
        let (epoch, total) = (state.epoch, self.total());
        let handed_out = state.batches.saturating_add(state.early.len());
        let left = total.map(|total| total.saturating_sub(handed_out));
        let cancel = Arc::new(CancelFlag::default());
        let source = match self.begin(state, left, &cancel) {
            Ok(source) => source,
            Err(error) => BatchSource::Ended(Some(error)),
        };
        let begun = BegunEpoch { epoch, total, left, progress: self.progress.clone() };
        let prefetcher = self.prefetch.map(|(device, copy)| Prefetcher::whole(device, copy));
        Batches::new(source, begun, cancel, prefetcher)
    }

    /// Begins to read, in this thread or in workers.
    fn begin(
        &self,
        state: DataLoaderState,
        left: Option<usize>,
        cancel: &Arc<CancelFlag>,
    ) -> std::result::Result<BatchSource<D>, LoaderError> {
        let epoch = state.epoch;
        let seeds = Seeds::of_epoch(self.seed.unwrap_or_else(tensor::initial_seed), epoch);
        // Code of the program, which passes over what was handed out.
        let reader = attempt(|| {
            let stream = self.recipe.source.items().begin(&self.order, epoch)?;
            Ok(EpochReader::new(stream, self.size, seeds, state))
        });
        let reader = reader
            .unwrap_or_else(|message| Err(format!("the calling thread panicked: {message}").into()))
            .map_err(|source| LoaderError::Begin { epoch, source })?;
        let workers = left.map_or(self.workers, |left| self.workers.min(left));
        if workers == 0 {
            let (recipe, idle) = (Arc::clone(&self.recipe), Arc::clone(&self.idle));
            let bench = idle.lock().take();
            let caller = CallerEpoch { recipe, reader, seeds, bench, idle };
            return Ok(BatchSource::Caller(Box::new(caller)));
        }
        let epoch = OpenEpoch {
            seeds,
            context: Arc::new(ExecutionContext::capture()),
            cancel: Arc::clone(cancel),
            ahead: self.workers.saturating_mul(self.prefetch_factor).min(MAX_AHEAD),
            in_order: self.in_order,
            reading: Reading::Free(reader),
            window: std::collections::VecDeque::new(),
        };
        let id = self.pool.open(epoch, workers)?;
        Ok(BatchSource::Workers(WorkersEpoch { pool: Arc::clone(&self.pool), id }))
    }
}

/// The place in the epochs, under the names `epoch`, `batches` and, if there are any, `early`.
impl<D: SampleSource> Stateful for DataLoader<D> {
    fn state(&self) -> Result<StateDict> {
        state::saved(&self.progress.state())
    }

    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        DataLoader::set_state(self, state::taken_over(state)?);
        Ok(())
    }
}

impl<D: SampleSource> IntoIterator for &DataLoader<D> {
    type Item = std::result::Result<D::Batch, LoaderError>;
    type IntoIter = Batches<D>;

    fn into_iter(self) -> Batches<D> {
        self.iter()
    }
}
