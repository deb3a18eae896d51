//! SampleList in their own order.

use tensor::Result;

use super::{SampleOrder, Sampler};

/// The samples in the order of their indices (`torch.utils.data.SequentialSampler`).
#[derive(Clone, Copy, Debug)]
pub struct SequentialSampler {
    samples: usize,
}

impl SequentialSampler {
    /// The order of so many samples.
    pub fn new(samples: usize) -> SequentialSampler {
        SequentialSampler { samples }
    }
}

impl Sampler for SequentialSampler {
    fn len(&self) -> usize {
        self.samples
    }

    fn iter(&self, _epoch: u64) -> Result<SampleOrder> {
        Ok(Box::new(0..self.samples))
    }
}
