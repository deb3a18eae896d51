//! The order of the samples of an epoch, cut into batches.

use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

use tensor::Result;

use crate::data::permutation;

/// The rules by which an epoch is ordered and cut into batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchOrder {
    pub(super) batch_size: usize,
    pub(super) drop_last: bool,
    pub(super) shuffle: Option<u64>,
}

/// The batches of an epoch, in order. They are cut one by one, so that the memory does not depend
/// on the length of the dataset.
#[derive(Debug)]
pub(super) struct BatchIndices {
    order: Option<Arc<Vec<usize>>>,
    /// The positions in the order that are still to be cut.
    rest: Range<usize>,
    batch_size: usize,
}

/// The indices of the samples of a batch: a part of the epoch's order, or without an order a range.
#[derive(Clone, Debug)]
pub(super) struct Indices {
    order: Option<Arc<Vec<usize>>>,
    positions: Range<usize>,
}

impl BatchOrder {
    /// The number of batches of so many samples.
    pub(super) fn batches(&self, samples: usize) -> usize {
        self.used(samples).div_ceil(self.batch_size)
    }

    /// The number of the samples that are in batches.
    fn used(&self, samples: usize) -> usize {
        let dropped = if self.drop_last { samples % self.batch_size } else { 0 };
        samples - dropped
    }

    /// The samples of each batch of an epoch.
    ///
    /// # Errors
    /// The host has no memory for a permutation of them.
    pub(super) fn epoch(&self, samples: usize, epoch: u64) -> Result<BatchIndices> {
        let order = self.shuffle.map(|seed| permutation(samples, seed, epoch)).transpose()?;
        let rest = 0..self.used(samples);
        Ok(BatchIndices { order: order.map(Arc::new), rest, batch_size: self.batch_size })
    }
}

impl Iterator for BatchIndices {
    type Item = Indices;

    fn next(&mut self) -> Option<Indices> {
        if self.rest.is_empty() {
            return None;
        }
        let start = self.rest.start;
        self.rest.start = start.saturating_add(self.batch_size).min(self.rest.end);
        Some(Indices { order: self.order.clone(), positions: start..self.rest.start })
    }

    /// As far as it goes, in one step.
    fn nth(&mut self, n: usize) -> Option<Indices> {
        let left_out = n.saturating_mul(self.batch_size);
        self.rest.start = self.rest.start.saturating_add(left_out).min(self.rest.end);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let batches = self.rest.len().div_ceil(self.batch_size);
        (batches, Some(batches))
    }
}

impl ExactSizeIterator for BatchIndices {}
impl FusedIterator for BatchIndices {}

impl Indices {
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.positions.clone().map(|position| match &self.order {
            Some(order) => order[position],
            None => position,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(batch_size: usize, drop_last: bool, shuffle: Option<u64>) -> BatchOrder {
        BatchOrder { batch_size, drop_last, shuffle }
    }

    fn batches(order: BatchOrder, samples: usize, epoch: u64) -> Vec<Vec<usize>> {
        let batches = order.epoch(samples, epoch).expect("a few samples");
        assert_eq!(batches.len(), order.batches(samples));
        batches.map(|batch| batch.iter().collect()).collect()
    }

    #[test]
    fn the_last_batch_is_short_or_dropped() {
        let short = [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]];
        assert_eq!(batches(order(4, false, None), 10, 0), short);
        assert_eq!(batches(order(4, true, None), 10, 0), short[..2]);
        assert!(batches(order(4, false, None), 0, 0).is_empty());
        assert!(batches(order(usize::MAX, true, None), 10, 0).is_empty());
    }

    #[test]
    fn an_epoch_is_a_permutation_that_its_number_and_the_seed_decide() {
        let flat = |seed, epoch| batches(order(7, false, Some(seed)), 100, epoch).concat();
        let mut sorted = flat(1, 0);
        assert_ne!(sorted, (0..100).collect::<Vec<_>>());
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_eq!(flat(1, 0), flat(1, 0));
        assert_ne!(flat(1, 0), flat(1, 1));
        assert_ne!(flat(1, 0), flat(2, 0));
    }

    #[test]
    fn a_dataset_of_any_length_has_an_epoch() {
        let mut whole = order(usize::MAX, false, None).epoch(usize::MAX, 0).expect("no memory");
        assert_eq!(whole.next().map(|batch| batch.len()), Some(usize::MAX));
        assert!(whole.next().is_none());
        let mut single = order(1, false, None).epoch(usize::MAX, 0).expect("no memory");
        assert_eq!(single.len(), usize::MAX);
        assert_eq!(single.nth(2).and_then(|batch| batch.iter().next()), Some(2));
    }
}
