//! SampleList in random order.

use tensor::Result;

use super::{SampleOrder, Sampler};
use crate::data::random::{SampleRandom, permutation};

/// The samples in an order that is new in each epoch (`torch.utils.data.RandomSampler`). It follows
/// from the seed and the number of the epoch.
///
/// ```
/// use parallel::{RandomSampler, Sampler};
/// let all = RandomSampler::new(5, 0);
/// let mut order: Vec<usize> = all.iter(0)?.collect();
/// order.sort_unstable();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
///
/// let some = RandomSampler::new(5, 0).replacement(true).num_samples(100);
/// assert_eq!(some.iter(0)?.count(), 100);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RandomSampler {
    samples: usize,
    seed: u64,
    replacement: bool,
    num_samples: Option<usize>,
}

impl RandomSampler {
    /// All of so many samples, each once.
    pub fn new(samples: usize, seed: u64) -> RandomSampler {
        RandomSampler { samples, seed, replacement: false, num_samples: None }
    }

    /// Sets whether each index is drawn from all samples, so that one may come again; `false` by
    /// default.
    pub fn replacement(mut self, replacement: bool) -> RandomSampler {
        self.replacement = replacement;
        self
    }

    /// Sets the number of indices of an epoch; by default, that of the samples. Without replacement,
    /// one permutation follows the other where there are more.
    pub fn num_samples(mut self, num_samples: usize) -> RandomSampler {
        self.num_samples = Some(num_samples);
        self
    }
}

impl Sampler for RandomSampler {
    fn len(&self) -> usize {
        if self.samples == 0 { 0 } else { self.num_samples.unwrap_or(self.samples) }
    }

    /// # Errors
    /// The host has no memory for a permutation: 8 bytes per sample.
    fn iter(&self, epoch: u64) -> Result<SampleOrder> {
        let (samples, len) = (self.samples, self.len());
        let mut random = SampleRandom::of_epoch(self.seed, epoch);
        if self.replacement {
            return Ok(Box::new((0..len).map(move |_| random.below(samples as u64) as usize)));
        }
        let first = permutation(samples, &mut random)?;
        if len <= samples {
            let mut order = first;
            order.truncate(len);
            return Ok(Box::new(order.into_iter()));
        }
        // For the later ones there is as much memory as for the first, which is gone by then.
        let next = move |_| permutation(samples, &mut random).unwrap_or_default();
        let later = (1..len.div_ceil(samples)).flat_map(next);
        Ok(Box::new(first.into_iter().chain(later).take(len)))
    }
}

/// Some samples, each once, in an order that is new in each epoch
/// (`torch.utils.data.SubsetRandomSampler`).
#[derive(Clone, Debug)]
pub struct SubsetRandomSampler {
    indices: Vec<usize>,
    seed: u64,
}

impl SubsetRandomSampler {
    /// The samples with these indices.
    pub fn new(indices: Vec<usize>, seed: u64) -> SubsetRandomSampler {
        SubsetRandomSampler { indices, seed }
    }
}

impl Sampler for SubsetRandomSampler {
    fn len(&self) -> usize {
        self.indices.len()
    }

    /// # Errors
    /// The host has no memory for a permutation: 8 bytes per sample.
    fn iter(&self, epoch: u64) -> Result<SampleOrder> {
        let mut random = SampleRandom::of_epoch(self.seed, epoch);
        let mut order = permutation(self.indices.len(), &mut random)?;
        for place in &mut order {
            *place = self.indices[*place];
        }
        Ok(Box::new(order.into_iter()))
    }
}
