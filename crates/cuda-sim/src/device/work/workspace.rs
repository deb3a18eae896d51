//! What the blocks of a cooperative launch share, for their barrier.

use std::ptr;
use std::sync::Arc;

use cuda_sys::CUresult;

use crate::device::code::kernel_call::{ExecutionConfiguration, KernelParameters};
use crate::device::code::module::KernelFunction;
use crate::device::memory::allocation::{GlobalAllocation, Purpose};
use crate::device::memory::global_memory::GlobalMemory;

/// More than cooperative groups use of it.
const BYTES: usize = 256;

/// Memory of a launch: zeros at first.
pub(in crate::device) struct Workspace {
    allocation: Arc<GlobalAllocation>,
    memory: &'static GlobalMemory,
}

impl Workspace {
    /// Memory for a cooperative launch, whose address goes behind the parameters of a kernel that
    /// asks for it. In other launches null does.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(in crate::device) fn new(
        function: &KernelFunction,
        shape: ExecutionConfiguration,
        parameters: &mut KernelParameters,
    ) -> Result<Option<Workspace>, CUresult> {
        let Some(offset) = function.workspace else { return Ok(None) };
        parameters.resize(offset, 0);
        if !shape.cooperative {
            parameters.extend_from_slice(&[0; 8]);
            return Ok(None);
        }
        let context = &function.module.context;
        let memory = &context.device.memory;
        let allocation = memory.allocate(BYTES as u64, context.id, Purpose::Module)?;
        let start: *mut u8 = ptr::with_exposed_provenance_mut(allocation.address as usize);
        // SAFETY: it was just allocated, with so many bytes.
        unsafe { start.write_bytes(0, BYTES) };
        parameters.extend_from_slice(&allocation.address.to_le_bytes());
        Ok(Some(Workspace { allocation, memory }))
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.memory.free(&self.allocation);
    }
}
