//! The builder of a `DistributedDataParallel`.

use std::sync::Arc;

use collectives::Communicator;
use nn::{Module, Result};

use super::reducer::{GradientReducer, GradientReducerOptions};
use super::side_stream::SideStream;
use super::{BufferSync, DistributedDataParallel, broadcast_state};

/// The size of a bucket unless another is asked for, as in PyTorch.
const DEFAULT_BUCKET_BYTES: usize = 25 << 20;

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

/// The options of a replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DistributedOptions {
    pub(crate) bucket_bytes: usize,
    pub(crate) find_unused_parameters: bool,
    pub(crate) buffers: BufferSync,
}

impl Default for DistributedOptions {
    fn default() -> DistributedOptions {
        DistributedOptions {
            bucket_bytes: DEFAULT_BUCKET_BYTES,
            find_unused_parameters: false,
            buffers: BufferSync::default(),
        }
    }
}

impl<M: Module> DistributedDataParallelBuilder<M> {
    pub(super) fn new(module: M, communicator: Arc<dyn Communicator>) -> Self {
        let options = DistributedOptions::default();
        DistributedDataParallelBuilder { module, communicator, options }
    }

    pub(crate) fn options(mut self, options: DistributedOptions) -> Self {
        self.options = options;
        self
    }

    /// The bytes of gradients that are reduced together; 25 MiB unless set, and a 25th of it for the
    /// bucket that is ready first. Larger ones use the links better, smaller ones begin earlier.
    pub fn bucket_bytes(mut self, bytes: usize) -> Self {
        self.options.bucket_bytes = bytes;
        self
    }

    /// Whether a backward pass may leave out parameters, on some ranks or on all. Without it such a
    /// pass is an error. With it each pass ends with an exchange of which were used, for which the
    /// host waits.
    pub fn find_unused_parameters(mut self, find: bool) -> Self {
        self.options.find_unused_parameters = find;
        self
    }

    /// The values that buffers have on the ranks.
    pub fn buffers(mut self, sync: BufferSync) -> Self {
        self.options.buffers = sync;
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
        let DistributedOptions { bucket_bytes, find_unused_parameters, buffers } = options;
        let reducer_options = GradientReducerOptions { bucket_bytes, find_unused_parameters };
        let parameters = module.named_parameters();
        let side = Arc::new(SideStream::beside(&module.parameters())?);
        let reducer = GradientReducer::new(
            Arc::clone(&communicator),
            Arc::clone(&side),
            parameters,
            reducer_options,
        )?;
        Ok(DistributedDataParallel { module, communicator, reducer, buffers, side })
    }
}
