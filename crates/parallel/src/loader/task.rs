//! Making one batch: read the samples, join them, pin the result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{BatchOf, LoaderError, Pin};
use crate::{Collate, Dataset, panic_message};

/// What every thread that makes batches needs.
pub(super) struct Recipe<D: Dataset>
where
    D::Sample: Collate,
{
    pub(super) dataset: D,
    pub(super) pin: Option<Pin<BatchOf<D>>>,
}

/// One batch to make.
pub(super) struct Task {
    pub(super) batch: usize,
    pub(super) indices: Box<[usize]>,
}

impl<D> Recipe<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    /// Makes the batch, or gives up with `None` once `stop` is set.
    ///
    /// A panic in the dataset, in joining or in pinning becomes an error that names `thread`.
    pub(super) fn make(
        &self,
        task: &Task,
        thread: &str,
        stop: &AtomicBool,
    ) -> Option<Result<BatchOf<D>, LoaderError>> {
        let batch = task.batch;
        let panicked = |index: usize, payload: Box<dyn std::any::Any + Send>| {
            let message = panic_message(&*payload);
            Some(Err(LoaderError::Panicked { batch, index, thread: thread.to_owned(), message }))
        };
        let mut samples = Vec::with_capacity(task.indices.len());
        for &index in &task.indices {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            // The dataset is shared by reference: what a panic leaves behind in it is its own affair,
            // as with any `Sync` value that is used from several threads.
            match catch_unwind(AssertUnwindSafe(|| self.dataset.get(index))) {
                Ok(Ok(sample)) => samples.push(sample),
                Ok(Err(error)) => {
                    let source = Box::new(error);
                    return Some(Err(LoaderError::Sample { batch, index, source }));
                }
                Err(payload) => return panicked(index, payload),
            }
        }
        let first = task.indices.first().copied().unwrap_or_default();
        catch_unwind(AssertUnwindSafe(|| Some(self.finish(batch, samples))))
            .unwrap_or_else(|payload| panicked(first, payload))
    }

    fn finish(&self, batch: usize, samples: Vec<D::Sample>) -> Result<BatchOf<D>, LoaderError> {
        let joined =
            D::Sample::collate(samples).map_err(|source| LoaderError::Collate { batch, source })?;
        match self.pin {
            Some(pin) => pin(joined).map_err(|source| LoaderError::Pin { batch, source }),
            None => Ok(joined),
        }
    }
}
