//! The elements of tensors as bytes: in row-major order, each as it lies in memory.

use std::ops::Deref;

use tensor::{DType, ReadGuard, Result, Tensor};

/// The bytes of a tensor's elements.
pub(crate) struct ElementBytes(ReadGuard<u8>);

impl ElementBytes {
    /// The bytes of a tensor on any device and in any layout. They are copied only if it is not on
    /// the CPU, or not dense.
    ///
    /// # Errors
    /// The device failed, memory is short, or a `bool` was never written.
    pub(crate) fn of(tensor: &Tensor) -> Result<ElementBytes> {
        if tensor.numel() == 0 {
            return Ok(ElementBytes(Tensor::zeros([0], DType::U8)?.read()?));
        }
        let dense = tensor.detach().cpu()?.contiguous()?;
        if dense.dtype() == DType::Bool {
            // It says that all of them are 0 or 1.
            drop(dense.read::<bool>()?);
        }
        let size = dense.dtype().size();
        let all = Tensor::from_storage(dense.storage(), DType::U8)?;
        let bytes = all.narrow(0, dense.storage_offset() * size, dense.numel() * size)?;
        Ok(ElementBytes(bytes.read()?))
    }
}

/// The number of bytes of a tensor's elements. What only repeats them can have more than any memory;
/// it counts as the most that there is.
pub(crate) fn element_bytes(tensor: &Tensor) -> usize {
    tensor.numel().saturating_mul(tensor.dtype().size())
}

impl Deref for ElementBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
