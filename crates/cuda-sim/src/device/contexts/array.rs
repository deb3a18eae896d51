//! CUDA arrays: memory of a device in up to three dimensions, whose layout is the driver's own.

use std::sync::Arc;

use cuda_sys::{CUarray_format as Format, CUresult};

use super::context::Context;
use crate::device::memory::allocation::{GlobalAllocation, Purpose};
use crate::device::memory::free_addresses::ALIGNMENT;

/// An array of a context. Here its rows lie one after the other.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) context: Arc<Context>,
    pub(crate) shape: ArrayShape,
    /// Bytes from one row to the next.
    pub(crate) pitch: u64,
    memory: Arc<GlobalAllocation>,
}

/// An array's format and extents, as a program asks for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayShape {
    pub(crate) format: Format,
    pub(crate) channels: u32,
    /// Elements of a row.
    pub(crate) width: u64,
    /// Rows; 0 if there is one dimension.
    pub(crate) height: u64,
    /// Planes or layers; 0 if there are none.
    pub(crate) depth: u64,
    pub(crate) flags: u32,
}

impl ArrayShape {
    /// The size of an element.
    pub(crate) fn element(&self) -> Option<u64> {
        let channel = match self.format {
            Format::CU_AD_FORMAT_UNSIGNED_INT8 | Format::CU_AD_FORMAT_SIGNED_INT8 => 1,
            Format::CU_AD_FORMAT_UNSIGNED_INT16
            | Format::CU_AD_FORMAT_SIGNED_INT16
            | Format::CU_AD_FORMAT_HALF => 2,
            Format::CU_AD_FORMAT_UNSIGNED_INT32
            | Format::CU_AD_FORMAT_SIGNED_INT32
            | Format::CU_AD_FORMAT_FLOAT => 4,
            _ => return None,
        };
        matches!(self.channels, 1 | 2 | 4).then(|| channel * u64::from(self.channels))
    }
}

impl Array {
    /// Gives an array memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a shape that no array has, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn new(context: Arc<Context>, shape: ArrayShape) -> Result<Array, CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let element = shape.element().filter(|_| shape.width > 0).ok_or(invalid)?;
        let row = shape.width.checked_mul(element).ok_or(invalid)?;
        let pitch = row.checked_next_multiple_of(ALIGNMENT).ok_or(invalid)?;
        let rows = shape.height.max(1).checked_mul(shape.depth.max(1)).ok_or(invalid)?;
        let bytes = pitch.checked_mul(rows).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let memory = context.device.memory.allocate(bytes, context.id, Purpose::Array)?;
        Ok(Array { context, shape, pitch, memory })
    }

    /// The address of its first byte.
    pub(crate) fn address(&self) -> u64 {
        self.memory.address
    }

    /// The memory that it has.
    pub(in crate::device) fn memory(&self) -> &Arc<GlobalAllocation> {
        &self.memory
    }

    /// Bytes of a row.
    pub(crate) fn row(&self) -> u64 {
        self.shape.width * self.shape.element().unwrap_or(0)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        self.context.device.memory.free(&self.memory);
    }
}
