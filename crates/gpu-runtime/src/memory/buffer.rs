//! Typed memory for users of this crate alone: on a device, and page-locked on the host.

use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use bytemuck::Pod;

use super::{DeviceAllocation, HostAllocation};
use crate::error::Result;
use crate::order::ordered;
use crate::queue::retired;
use crate::stream::Stream;
use crate::types::{Access, Device, DevicePtr};
use crate::uses::Uses;

/// `T`s in the memory of a device, with a record of who uses them.
///
/// Copies and launches that are given a buffer order themselves after earlier ones on other streams
/// ([`ordered`](crate::ordered)). It may be dropped while work on it is on its way, and nobody
/// waits: the memory is freed once that is done, where the device is next synchronized, or where
/// memory is allocated and the device has nothing to do or none left. What graphs use is kept until
/// the last of them is gone ([`Graph`](crate::Graph)).
pub struct DeviceBuffer<T: Pod> {
    /// Taken out by `Drop` only.
    allocation: Option<DeviceAllocation>,
    /// The address that a kernel gets for this buffer.
    ptr: DevicePtr,
    len: usize,
    uses: Arc<Uses>,
    _elements: PhantomData<T>,
}

impl<T: Pod> DeviceBuffer<T> {
    /// Memory for `len` elements, with any contents.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has not enough left.
    #[track_caller]
    pub fn new(device: Device, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = len.saturating_mul(mem::size_of::<T>());
        let allocation = DeviceAllocation::new(device, bytes)?;
        Ok(DeviceBuffer {
            ptr: allocation.ptr(),
            allocation: Some(allocation),
            len,
            uses: Uses::shared(),
            _elements: PhantomData,
        })
    }

    /// Memory for `len` elements on the stream's device, set to zero there.
    ///
    /// # Errors
    /// As [`DeviceBuffer::new`], and the driver's.
    #[track_caller]
    pub fn zeroed(stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        let buffer = DeviceBuffer::new(stream.device(), len)?;
        ordered(stream, &[(buffer.uses(), Access::Write)], || {
            // SAFETY: the buffer frees its memory only when its uses are over, and this is one.
            unsafe { stream.enqueue_fill(buffer.ptr, 0, buffer.bytes()) }
        })?;
        Ok(buffer)
    }

    /// The address of the first element.
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The size of the elements in bytes.
    pub fn bytes(&self) -> usize {
        self.len * mem::size_of::<T>()
    }

    /// The device in whose memory the elements are.
    pub fn device(&self) -> Device {
        let allocation = self.allocation.as_ref();
        allocation.expect("it is taken only when the buffer is dropped").device()
    }

    /// The uses of the elements, for [`ordered`](crate::ordered).
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    pub(crate) fn address_of_ptr(&self) -> *const DevicePtr {
        &self.ptr
    }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if let Some(allocation) = self.allocation.take() {
            self.uses.release(None, |uses| {
                let until = uses.points_to_free().collect();
                let retired = retired::of_device(allocation.device());
                retired.keep_known(until, allocation.as_cached(), allocation);
            });
        }
    }
}

impl<T: Pod> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} elements at {:?} on {})", self.len, self.ptr, self.device())
    }
}

/// `T`s in page-locked memory of the host: a slice that devices copy from and to without a detour.
///
/// A copy takes the buffer by value and gives it back when it is done, so nobody can touch what is
/// being copied. To drop a buffer waits for nothing: its memory is freed where such memory is next
/// allocated.
pub struct PinnedBuffer<T: Pod> {
    /// Taken out by `Drop` only.
    allocation: Option<HostAllocation>,
    start: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its elements, which are plain data.
unsafe impl<T: Pod + Send> Send for PinnedBuffer<T> {}
// SAFETY: a shared reference gives nothing but shared elements, which are plain data.
unsafe impl<T: Pod + Sync> Sync for PinnedBuffer<T> {}

impl<T: Pod> PinnedBuffer<T> {
    /// `len` elements, all zero.
    ///
    /// # Errors
    /// [`Error::HostOutOfMemory`](crate::Error::HostOutOfMemory) if the system gives no more
    /// page-locked memory.
    #[track_caller]
    pub fn zeroed(len: usize) -> Result<PinnedBuffer<T>> {
        let bytes = len.saturating_mul(mem::size_of::<T>());
        let allocation = HostAllocation::new(bytes)?;
        // SAFETY: the allocation is new, writable and has `bytes` bytes.
        unsafe { allocation.as_ptr().write_bytes(0, bytes) };
        let start = NonNull::new(allocation.as_ptr().cast()).unwrap_or(NonNull::dangling());
        Ok(PinnedBuffer { allocation: Some(allocation), start, len })
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// As [`PinnedBuffer::zeroed`].
    #[track_caller]
    pub fn from_slice(elements: &[T]) -> Result<PinnedBuffer<T>> {
        let mut buffer = PinnedBuffer::zeroed(elements.len())?;
        buffer.copy_from_slice(elements);
        Ok(buffer)
    }

    pub(crate) fn as_bytes_ptr(&self) -> *mut u8 {
        self.start.as_ptr().cast()
    }
}

impl<T: Pod> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if let Some(allocation) = self.allocation.take() {
            retired::HOST_MEMORY.keep_known(Vec::new(), allocation.as_cached(), allocation);
        }
    }
}

impl<T: Pod> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory was initialised for `len` elements at an address aligned to a page;
        // any bytes are a `T`; a device that copies here owns the buffer meanwhile.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the memory was initialised for `len` elements at an address aligned to a page; any bytes
        // are a `T`; the buffer is borrowed mutably, and a device that copies here owns it meanwhile.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PinnedBuffer").field(&&**self).finish()
    }
}
