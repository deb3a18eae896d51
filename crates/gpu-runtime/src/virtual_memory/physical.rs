//! Physical memory without an address.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::{CUmemGenericAllocationHandle as Handle, CUresult};

use super::{VirtualMemory, memory_on};
use crate::device::{check, software, teardown};
use crate::error::{Error, MappingProblem, Result};
use crate::memory::with_room;
use crate::observe::Freed;
use crate::queue::retired;
use crate::types::{Allocation, Device, DevicePtr};

/// Physical memory of one device, from [`VirtualMemory::create`]. Clones are the same memory.
///
/// It goes back to the device when nobody holds it and nothing maps it any more. To give it back is
/// a call to the driver.
#[derive(Clone)]
pub struct PhysicalMemory(Arc<PhysicalHandle>);

struct PhysicalHandle {
    virtual_memory: VirtualMemory,
    handle: Handle,
    bytes: usize,
    place: u64,
}

/// From here on, numbers are places in physical memory and no addresses.
const FIRST_PLACE: u64 = 1 << 63;

impl PhysicalMemory {
    #[track_caller]
    pub(super) fn create(virtual_memory: VirtualMemory, bytes: usize) -> Result<PhysicalMemory> {
        static NEXT: AtomicU64 = AtomicU64::new(FIRST_PLACE);
        let device = virtual_memory.device;
        if bytes == 0 || !virtual_memory.is_aligned(bytes) {
            let problem = MappingProblem::Granularity { granularity: virtual_memory.granularity() };
            let operation = "create physical memory";
            return Err(Error::Mapping { operation, device, offset: 0, bytes, problem });
        }
        retired::collect_values();
        let handle = with_room(device, bytes, || try_create(virtual_memory, bytes))?;
        let place = NEXT.fetch_add(bytes as u64, Ordering::Relaxed);
        let memory =
            PhysicalMemory(Arc::new(PhysicalHandle { virtual_memory, handle, bytes, place }));
        let (start, place) = (memory.told_as(), Location::caller());
        let device = Some(device);
        Allocation { start, bytes, device, stream: None, is_part: false, place }.tell();
        Ok(memory)
    }

    /// Says that a cache has the memory: the software driver's list of what a program has not given back
    /// leaves out the handle of it. What is mapped is told apart.
    pub fn mark_cached(&self) {
        software::keep_object(self.0.handle);
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.0.virtual_memory.device
    }

    /// The size, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    pub(super) fn handle(&self) -> Handle {
        self.0.handle
    }

    /// The location among all physical memory: no two pieces ever overlap.
    pub(super) fn place(&self) -> u64 {
        self.0.place
    }

    fn told_as(&self) -> DevicePtr {
        DevicePtr::from_address(self.0.place)
    }
}

/// Nothing if the device has not enough memory left.
fn try_create(virtual_memory: VirtualMemory, bytes: usize) -> Result<Option<Handle>> {
    let state = virtual_memory.state();
    state.bind()?;
    let (mut handle, wanted): (Handle, _) = (0, memory_on(state));
    // SAFETY: `handle` is writable, and `wanted` lives until the call returns.
    let result = unsafe { (virtual_memory.functions().create)(&mut handle, bytes, &wanted, 0) };
    if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return Ok(None);
    }
    check::on_device(state, "cuMemCreate", result)?;
    Ok(Some(handle))
}

impl Drop for PhysicalHandle {
    fn drop(&mut self) {
        Freed::whole(DevicePtr::from_address(self.place), self.bytes).tell();
        teardown::destroy(self.virtual_memory.state(), "cuMemRelease", |_| {
            // SAFETY: the handle came from `cuMemCreate`, and is released here only.
            unsafe { (self.virtual_memory.functions().release)(self.handle) }
        });
    }
}

impl fmt::Debug for PhysicalMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PhysicalMemory({} bytes of {})", self.bytes(), self.device())
    }
}
