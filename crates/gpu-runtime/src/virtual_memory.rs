//! Virtual memory management: addresses and physical memory of a device, each taken by itself and
//! put together by the program.

mod addresses;
mod functions;
mod mappings;
mod physical;

use std::fmt;

use cuda_sys::{
    CUdevice_attribute, CUmemAllocationGranularity_flags as Granularity, CUmemAllocationHandleType,
    CUmemAllocationProp, CUmemAllocationProp_st__bindgen_ty_1, CUmemAllocationType, CUmemLocation,
    CUmemLocationType,
};

use crate::device::{DeviceState, PerDevice, TryOnce, check, properties};
use crate::error::Result;
use crate::types::Device;
pub use addresses::AddressRange;
use functions::Functions;
pub(crate) use mappings::{AddressRun, address_runs, close_to, open_to};
pub use physical::PhysicalMemory;

/// A device's virtual memory management, which [`Device::virtual_memory`] gives where there is any.
///
/// Addresses are [reserved](VirtualMemory::reserve) without any memory, and physical memory is
/// [created](VirtualMemory::create) without any address. It can be mapped at several addresses at a
/// time, and at other ones later: so a range of addresses grows in place, and memory moves to where
/// it is needed without being copied.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::Device;
///
/// let device = Device::get(0)?;
/// let Some(virtual_memory) = device.virtual_memory()? else { return Ok(()) };
/// let page = virtual_memory.granularity();
/// let mut addresses = virtual_memory.reserve(4 * page)?;
/// let memory = virtual_memory.create(page)?;
/// // The same bytes at two addresses.
/// for offset in [0, 3 * page] {
///     addresses.map(offset, &memory)?;
///     addresses.set_access(offset..offset + page)?;
/// }
/// let (first, last) = (addresses.ptr(), addresses.ptr().offset(3 * page));
/// let (stream, mut back) = (device.default_stream()?, [0u8; 4]);
/// // SAFETY: both are mapped until the stream is synchronized, and `back` lives as long.
/// unsafe {
///     stream.enqueue_fill(first, 7, page)?;
///     stream.enqueue_dtoh(back.as_mut_ptr(), last, 4)?;
/// }
/// stream.synchronize()?;
/// assert_eq!(back, [7; 4]);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct VirtualMemory {
    device: Device,
    support: &'static Support,
}

/// The driver's functions and the granularity of a device, found out once.
struct Support {
    functions: Functions,
    granularity: usize,
}

static SUPPORT: PerDevice<TryOnce<Option<Support>>> = PerDevice::new();

impl Device {
    /// The device's virtual memory management; nothing if the device or its driver has none. The
    /// first call asks the driver. It creates no context.
    ///
    /// # Errors
    /// The driver's.
    pub fn virtual_memory(self) -> Result<Option<VirtualMemory>> {
        let support = SUPPORT.of(self).get_or_try_init(|| Support::of(self.state()))?;
        Ok(support.as_ref().map(|support| VirtualMemory { device: self, support }))
    }
}

impl VirtualMemory {
    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Sizes and offsets of all calls are multiples of so many bytes: 2 MiB on today's devices.
    pub fn granularity(&self) -> usize {
        self.support.granularity
    }

    /// Reserves addresses, which take no memory.
    ///
    /// # Errors
    /// [`Error::OutOfAddresses`](crate::Error::OutOfAddresses) if there is no such range left;
    /// [`Error::Mapping`](crate::Error::Mapping) for a size that is no multiple of the granularity.
    pub fn reserve(&self, bytes: usize) -> Result<AddressRange> {
        AddressRange::reserve(*self, bytes)
    }

    /// Creates physical memory, with any contents.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has not enough left;
    /// [`Error::Mapping`](crate::Error::Mapping) for a size that is no multiple of the granularity.
    #[track_caller]
    pub fn create(&self, bytes: usize) -> Result<PhysicalMemory> {
        PhysicalMemory::create(*self, bytes)
    }

    fn state(&self) -> &'static DeviceState {
        self.device.state()
    }

    fn functions(&self) -> &'static Functions {
        &self.support.functions
    }

    /// Whether a size or an offset is a multiple of the granularity.
    fn is_aligned(&self, bytes: usize) -> bool {
        bytes.is_multiple_of(self.support.granularity)
    }
}

impl fmt::Debug for VirtualMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VirtualMemory({}, {} bytes a page)", self.device, self.granularity())
    }
}

impl Support {
    fn of(state: &DeviceState) -> Result<Option<Support>> {
        let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
        let functions = Functions::of(state.driver);
        let Some(functions) = functions else { return Ok(None) };
        if properties::get(state, supported)? == 0 {
            return Ok(None);
        }
        let mut granularity = 0;
        let (wanted, option) = (memory_on(state), Granularity::CU_MEM_ALLOC_GRANULARITY_MINIMUM);
        // SAFETY: `granularity` is writable, and `wanted` lives until the call returns.
        let got = unsafe { (functions.granularity)(&mut granularity, &wanted, option) };
        check::on_device(state, "cuMemGetAllocationGranularity", got)?;
        Ok((granularity > 0).then_some(Support { functions, granularity }))
    }
}

/// The properties of physical memory to be created: on a device, and for this process alone.
fn memory_on(state: &DeviceState) -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: location(state),
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

fn location(state: &DeviceState) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: state.raw }
}
