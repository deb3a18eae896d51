//! Reading: which items an epoch's batches are made of.

use std::collections::VecDeque;

use gpu_runtime::panics::{attempt, discard};
use tensor::with_manual_seed;

use super::error::LoaderError;
use super::seeds::Seeds;
use super::source::{DatasetError, ItemStream};
use super::state::DataLoaderState;

/// The rules by which items are cut into batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchSize {
    pub(super) batch_size: usize,
    pub(super) drop_last: bool,
}

impl BatchSize {
    /// The number of batches of so many items.
    pub(super) fn batches(&self, items: usize) -> usize {
        let dropped = if self.drop_last { items % self.batch_size } else { 0 };
        (items - dropped).div_ceil(self.batch_size)
    }
}

/// The items of an epoch that are still to be read. One thread at a time has it.
pub(super) struct EpochReader<I> {
    /// `None` once it has ended.
    stream: Option<ItemStream<I>>,
    size: BatchSize,
    seeds: Seeds,
    /// The number of the next batch, and of its first item.
    batch: usize,
    position: usize,
    /// The batches that were handed out before the loader was put back here, in order.
    left_out: VecDeque<usize>,
}

/// A batch that was read and is still to be made. It is used again for the next one.
pub(super) struct ReadBatch<I> {
    pub(super) batch: usize,
    /// The number of the first item.
    pub(super) position: usize,
    pub(super) items: VecDeque<I>,
    /// The reason why it cannot be made.
    pub(super) failed: Option<LoaderError>,
}

impl<I> ReadBatch<I> {
    pub(super) fn new() -> ReadBatch<I> {
        ReadBatch { batch: 0, position: 0, items: VecDeque::new(), failed: None }
    }

    /// Drops the items one by one, since any of them may panic.
    pub(super) fn clear(&mut self) {
        self.failed = None;
        while let Some(item) = self.items.pop_front() {
            discard(item);
        }
    }
}

impl<I> Drop for ReadBatch<I> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<I> EpochReader<I> {
    /// A reader of what is left of an epoch from a place on.
    pub(super) fn new(
        stream: ItemStream<I>,
        size: BatchSize,
        seeds: Seeds,
        state: DataLoaderState,
    ) -> EpochReader<I> {
        let batch = state.batches;
        let left_out = state.early.into_iter().filter(|&early| early >= batch).collect();
        let stream = skipped(stream, batch, size.batch_size);
        let position = batch.saturating_mul(size.batch_size);
        EpochReader { stream, size, seeds, batch, position, left_out }
    }

    /// The number of the next batch.
    pub(super) fn batch(&self) -> usize {
        self.batch
    }

    /// Reads the items of the next batch, and says whether there is one. It does not panic: where
    /// the sampler or the dataset does, the batch has failed and the epoch ends.
    pub(super) fn read(&mut self, into: &mut ReadBatch<I>, thread: &str) -> bool {
        loop {
            into.clear();
            (into.batch, into.position) = (self.batch, self.position);
            let seed = self.seeds.of_reading(self.batch);
            let read = attempt(|| with_manual_seed(seed, || self.read_items(into)));
            let is_read = read.unwrap_or_else(|message| {
                let (batch, index) = (into.batch, into.position.saturating_add(into.items.len()));
                let thread = thread.to_owned();
                into.failed = Some(LoaderError::Panicked { batch, index, thread, message });
                discard(self.stream.take());
                true
            });
            if !is_read {
                discard(self.stream.take());
                return false;
            }
            self.batch = self.batch.saturating_add(1);
            if self.left_out.front() != Some(&into.batch) {
                return true;
            }
            self.left_out.pop_front();
        }
    }

    fn read_items(&mut self, into: &mut ReadBatch<I>) -> bool {
        match &mut self.stream {
            None => false,
            Some(ItemStream::Batches(batches)) => match batches.next() {
                None => false,
                Some(items) => {
                    into.items.extend(items);
                    self.position = self.position.saturating_add(into.items.len());
                    true
                }
            },
            Some(ItemStream::Items(items)) => {
                let read = take_items(items, self.size.batch_size, into);
                self.position = self.position.saturating_add(read);
                read > 0 && (read == self.size.batch_size || !self.size.drop_last)
            }
        }
    }
}

type ItemIter<'a, I> = &'a mut (dyn Iterator<Item = Result<I, DatasetError>> + Send);

/// Reads up to `batch_size` items, and gives their number. Those that cannot be read count, too.
fn take_items<I>(items: ItemIter<'_, I>, batch_size: usize, into: &mut ReadBatch<I>) -> usize {
    let (batch, samples) = (into.batch, batch_size.min(items.size_hint().0));
    let too_large = |source| LoaderError::TooLarge { batch, samples, source };
    if let Err(error) = into.items.try_reserve(samples) {
        into.failed = Some(too_large(error));
        let left = batch_size.saturating_sub(1);
        items.nth(left);
        return batch_size;
    }
    let mut read = 0;
    while read < batch_size {
        match items.next() {
            None => break,
            Some(Ok(item)) => {
                if let Err(error) = into.items.try_reserve(1) {
                    into.failed = Some(too_large(error));
                } else {
                    into.items.push_back(item);
                }
            }
            Some(Err(source)) => {
                let index = into.position.saturating_add(read);
                into.failed.get_or_insert(LoaderError::Sample { batch, index, source });
            }
        }
        read += 1;
    }
    read
}

/// The stream without the first batches; `None` if nothing is left.
fn skipped<I>(
    mut stream: ItemStream<I>,
    batches: usize,
    batch_size: usize,
) -> Option<ItemStream<I>> {
    let Some(last) = batches.checked_sub(1) else { return Some(stream) };
    let is_left = match &mut stream {
        ItemStream::Batches(all) => all.nth(last).is_some(),
        ItemStream::Items(all) => match batches.checked_mul(batch_size) {
            Some(items) => all.nth(items - 1).is_some(),
            None => false,
        },
    };
    is_left.then_some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SequentialSampler;
    use crate::{SampleOrder, Sampler};

    fn read(samples: usize, size: BatchSize, state: DataLoaderState) -> Vec<Vec<usize>> {
        let order: SampleOrder = SequentialSampler::new(samples).iter(0).expect("an order");
        let stream = ItemStream::Items(Box::new(order.map(Ok)));
        let mut reader = EpochReader::new(stream, size, Seeds::of_epoch(0, 0), state);
        let mut batch = ReadBatch::new();
        let mut all = Vec::new();
        while reader.read(&mut batch, "a test") {
            all.push(batch.items.iter().copied().collect());
        }
        all
    }

    fn size(batch_size: usize, drop_last: bool) -> BatchSize {
        BatchSize { batch_size, drop_last }
    }

    #[test]
    fn the_last_batch_is_short_or_dropped() {
        let short = [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]];
        let from = |size| read(10, size, DataLoaderState::default());
        assert_eq!(from(size(4, false)), short);
        assert_eq!(from(size(4, true)), short[..2]);
        assert!(from(size(usize::MAX, true)).is_empty());
        assert_eq!(from(size(usize::MAX, false)), [(0..10).collect::<Vec<_>>()]);
        for (samples, size) in [(10, size(4, false)), (10, size(4, true)), (0, size(3, false))] {
            assert_eq!(
                read(samples, size, DataLoaderState::default()).len(),
                size.batches(samples)
            );
        }
    }

    #[test]
    fn what_was_handed_out_is_not_read_again() {
        let state =
            |batches, early: &[usize]| DataLoaderState { epoch: 0, batches, early: early.into() };
        assert_eq!(read(9, size(2, false), state(1, &[2, 4])), [[2, 3], [6, 7]]);
        assert_eq!(read(9, size(2, false), state(4, &[])), [[8]]);
        for beyond in [5, usize::MAX] {
            assert!(read(9, size(2, false), state(beyond, &[])).is_empty());
        }
    }
}
