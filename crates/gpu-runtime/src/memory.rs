//! Memory of devices and page-locked memory of the host, straight from the driver.

use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::ptr::{NonNull, null_mut};

use cuda_sys::{CUdeviceptr, CUresult};

use crate::check;
use crate::device::Device;
use crate::device_state::DeviceState;
use crate::error::{Error, Result};
use crate::graph;
use crate::observe::{Allocation, Freed};
use crate::retired;
use crate::software::Kept;
use crate::teardown;

/// What `cuMemHostAlloc` calls `CU_MEMHOSTALLOC_PORTABLE`: page-locked for all contexts.
const PORTABLE: u32 = 1;

/// An address in a device's memory. It is a number: whoever uses it keeps the memory behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(transparent)]
pub struct DevicePtr(u64);

impl DevicePtr {
    /// The address of nothing.
    pub const fn null() -> DevicePtr {
        DevicePtr(0)
    }

    /// The address that a number stands for.
    pub const fn from_address(address: u64) -> DevicePtr {
        DevicePtr(address)
    }

    /// Whether it is the address of nothing.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `bytes` further on.
    pub const fn offset(self, bytes: usize) -> DevicePtr {
        DevicePtr(self.0.wrapping_add(bytes as u64))
    }

    /// The number.
    pub const fn address(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for DevicePtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePtr({:#x})", self.0)
    }
}

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
    /// [`Error::OutOfMemory`] if the device has not enough left; [`Error::Capture`] if a capture
    /// forbids it ([`CaptureMode`](crate::CaptureMode)).
    #[track_caller]
    pub fn new(device: Device, bytes: usize) -> Result<DeviceAllocation> {
        graph::permit("allocate memory of a device")?;
        retired::collect_values();
        let ptr = match bytes {
            0 => DevicePtr::null(),
            _ => with_room(device, bytes, || try_allocate(device.state(), bytes))?,
        };
        tell_of(ptr, bytes, Some(device));
        Ok(DeviceAllocation { device, ptr, bytes })
    }

    /// Where it begins.
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The same as what is kept for reuse.
    pub(crate) fn kept(&self) -> Kept {
        Kept::memory(self.ptr, self.bytes)
    }
}

impl Drop for DeviceAllocation {
    fn drop(&mut self) {
        if !self.ptr.is_null() {
            Freed::whole(self.ptr, self.bytes).tell();
            teardown::destroy(self.device.state(), "cuMemFree_v2", |driver| {
                // SAFETY: the address came from `cuMemAlloc_v2`, and is freed here only.
                unsafe { (driver.cuMemFree_v2)(self.ptr.0) }
            });
        }
    }
}

impl fmt::Debug for DeviceAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceAllocation({} bytes at {:#x} on {})", self.bytes, self.ptr.0, self.device)
    }
}

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
        graph::permit("allocate page-locked memory")?;
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

    /// The same as what is kept for reuse.
    pub(crate) fn kept(&self) -> Kept {
        Kept::memory(self.told_as(), self.bytes)
    }

    /// The address by which observers know it.
    fn told_as(&self) -> DevicePtr {
        DevicePtr::from_address(self.start.addr().get() as u64)
    }

    /// Where it begins. Reading and writing there is up to the owner, who knows what is in flight.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Its size.
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

/// Tells observers of memory that the driver gave.
#[inline]
#[track_caller]
fn tell_of(start: DevicePtr, bytes: usize, device: Option<Device>) {
    let place = Location::caller();
    Allocation { start, bytes, device, stream: None, is_part: false, place }.tell();
}

/// What `take` takes of a device's memory, or nothing if that has not enough left: then again, if
/// anything that was dropped has been given back since.
pub(crate) fn with_room<T>(
    device: Device,
    bytes: usize,
    take: impl Fn() -> Result<Option<T>>,
) -> Result<T> {
    let state = device.state();
    if !state.retired.is_empty() && state.is_idle() {
        state.retired.collect();
    }
    let gone = state.retired.gone();
    if let Some(taken) = take()? {
        return Ok(taken);
    }
    // Now it is worth the wait.
    state.retired.collect();
    // By this thread or another one.
    if state.retired.gone() != gone
        && let Some(taken) = take()?
    {
        return Ok(taken);
    }
    Err(out_of_memory(device, bytes)?)
}

/// The error that says so.
pub(crate) fn out_of_memory(device: Device, bytes: usize) -> Result<Error> {
    let info = device.memory_info()?;
    Ok(Error::OutOfMemory { device, bytes, free: info.free, total: info.total })
}

/// The current device, or another one if it is lost: page-locked memory is that of all devices.
fn any_usable() -> Result<Device> {
    let current = Device::current()?;
    let usable = |device: &Device| device.usable().is_ok();
    let other = || Device::all().ok()?.into_iter().find(usable);
    Ok(if usable(&current) { current } else { other().unwrap_or(current) })
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
    Ok(Some(DevicePtr(ptr)))
}

/// An address for no memory, aligned for every plain type.
fn dangling() -> NonNull<u8> {
    NonNull::<u128>::dangling().cast()
}
