//! Datasets: numbered samples.

mod map;
mod shuffle;
mod split;
mod tensors;

use std::error::Error;
use std::sync::Arc;

pub use map::MapDataset;
pub(crate) use shuffle::permutation;
pub use split::{Subset, random_split};
pub use tensors::{TensorDataset, TensorSample};

/// Numbered samples, each of which may fail to be read.
///
/// A loader's workers call [`get`](Dataset::get) from several threads. A random transformation
/// that draws its numbers from the sample's index and a seed gives the same batches whatever the
/// number of workers.
pub trait Dataset: Send + Sync {
    /// One sample.
    type Sample;
    /// Why a sample could not be read.
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
