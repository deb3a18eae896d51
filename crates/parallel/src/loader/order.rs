//! Which samples make which batch.

use crate::data::permutation;

/// How an epoch is cut into batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchOrder {
    pub(super) batch_size: usize,
    pub(super) drop_last: bool,
    pub(super) shuffle: Option<u64>,
}

impl BatchOrder {
    /// The number of batches that `samples` give.
    pub(super) fn batches(&self, samples: usize) -> usize {
        match self.drop_last {
            true => samples / self.batch_size,
            false => samples.div_ceil(self.batch_size),
        }
    }

    /// The samples of each batch of an epoch.
    pub(super) fn epoch(&self, samples: usize, epoch: u64) -> Vec<Box<[usize]>> {
        let indices: Vec<usize> = match self.shuffle {
            Some(seed) => permutation(samples, seed, epoch),
            None => (0..samples).collect(),
        };
        indices.chunks(self.batch_size).take(self.batches(samples)).map(Box::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::BatchOrder;

    fn order(batch_size: usize, drop_last: bool, shuffle: Option<u64>) -> BatchOrder {
        BatchOrder { batch_size, drop_last, shuffle }
    }

    #[test]
    fn the_last_batch_is_short_or_dropped() {
        let sizes = |drop_last| -> Vec<usize> {
            order(4, drop_last, None).epoch(10, 0).iter().map(|batch| batch.len()).collect()
        };
        assert_eq!(sizes(false), [4, 4, 2]);
        assert_eq!(sizes(true), [4, 4]);
        assert!(order(4, false, None).epoch(0, 0).is_empty());
    }

    #[test]
    fn an_epoch_is_a_permutation_that_its_number_and_the_seed_decide() {
        let flat = |seed, epoch| order(7, false, Some(seed)).epoch(100, epoch).concat();
        let mut sorted = flat(1, 0);
        assert_ne!(sorted, (0..100).collect::<Vec<_>>());
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_eq!(flat(1, 0), flat(1, 0));
        assert_ne!(flat(1, 0), flat(1, 1));
        assert_ne!(flat(1, 0), flat(2, 0));
    }
}
