//! Making a batch: the samples are read and joined, and the result is pinned.

use std::sync::atomic::{AtomicBool, Ordering};

use gpu_runtime::panics::{attempt, discard};
use tensor::with_manual_seed;

use super::order::Indices;
use super::seeds::Seeds;
use super::{BatchOf, LoaderError, Pin};
use crate::{Collate, Dataset};

/// The dataset and the functions by which every thread makes batches.
pub(super) struct Recipe<D: Dataset>
where
    D::Sample: Collate,
{
    pub(super) dataset: D,
    pub(super) pin: Option<Pin<BatchOf<D>>>,
}

/// A batch that is to be made.
pub(super) struct Task {
    pub(super) batch: usize,
    pub(super) indices: Indices,
    pub(super) seeds: Seeds,
}

/// The thread that makes a batch, and the signal on which it gives up.
pub(super) struct Maker<'a> {
    /// The name of the thread in errors.
    pub(super) thread: &'a str,
    /// Set when nobody wants the batch any more.
    pub(super) stop: &'a AtomicBool,
}

impl<D> Recipe<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    /// Makes the batch, or gives up with `None` once it is told to stop.
    ///
    /// It does not panic: a panic in the dataset, in joining or in pinning becomes an error that
    /// names the thread, and one in the destructor of a sample that is not needed ends there.
    pub(super) fn make(
        &self,
        task: &Task,
        maker: &Maker<'_>,
    ) -> Option<Result<BatchOf<D>, LoaderError>> {
        let mut samples = Vec::new();
        match self.read(task, maker, &mut samples) {
            Ok(()) => Some(self.finish(task, maker, samples)),
            Err(why) => {
                // One by one, since a second panic while the first unwinds would abort the process.
                samples.into_iter().for_each(discard);
                why.map(Err)
            }
        }
    }

    /// Reads the samples, each with a seed of its own.
    ///
    /// # Errors
    /// There is no memory for the samples, or one could not be read; `None` if it was told to stop.
    fn read(
        &self,
        task: &Task,
        maker: &Maker<'_>,
        samples: &mut Vec<D::Sample>,
    ) -> Result<(), Option<LoaderError>> {
        let batch = task.batch;
        let count = task.indices.len();
        let too_large = |source| LoaderError::TooLarge { batch, samples: count, source };
        samples.try_reserve_exact(count).map_err(too_large)?;
        for index in task.indices.iter() {
            if maker.stop.load(Ordering::Relaxed) {
                return Err(None);
            }
            let seed = task.seeds.of_sample(index);
            let read = attempt(|| with_manual_seed(seed, || self.dataset.get(index)));
            let read = read.map_err(|message| maker.panicked(batch, index, message))?;
            let source = |error| LoaderError::Sample { batch, index, source: Box::new(error) };
            samples.push(read.map_err(source)?);
        }
        Ok(())
    }

    /// Joins the samples and pins the result, with a seed of the batch's own.
    fn finish(
        &self,
        task: &Task,
        maker: &Maker<'_>,
        samples: Vec<D::Sample>,
    ) -> Result<BatchOf<D>, LoaderError> {
        let batch = task.batch;
        let first = task.indices.iter().next().unwrap_or_default();
        let join = || {
            let joined = D::Sample::collate(samples)
                .map_err(|source| LoaderError::Collate { batch, source })?;
            let Some(pin) = self.pin else { return Ok(joined) };
            pin(joined).map_err(|source| LoaderError::Pin { batch, source })
        };
        attempt(|| with_manual_seed(task.seeds.of_batch(batch), join))
            .unwrap_or_else(|message| Err(maker.panicked(batch, first, message)))
    }
}

impl Maker<'_> {
    fn panicked(&self, batch: usize, index: usize, message: String) -> LoaderError {
        LoaderError::Panicked { batch, index, thread: self.thread.to_owned(), message }
    }
}
