//! Memory of the host that one owner writes without a lock, since nobody else knows it.

use gpu_runtime::Access;

use super::hold::{hold, tell};
use crate::resolved_device::ResolvedDevice;
use crate::storage::{Fresh, HostMemory};
use crate::{DType, Element, Result, Shape, Tensor};

/// A dense tensor on the CPU that nobody else has a handle on, nor on its memory, and that no
/// device uses. Its elements may have any value until they are written.
pub(crate) struct ExclusiveTensor(Tensor);

impl ExclusiveTensor {
    /// A new tensor, in page-locked memory if that is asked for.
    ///
    /// # Errors
    /// The shape is too large, memory is short, or for page-locked memory there is no driver.
    #[track_caller]
    pub(crate) fn new(shape: Shape, dtype: DType, pin_memory: bool) -> Result<ExclusiveTensor> {
        let tensor = match pin_memory {
            true => Tensor::pinned(shape, dtype, Fresh::Overwritten)?,
            false => Tensor::uninit(shape, dtype, ResolvedDevice::Cpu)?,
        };
        Ok(ExclusiveTensor(tensor))
    }

    /// A tensor that was handed out, once everybody is done with it.
    ///
    /// # Errors
    /// An observer refuses that the host writes the memory.
    #[track_caller]
    pub(crate) fn reclaim(tensor: &mut Option<Tensor>) -> Result<Option<ExclusiveTensor>> {
        if !tensor.as_mut().is_some_and(Tensor::renew) {
            return Ok(None);
        }
        let Some(tensor) = tensor.take() else { return Ok(None) };
        tell(&[(&tensor, Access::Write)])?;
        Ok(Some(ExclusiveTensor(tensor)))
    }

    pub(crate) fn dtype(&self) -> DType {
        self.0.dtype()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// Writes elements from the one numbered `start` on.
    ///
    /// # Panics
    /// They are of another dtype, or there are not so many.
    #[inline]
    pub(crate) fn write<T: Element>(&mut self, start: usize, elements: &[T]) {
        assert_eq!(T::DTYPE, self.dtype(), "elements of the tensor's dtype");
        // SAFETY: the slice has so many bytes.
        unsafe { self.write_bytes(start, elements.as_ptr().cast(), elements.len()) };
    }

    /// Writes the elements of a dense tensor on the CPU, of the same dtype, from the one numbered
    /// `start` on. It waits for copies in flight into that tensor.
    ///
    /// # Errors
    /// Such a copy failed.
    ///
    /// # Panics
    /// The other tensor is none of that kind, or there are not so many elements.
    #[track_caller]
    pub(crate) fn write_tensor(&mut self, start: usize, source: &Tensor) -> Result<()> {
        let dtype = self.dtype();
        let memory = source.storage().host().filter(|_| source.is_contiguous());
        let memory: &HostMemory = memory.expect("a dense tensor on the CPU");
        assert_eq!(source.dtype(), dtype, "elements of the tensor's dtype");
        let held = hold("stack", &[(source, Access::Read)])?;
        let first = memory.start().wrapping_add(source.offset() * dtype.size());
        // SAFETY: the layout of a tensor lies inside its storage, which is held, so that nobody
        // writes or moves it.
        unsafe { self.write_bytes(start, first.cast_const(), source.numel()) };
        drop(held);
        Ok(())
    }

    /// # Safety
    /// From `source` on there are `count` elements of the tensor's dtype, which nobody writes.
    ///
    /// # Panics
    /// The tensor has no such elements.
    unsafe fn write_bytes(&mut self, start: usize, source: *const u8, count: usize) {
        let fits = start.checked_add(count).is_some_and(|end| end <= self.0.numel());
        assert!(fits, "{count} elements from {start} on, of {}", self.0.numel());
        let memory: &HostMemory = self.0.storage().host().expect("it is on the CPU");
        let size = self.dtype().size();
        // SAFETY: the tensor is dense and begins with its storage, so the elements lie inside of it
        // (asserted above); the source has as many (a condition of this function). It is memory of
        // something else: nobody else has a handle on this tensor's, and so nobody reads or writes
        // it either, since those who do hold one.
        unsafe { source.copy_to_nonoverlapping(memory.start().add(start * size), count * size) };
    }

    /// The tensor, whose elements are all written now.
    pub(crate) fn into_tensor(self) -> Tensor {
        self.0
    }
}
