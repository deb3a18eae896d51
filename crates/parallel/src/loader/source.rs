//! The data of loaders: items come one by one, samples are made of them, and batches of samples.

use std::error::Error;
use std::sync::Arc;

use tensor::{Blocking, Device, Result as TensorResult};

use crate::{
    Collate, CollateFn, Dataset, Iterable, IterableDataset, PutError, RandomSampler, SampleList,
    SampleOrder, Sampler, SequentialSampler,
};

/// The items that a loader reads, and the dataset that the program gave.
pub(super) type ItemOf<D> = <<D as SampleSource>::Items as ItemSource>::Item;
pub(super) type DatasetOf<D> = <<D as SampleSource>::Items as ItemSource>::Dataset;
/// The function that pins a batch.
pub(super) type Pin<B> = fn(B) -> TensorResult<B>;
/// The function that copies a batch to a device.
pub(super) type Move<B> = fn(B, Device, Blocking) -> TensorResult<B>;

/// The error of a dataset, of whatever type.
pub(super) type DatasetError = Box<dyn Error + Send + Sync>;

/// The data of a [`DataLoader`](crate::DataLoader): a [`Dataset`] or an [`Iterable`], whose samples
/// are joined by [`Collate`], or either of them with a function that joins them
/// ([`Dataset::collate_with`]). Nothing else can be one.
pub trait SampleSource: Send + Sync + sealed::Sealed + 'static {
    /// The items that samples are made of.
    #[doc(hidden)]
    type Items: ItemSource;
    /// The type of a batch.
    type Batch: Send;
    /// The place in which a thread makes batches, one after the other.
    #[doc(hidden)]
    type Slot: Send;

    /// The data that items are read of.
    #[doc(hidden)]
    fn items(&self) -> &Self::Items;

    /// A new slot.
    #[doc(hidden)]
    fn slot(pin_memory: bool) -> Self::Slot;

    /// Begins a batch of so many samples.
    #[doc(hidden)]
    fn begin(slot: &mut Self::Slot, samples: usize);

    /// Makes a sample of an item and adds it to the batch.
    #[doc(hidden)]
    fn put(
        &self,
        item: <Self::Items as ItemSource>::Item,
        slot: &mut Self::Slot,
    ) -> Result<(), PutError<DatasetError>>;

    /// Gives the batch.
    #[doc(hidden)]
    fn finish(&self, slot: &mut Self::Slot) -> TensorResult<Self::Batch>;
}

/// The two kinds of datasets, as loaders read both.
pub trait ItemSource: Send + Sync + sealed::Sealed + 'static {
    /// The program's own type.
    type Dataset;
    /// The type of what is read, of which a sample is made: an index, or an iterable dataset's item.
    type Item: Send;
    /// The type of a sample.
    type Sample;
    /// The error of a sample that cannot be made.
    type Error: Into<DatasetError>;

    /// The program's own dataset.
    fn dataset(&self) -> &Self::Dataset;

    /// The number of items, or of batches where the order is one of batches; `None` if nobody
    /// knows.
    fn count(&self, order: &ReadOrder) -> Option<usize>;

    /// Begins to read an epoch.
    fn begin(&self, order: &ReadOrder, epoch: u64) -> Result<ItemStream<Self::Item>, DatasetError>;

    /// Makes a sample of an item.
    fn sample(&self, item: Self::Item) -> Result<Self::Sample, Self::Error>;

    /// Makes a sample of an item and adds it to a batch.
    fn put(
        &self,
        item: Self::Item,
        slot: &mut <Self::Sample as Collate>::Slot,
    ) -> Result<(), PutError<Self::Error>>
    where
        Self::Sample: Collate,
    {
        match self.sample(item) {
            Ok(sample) => Ok(sample.put(slot)?),
            Err(error) => Err(PutError::Sample(error)),
        }
    }

    /// The index by which errors name the item at a position of the epoch.
    fn index(item: &Self::Item, position: usize) -> usize;
}

mod sealed {
    pub trait Sealed {}
}

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

impl<S: ItemSource> SampleSource for S
where
    S::Sample: Collate,
    <S::Sample as Collate>::Batch: Send,
{
    type Items = S;
    type Batch = <S::Sample as Collate>::Batch;
    type Slot = <S::Sample as Collate>::Slot;

    fn items(&self) -> &S {
        self
    }

    fn slot(pin_memory: bool) -> Self::Slot {
        S::Sample::slot(pin_memory)
    }

    fn begin(slot: &mut Self::Slot, samples: usize) {
        S::Sample::begin(slot, samples);
    }

    fn put(&self, item: S::Item, slot: &mut Self::Slot) -> Result<(), PutError<DatasetError>> {
        ItemSource::put(self, item, slot).map_err(|error| match error {
            PutError::Sample(error) => PutError::Sample(error.into()),
            PutError::Collate(error) => PutError::Collate(error),
        })
    }

    fn finish(&self, slot: &mut Self::Slot) -> TensorResult<Self::Batch> {
        S::Sample::finish(slot)
    }
}

impl<S, F> sealed::Sealed for CollateFn<S, F> {}

impl<S, F, B> SampleSource for CollateFn<S, F>
where
    S: ItemSource,
    S::Sample: Send,
    F: Fn(Vec<S::Sample>) -> TensorResult<B> + Send + Sync + 'static,
    B: Send,
{
    type Items = S;
    type Batch = B;
    type Slot = SampleList<S::Sample>;

    fn items(&self) -> &S {
        &self.dataset
    }

    fn slot(_pin_memory: bool) -> Self::Slot {
        SampleList::new()
    }

    fn begin(slot: &mut Self::Slot, samples: usize) {
        slot.begin(samples);
    }

    fn put(&self, item: S::Item, slot: &mut Self::Slot) -> Result<(), PutError<DatasetError>> {
        slot.push(self.dataset.sample(item).map_err(|error| PutError::Sample(error.into()))?);
        Ok(())
    }

    fn finish(&self, slot: &mut Self::Slot) -> TensorResult<B> {
        (self.collate)(slot.take())
    }
}

impl<D: Dataset> sealed::Sealed for D {}

impl<D: Dataset + 'static> ItemSource for D {
    type Dataset = D;
    type Item = usize;
    type Sample = D::Sample;
    type Error = D::Error;

    fn dataset(&self) -> &D {
        self
    }

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

    fn sample(&self, index: usize) -> Result<D::Sample, D::Error> {
        self.get(index)
    }

    fn put(
        &self,
        index: usize,
        slot: &mut <D::Sample as Collate>::Slot,
    ) -> Result<(), PutError<D::Error>>
    where
        D::Sample: Collate,
    {
        self.get_into(index, slot)
    }

    fn index(&index: &usize, _position: usize) -> usize {
        index
    }
}

impl<I: IterableDataset> sealed::Sealed for Iterable<I> {}

impl<I: IterableDataset + 'static> ItemSource for Iterable<I> {
    type Dataset = I;
    type Item = I::Item;
    type Sample = I::Sample;
    type Error = I::Error;

    fn dataset(&self) -> &I {
        &self.0
    }

    fn count(&self, _order: &ReadOrder) -> Option<usize> {
        None
    }

    fn begin(&self, _order: &ReadOrder, epoch: u64) -> Result<ItemStream<I::Item>, DatasetError> {
        Ok(ItemStream::Items(Box::new(ItemsRead(self.0.iter(epoch)?))))
    }

    fn sample(&self, item: I::Item) -> Result<I::Sample, I::Error> {
        self.0.sample(item)
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
