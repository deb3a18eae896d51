//! The iterator over the batches of an epoch.

use std::sync::Arc;

use gpu_runtime::panics::discard;
use tensor::Device;

use super::cancel::{CancelFlag, EpochCanceller};
use super::epochs::EpochId;
use super::error::LoaderError;
use super::pool::{Turned, WorkerPool};
use super::prefetch::Prefetcher;
use super::reader::EpochReader;
use super::seeds::Seeds;
use super::source::ItemOf;
use super::state::LoaderProgress;
use super::task::{IdleBench, Made, Maker, Recipe, Workbench};
use crate::{SampleSource, Split, ToDevice};

/// An iterator over the batches of an epoch. Dropping it ends the epoch: workers stop after the
/// samples that they are reading, and the drop waits for that, at most as long as the
/// [time-out](crate::DataLoaderBuilder::timeout).
pub struct Batches<D: SampleSource> {
    epoch: EpochOfLoop<D>,
    prefetcher: Option<Prefetcher<D::Batch, D::Batch>>,
}

/// An iterator over the parts of the batches of an epoch: see [`Batches::parts`].
pub struct BatchParts<D: SampleSource> {
    epoch: EpochOfLoop<D>,
    prefetcher: Prefetcher<D::Batch, Vec<D::Batch>>,
}

/// An epoch as the loop has it.
struct EpochOfLoop<D: SampleSource> {
    source: BatchSource<D>,
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
pub(super) enum BatchSource<D: SampleSource> {
    /// The calling thread makes each batch when it is asked for.
    Caller(Box<CallerEpoch<D>>),
    /// Workers make batches ahead.
    Workers(WorkersEpoch<D>),
    /// The epoch could not begin, or has ended: the error is given once, then nothing.
    Ended(Option<LoaderError>),
}

/// An epoch whose batches the calling thread makes.
pub(super) struct CallerEpoch<D: SampleSource> {
    pub(super) recipe: Arc<Recipe<D>>,
    pub(super) reader: EpochReader<ItemOf<D>>,
    pub(super) seeds: Seeds,
    pub(super) bench: Option<Workbench<D>>,
    /// The place where the loader keeps the bench between epochs.
    pub(super) idle: IdleBench<D>,
}

/// An epoch whose batches workers make.
pub(super) struct WorkersEpoch<D: SampleSource> {
    pub(super) pool: Arc<WorkerPool<D>>,
    pub(super) id: EpochId,
}

impl<D: SampleSource> Batches<D> {
    pub(super) fn new(
        source: BatchSource<D>,
        begun: BegunEpoch,
        cancel: Arc<CancelFlag>,
        prefetcher: Option<Prefetcher<D::Batch, D::Batch>>,
    ) -> Self {
        Batches { epoch: EpochOfLoop { source, begun, cancel }, prefetcher }
    }

    /// The batches in parts of almost the same size, each on a device of its own: what is left of
    /// the epoch, for replicas on several devices. The parts are copied as
    /// [`prefetch_to`](crate::DataLoaderBuilder::prefetch_to) copies whole batches, which it replaces.
    /// Of a batch with fewer samples than there are devices, the last ones get no part.
    ///
    /// ```
    /// # gpu_runtime::choose_driver("software:2".parse()?)?;
    /// use parallel::{DataLoader, TensorDataset};
    /// use tensor::{Device, Tensor};
    ///
    /// let devices = [Device::cuda_at(0), Device::cuda_at(1)];
    /// let data = TensorDataset::new(Tensor::arange(6, ())?)?;
    /// let loader = DataLoader::builder(data).batch_size(3).workers(1).pin_memory(true).build()?;
    /// for parts in loader.iter().parts(devices) {
    ///     let parts = parts?;
    ///     assert_eq!((parts[0].shape(), parts[1].shape()), (&[2][..], &[1][..]));
    ///     assert_eq!((parts[0].device(), parts[1].device()), (devices[0], devices[1]));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parts(self, devices: impl IntoIterator<Item = Device>) -> BatchParts<D>
    where
        D::Batch: Split + ToDevice,
    {
        BatchParts { epoch: self.epoch, prefetcher: Prefetcher::parts(devices) }
    }

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
        let waiting = match &self.epoch.source {
            BatchSource::Workers(workers) => Some(workers.pool.waiting()),
            BatchSource::Caller(_) | BatchSource::Ended(_) => None,
        };
        EpochCanceller::new(&self.epoch.cancel, waiting)
    }
}

impl<D: SampleSource> Iterator for Batches<D> {
    type Item = Result<D::Batch, LoaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.prefetcher {
            Some(prefetcher) => self.epoch.next_prefetched(prefetcher),
            None => self.epoch.source.next(&self.epoch.cancel),
        };
        self.epoch.note(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.epoch.begun.left)
    }
}

impl<D: SampleSource> Iterator for BatchParts<D> {
    type Item = Result<Vec<D::Batch>, LoaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.epoch.next_prefetched(&mut self.prefetcher);
        self.epoch.note(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.epoch.begun.left)
    }
}

impl<D: SampleSource> EpochOfLoop<D> {
    /// The next batch where it was copied to: the one that was copied ahead, or a new one.
    fn next_prefetched<C>(
        &mut self,
        prefetcher: &mut Prefetcher<D::Batch, C>,
    ) -> Option<(usize, Made<C>)> {
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

    /// Notes what is handed to the loop.
    fn note<C>(&mut self, next: Option<(usize, Made<C>)>) -> Option<Made<C>> {
        let BegunEpoch { epoch, total, left, progress } = &mut self.begun;
        match next {
            Some((NO_BATCH, failed)) => Some(failed),
            Some((batch, made)) => {
                *left = left.map(|left| left.saturating_sub(1));
                progress.handed_out(*epoch, batch, *total);
                Some(made)
            }
            None => {
                *left = Some(0);
                if !matches!(self.source, BatchSource::Ended(_)) {
                    progress.ended(*epoch);
                }
                None
            }
        }
    }
}

/// The number of an error that takes no batch's place.
const NO_BATCH: usize = usize::MAX;

impl<D: SampleSource> BatchSource<D> {
    /// The next batch: waits for a worker, or makes it here.
    fn next(&mut self, cancel: &Arc<CancelFlag>) -> Option<(usize, Made<D::Batch>)> {
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
    fn take_made(&mut self) -> Option<(usize, Made<D::Batch>)> {
        let BatchSource::Workers(workers) = self else { return None };
        workers.pool.take_made(workers.id)
    }
}

impl<D: SampleSource> CallerEpoch<D> {
    /// Reads and makes the next batch.
    ///
    /// # Errors
    /// The epoch was cancelled.
    fn next(&mut self, cancel: &Arc<CancelFlag>) -> Result<Turned<D::Batch>, LoaderError> {
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

impl<D: SampleSource> Drop for CallerEpoch<D> {
    fn drop(&mut self) {
        // Its memory serves the next epoch. Of two epochs at a time, one keeps it.
        let replaced = self.bench.take().and_then(|bench| self.idle.lock().replace(bench));
        discard(replaced);
    }
}

impl<D: SampleSource> Drop for WorkersEpoch<D> {
    fn drop(&mut self) {
        self.pool.close(self.id);
    }
}
