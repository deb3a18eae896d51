//! The seeds with which samples are read and batches are joined.

use tensor::fold_in;

/// The seeds of an epoch. Each sample and each batch has its own, so the random numbers that are
/// drawn for it depend neither on the thread nor on earlier samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    samples: u64,
    batches: u64,
    reading: u64,
}

impl Seeds {
    pub(super) fn of_epoch(seed: u64, epoch: u64) -> Seeds {
        let epoch = fold_in(seed, epoch);
        let part = |part| fold_in(epoch, part);
        Seeds { samples: part(0), batches: part(1), reading: part(2) }
    }

    /// The seed for making the sample at `index` of the dataset.
    pub(super) fn of_sample(&self, index: usize) -> u64 {
        fold_in(self.samples, index as u64)
    }

    /// The seed for joining the samples of a batch.
    pub(super) fn of_batch(&self, batch: usize) -> u64 {
        fold_in(self.batches, batch as u64)
    }

    /// The seed for reading the items of a batch, from an iterable dataset or a sampler.
    pub(super) fn of_reading(&self, batch: usize) -> u64 {
        fold_in(self.reading, batch as u64)
    }
}
