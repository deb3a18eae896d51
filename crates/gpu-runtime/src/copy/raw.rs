//! Raw copies and fills: enqueued, never waited for, with both ends in the caller's care.

use std::ffi::c_void;
use std::panic::Location;

use cuda_sys::{CUresult, CUstream, Driver};

use super::peer_link;
use crate::error::{CaptureProblem, Error, Result};
use crate::observe::{self, at_place};
use crate::queue::enqueue;
use crate::stream::{Request, Stream, captures};
use crate::types::{Device, DevicePtr, Direction, MemoryAccess, WaitReason, Work, WorkId};
use crate::wait::{WaitMode, WaitPermit, wait_mode, waited};

/// Copies for those who manage memory themselves. [`copy_htod`](Stream::copy_htod) and its like are
/// the safe ones.
impl Stream {
    /// Enqueues a copy from the host to this stream's device.
    ///
    /// From pageable memory the driver first takes a copy of its own and returns when it has it;
    /// from page-locked memory it returns at once.
    ///
    /// # Errors
    /// The driver's, if it does not take the copy; [`Error::Capture`] for pageable memory where the
    /// stream is being captured. After any error neither end is in use: the copy was not taken, or
    /// it is over, or its device is lost.
    ///
    /// # Safety
    /// `src` is readable and `dst` is memory of a device, both for `bytes` bytes and until the copy
    /// is done. Nobody writes the one or uses the other meanwhile, unless ordered after the copy.
    #[track_caller]
    pub unsafe fn enqueue_htod(&self, dst: DevicePtr, src: *const u8, bytes: usize) -> Result<()> {
        self.permit_copy("enqueue_htod", src, bytes)?;
        let ends = [MemoryAccess::write(dst, bytes), MemoryAccess::read(host(src), bytes)];
        // From pageable memory the driver has read everything when it returns.
        let is_kept = observe::is_observed() && self.is_page_locked(src, bytes);
        let ends = if is_kept { &ends[..] } else { &ends[..1] };
        let (dst, src) = (dst.address(), src.cast::<c_void>());
        self.enqueue_copy(Direction::HostToDevice, "cuMemcpyHtoDAsync_v2", ends, |driver, raw| {
            // SAFETY: the caller promises that both ends are there until the copy is done.
            unsafe { (driver.cuMemcpyHtoDAsync_v2)(dst, src, bytes, raw) }
        })
    }

    /// Enqueues a copy from this stream's device to the host.
    ///
    /// To pageable memory the driver waits until the copy is done; to page-locked memory it returns
    /// at once.
    ///
    /// # Errors
    /// The driver's, if it does not take the copy; [`Error::Capture`] for pageable memory where the
    /// stream is being captured. After any error neither end is in use: the copy was not taken, or
    /// it is over, or its device is lost.
    ///
    /// # Safety
    /// `dst` is writable and `src` is memory of a device, both for `bytes` bytes and until the copy
    /// is done. Nobody uses the one or writes the other meanwhile, unless ordered after the copy.
    #[track_caller]
    pub unsafe fn enqueue_dtoh(&self, dst: *mut u8, src: DevicePtr, bytes: usize) -> Result<()> {
        self.permit_copy("enqueue_dtoh", dst, bytes)?;
        let ends = [MemoryAccess::write(host(dst), bytes), MemoryAccess::read(src, bytes)];
        let permit = self.permit_for_copy_to(dst, bytes)?;
        let (dst, src) = (dst.cast::<c_void>(), src.address());
        let (call, place) = ("cuMemcpyDtoHAsync_v2", Location::caller());
        let ends = if permit.is_some() { &ends[1..] } else { &ends[..] };
        let enqueue = || {
            at_place(place, || {
                self.enqueue_copy(Direction::DeviceToHost, call, ends, |driver, raw| {
                    // SAFETY: the caller promises that `dst` is writable and `src` readable, both for
                    // `bytes` bytes until the copy is done.
                    unsafe { (driver.cuMemcpyDtoHAsync_v2)(dst, src, bytes, raw) }
                })
            })
        };
        match permit {
            Some(permit) => {
                let awaited = WorkId { stream: self.id(), sequence: self.sequence() + 1 };
                waited(self.state(), permit, &[awaited], call, enqueue)
            }
            None => enqueue(),
        }
    }

    /// Enqueues a copy within this stream's device.
    ///
    /// # Errors
    /// The driver's, if it does not take the copy; [`Error::Capture`] if another thread has begun
    /// to capture the stream at the same moment. Also after an error the copy may be on its way.
    ///
    /// # Safety
    /// Both ends are memory of this stream's device for `bytes` bytes and until the copy is done,
    /// and do not overlap. Nobody uses `dst` or writes `src` meanwhile, unless ordered after the
    /// copy.
    #[track_caller]
    pub unsafe fn enqueue_dtod(&self, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()> {
        let ends = [MemoryAccess::write(dst, bytes), MemoryAccess::read(src, bytes)];
        let (dst, src) = (dst.address(), src.address());
        let direction = Direction::DeviceToDevice;
        self.enqueue_copy(direction, "cuMemcpyDtoDAsync_v2", &ends, |driver, raw| {
            // SAFETY: the caller promises that both are memory of this device for `bytes` bytes until
            // the copy is done.
            unsafe { (driver.cuMemcpyDtoDAsync_v2)(dst, src, bytes, raw) }
        })
    }

    /// Enqueues a copy from one device to another. It needs no peer access: without it, the driver
    /// goes through the host, and so does the runtime where the devices are known to be badly
    /// connected ([`Device::enable_peer_access`]). The stream may be one of either device.
    ///
    /// # Errors
    /// As for [`enqueue_dtod`](Stream::enqueue_dtod): also after an error the copy, or a part of
    /// it, may be on its way.
    ///
    /// # Safety
    /// `dst` is memory of `dst_device` and `src` of `src_device`, both for `bytes` bytes and until
    /// the copy is done. Nobody uses `dst` or writes `src` meanwhile, unless ordered after the
    /// copy.
    #[track_caller]
    pub unsafe fn enqueue_peer(
        &self,
        dst: DevicePtr,
        dst_device: Device,
        src: DevicePtr,
        src_device: Device,
        bytes: usize,
    ) -> Result<()> {
        match peer_link::staging(src_device, dst_device) {
            // SAFETY: both ends are memory of their devices until the copy is done, which the caller
            // promises of this function in the same words.
            Some(staging) if bytes > 0 => unsafe { staging.enqueue(self, dst, src, bytes) },
            // SAFETY: it asks of its caller what this function asks.
            _ => unsafe { self.enqueue_peer_directly(dst, dst_device, src, src_device, bytes) },
        }
    }

    /// Does the same as [`enqueue_peer`](Stream::enqueue_peer), and trusts the way between the
    /// devices.
    ///
    /// # Safety
    /// As for [`enqueue_peer`](Stream::enqueue_peer).
    #[track_caller]
    pub(crate) unsafe fn enqueue_peer_directly(
        &self,
        dst: DevicePtr,
        dst_device: Device,
        src: DevicePtr,
        src_device: Device,
        bytes: usize,
    ) -> Result<()> {
        let dst_context = dst_device.state().context()?.0;
        let src_context = src_device.state().context()?.0;
        let ends = [MemoryAccess::write(dst, bytes), MemoryAccess::read(src, bytes)];
        let (dst, src) = (dst.address(), src.address());
        self.enqueue_copy(Direction::PeerToPeer, "cuMemcpyPeerAsync", &ends, |driver, raw| {
            // SAFETY: the caller promises that both ends are memory of their devices for `bytes` bytes
            // until the copy is done; contexts are never released.
            unsafe { (driver.cuMemcpyPeerAsync)(dst, dst_context, src, src_context, bytes, raw) }
        })
    }

    /// Enqueues a fill of memory of this stream's device with one byte.
    ///
    /// # Errors
    /// As for [`enqueue_dtod`](Stream::enqueue_dtod): also after an error the fill may be on its
    /// way.
    ///
    /// # Safety
    /// `dst` is memory of this stream's device for `bytes` bytes and until the fill is done. Nobody
    /// uses it meanwhile, unless ordered after the fill.
    #[track_caller]
    pub unsafe fn enqueue_fill(&self, dst: DevicePtr, byte: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let accesses = &[MemoryAccess::write(dst, bytes)];
        let work = Work::Fill { bytes };
        let request = Request { accesses, ..Request::new(&work, "cuMemsetD8Async") };
        enqueue(self, &request, |driver, raw| {
            // SAFETY: the caller promises that `dst` is memory of this device for `bytes` bytes until
            // the fill is done.
            unsafe { (driver.cuMemsetD8Async)(dst.address(), byte, bytes, raw) }
        })
        .into_result()
    }

    /// Fails where a copy with the host cannot be enqueued: in a capture, only one can that the
    /// driver leaves to the device.
    fn permit_copy(&self, operation: &'static str, host: *const u8, bytes: usize) -> Result<()> {
        if bytes == 0 || captures::joined(self)?.is_none() || self.is_page_locked(host, bytes) {
            return Ok(());
        }
        Err(Error::Capture { operation, problem: CaptureProblem::Pageable })
    }

    /// Permission to wait for a copy to the host, where the driver waits for it and anybody wants
    /// to know. Only then is the driver asked what memory it is.
    #[track_caller]
    fn permit_for_copy_to(&self, dst: *mut u8, bytes: usize) -> Result<Option<WaitPermit>> {
        let unnoticed = wait_mode() == WaitMode::Off && !observe::is_observed();
        if unnoticed || bytes == 0 || self.is_page_locked(dst, bytes) {
            return Ok(None);
        }
        WaitPermit::ask(self.device(), WaitReason::PageableCopy).map(Some)
    }

    /// Copies end in an event at once: a copy that another stream waits for is typically a
    /// prefetch, and must not be waited for together with the prefetches after it.
    #[track_caller]
    fn enqueue_copy(
        &self,
        direction: Direction,
        call: &'static str,
        accesses: &[MemoryAccess],
        issue: impl FnMut(&Driver, CUstream) -> CUresult,
    ) -> Result<()> {
        let bytes = accesses.first().map_or(0, |end| end.bytes);
        if bytes == 0 {
            return Ok(());
        }
        let work = Work::Copy { direction, bytes };
        enqueue(self, &Request { accesses, ..Request::new(&work, call) }, issue).into_result()?;
        self.mark();
        Ok(())
    }
}

/// An address of the host: no device has the same.
fn host(start: *const u8) -> DevicePtr {
    DevicePtr::from_address(start.addr() as u64)
}
