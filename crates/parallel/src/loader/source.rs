//! The two kinds of datasets, as loaders read both: items come one by one, and samples are made of
//! them.

use std::error::Error;
use std::sync::Arc;

use tensor::{Blocking, Device, Result as TensorResult};

use crate::{
    Collate, Dataset, IterableDataset, RandomSampler, SampleOrder, Sampler, SequentialSampler,
};

/// A sample of what a loader reads, the batch that samples are joined to, and the slot in which
/// that happens.
pub(super) type SampleOf<D> = <D as SampleSource>::Sample;
pub(super) type BatchOf<D> = <SampleOf<D> as Collate>::Batch;
pub(super) type SlotOf<D> = <SampleOf<D> as Collate>::Slot;
/// The function that pins a batch.
pub(super) type Pin<B> = fn(B) -> TensorResult<B>;
/// The function that copies a batch to a device.
pub(super) type Move<B> = fn(B, Device, Blocking) -> TensorResult<B>;

/// The error of a dataset, of whatever type.
pub(super) type DatasetError = Box<dyn Error + Send + Sync>;

/// The data of a [`DataLoader`](crate::DataLoader): any [`Dataset`], and [`Iterable`], which holds an
/// [`IterableDataset`]. Nothing else can be one.
pub trait SampleSource: Send + Sync + sealed::Sealed {
    /// The type of a sample.
    type Sample;
    /// The type of what is read, of which a sample is made: an index, or an iterable dataset's item.
    type Item: Send;

    /// The number of items, or of batches where the order is one of batches; `None` if nobody
    /// knows.
    #[doc(hidden)]
    fn count(&self, order: &ReadOrder) -> Option<usize>;

    /// Begins to read an epoch.
    #[doc(hidden)]
    fn begin(
        &self,
        order: &ReadOrder,
        epoch: u64,
    ) -> Result<ItemStream<Self::Item>, Box<dyn Error + Send + Sync>>
    where
        Self: 'static;

    /// Makes a sample of an item.
    #[doc(hidden)]
    fn make(&self, item: Self::Item) -> Result<Self::Sample, Box<dyn Error + Send + Sync>>;

    /// The index by which errors name the item at a position of the epoch.
    #[doc(hidden)]
    fn index(item: &Self::Item, position: usize) -> usize;
}

mod sealed {
    pub trait Sealed {}
}

/// An [`IterableDataset`] as a loader reads it.
#[derive(Clone, Copy, Debug)]
pub struct Iterable<I>(pub(super) I);

/// The order in which a loader reads a dataset.
#[derive(Clone)]
pub enum ReadOrder {
    /// The order of the indices.
    Sequential,
    /// Shuffled by a seed.
    Shuffled(u64),
    /// A sampler's.
    Sampler(Arc<dyn Sampler>),
    /// The order of a sampler of batches.
    Batches(Arc<dyn Sampler<Vec<usize>>>),
}

/// The items of an epoch, in order.
pub enum ItemStream<I> {
    /// One by one.
    Items(Box<dyn Iterator<Item = Result<I, DatasetError>> + Send>),
    /// In batches.
    Batches(Box<dyn Iterator<Item = Vec<I>> + Send>),
}

impl<D: Dataset> sealed::Sealed for D {}

impl<D: Dataset> SampleSource for D {
    type Sample = D::Sample;
    type Item = usize;

    fn count(&self, order: &ReadOrder) -> Option<usize> {
        Some(match order {
            ReadOrder::Sequential | ReadOrder::Shuffled(_) => self.len(),
            ReadOrder::Sampler(sampler) => sampler.len(),
            ReadOrder::Batches(sampler) => sampler.len(),
        })
    }

    fn begin(&self, order: &ReadOrder, epoch: u64) -> Result<ItemStream<usize>, DatasetError> {
        let indices = match order {
            ReadOrder::Sequential => SequentialSampler::new(self.len()).iter(epoch)?,
            ReadOrder::Shuffled(seed) => RandomSampler::new(self.len(), *seed).iter(epoch)?,
            ReadOrder::Sampler(sampler) => sampler.iter(epoch)?,
            ReadOrder::Batches(sampler) => return Ok(ItemStream::Batches(sampler.iter(epoch)?)),
        };
        Ok(ItemStream::Items(Box::new(Indices(indices))))
    }

    fn make(&self, index: usize) -> Result<D::Sample, DatasetError> {
        Ok(self.get(index)?)
    }

    fn index(&index: &usize, _position: usize) -> usize {
        index
    }
}

impl<I: IterableDataset> sealed::Sealed for Iterable<I> {}

impl<I: IterableDataset> SampleSource for Iterable<I> {
    type Sample = I::Sample;
    type Item = I::Item;

    fn count(&self, _order: &ReadOrder) -> Option<usize> {
        None
    }

    fn begin(&self, _order: &ReadOrder, epoch: u64) -> Result<ItemStream<I::Item>, DatasetError>
    where
        Self: 'static,
    {
        Ok(ItemStream::Items(Box::new(ItemsRead(self.0.iter(epoch)?))))
    }

    fn make(&self, item: I::Item) -> Result<I::Sample, DatasetError> {
        Ok(self.0.sample(item)?)
    }

    fn index(_item: &I::Item, position: usize) -> usize {
        position
    }
}

/// A sampler's indices as items. Unlike those of [`Iterator::map`], its `nth` is the sampler's own.
struct Indices(SampleOrder);

impl Iterator for Indices {
    type Item = Result<usize, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(Ok)
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.0.nth(n).map(Ok)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// The items of an iterable dataset, with errors of one type.
struct ItemsRead<T>(T);

impl<I, E, T> Iterator for ItemsRead<T>
where
    E: Error + Send + Sync + 'static,
    T: Iterator<Item = Result<I, E>>,
{
    type Item = Result<I, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(Into::into))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        Some(self.0.nth(n)?.map_err(Into::into))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}
