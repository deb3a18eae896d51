//! Datasets: numbered samples, and samples that come one after the other; and the orders in which
//! they are read.

mod concat;
mod function;
mod iterable;
mod map;
mod random;
mod sampler;
mod split;
mod tensors;

use std::error::Error;
use std::sync::Arc;

pub use concat::ConcatDataset;
pub use function::{FnDataset, from_fn};
pub use iterable::IterableDataset;
pub use map::MapDataset;
pub use sampler::{
    BatchSampler, DistributedSampler, RandomSampler, SampleOrder, Sampler, SequentialSampler,
    SubsetRandomSampler, WeightedRandomSampler,
};
pub use split::{Subset, random_split};
pub use tensors::{TensorDataset, TensorSample};

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

    /// The dataset with `f` applied to each sample.
    fn map<T, F>(self, f: F) -> MapDataset<Self, F>
    where
        Self: Sized,
        F: Fn(Self::Sample) -> Result<T, Self::Error> + Send + Sync,
    {
        MapDataset::new(self, f)
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
}
