//! The iterator over the batches of an epoch.

use std::sync::Arc;

use gpu_runtime::panics::discard;

use super::cancel::{CancelFlag, EpochCanceller};
use super::epochs::EpochId;
use super::pool::{Turned, WorkerPool};
use super::prefetch::{Prefetch, Prefetcher};
use super::reader::Reader;
use super::state::LoaderProgress;
use super::task::{Made, Maker, Recipe, Workbench};
use super::{BatchOf, IdleBench, LoaderError, SampleOf, Seeds};
use crate::{Collate, SampleSource};

/// An iterator over the batches of an epoch. Dropping it ends the epoch: workers stop after the
/// samples that they are reading, and the drop waits for that, at most as long as the
/// [time-out](crate::DataLoaderBuilder::timeout).
pub struct Batches<D: SampleSource>
where
    SampleOf<D>: Collate,
{
    source: BatchSource<D>,
    prefetcher: Option<Prefetcher<BatchOf<D>>>,
    begun: BegunEpoch,
    cancel: Arc<CancelFlag>,
}

/// The epoch of an iterator.
pub(super) struct BegunEpoch {
    pub(super) epoch: u64,
    /// The number of all its batches, and of those that are left; `None` if nobody knows.
    pub(super) total: Option<usize>,
    pub(super) left: Option<usize>,
    pub(super) progress: LoaderProgress,
}

/// The source of the batches of an epoch.
pub(super) enum BatchSource<D: SampleSource>
where
    SampleOf<D>: Collate,
{
    /// The calling thread makes each batch when it is asked for.
    Caller(Box<CallerEpoch<D>>),
    /// Workers make batches ahead.
    Workers(WorkersEpoch<D>),
    /// The epoch could not begin, or has ended: the error is given once, then nothing.
    Ended(Option<LoaderError>),
}

/// An epoch whose batches the calling thread makes.
pub(super) struct CallerEpoch<D: SampleSource>
where
    SampleOf<D>: Collate,
{
    pub(super) recipe: Arc<Recipe<D>>,
    pub(super) reader: Reader<D::Item>,
    pub(super) seeds: Seeds,
    pub(super) bench: Option<Workbench<D>>,
    /// The place where the loader keeps the bench between epochs.
    pub(super) idle: IdleBench<D>,
}

/// An epoch whose batches workers make.
pub(super) struct WorkersEpoch<D: SampleSource>
where
    SampleOf<D>: Collate,
{
    pub(super) pool: Arc<WorkerPool<D>>,
    pub(super) id: EpochId,
}

impl<D> Batches<D>
where
    D: SampleSource,
    SampleOf<D>: Collate,
{
    pub(super) fn new(
        source: BatchSource<D>,
        begun: BegunEpoch,
        cancel: Arc<CancelFlag>,
        prefetch: Option<Prefetch<BatchOf<D>>>,
    ) -> Self {
        Batches { source, prefetcher: prefetch.map(Prefetcher::new), begun, cancel }
    }

    /// The next batch on the device: the one that was copied ahead, or a new one.
    fn next_prefetched(&mut self) -> Option<(usize, Made<BatchOf<D>>)> {
        let prefetcher = self.prefetcher.as_mut()?;
        let current = match prefetcher.take() {
            Some(copied) => copied,
            None => {
                let (batch, made) = self.source.next(&self.cancel)?;
                prefetcher.copy(batch, made)
            }
        };
        let given = prefetcher.hand_over(current);
        // The next batch is copied while the loop computes, but only if it is made: the loop must
        // not wait.
        if let Some((batch, made)) = self.source.take_made() {
            prefetcher.copy_ahead(batch, made);
        }
        Some(given)
    }
}

impl<D> Batches<D>
where
    D: SampleSource + 'static,
    SampleOf<D>: Collate + 'static,
    BatchOf<D>: Send + 'static,
{
    /// A handle by which another thread ends this epoch, also while the loop waits for a batch.
    ///
    /// ```
    /// use parallel::{DataLoader, LoaderError, TensorDataset};
    /// use tensor::Tensor;
    ///
    /// let data = TensorDataset::new(Tensor::arange(6, ())?)?;
    /// let loader = DataLoader::builder(data).batch_size(2).workers(1).build()?;
    /// let mut epoch = loader.iter();
    /// assert_eq!(epoch.next().expect("the first batch")?.to_vec::<i64>()?, [0, 1]);
    ///
    /// let canceller = epoch.canceller();
    /// std::thread::spawn(move || canceller.cancel()).join().expect("no panic");
    /// assert!(matches!(epoch.next(), Some(Err(LoaderError::Cancelled))));
    /// assert!(epoch.next().is_none());
    ///
    /// loader.set_state(loader.state()); // to go on where the loop was
    /// assert_eq!(loader.iter().next().expect("the second batch")?.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn canceller(&self) -> EpochCanceller {
        let waiting = match &self.source {
            BatchSource::Workers(workers) => Some(workers.pool.waiting()),
            BatchSource::Caller(_) | BatchSource::Ended(_) => None,
        };
        EpochCanceller::new(&self.cancel, waiting)
    }
}

impl<D> Iterator for Batches<D>
where
    D: SampleSource,
    SampleOf<D>: Collate,
{
    type Item = Result<BatchOf<D>, LoaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.prefetcher {
            Some(_) => self.next_prefetched(),
            None => self.source.next(&self.cancel),
        };
        let BegunEpoch { epoch, total, left, progress } = &mut self.begun;
        match next {
            Some((batch, made)) if batch != NO_BATCH => {
                *left = left.map(|left| left.saturating_sub(1));
                progress.handed_out(*epoch, batch, *total);
                Some(made)
            }
            Some((_, failed)) => Some(failed),
            None => {
                *left = Some(0);
                if !self.cancel.is_set() && !matches!(self.source, BatchSource::Ended(_)) {
                    progress.ended(*epoch);
                }
                None
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.begun.left)
    }
}

/// The number of an error that takes no batch's place.
const NO_BATCH: usize = usize::MAX;

impl<D> BatchSource<D>
where
    D: SampleSource,
    SampleOf<D>: Collate,
{
    /// The next batch: waits for a worker, or makes it here.
    fn next(&mut self, cancel: &Arc<CancelFlag>) -> Option<(usize, Made<BatchOf<D>>)> {
        let next = match self {
            BatchSource::Ended(error) => return error.take().map(|error| (NO_BATCH, Err(error))),
            BatchSource::Caller(epoch) => epoch.next(cancel),
            BatchSource::Workers(workers) => workers.pool.wait_for(workers.id),
        };
        match next {
            Ok(Turned::Made(batch, made)) => Some((batch, made)),
            Ok(Turned::End) => None,
            Err(waits @ LoaderError::Timeout { .. }) => Some((NO_BATCH, Err(waits))),
            Err(ended) => {
                *self = BatchSource::Ended(None);
                Some((NO_BATCH, Err(ended)))
            }
        }
    }

    /// The next batch, if a worker has made it already.
    fn take_made(&mut self) -> Option<(usize, Made<BatchOf<D>>)> {
        let BatchSource::Workers(workers) = self else { return None };
        workers.pool.take_made(workers.id)
    }
}

impl<D: SampleSource> CallerEpoch<D>
where
    SampleOf<D>: Collate,
{
    /// Reads and makes the next batch.
    ///
    /// # Errors
    /// The epoch was cancelled.
    fn next(&mut self, cancel: &Arc<CancelFlag>) -> Result<Turned<BatchOf<D>>, LoaderError> {
        const THREAD: &str = "the calling thread";
        let bench = self.bench.get_or_insert_with(Workbench::new);
        if cancel.is_set() {
            return Err(LoaderError::Cancelled);
        }
        if !self.reader.read(&mut bench.read, THREAD) {
            return Ok(Turned::End);
        }
        let maker = Maker { thread: THREAD, cancel, seeds: self.seeds };
        let batch = bench.read.batch;
        match self.recipe.make(bench, &maker) {
            Some(made) => Ok(Turned::Made(batch, made)),
            None => Err(LoaderError::Cancelled),
        }
    }
}

impl<D: SampleSource> Drop for CallerEpoch<D>
where
    SampleOf<D>: Collate,
{
    fn drop(&mut self) {
        // Its memory serves the next epoch. Of two epochs at a time, one keeps it.
        let replaced = self.bench.take().and_then(|bench| self.idle.lock().replace(bench));
        discard(replaced);
    }
}

impl<D> Drop for WorkersEpoch<D>
where
    D: SampleSource,
    SampleOf<D>: Collate,
{
    fn drop(&mut self) {
        self.pool.close(self.id);
    }
}

impl<D> Drop for Batches<D>
where
    D: SampleSource,
    SampleOf<D>: Collate,
{
    fn drop(&mut self) {
        self.cancel.set();
        // A batch that was copied ahead may panic when it is dropped, as any other.
        discard(self.prefetcher.take());
    }
}
