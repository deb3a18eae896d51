//! Datasets: numbered samples, and samples that come one after the other; and the orders in which
//! they are read.

mod collate_fn;
mod concat;
mod function;
mod iterable;
mod map;
mod put_error;
mod random;
mod sampler;
mod split;
mod tensors;

use std::error::Error;
use std::sync::Arc;

pub use collate_fn::CollateFn;
pub use concat::ConcatDataset;
pub use function::{FnDataset, from_fn};
pub use iterable::{Iterable, IterableDataset};
pub use map::MapDataset;
pub use put_error::PutError;
pub use sampler::{
    BatchSampler, DistributedSampler, RandomSampler, SampleOrder, Sampler, SequentialSampler,
    SubsetRandomSampler, WeightedRandomSampler,
};
pub use split::{Subset, random_split};
pub use tensors::{TensorDataset, TensorSample};

use crate::Collate;

/// A dataset: numbered samples, each of which may fail to be read (`torch.utils.data.Dataset`).
///
/// A loader's workers call [`get`](Dataset::get) from several threads. Random transformations can
/// draw from the default generators: the loader seeds them anew for each sample, by its own seed,
/// the epoch and the index. So a transformation is different in each epoch, and the same for any
/// number of workers. Generators of other libraries can be seeded with [`tensor::initial_seed`].
///
/// ```
/// use parallel::{DataLoader, Dataset, TensorDataset};
/// use tensor::Tensor;
///
/// let images = TensorDataset::new(Tensor::zeros([6, 4], ())?)?;
/// let noisy = images.map(|image| &image + &image.randn_like()?);
/// let loader = DataLoader::builder(noisy).batch_size(6).shuffle(0).workers(2).build()?;
/// let mut epoch = || loader.iter().next().expect("one batch");
/// assert_ne!(epoch()?.to_vec::<f32>()?, epoch()?.to_vec::<f32>()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Dataset: Send + Sync {
    /// The type of a sample.
    type Sample;
    /// The error of a sample that cannot be read.
    type Error: Error + Send + Sync + 'static;

    /// The number of samples.
    fn len(&self) -> usize;

    /// Whether there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sample at `index`, which is below [`len`](Dataset::len).
    ///
    /// # Errors
    /// The sample cannot be read.
    fn get(&self, index: usize) -> Result<Self::Sample, Self::Error>;

    /// Adds the sample at `index` to the batch that a loader is making, whose
    /// [`Slot`](Collate::Slot) it gets: that of the sample's type, or for a tuple one for each part.
    ///
    /// Loaders call it in place of [`get`](Dataset::get), which it calls unless it is implemented. A
    /// dataset of large samples that would copy elements in `get` can write them here to the place
    /// where they stay, and so saves a copy of each sample.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use parallel::{DataLoader, Dataset, PutError};
    /// use tensor::StackBuffer;
    ///
    /// /// Images in memory.
    /// struct Images(Vec<[f32; 784]>);
    ///
    /// impl Dataset for Images {
    ///     type Sample = ([f32; 784], i64);
    ///     type Error = Infallible;
    ///
    ///     fn len(&self) -> usize {
    ///         self.0.len()
    ///     }
    ///
    ///     fn get(&self, index: usize) -> Result<([f32; 784], i64), Infallible> {
    ///         Ok((self.0[index], index as i64))
    ///     }
    ///
    ///     fn get_into(
    ///         &self,
    ///         index: usize,
    ///         (pixels, label): &mut (StackBuffer, StackBuffer),
    ///     ) -> Result<(), PutError<Infallible>> {
    ///         pixels.push_data(&self.0[index])?; // the only copy
    ///         Ok(label.push_data(&(index as i64))?)
    ///     }
    /// }
    ///
    /// let images = Images(vec![[0.5; 784]; 4]);
    /// let loader = DataLoader::builder(images).batch_size(4).build()?;
    /// let (pixels, labels) = loader.iter().next().expect("a batch")?;
    /// assert_eq!(pixels.shape(), [4, 784]);
    /// assert_eq!(labels.to_vec::<i64>()?, [0, 1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The sample cannot be read, or it does not fit to those before it.
    fn get_into(
        &self,
        index: usize,
        batch: &mut <Self::Sample as Collate>::Slot,
    ) -> Result<(), PutError<Self::Error>>
    where
        Self::Sample: Collate,
    {
        // Not by `map` or `?`, which would move the sample to a result of another type.
        match self.get(index) {
            Ok(sample) => Ok(sample.put(batch)?),
            Err(error) => Err(PutError::Sample(error)),
        }
    }

    /// The dataset with `f` applied to each sample.
    fn map<T, F>(self, f: F) -> MapDataset<Self, F>
    where
        Self: Sized,
        F: Fn(Self::Sample) -> Result<T, Self::Error> + Send + Sync,
    {
        MapDataset::new(self, f)
    }

    /// The dataset with a function that joins its samples to a batch, in place of their
    /// [`Collate`](crate::Collate) (`collate_fn`). It gets the samples of a batch in their order, and
    /// runs in the workers; in [`pin_memory`](crate::DataLoaderBuilder::pin_memory) its result is
    /// copied to page-locked memory.
    ///
    /// ```
    /// use parallel::{DataLoader, Dataset, from_fn};
    /// use tensor::Tensor;
    ///
    /// let sentences = [vec![3, 1], vec![4], vec![1, 5, 9]];
    /// let data = from_fn(3, move |index| Ok(sentences[index].clone()));
    /// let padded = data.collate_with(|mut batch: Vec<Vec<i64>>| {
    ///     let longest = batch.iter().map(Vec::len).max().unwrap_or(0);
    ///     batch.iter_mut().for_each(|words| words.resize(longest, 0));
    ///     Tensor::new(batch, ())
    /// });
    /// let loader = DataLoader::builder(padded).batch_size(2).workers(1).build()?;
    /// let shapes = loader.iter().map(|batch| Ok(batch?.shape().to_vec()));
    /// assert_eq!(shapes.collect::<tensor::Result<Vec<_>>>()?, [vec![2, 2], vec![1, 3]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "collate_fn")]
    fn collate_with<B, F>(self, f: F) -> CollateFn<Self, F>
    where
        Self: Sized,
        F: Fn(Vec<Self::Sample>) -> tensor::Result<B> + Send + Sync,
    {
        CollateFn { dataset: self, collate: f }
    }
}

impl<D: Dataset + ?Sized> Dataset for Arc<D> {
    type Sample = D::Sample;
    type Error = D::Error;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn get(&self, index: usize) -> Result<D::Sample, D::Error> {
        (**self).get(index)
    }

    fn get_into(
        &self,
        index: usize,
        batch: &mut <D::Sample as Collate>::Slot,
    ) -> Result<(), PutError<D::Error>>
    where
        D::Sample: Collate,
    {
        (**self).get_into(index, batch)
    }
}
