//! Memory of the host that one owner writes without a lock, since nobody else knows it.

use gpu_runtime::Access;

use super::hold::{hold, tell};
use crate::resolved_device::ResolvedDevice;
use crate::storage::{Fresh, HostMemory};
use crate::{DType, Element, Result, Shape, Tensor};

/// A dense tensor on the CPU that nobody else has a handle on, nor on its memory, and that no
/// device uses. Its elements may have any value until they are written.
pub(crate) struct ExclusiveTensor {
    tensor: Tensor,
    /// Whether all elements were written at some time.
    is_initialised: bool,
}

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
        Ok(ExclusiveTensor { tensor, is_initialised: false })
    }

    /// A tensor that was handed out, with all elements written, once everybody is done with it.
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
        Ok(Some(ExclusiveTensor { tensor, is_initialised: true }))
    }

    fn dtype(&self) -> DType {
        self.tensor.dtype()
    }

    /// The `count` elements from the one numbered `start` on: zero, or what they were when the tensor
    /// was handed out.
    ///
    /// # Panics
    /// They are of another dtype, or there are not so many.
    pub(crate) fn elements_mut<T: Element>(&mut self, start: usize, count: usize) -> &mut [T] {
        assert_eq!(T::DTYPE, self.dtype(), "elements of the tensor's dtype");
        let first = self.place(start, count).cast::<T>();
        if count == 0 {
            return &mut [];
        }
        if !self.is_initialised {
            // SAFETY: `place` gives so many elements, of memory that nobody else knows.
            unsafe { first.write_bytes(0, count) };
        }
        // SAFETY: as above; memory of the host is aligned for every element. They are initialised:
        // zero is an element of each type, or all were written as elements of this dtype. Nobody
        // else has a handle on them for as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(first, count) }
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
        let bytes = count * self.dtype().size();
        // SAFETY: `place` gives so many elements, and the source has as many (a condition of this
        // function). It is memory of something else: nobody else has a handle on this tensor's, and
        // so nobody reads or writes it either, since those who do hold one.
        unsafe { source.copy_to_nonoverlapping(self.place(start, count), bytes) };
    }

    /// The address of the element numbered `start`, from which on there are `count`.
    ///
    /// # Panics
    /// There are not so many.
    fn place(&self, start: usize, count: usize) -> *mut u8 {
        let fits = start.checked_add(count).is_some_and(|end| end <= self.tensor.numel());
        assert!(fits, "{count} elements from {start} on, of {}", self.tensor.numel());
        let memory: &HostMemory = self.tensor.storage().host().expect("it is on the CPU");
        // The tensor is dense and begins with its storage.
        memory.start().wrapping_add(start * self.dtype().size())
    }

    /// The tensor, whose elements are all written now.
    pub(crate) fn into_tensor(self) -> Tensor {
        self.tensor
    }
}
