//! The exported functions that answer.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong};
use std::ptr::without_provenance;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::CUdevice_attribute as Attribute;

use crate::bus::BusAddress;
use crate::devices::{Answer, ManagedDevice, count, driver};
use crate::status::ManagementStatus;

/// The number of initialisations that no shutdown has answered yet.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// A device's handle: the ordinal, and 1.
type DeviceHandle = *const ();

/// `nvmlMemory_t`: sizes in bytes.
#[repr(C)]
struct MemorySizes {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlMemory_v2_t`: sizes in bytes.
#[repr(C)]
struct VersionedMemorySizes {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlPciInfo_t`.
#[repr(C)]
struct BusPlace {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    id: c_uint,
    subsystem: c_uint,
    text: [c_char; 32],
}

/// `nvmlGpuP2PStatus_t`.
#[repr(transparent)]
struct PeerStatus(c_int);

impl PeerStatus {
    const OK: PeerStatus = PeerStatus(0);
    const NOT_SUPPORTED: PeerStatus = PeerStatus(5);

    /// The status of one aspect, `nvmlGpuP2PCapsIndex_t`, of what lies between two devices.
    fn of(aspect: c_int, reaches: bool) -> Answer<PeerStatus> {
        const READ: c_int = 0;
        const WRITE: c_int = 1;
        // Between them is what goes by NVLink, which no device of the driver API tells of.
        const ATOMICS: c_int = 3;
        const PCI: c_int = 4;
        match aspect {
            READ | WRITE | ATOMICS | PCI if reaches => Ok(PeerStatus::OK),
            READ..=PCI => Ok(PeerStatus::NOT_SUPPORTED),
            _ => Err(ManagementStatus::INVALID_ARGUMENT),
        }
    }
}

macro_rules! exported {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
        // SAFETY: nothing else in this library has the name.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some only compute")]
        unsafe extern "C" fn $name($($argument: $type),*) -> ManagementStatus {
            let call = || -> Answer {
                // SAFETY: the caller keeps to the C API: places that are not null are writable.
                unsafe { $body }
            };
            call().err().unwrap_or(ManagementStatus::SUCCESS)
        }
    )*};
}

exported! {
    fn nvmlInit() { initialise() }
    fn nvmlInit_v2() { initialise() }
    fn nvmlInitWithFlags(_flags: c_uint) { initialise() }
    fn nvmlShutdown() {
        let fewer = |users: usize| users.checked_sub(1);
        let before = USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        before.map(drop).map_err(|_| ManagementStatus::UNINITIALIZED)
    }
    fn nvmlSystemGetDriverVersion(text: *mut c_char, room: c_uint) {
        let version = cuda_version()?;
        write_text(text, room, &format!("{}.{}", version / 1000, version % 1000 / 10))
    }
    fn nvmlSystemGetNVMLVersion(text: *mut c_char, room: c_uint) {
        let version = cuda_version()?;
        write_text(text, room, &format!("{}.{}", version / 1000, version % 1000 / 10))
    }
    fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) { write(version, cuda_version()?) }
    fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) { write(version, cuda_version()?) }
    fn nvmlDeviceGetCount(number: *mut c_uint) { initialised()?; write(number, count()?) }
    fn nvmlDeviceGetCount_v2(number: *mut c_uint) { initialised()?; write(number, count()?) }
    fn nvmlDeviceGetHandleByIndex(index: c_uint, device: *mut DeviceHandle) { handle(index, device) }
    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut DeviceHandle) { handle(index, device) }
    fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut DeviceHandle) {
        if uuid.is_null() {
            return Err(ManagementStatus::INVALID_ARGUMENT);
        }
        initialised()?;
        let wanted = CStr::from_ptr(uuid).to_string_lossy();
        for index in 0..count()? {
            if ManagedDevice::new(index)?.uuid()? == wanted {
                return handle(index, device);
            }
        }
        Err(ManagementStatus::NOT_FOUND)
    }
    fn nvmlDeviceGetHandleByPciBusId(bus: *const c_char, device: *mut DeviceHandle) {
        handle_on_bus(bus, device)
    }
    fn nvmlDeviceGetHandleByPciBusId_v2(bus: *const c_char, device: *mut DeviceHandle) {
        handle_on_bus(bus, device)
    }
    fn nvmlDeviceGetIndex(device: DeviceHandle, index: *mut c_uint) { write(index, ordinal(device)?) }
    fn nvmlDeviceGetMinorNumber(device: DeviceHandle, number: *mut c_uint) {
        write(number, ordinal(device)?)
    }
    fn nvmlDeviceGetName(device: DeviceHandle, text: *mut c_char, room: c_uint) {
        write_text(text, room, &of(device)?.name()?)
    }
    fn nvmlDeviceGetUUID(device: DeviceHandle, text: *mut c_char, room: c_uint) {
        write_text(text, room, &of(device)?.uuid()?)
    }
    fn nvmlDeviceGetCudaComputeCapability(device: DeviceHandle, major: *mut c_int, minor: *mut c_int) {
        let device = of(device)?;
        let (first, second) = (
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        );
        write(major, device.attribute(first)?)?;
        write(minor, device.attribute(second)?)
    }
    fn nvmlDeviceGetMemoryInfo(device: DeviceHandle, memory: *mut MemorySizes) {
        let (free, total) = of(device)?.memory()?;
        let (free, total) = (free as c_ulonglong, total as c_ulonglong);
        write(memory, MemorySizes { total, free, used: total - free })
    }
    fn nvmlDeviceGetMemoryInfo_v2(device: DeviceHandle, memory: *mut VersionedMemorySizes) {
        let (free, total) = of(device)?.memory()?;
        let (free, total) = (free as c_ulonglong, total as c_ulonglong);
        if memory.is_null() {
            return Err(ManagementStatus::INVALID_ARGUMENT);
        }
        let version = (*memory).version;
        let used = total - free;
        write(memory, VersionedMemorySizes { version, total, reserved: 0, free, used })
    }
    fn nvmlDeviceGetP2PStatus(
        device: DeviceHandle, peer: DeviceHandle, aspect: c_int, status: *mut PeerStatus
    ) {
        let reaches = of(device)?.reaches(&of(peer)?)?;
        write(status, PeerStatus::of(aspect, reaches)?)
    }
    fn nvmlDeviceGetPciInfo(device: DeviceHandle, place: *mut BusPlace) { bus_place(device, place) }
    fn nvmlDeviceGetPciInfo_v3(device: DeviceHandle, place: *mut BusPlace) { bus_place(device, place) }
}

// SAFETY: nothing else in this library has the name.
#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(error: ManagementStatus) -> *const c_char {
    error.text().as_ptr()
}

fn initialise() -> Answer {
    driver()?;
    USERS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

fn initialised() -> Answer {
    let is_so = USERS.load(Ordering::Relaxed) > 0;
    if is_so { Ok(()) } else { Err(ManagementStatus::UNINITIALIZED) }
}

/// The version of CUDA that the driver is for, as 13010 for 13.1. It needs no initialisation.
fn cuda_version() -> Answer<c_int> {
    let mut version = 0;
    // SAFETY: `version` is writable.
    unsafe { (driver()?.cuDriverGetVersion)(&mut version) }.ok()?;
    Ok(version)
}

fn ordinal(device: DeviceHandle) -> Answer<c_uint> {
    initialised()?;
    let ordinal = c_uint::try_from(device.addr().wrapping_sub(1)).ok();
    let ordinal = ordinal.ok_or(ManagementStatus::INVALID_ARGUMENT)?;
    if ordinal < count()? { Ok(ordinal) } else { Err(ManagementStatus::INVALID_ARGUMENT) }
}

fn of(device: DeviceHandle) -> Answer<ManagedDevice> {
    ManagedDevice::new(ordinal(device)?)
}

/// # Safety
/// The place must be null or writable.
unsafe fn handle(index: c_uint, device: *mut DeviceHandle) -> Answer {
    initialised()?;
    if index >= count()? {
        return Err(ManagementStatus::INVALID_ARGUMENT);
    }
    // SAFETY: as this function's own promise says of the place.
    unsafe { write(device, without_provenance(index as usize + 1)) }
}

/// # Safety
/// The bus must be null or a text, the place null or writable.
unsafe fn handle_on_bus(bus: *const c_char, device: *mut DeviceHandle) -> Answer {
    initialised()?;
    if bus.is_null() {
        return Err(ManagementStatus::INVALID_ARGUMENT);
    }
    // SAFETY: it is not null, so it is a text.
    let wanted = unsafe { CStr::from_ptr(bus) }.to_string_lossy();
    let wanted = BusAddress::parse(&wanted).ok_or(ManagementStatus::INVALID_ARGUMENT)?;
    for index in 0..count()? {
        if BusAddress::parse(&ManagedDevice::new(index)?.bus()?) == Some(wanted) {
            // SAFETY: as this function's own promise says of the place.
            return unsafe { handle(index, device) };
        }
    }
    Err(ManagementStatus::NOT_FOUND)
}

/// # Safety
/// The place must be null or writable.
unsafe fn write<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(ManagementStatus::INVALID_ARGUMENT);
    }
    // SAFETY: it is not null, so it is writable.
    unsafe { place.write(value) };
    Ok(())
}

/// # Safety
/// The place must be null or have that much room.
unsafe fn write_text(place: *mut c_char, room: c_uint, text: &str) -> Answer {
    if place.is_null() {
        return Err(ManagementStatus::INVALID_ARGUMENT);
    }
    if text.len() >= room as usize {
        return Err(ManagementStatus::INSUFFICIENT_SIZE);
    }
    // SAFETY: text and NUL are no more than the caller's room.
    unsafe {
        place.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        place.add(text.len()).write(0);
    }
    Ok(())
}

/// # Safety
/// The place must be null or writable.
unsafe fn bus_place(device: DeviceHandle, place: *mut BusPlace) -> Answer {
    let device = of(device)?;
    let number = |attribute| device.attribute(attribute).map(c_int::cast_unsigned);
    let domain = number(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
    let bus = number(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?;
    let on_bus = number(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?;
    let (mut legacy, mut long) = ([0; 16], [0; 32]);
    // SAFETY: both are as large as is said.
    unsafe {
        write_text(legacy.as_mut_ptr(), 16, &device.bus()?)?;
        write_text(long.as_mut_ptr(), 32, &format!("{domain:08X}:{bus:02X}:{on_bus:02X}.0"))?;
    }
    let known = BusPlace { legacy, domain, bus, device: on_bus, id: 0, subsystem: 0, text: long };
    // SAFETY: as this function's own promise says of the place.
    unsafe { write(place, known) }
}
