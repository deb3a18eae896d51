//! Making a batch: samples are made of what was read, and joined, and the result is pinned.

use std::cell::Cell;
use std::sync::Arc;

use gpu_runtime::panics::{attempt, discard};
use parking_lot::Mutex;
use tensor::enter_manual_seed;

use super::cancel::{CancelFlag, enter_cancelled};
use super::error::LoaderError;
use super::reader::ReadBatch;
use super::seeds::Seeds;
use super::source::{ItemOf, ItemSource, Pin};
use crate::{PutError, SampleSource};

/// The data and the function by which every thread makes batches.
pub(super) struct Recipe<D: SampleSource> {
    pub(super) source: D,
    /// The function that pins what does not come to lie in pinned memory.
    pub(super) pin: Option<Pin<D::Batch>>,
}

/// The place for what the calling thread makes batches with, between epochs.
pub(super) type IdleBench<D> = Arc<Mutex<Option<Workbench<D>>>>;

/// A result of the making of a batch.
pub(super) type Made<B> = Result<B, LoaderError>;

/// The memory that a thread keeps from batch to batch: the items of the batch at hand, and the slot
/// in which it is made.
pub(super) struct Workbench<D: SampleSource> {
    pub(super) read: ReadBatch<ItemOf<D>>,
    slot: Option<D::Slot>,
}

/// The thread that makes a batch, and the signal on which it gives up.
pub(super) struct Maker<'a> {
    /// The name of the thread in errors.
    pub(super) thread: &'a str,
    /// Set when nobody wants the batch any more.
    pub(super) cancel: &'a Arc<CancelFlag>,
    pub(super) seeds: Seeds,
}

impl<D: SampleSource> Workbench<D> {
    pub(super) fn new() -> Self {
        Workbench { read: ReadBatch::new(), slot: None }
    }

    /// Drops what an unfinished batch has left in the slot, and the slot itself where that panics.
    fn clear(&mut self) {
        self.read.clear();
        let is_left = |slot: &mut D::Slot| attempt(|| D::begin(slot, 0)).is_err();
        if self.slot.as_mut().is_some_and(is_left) {
            discard(self.slot.take());
        }
    }
}

impl<D: SampleSource> Drop for Workbench<D> {
    fn drop(&mut self) {
        discard(self.slot.take());
    }
}

impl<D: SampleSource> Recipe<D> {
    /// Makes the batch that was read, or gives up with `None` once it is told to stop.
    ///
    /// It does not panic: a panic in the dataset, in joining or in pinning becomes an error that
    /// names the thread, and one in the destructor of what is not needed ends there.
    pub(super) fn make(
        &self,
        bench: &mut Workbench<D>,
        maker: &Maker<'_>,
    ) -> Option<Made<D::Batch>> {
        let index = Cell::new(bench.read.position);
        let made = match bench.read.failed.take() {
            Some(failed) => Err(failed),
            None => {
                let _signal = enter_cancelled(maker.cancel);
                attempt(|| self.fill(bench, maker, &index)).unwrap_or_else(|message| {
                    let (batch, index) = (bench.read.batch, index.get());
                    // A slot in whose functions somebody panicked may be anything.
                    discard(bench.slot.take());
                    let thread = maker.thread.to_owned();
                    Err(LoaderError::Panicked { batch, index, thread, message })
                })
            }
        };
        if !matches!(made, Ok(Some(_))) {
            bench.clear();
        }
        made.transpose()
    }

    /// Makes the samples, each with a seed of its own, and joins and pins them, with a seed of the
    /// batch's own. `index` is always that of the sample at hand.
    fn fill(
        &self,
        bench: &mut Workbench<D>,
        maker: &Maker<'_>,
        index: &Cell<usize>,
    ) -> Result<Option<D::Batch>, LoaderError> {
        let Workbench { read, slot } = bench;
        let batch = read.batch;
        let slot = slot.get_or_insert_with(|| D::slot(self.pin.is_some()));
        let collate = |source| LoaderError::Collate { batch, source };
        D::begin(slot, read.items.len());
        // One for all samples, each of which begins it anew.
        let seeded = enter_manual_seed(maker.seeds.of_batch(batch));
        let mut first = None;
        let mut position = read.position;
        while let Some(item) = read.items.pop_front() {
            index.set(D::Items::index(&item, position));
            position = position.saturating_add(1);
            first.get_or_insert(index.get());
            if maker.cancel.is_set() {
                discard(item);
                return Ok(None);
            }
            seeded.restart(maker.seeds.of_sample(index.get()));
            match self.source.put(item, slot) {
                Ok(()) => {}
                Err(PutError::Collate(source)) => return Err(collate(source)),
                Err(PutError::Sample(source)) => {
                    return Err(LoaderError::Sample { batch, index: index.get(), source });
                }
            }
        }
        index.set(first.unwrap_or(read.position));
        seeded.restart(maker.seeds.of_batch(batch));
        let joined = self.source.finish(slot).map_err(collate)?;
        let Some(pin) = self.pin else { return Ok(Some(joined)) };
        pin(joined).map(Some).map_err(|source| LoaderError::Pin { batch, source })
    }
}
