//! The iterator over the batches of an epoch.

use std::iter::Enumerate;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::order::BatchIndices;
use super::prefetch::{Prefetch, Prefetcher};
use super::seeds::Seeds;
use super::state::LoaderProgress;
use super::task::{Maker, Recipe, Task};
use super::workers::Workers;
use super::{BatchOf, LoaderError};
use crate::{Collate, Dataset};

/// An iterator over the batches of an epoch, in order. Dropping it stops the workers and joins
/// them.
pub struct Batches<D: Dataset>
where
    D::Sample: Collate,
{
    source: BatchSource<D>,
    prefetcher: Option<Prefetcher<BatchOf<D>>>,
    remaining: usize,
    /// `None` for an epoch that could not begin.
    begun: Option<BegunEpoch>,
}

/// The epoch of an iterator.
pub(super) struct BegunEpoch {
    pub(super) epoch: u64,
    /// The number of batches that came before: those left out, and those handed out.
    pub(super) before: usize,
    pub(super) progress: LoaderProgress,
}

/// The source of the batches of an epoch.
enum BatchSource<D: Dataset>
where
    D::Sample: Collate,
{
    /// The calling thread makes each batch when it is asked for.
    Caller { recipe: Arc<Recipe<D>>, tasks: Tasks },
    /// Workers make batches ahead.
    Workers { workers: Workers<BatchOf<D>>, tasks: Tasks, next: usize, total: usize },
    /// The epoch could not begin, or its workers have ended: the error is given once, then nothing.
    Failed(Option<LoaderError>),
}

/// The batches that are still to be made.
pub(super) struct Tasks {
    seeds: Seeds,
    batches: Enumerate<BatchIndices>,
}

impl Tasks {
    /// The batches of an epoch, without the first ones.
    pub(super) fn new(batches: BatchIndices, seeds: Seeds, left_out: usize) -> Tasks {
        let mut batches = batches.enumerate();
        if let Some(last) = left_out.checked_sub(1) {
            batches.nth(last);
        }
        Tasks { seeds, batches }
    }
}

impl Iterator for Tasks {
    type Item = Task;

    fn next(&mut self) -> Option<Task> {
        let (batch, indices) = self.batches.next()?;
        Some(Task { batch, indices, seeds: self.seeds })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}

impl ExactSizeIterator for Tasks {}

impl<D> Batches<D>
where
    D: Dataset + 'static,
    D::Sample: Collate + 'static,
    BatchOf<D>: Send + 'static,
{
    /// Begins an epoch: starts the workers, which make up to `ahead` batches ahead of the loop.
    pub(super) fn new(
        recipe: Arc<Recipe<D>>,
        mut tasks: Tasks,
        begun: BegunEpoch,
        (workers, ahead): (usize, usize),
        prefetch: Option<Prefetch<BatchOf<D>>>,
    ) -> Self {
        let (remaining, next) = (tasks.len(), begun.before);
        let source = match workers.min(remaining) {
            0 => BatchSource::Caller { recipe, tasks },
            count => match Workers::start(&recipe, count) {
                Ok(workers) => {
                    tasks.by_ref().take(ahead).for_each(|task| workers.send(task));
                    BatchSource::Workers { workers, tasks, next, total: next + remaining }
                }
                Err(error) => BatchSource::Failed(Some(error)),
            },
        };
        let prefetcher = prefetch.map(Prefetcher::new);
        Batches { source, prefetcher, remaining, begun: Some(begun) }
    }

    /// An epoch that could not begin: it gives the error, then nothing.
    pub(super) fn failed(error: LoaderError) -> Self {
        let source = BatchSource::Failed(Some(error));
        Batches { source, prefetcher: None, remaining: 1, begun: None }
    }
}

impl<D> Batches<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    /// The next batch on the device: the one that was copied ahead, or a new one.
    fn next_prefetched(&mut self) -> Option<Result<BatchOf<D>, LoaderError>> {
        let prefetcher = self.prefetcher.as_mut()?;
        let current = match prefetcher.take() {
            Some(copied) => copied,
            None => prefetcher.copy(self.source.next()?),
        };
        let given = prefetcher.hand_over(current);
        // The next batch is copied while the loop computes, but only if it is made: the loop must
        // not wait.
        if let Some(made) = self.source.take_made() {
            prefetcher.copy_ahead(made);
        }
        Some(given)
    }
}

impl<D> Iterator for Batches<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    type Item = Result<BatchOf<D>, LoaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.prefetcher {
            Some(_) => self.next_prefetched(),
            None => self.source.next(),
        };
        self.remaining = next.as_ref().map_or(0, |_| self.remaining.saturating_sub(1));
        if let (Some(_), Some(begun)) = (&next, &mut self.begun) {
            begun.before += 1;
            begun.progress.handed_out(begun.epoch, begun.before, self.remaining == 0);
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.remaining))
    }
}

impl<D> BatchSource<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    /// The next batch: waits for a worker, or makes it here.
    fn next(&mut self) -> Option<Result<BatchOf<D>, LoaderError>> {
        match self {
            BatchSource::Failed(error) => error.take().map(Err),
            BatchSource::Caller { recipe, tasks } => {
                let never = AtomicBool::new(false);
                recipe.make(&tasks.next()?, &Maker { thread: "the calling thread", stop: &never })
            }
            BatchSource::Workers { next, total, .. } if next == total => None,
            BatchSource::Workers { workers, next, .. } => match workers.wait_for(*next) {
                Ok(made) => {
                    self.advance();
                    Some(made)
                }
                Err(gone) => {
                    *self = BatchSource::Failed(None);
                    Some(Err(gone))
                }
            },
        }
    }

    /// The next batch, if a worker has made it already.
    fn take_made(&mut self) -> Option<Result<BatchOf<D>, LoaderError>> {
        let BatchSource::Workers { workers, next, .. } = self else { return None };
        let made = workers.take(*next)?;
        self.advance();
        Some(made)
    }

    /// Counts a batch as taken, and gives the workers the next one to make, so that equally many
    /// are ahead at any time.
    fn advance(&mut self) {
        let BatchSource::Workers { workers, tasks, next, .. } = self else { return };
        *next += 1;
        if let Some(task) = tasks.next() {
            workers.send(task);
        }
    }
}
