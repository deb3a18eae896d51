//! What a function keeps for its next launch by the functions of before CUDA 4.0.

use cuda_sys::CUresult;

use super::kernel_call::{ExecutionConfiguration, KernelParameters};
use super::module::KernelFunction;
use crate::device::attributes::{MAX_BLOCK, MAX_THREADS_PER_BLOCK};

/// Block, shared memory and parameters, as far as the program has given them.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    block: Option<[u32; 3]>,
    pub(crate) dynamic_shared: u32,
    parameters: KernelParameters,
    /// The size of the parameters in bytes (`cuParamSetSize`).
    size: usize,
}

/// No kernel of that time had more parameters (CUDA Programming Guide of 3.2, appendix G).
const MAX_PARAMETERS: usize = 4096;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

impl Prepared {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a block that no device can run.
    pub(crate) fn set_block(&mut self, block: [u32; 3]) -> Result<(), CUresult> {
        let fits = block.iter().zip(MAX_BLOCK).all(|(&given, most)| (1..=most).contains(&given));
        if !fits || block.iter().product::<u32>() > MAX_THREADS_PER_BLOCK {
            return Err(INVALID);
        }
        self.block = Some(block);
        Ok(())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for more than any kernel has.
    pub(crate) fn set_size(&mut self, bytes: usize) -> Result<(), CUresult> {
        if bytes > MAX_PARAMETERS {
            return Err(INVALID);
        }
        self.size = bytes;
        Ok(())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what lies beyond the function's parameters.
    pub(crate) fn set_parameters(
        &mut self,
        function: &KernelFunction,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), CUresult> {
        let end = offset.checked_add(bytes.len()).ok_or(INVALID)?;
        if end > function.parameter_bytes {
            return Err(INVALID);
        }
        self.parameters.resize(function.parameter_bytes, 0);
        self.parameters[offset..end].copy_from_slice(bytes);
        Ok(())
    }

    /// The launch of a grid.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if no block was given, or the parameters not all.
    pub(crate) fn launch(
        &self,
        function: &KernelFunction,
        grid: [u32; 3],
    ) -> Result<(ExecutionConfiguration, KernelParameters), CUresult> {
        let block = self.block.ok_or(INVALID)?;
        if self.size < function.parameter_bytes {
            return Err(INVALID);
        }
        let dynamic_shared = self.dynamic_shared;
        let shape = ExecutionConfiguration { grid, block, dynamic_shared, cooperative: false };
        let mut parameters = self.parameters.clone();
        parameters.resize(function.parameter_bytes, 0);
        Ok((shape, parameters))
    }
}
