//! Samplers: the order in which the samples of a dataset are read.

mod batch;
mod distributed;
mod random;
mod sequential;
mod weighted;

use std::sync::Arc;

use tensor::Result;

pub use batch::BatchSampler;
pub use distributed::DistributedSampler;
pub use random::{RandomSampler, SubsetRandomSampler};
pub use sequential::SequentialSampler;
pub use weighted::WeightedRandomSampler;

/// The indices of an epoch, in the order in which they are read.
pub type SampleOrder<T = usize> = Box<dyn Iterator<Item = T> + Send>;

/// An order of the samples of a dataset (`torch.utils.data.Sampler`); of `Vec<usize>`, an order of
/// whole batches.
///
/// The order may differ from epoch to epoch, and follows from the epoch's number: so a loader can
/// be put back to any place, and `set_epoch` cannot be forgotten.
///
/// ```
/// use parallel::{DataLoader, SampleOrder, Sampler, TensorDataset};
/// use tensor::{Result, Tensor};
///
/// /// The last sample first.
/// struct Backwards(usize);
///
/// impl Sampler for Backwards {
///     fn len(&self) -> usize {
///         self.0
///     }
///
///     fn iter(&self, _epoch: u64) -> Result<SampleOrder> {
///         Ok(Box::new((0..self.0).rev()))
///     }
/// }
///
/// let data = TensorDataset::new(Tensor::arange(5, ())?)?;
/// let loader = DataLoader::builder(data).sampler(Backwards(5)).batch_size(5).build()?;
/// for batch in &loader {
///     assert_eq!(batch?.to_vec::<i64>()?, [4, 3, 2, 1, 0]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Sampler<T = usize>: Send + Sync {
    /// The number of indices, or of batches, of an epoch.
    fn len(&self) -> usize;

    /// Whether an epoch is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The order of an epoch. A loader that is put back in the middle of one begins with
    /// [`nth`](Iterator::nth).
    ///
    /// # Errors
    /// The order cannot be made: the host has no memory for it.
    fn iter(&self, epoch: u64) -> Result<SampleOrder<T>>;
}

impl<T, S: Sampler<T> + ?Sized> Sampler<T> for Arc<S> {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn iter(&self, epoch: u64) -> Result<SampleOrder<T>> {
        (**self).iter(epoch)
    }
}
