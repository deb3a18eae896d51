//! What the blocks of a cooperative launch share, for their barrier.

use std::ptr;
use std::sync::Arc;

use cuda_sys::CUresult;

use crate::device::code::launch_shape::{Parameters, Shape};
use crate::device::code::module::Function;
use crate::device::memory::allocation::{Allocation, Purpose};
use crate::device::memory::device_memory::DeviceMemory;

/// More than cooperative groups use of it.
const BYTES: usize = 256;

/// Memory of a launch: zeros at first.
pub(in crate::device) struct Workspace {
    allocation: Arc<Allocation>,
    memory: &'static DeviceMemory,
}

impl Workspace {
    /// Memory for a cooperative launch, whose address goes behind the parameters of a kernel that
    /// asks for it. In other launches null does.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(in crate::device) fn new(
        function: &Function,
        shape: Shape,
        parameters: &mut Parameters,
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
