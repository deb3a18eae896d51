//! The builder of a `DistributedDataParallel`.

use std::sync::Arc;

use collectives::Communicator;
use nn::{Module, Result};

use super::options::{DistributedOptions, options_of_ranks};
use super::reducer::{GradientReducer, GradientReducerOptions};
use super::side_stream::SideStream;
use super::{DistributedDataParallel, broadcast_state};

/// A builder of a [`DistributedDataParallel`]. Every rank sets the same options.
///
/// ```
/// use std::sync::Arc;
/// use collectives::DeviceGroup;
/// use nn::Linear;
/// use parallel::{BufferSync, DistributedDataParallel};
/// use tensor::Device;
///
/// let communicator = Arc::new(DeviceGroup::new([Device::Cpu])?.communicator(0)?);
/// let model = DistributedDataParallel::builder(Linear::new(3, 1)?, communicator)
///     .bucket_bytes(1 << 20)
///     .buffers(BufferSync::Average)
///     .build()?;
/// assert_eq!(model.buckets(), [["bias", "weight"]]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[must_use = "nothing is made before build()"]
pub struct DistributedDataParallelBuilder<M> {
    module: M,
    communicator: Arc<dyn Communicator>,
    options: DistributedOptions,
}

options_of_ranks!(DistributedDataParallelBuilder);

impl<M: Module> DistributedDataParallelBuilder<M> {
    pub(super) fn new(module: M, communicator: Arc<dyn Communicator>) -> Self {
        let options = DistributedOptions::default();
        DistributedDataParallelBuilder { module, communicator, options }
    }

    pub(crate) fn options(mut self, options: DistributedOptions) -> Self {
        self.options = options;
        self
    }

    /// Makes the replica. Its parameters and buffers get the first rank's values; waits until all
    /// ranks have called it.
    ///
    /// # Errors
    /// Memory is short, or a rank aborted.
    pub fn build(self) -> Result<DistributedDataParallel<M>> {
        let DistributedDataParallelBuilder { module, communicator, options } = self;
        let begun = broadcast_state(&module, communicator.as_ref(), 0);
        begun.inspect_err(|error| communicator.abort(&error.to_string()))?;
        let DistributedOptions { bucket_bytes, find_unused_parameters, buffers: buffer_sync } =
            options;
        let reducer_options = GradientReducerOptions { bucket_bytes, find_unused_parameters };
        let buffers = module.buffers();
        let side = Arc::new(SideStream::beside(&module.parameters())?);
        let reducer = GradientReducer::new(
            Arc::clone(&communicator),
            Arc::clone(&side),
            module.named_parameters(),
            reducer_options,
        )?;
        Ok(DistributedDataParallel { module, communicator, reducer, buffers, buffer_sync, side })
    }
}
