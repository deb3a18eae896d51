//! The options that all ranks have alike.

use super::BufferSync;

/// The size of a bucket unless another is asked for, as in PyTorch.
const DEFAULT_BUCKET_BYTES: usize = 25 << 20;

/// The options of a rank's replica.
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

/// The methods by which a builder with a field `options` of [`DistributedOptions`] is told these.
macro_rules! options_of_ranks {
    ($builder:ident) => {
        impl<M> $builder<M> {
            /// The bytes of gradients that are reduced together; 25 MiB unless set, and a 25th of it
            /// for the bucket that is ready first. Larger ones use the links better, smaller ones
            /// begin earlier.
            pub fn bucket_bytes(mut self, bytes: usize) -> Self {
                self.options.bucket_bytes = bytes;
                self
            }

            /// Whether a backward pass may leave out parameters, on some ranks or on all. Without it
            /// such a pass is an error. With it each pass ends with an exchange of which were used,
            /// for which the host waits.
            pub fn find_unused_parameters(mut self, find: bool) -> Self {
                self.options.find_unused_parameters = find;
                self
            }

            /// The values that buffers have on the ranks.
            pub fn buffers(mut self, sync: $crate::BufferSync) -> Self {
                self.options.buffers = sync;
                self
            }
        }
    };
}

pub(crate) use options_of_ranks;
