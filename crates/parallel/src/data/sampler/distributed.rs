//! The samples of one of several processes.

use tensor::{Error, Result};

use super::{RandomSampler, SampleOrder, Sampler};

/// The share of the samples that one of several processes reads
/// (`torch.utils.data.distributed.DistributedSampler`).
///
/// All processes make the same order, which `shuffle` seeds, and each takes every `num_replicas`th
/// index of it, from its `rank` on. So that all have equally many, the first indices come again at
/// the end, or the last ones are left out ([`drop_last`](DistributedSampler::drop_last)).
///
/// ```
/// use parallel::{DistributedSampler, Sampler};
/// let second = DistributedSampler::new(5, 2, 1)?;
/// assert_eq!(second.iter(0)?.collect::<Vec<_>>(), [1, 3, 0]);
/// let second = second.drop_last(true);
/// assert_eq!(second.iter(0)?.collect::<Vec<_>>(), [1, 3]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DistributedSampler {
    samples: usize,
    num_replicas: usize,
    rank: usize,
    shuffle: Option<u64>,
    drop_last: bool,
}

impl DistributedSampler {
    /// The share of the process `rank` of `num_replicas` in so many samples, in their own order.
    ///
    /// # Errors
    /// There is no such process.
    pub fn new(samples: usize, num_replicas: usize, rank: usize) -> Result<DistributedSampler> {
        if rank >= num_replicas {
            return Err(Error::InvalidArgument {
                op: "DistributedSampler",
                argument: "rank",
                value: format!("{rank} of {num_replicas}"),
                why: "ranks are numbered from 0 on",
            });
        }
        Ok(DistributedSampler { samples, num_replicas, rank, shuffle: None, drop_last: false })
    }

    /// Shuffles the samples, differently in each epoch, by the same `seed` in all processes.
    pub fn shuffle(mut self, seed: u64) -> DistributedSampler {
        self.shuffle = Some(seed);
        self
    }

    /// Sets whether indices are left out at the end instead of coming again, where they cannot be
    /// shared evenly.
    pub fn drop_last(mut self, drop_last: bool) -> DistributedSampler {
        self.drop_last = drop_last;
        self
    }
}

impl Sampler for DistributedSampler {
    fn len(&self) -> usize {
        match self.drop_last {
            true => self.samples / self.num_replicas,
            false => self.samples.div_ceil(self.num_replicas),
        }
    }

    /// # Errors
    /// The host has no memory for a permutation: 8 bytes per sample.
    fn iter(&self, epoch: u64) -> Result<SampleOrder> {
        let &DistributedSampler { samples, num_replicas, rank, .. } = self;
        let order: Option<Vec<usize>> = match self.shuffle {
            Some(seed) => Some(RandomSampler::new(samples, seed).iter(epoch)?.collect()),
            None => None,
        };
        Ok(Box::new((0..self.len()).map(move |turn| {
            // Indices come again from the first on, as often as needed.
            let place = (turn as u128 * num_replicas as u128 + rank as u128) % samples as u128;
            order.as_ref().map_or(place as usize, |order| order[place as usize])
        })))
    }
}
