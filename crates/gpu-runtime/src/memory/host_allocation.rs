//! Page-locked memory of the host, straight from the driver.

use std::ffi::c_void;
use std::fmt;
use std::ptr::{NonNull, null_mut};

use cuda_sys::CUresult;

use super::tell_of;
use crate::device::{CachedItem, check, teardown};
use crate::error::{Error, Result};
use crate::observe::Freed;
use crate::queue::retired;
use crate::stream::captures;
use crate::types::{Device, DevicePtr};

/// The flag `CU_MEMHOSTALLOC_PORTABLE` of `cuMemHostAlloc`: page-locked for all contexts.
const PORTABLE: u32 = 1;

/// Page-locked memory of the host, freed when dropped: every device copies from and to it without a
/// detour, and reaches it from kernels.
///
/// To allocate it and to drop it is slow, and waits for all devices. It is freed at once when
/// dropped: whoever enqueues a copy keeps it until the copy is done. A
/// [`PinnedBuffer`](crate::PinnedBuffer) is dropped without waiting.
pub struct HostAllocation {
    /// The device whose context was current; `None` where there is no memory behind it.
    device: Option<Device>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it owns its memory, which is the process's and not a thread's.
unsafe impl Send for HostAllocation {}
// SAFETY: a shared reference gives nothing but the address.
unsafe impl Sync for HostAllocation {}

impl HostAllocation {
    /// Allocates page-locked memory, aligned to a page and with any contents. No bytes are no
    /// memory: the address is one that may not be read.
    ///
    /// # Errors
    /// [`Error::HostOutOfMemory`] if the system gives no more; [`Error::Capture`] if a capture
    /// forbids it ([`CaptureMode`](crate::CaptureMode)).
    #[track_caller]
    pub fn new(bytes: usize) -> Result<HostAllocation> {
        captures::permit("allocate page-locked memory")?;
        retired::collect_values();
        retired::HOST_MEMORY.collect();
        if bytes == 0 {
            return Ok(HostAllocation { device: None, start: dangling(), bytes });
        }
        let device = any_usable()?;
        let state = device.state();
        state.bind()?;
        let mut start: *mut c_void = null_mut();
        // SAFETY: `start` is writable, and the device's context is current.
        let result = unsafe { (state.driver.cuMemHostAlloc)(&mut start, bytes, PORTABLE) };
        if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(Error::HostOutOfMemory { bytes });
        }
        check::on_device(state, "cuMemHostAlloc", result)?;
        match NonNull::new(start.cast()) {
            Some(start) => {
                let memory = HostAllocation { device: Some(device), start, bytes };
                tell_of(memory.told_as(), bytes, None);
                Ok(memory)
            }
            None => Err(Error::HostOutOfMemory { bytes }),
        }
    }

    /// The memory as the list of what is kept for reuse has it.
    pub(crate) fn as_cached(&self) -> CachedItem {
        CachedItem::memory(self.told_as(), self.bytes)
    }

    /// The address by which observers know it.
    fn told_as(&self) -> DevicePtr {
        DevicePtr::from_address(self.start.addr().get() as u64)
    }

    /// The address of the first byte. Reading and writing there is up to the owner, who knows what is in
    /// flight.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The size, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for HostAllocation {
    fn drop(&mut self) {
        if let Some(device) = self.device {
            Freed::whole(self.told_as(), self.bytes).tell();
            teardown::destroy(device.state(), "cuMemFreeHost", |driver| {
                // SAFETY: the address came from `cuMemHostAlloc`, and is freed here only.
                unsafe { (driver.cuMemFreeHost)(self.start.as_ptr().cast()) }
            });
        }
    }
}

impl fmt::Debug for HostAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostAllocation({} bytes at {:p})", self.bytes, self.start)
    }
}

/// The current device, or another one if it is lost: page-locked memory is that of all devices.
fn any_usable() -> Result<Device> {
    let current = Device::current()?;
    let usable = |device: &Device| device.usable().is_ok();
    let other = || Device::all().ok()?.into_iter().find(usable);
    Ok(if usable(&current) { current } else { other().unwrap_or(current) })
}

/// An address for no memory, aligned for every plain type.
fn dangling() -> NonNull<u8> {
    NonNull::<u128>::dangling().cast()
}
