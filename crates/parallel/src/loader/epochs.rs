//! The epochs that a loader's workers work on, as the pool's lock guards them.

use std::collections::VecDeque;
use std::sync::Arc;

use gpu_runtime::panics::discard;
use tensor::ExecutionContext;

use super::cancel::CancelFlag;
use super::error::LoaderError;
use super::reader::EpochReader;
use super::seeds::Seeds;
use super::source::ItemOf;
use super::task::Made;
use crate::SampleSource;

/// The settings of the thread that began an epoch, which its workers have meanwhile.
type Inherited = Arc<ExecutionContext>;
/// The signal by which an epoch is cancelled.
type Cancel = Arc<CancelFlag>;

/// The number of an open epoch, which no later one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EpochId(u64);

impl EpochId {
    /// No epoch's.
    pub(super) const NONE: EpochId = EpochId(u64::MAX);
}

/// The open epochs of a loader: few, and most of the time one.
pub(super) struct OpenEpochs<D: SampleSource> {
    epochs: Vec<(EpochId, OpenEpoch<D>)>,
    next: u64,
    is_closed: bool,
}

/// An epoch while workers make its batches.
pub(super) struct OpenEpoch<D: SampleSource> {
    pub(super) seeds: Seeds,
    pub(super) context: Inherited,
    pub(super) cancel: Cancel,
    /// The number of batches that may be ahead of the loop.
    pub(super) ahead: usize,
    /// Whether a batch waits for those before it.
    pub(super) in_order: bool,
    pub(super) reading: Reading<ItemOf<D>>,
    /// The batches that were read and that the loop has not got, in order.
    pub(super) window: VecDeque<Entry<D::Batch>>,
}

/// The reading of an epoch's items: by one worker at a time.
pub(super) enum Reading<I> {
    Free(EpochReader<I>),
    Busy,
    Over,
}

/// A batch that was read.
pub(super) struct Entry<B> {
    batch: usize,
    state: EntryState<B>,
}

enum EntryState<B> {
    Making,
    Made(Made<B>),
    /// Its worker gave up, since the epoch is over.
    Left,
}

/// An epoch's reader, lent to a worker that is to read and make the next batch.
pub(super) struct EpochClaim<D: SampleSource> {
    pub(super) id: EpochId,
    pub(super) reader: EpochReader<ItemOf<D>>,
    pub(super) seeds: Seeds,
    pub(super) context: Inherited,
    pub(super) cancel: Cancel,
}

impl<D: SampleSource> OpenEpochs<D> {
    pub(super) fn new() -> Self {
        OpenEpochs { epochs: Vec::new(), next: 0, is_closed: false }
    }

    pub(super) fn add(&mut self, epoch: OpenEpoch<D>) -> EpochId {
        let id = EpochId(self.next);
        self.next += 1;
        self.epochs.push((id, epoch));
        id
    }

    pub(super) fn get(&mut self, id: EpochId) -> Option<&mut OpenEpoch<D>> {
        self.epochs.iter_mut().find(|(own, _)| *own == id).map(|(_, epoch)| epoch)
    }

    pub(super) fn remove(&mut self, id: EpochId) -> Option<OpenEpoch<D>> {
        let place = self.epochs.iter().position(|(own, _)| *own == id)?;
        Some(self.epochs.remove(place).1)
    }

    /// Whether those who wait for something of an epoch must be woken.
    pub(super) fn has_news(&mut self, id: EpochId) -> bool {
        self.get(id).is_some_and(|epoch| epoch.has_news())
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.epochs.iter().for_each(|(_, epoch)| epoch.cancel.set());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Lends the reader of an epoch that may get a further batch, of the oldest such epoch.
    pub(super) fn claim(&mut self) -> Option<EpochClaim<D>> {
        let (id, epoch) = self.epochs.iter_mut().find(|(_, epoch)| epoch.may_be_read())?;
        let Reading::Free(reader) = std::mem::replace(&mut epoch.reading, Reading::Busy) else {
            return None;
        };
        let (context, cancel) = (Inherited::clone(&epoch.context), Cancel::clone(&epoch.cancel));
        Some(EpochClaim { id: *id, reader, seeds: epoch.seeds, context, cancel })
    }

    /// Gives the reader back, with the number of the batch that was read, if there was one. Of an
    /// epoch that was closed meanwhile nobody wants it: then it is the caller's to drop.
    pub(super) fn put_back(
        &mut self,
        id: EpochId,
        reader: EpochReader<ItemOf<D>>,
        batch: Option<usize>,
    ) -> Option<EpochReader<ItemOf<D>>> {
        let Some(epoch) = self.get(id) else { return Some(reader) };
        match batch {
            Some(batch) => {
                epoch.reading = Reading::Free(reader);
                epoch.window.push_back(Entry { batch, state: EntryState::Making });
                None
            }
            None => {
                epoch.reading = Reading::Over;
                Some(reader)
            }
        }
    }

    /// Notes what became of a batch, or if it has no number yet of the reading of one. What nobody
    /// wants is the caller's to drop.
    pub(super) fn finish(
        &mut self,
        id: EpochId,
        batch: Option<usize>,
        made: Option<Made<D::Batch>>,
    ) -> Option<Made<D::Batch>> {
        let Some(epoch) = self.get(id) else { return made };
        let Some(batch) = batch else {
            // The worker ended while it read: with the reader, which nobody gets back.
            epoch.reading = Reading::Over;
            let batch = epoch.window.back().map_or(0, |last| last.batch.saturating_add(1));
            let state = EntryState::Made(Err(LoaderError::WorkerGone { batch }));
            epoch.window.push_back(Entry { batch, state });
            return made;
        };
        let entry = epoch.window.binary_search_by_key(&batch, |entry| entry.batch);
        let Some(entry) = entry.ok().and_then(|place| epoch.window.get_mut(place)) else {
            return made;
        };
        entry.state = match made {
            Some(made) => EntryState::Made(made),
            None if epoch.cancel.is_set() => EntryState::Left,
            None => EntryState::Made(Err(LoaderError::WorkerGone { batch })),
        };
        None
    }
}

impl<D: SampleSource> OpenEpoch<D> {
    fn may_be_read(&self) -> bool {
        matches!(self.reading, Reading::Free(_))
            && self.window.len() < self.ahead
            && !self.cancel.is_set()
    }

    /// The place of the next batch, if it is made.
    fn place_of_next(&self) -> Option<usize> {
        let is_made = |entry: &Entry<_>| matches!(entry.state, EntryState::Made(_));
        match self.in_order {
            true => self.window.front().is_some_and(is_made).then_some(0),
            false => self.window.iter().position(is_made),
        }
    }

    /// Whether who waits for the next batch, or for the end of all work, has something to look at.
    fn has_news(&self) -> bool {
        self.cancel.is_set() || self.place_of_next().is_some() || self.is_over()
    }

    /// The next batch, if it is made.
    pub(super) fn take(&mut self) -> Option<(usize, Made<D::Batch>)> {
        match self.window.remove(self.place_of_next()?)? {
            Entry { batch, state: EntryState::Made(made) } => Some((batch, made)),
            Entry { .. } => None,
        }
    }

    /// Whether no batch is to come.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.reading, Reading::Over) && self.window.is_empty()
    }

    /// The number of the batch that the loop waits for.
    pub(super) fn next_batch(&self) -> usize {
        match (self.window.front(), &self.reading) {
            (Some(first), _) => first.batch,
            (None, Reading::Free(reader)) => reader.batch(),
            (None, Reading::Busy | Reading::Over) => 0,
        }
    }

    /// Whether a worker reads or makes a batch of it.
    pub(super) fn is_worked_on(&self) -> bool {
        matches!(self.reading, Reading::Busy)
            || self.window.iter().any(|entry| matches!(entry.state, EntryState::Making))
    }

    /// Drops what nobody took, one by one, since any of it may panic.
    pub(super) fn discard(mut self) {
        for entry in self.window.drain(..) {
            discard(entry.state);
        }
        discard(self.reading);
    }
}
