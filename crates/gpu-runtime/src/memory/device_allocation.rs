//! Memory of devices, straight from the driver.

use std::fmt;

use cuda_sys::{CUdeviceptr, CUresult};

use super::room::with_room;
use super::tell_of;
use crate::device::{CachedItem, DeviceState, check, teardown};
use crate::error::Result;
use crate::observe::Freed;
use crate::queue::retired;
use crate::stream::captures;
use crate::types::{Device, DevicePtr};

/// Memory of one device, freed when dropped.
///
/// To allocate it and to drop it are calls to the driver, and NVIDIA's waits for the whole device
/// in the latter; the crate `gpu-alloc` keeps such memory and shares it out. It is freed at once
/// when dropped: whoever enqueues work on it keeps it until the work is done. A
/// [`DeviceBuffer`](crate::DeviceBuffer) does that by itself, and is dropped without waiting.
pub struct DeviceAllocation {
    device: Device,
    ptr: DevicePtr,
    bytes: usize,
}

impl DeviceAllocation {
    /// Allocates memory, aligned to 256 bytes or better and with any contents. No bytes are no
    /// memory: the address is null.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has not enough left; [`Error::Capture`](crate::Error::Capture) if a capture
    /// forbids it ([`CaptureMode`](crate::CaptureMode)).
    #[track_caller]
    pub fn new(device: Device, bytes: usize) -> Result<DeviceAllocation> {
        captures::permit("allocate memory of a device")?;
        retired::collect_values();
        let ptr = match bytes {
            0 => DevicePtr::null(),
            _ => with_room(device, bytes, || try_allocate(device.state(), bytes))?,
        };
        tell_of(ptr, bytes, Some(device));
        Ok(DeviceAllocation { device, ptr, bytes })
    }

    /// The first address.
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// The size, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The memory as the list of what is kept for reuse has it.
    pub(crate) fn as_cached(&self) -> CachedItem {
        CachedItem::memory(self.ptr, self.bytes)
    }
}

impl Drop for DeviceAllocation {
    fn drop(&mut self) {
        if !self.ptr.is_null() {
            Freed::whole(self.ptr, self.bytes).tell();
            teardown::destroy(self.device.state(), "cuMemFree_v2", |driver| {
                // SAFETY: the address came from `cuMemAlloc_v2`, and is freed here only.
                unsafe { (driver.cuMemFree_v2)(self.ptr.address()) }
            });
        }
    }
}

impl fmt::Debug for DeviceAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceAllocation({} bytes at {:#x} on {})",
            self.bytes,
            self.ptr.address(),
            self.device
        )
    }
}

/// Nothing if the device has not enough memory left.
fn try_allocate(state: &DeviceState, bytes: usize) -> Result<Option<DevicePtr>> {
    state.bind()?;
    let mut ptr: CUdeviceptr = 0;
    // SAFETY: `ptr` is writable, and the device's context is current.
    let result = unsafe { (state.driver.cuMemAlloc_v2)(&mut ptr, bytes) };
    if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return Ok(None);
    }
    check::on_device(state, "cuMemAlloc_v2", result)?;
    Ok(Some(DevicePtr::from_address(ptr)))
}
