//! A kernel launch as data.

use std::sync::Arc;

use smallvec::SmallVec;

use super::module::KernelFunction;

/// A launch's parameter buffer.
pub(crate) type KernelParameters = SmallVec<[u8; 128]>;

/// Grid and block, and shared memory beyond what the kernel declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutionConfiguration {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    /// Whether all blocks run at the same time, and may wait for each other.
    pub(crate) cooperative: bool,
}

impl ExecutionConfiguration {
    /// The number of blocks of the grid.
    pub(in crate::device) fn blocks(self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }
}

/// A kernel with all that a launch of it takes.
#[derive(Clone)]
pub(crate) struct KernelCall {
    pub(crate) function: Arc<KernelFunction>,
    pub(crate) shape: ExecutionConfiguration,
    pub(crate) parameters: KernelParameters,
}
