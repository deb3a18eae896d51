//! One epoch: an iterator over batches, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::vec;

use super::prefetch::{Prefetch, Prefetcher};
use super::task::{Recipe, Task};
use super::workers::Workers;
use super::{BatchOf, LoaderError};
use crate::{Collate, Dataset};

/// The batches of one epoch, in order. Dropping it stops the workers and joins them.
pub struct Batches<D: Dataset>
where
    D::Sample: Collate,
{
    source: Source<D>,
    prefetcher: Option<Prefetcher<BatchOf<D>>>,
    remaining: usize,
}

/// Where batches come from.
enum Source<D: Dataset>
where
    D::Sample: Collate,
{
    /// The calling thread makes each when it is asked for.
    Caller { recipe: Arc<Recipe<D>>, tasks: Tasks },
    /// Workers make them ahead.
    Workers { workers: Workers<D>, tasks: Tasks, early: Early<D>, next: usize, total: usize },
    /// The workers could not be started, or have gone: the error, then nothing.
    Failed(Option<LoaderError>),
}

/// Batches that were made before their turn.
type Early<D> = BTreeMap<usize, Result<BatchOf<D>, LoaderError>>;
/// The batches that are still to be made.
type Tasks = std::iter::Enumerate<vec::IntoIter<Box<[usize]>>>;

/// A batch that was asked for without waiting.
enum Poll<T> {
    Ready(T),
    NotYet,
}

impl<D> Batches<D>
where
    D: Dataset + 'static,
    D::Sample: Collate + 'static,
    BatchOf<D>: Send + 'static,
{
    /// Starts the workers, which may be `ahead` batches ahead of the loop.
    pub(super) fn new(
        recipe: Arc<Recipe<D>>,
        order: Vec<Box<[usize]>>,
        workers: usize,
        ahead: usize,
        prefetch: Option<Prefetch<BatchOf<D>>>,
    ) -> Self {
        let remaining = order.len();
        let mut tasks = order.into_iter().enumerate();
        let source = match workers.min(remaining) {
            0 => Source::Caller { recipe, tasks },
            count => match Workers::start(&recipe, count) {
                Ok(workers) => {
                    tasks.by_ref().take(ahead).map(task).for_each(|task| workers.send(task));
                    let early = BTreeMap::new();
                    Source::Workers { workers, tasks, early, next: 0, total: remaining }
                }
                Err(error) => Source::Failed(Some(error)),
            },
        };
        Batches { source, prefetcher: prefetch.map(Prefetcher::new), remaining }
    }
}

impl<D> Batches<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    /// The next batch as the prefetcher wants it: the one that was copied ahead, or a fresh one.
    fn next_prefetched(&mut self) -> Option<Result<BatchOf<D>, LoaderError>> {
        let prefetcher = self.prefetcher.as_mut()?;
        let current = match prefetcher.take() {
            Some(copied) => copied,
            None => prefetcher.copy(self.source.next()?),
        };
        // Copy the next batch while the loop computes, but do not make the loop wait for it.
        if let Some(Poll::Ready(batch)) = self.source.poll() {
            prefetcher.copy_ahead(batch);
        }
        Some(current)
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
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.remaining))
    }
}

impl<D> Source<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    /// Waits for the next batch.
    fn next(&mut self) -> Option<Result<BatchOf<D>, LoaderError>> {
        loop {
            if let Poll::Ready(batch) = self.poll()? {
                return Some(batch);
            }
            let Source::Workers { workers, early, next, .. } = self else { return None };
            match workers.receive() {
                Some((batch, made)) => drop(early.insert(batch, made)),
                None => *self = Source::Failed(Some(LoaderError::WorkersGone { batch: *next })),
            }
        }
    }

    /// The next batch if it is there; `None` at the end.
    fn poll(&mut self) -> Option<Poll<Result<BatchOf<D>, LoaderError>>> {
        match self {
            Source::Failed(error) => error.take().map(|error| Poll::Ready(Err(error))),
            Source::Caller { recipe, tasks } => {
                let never = AtomicBool::new(false);
                recipe.make(&task(tasks.next()?), "the calling thread", &never).map(Poll::Ready)
            }
            Source::Workers { next, total, .. } if next == total => None,
            Source::Workers { workers, tasks, early, next, .. } => {
                while let Some((batch, made)) = workers.try_receive() {
                    early.insert(batch, made);
                }
                let Some(made) = early.remove(next) else { return Some(Poll::NotYet) };
                *next += 1;
                // One batch leaves, one more may be made: so many are ahead at any time.
                if let Some(more) = tasks.next() {
                    workers.send(task(more));
                }
                Some(Poll::Ready(made))
            }
        }
    }
}

fn task((batch, indices): (usize, Box<[usize]>)) -> Task {
    Task { batch, indices }
}
