//! Safe copies between buffers, slices and page-locked memory.

use std::ffi::c_uint;
use std::panic::Location;
use std::ptr;

use bytemuck::Pod;
use cuda_sys::{CUpointer_attribute, CUresult};

use crate::error::{CaptureProblem, Error, Result};
use crate::memory::{DeviceBuffer, PinnedBuffer};
use crate::order::{ordered, ordered_at};
use crate::queue::Pending;
use crate::stream::{Stream, captures};
use crate::types::{Access, WaitReason};
use crate::wait::WaitPermit;

/// Copies whose both ends are kept by what they are given or return. Each comes after earlier work
/// on the same buffers, on whichever stream that is.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::Device;
///
/// let stream = Device::get(0)?.default_stream()?;
/// let buffer = stream.copy_htod(&[1.0f32, 2.0, 3.0])?;
/// let back: Vec<f32> = stream.copy_dtoh(&buffer)?.wait()?;
/// assert_eq!(back, [1.0, 2.0, 3.0]);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
impl Stream {
    /// Copies a slice into new memory of this stream's device.
    ///
    /// The slice may be changed as soon as this returns. The driver stages it, so the copy itself
    /// may still be on its way; if the slice lies in page-locked memory, this waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and the driver's.
    #[track_caller]
    pub fn copy_htod<T: Pod>(&self, src: &[T]) -> Result<DeviceBuffer<T>> {
        self.copies_once("copy_htod")?;
        let mut dst = DeviceBuffer::new(self.device(), src.len())?;
        self.copy_htod_into(src, &mut dst)?;
        Ok(dst)
    }

    /// As [`copy_htod`](Stream::copy_htod), into memory that exists.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], and the driver's.
    #[track_caller]
    pub fn copy_htod_into<T: Pod>(&self, src: &[T], dst: &mut DeviceBuffer<T>) -> Result<()> {
        check_lengths("copy_htod_into", src.len(), dst.len())?;
        self.copies_once("copy_htod_into")?;
        let bytes: &[u8] = bytemuck::cast_slice(src);
        // A closure would not know its caller's place.
        let place = Location::caller();
        let copy = || {
            ordered_at(place, self, &[(dst.uses(), Access::Write)], || {
                // SAFETY: `dst` frees its memory only when its uses are over. `src` is borrowed until
                // the driver has staged it or, if that reads it later, until `lend` returns, when
                // the copy is done.
                unsafe { self.enqueue_htod(dst.ptr(), bytes.as_ptr(), bytes.len()) }
            })
        };
        // Before the copy is on its way: then it must be waited for.
        match self.is_page_locked(bytes.as_ptr(), bytes.len()) {
            true => self.lend(WaitPermit::ask(self.device(), WaitReason::Point)?, copy),
            false => copy(),
        }
    }

    /// Copies page-locked memory into new memory of this stream's device, and returns at once. The
    /// page-locked memory comes back when the copy is done.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and the driver's.
    #[track_caller]
    pub fn copy_htod_pinned<T: Pod + Send>(
        &self,
        src: PinnedBuffer<T>,
    ) -> Result<(DeviceBuffer<T>, Pending<PinnedBuffer<T>>)> {
        self.copies_once("copy_htod_pinned")?;
        let dst = DeviceBuffer::<T>::new(self.device(), src.len())?;
        ordered(self, &[(dst.uses(), Access::Write)], || {
            // SAFETY: `dst` frees its memory only when its uses are over, and `src` goes into what
            // is pending.
            unsafe { self.enqueue_htod(dst.ptr(), src.as_bytes_ptr(), dst.bytes()) }
        })?;
        Ok((dst, Pending::new(self.point(), move || src)))
    }

    /// Copies memory of a device to the host, and returns at once.
    ///
    /// The copy goes through page-locked memory that is allocated for it; who copies often keeps a
    /// [`PinnedBuffer`] and uses [`copy_dtoh_pinned`](Stream::copy_dtoh_pinned).
    ///
    /// # Errors
    /// [`Error::HostOutOfMemory`], and the driver's.
    #[track_caller]
    pub fn copy_dtoh<T: Pod + Send>(&self, src: &DeviceBuffer<T>) -> Result<Pending<Vec<T>>> {
        self.copies_once("copy_dtoh")?;
        let staging = PinnedBuffer::zeroed(src.len())?;
        Ok(self.copy_dtoh_pinned(src, staging)?.map(|arrived| arrived.to_vec()))
    }

    /// Copies memory of a device into page-locked memory, and returns at once. That memory comes
    /// back, filled, when the copy is done.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], and the driver's. `dst` is freed
    /// then.
    #[track_caller]
    pub fn copy_dtoh_pinned<T: Pod + Send>(
        &self,
        src: &DeviceBuffer<T>,
        dst: PinnedBuffer<T>,
    ) -> Result<Pending<PinnedBuffer<T>>> {
        check_lengths("copy_dtoh_pinned", src.len(), dst.len())?;
        self.copies_once("copy_dtoh_pinned")?;
        self.enqueue_read(src, dst.as_bytes_ptr())?;
        Ok(Pending::new(self.point(), move || dst))
    }

    /// Copies memory of a device into a slice, and blocks until it is there.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::HostOutOfMemory`], and the driver's.
    #[track_caller]
    pub fn copy_dtoh_into<T: Pod + Send>(
        &self,
        src: &DeviceBuffer<T>,
        dst: &mut [T],
    ) -> Result<()> {
        check_lengths("copy_dtoh_into", src.len(), dst.len())?;
        self.copies_once("copy_dtoh_into")?;
        let permit = WaitPermit::ask(self.device(), WaitReason::Point)?;
        let staging = PinnedBuffer::zeroed(src.len())?;
        dst.copy_from_slice(&self.copy_dtoh_pinned(src, staging)?.wait_with(permit)?);
        Ok(())
    }

    /// Copies memory of a device, within that device or to another one, and returns at once.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], and the driver's.
    #[track_caller]
    pub fn copy_dtod<T: Pod>(
        &self,
        src: &DeviceBuffer<T>,
        dst: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        check_lengths("copy_dtod", src.len(), dst.len())?;
        let operands = [(src.uses(), Access::Read), (dst.uses(), Access::Write)];
        let (to, from, bytes) = (dst.ptr(), src.ptr(), src.bytes());
        ordered(self, &operands, || {
            if src.device() == self.device() && dst.device() == self.device() {
                // SAFETY: both buffers free their memory only when their uses are over.
                return unsafe { self.enqueue_dtod(to, from, bytes) };
            }
            // SAFETY: both buffers free their memory only when their uses are over.
            unsafe { self.enqueue_peer(to, dst.device(), from, src.device(), bytes) }
        })
    }

    /// Fails where the stream is being captured, so that a copy which gives something back cannot be
    /// enqueued.
    pub(crate) fn copies_once(&self, operation: &'static str) -> Result<()> {
        match captures::joined(self)? {
            None => Ok(()),
            Some(_) => {
                let hint = "; enqueue_htod and enqueue_dtoh copy at each launch";
                Err(Error::Capture { operation, problem: CaptureProblem::Once { hint } })
            }
        }
    }

    /// Enqueues the copy of a buffer to page-locked memory at `dst`, which the caller keeps.
    #[track_caller]
    fn enqueue_read<T: Pod>(&self, src: &DeviceBuffer<T>, dst: *mut u8) -> Result<()> {
        ordered(self, &[(src.uses(), Access::Read)], || {
            // SAFETY: `src` frees its memory only when its uses are over; the caller keeps `dst`,
            // which is as long, until the copy is done.
            unsafe { self.enqueue_dtoh(dst, src.ptr(), src.bytes()) }
        })
    }

    /// Whether the driver knows either end of memory of the host, or may know it: then it copies from
    /// it and to it directly, later.
    pub(crate) fn is_page_locked(&self, start: *const u8, bytes: usize) -> bool {
        let ends = [start, start.wrapping_add(bytes.saturating_sub(1))];
        bytes > 0 && ends.into_iter().any(|byte| self.is_known(byte.addr() as u64))
    }

    /// Whether the driver has allocated or locked the memory there. Only if it says that it has not,
    /// it has not: in a thread without a context, say, it has no answer.
    fn is_known(&self, address: u64) -> bool {
        if self.state().bind().is_err() {
            return true;
        }
        let mut kind: c_uint = 0;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        // SAFETY: `kind` is writable and as large as this attribute; the address is not read.
        let known = unsafe {
            let kind = ptr::from_mut(&mut kind).cast();
            (self.state().driver.cuPointerGetAttribute)(kind, attribute, address)
        };
        known != CUresult::CUDA_ERROR_INVALID_VALUE
    }
}

fn check_lengths(
    operation: &'static str,
    source_length: usize,
    destination_length: usize,
) -> Result<()> {
    if source_length == destination_length {
        return Ok(());
    }
    Err(Error::LengthMismatch { operation, source_length, destination_length })
}
