//! Batches of the indices that another sampler gives.

use tensor::{Error, Result};

use super::{SampleOrder, Sampler};

/// Batches of another sampler's indices (`torch.utils.data.BatchSampler`). A loader makes them
/// itself of its [`sampler`](crate::DataLoaderBuilder::sampler); this one is for samplers of batches
/// that build on it.
///
/// ```
/// use parallel::{BatchSampler, Sampler, SequentialSampler};
/// let batches = BatchSampler::new(SequentialSampler::new(5), 2, false)?;
/// assert_eq!(batches.iter(0)?.collect::<Vec<_>>(), [vec![0, 1], vec![2, 3], vec![4]]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchSampler<S> {
    sampler: S,
    batch_size: usize,
    drop_last: bool,
}

impl<S: Sampler> BatchSampler<S> {
    /// Batches of so many indices; the last one, if it is short, is left out or not.
    ///
    /// # Errors
    /// The batches have no indices.
    pub fn new(sampler: S, batch_size: usize, drop_last: bool) -> Result<BatchSampler<S>> {
        if batch_size == 0 {
            return Err(Error::InvalidArgument {
                op: "BatchSampler",
                argument: "batch_size",
                value: batch_size.to_string(),
                why: "a batch must have at least one sample",
            });
        }
        Ok(BatchSampler { sampler, batch_size, drop_last })
    }
}

impl<S: Sampler> Sampler<Vec<usize>> for BatchSampler<S> {
    fn len(&self) -> usize {
        match self.drop_last {
            true => self.sampler.len() / self.batch_size,
            false => self.sampler.len().div_ceil(self.batch_size),
        }
    }

    fn iter(&self, epoch: u64) -> Result<SampleOrder<Vec<usize>>> {
        let mut indices = self.sampler.iter(epoch)?;
        let &BatchSampler { batch_size, drop_last, .. } = self;
        let least = if drop_last { batch_size } else { 1 };
        Ok(Box::new(std::iter::from_fn(move || {
            let batch: Vec<usize> = indices.by_ref().take(batch_size).collect();
            (batch.len() >= least).then_some(batch)
        })))
    }
}
