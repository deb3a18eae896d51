//! The answers about devices, from the driver.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt::Write as _;
use std::ptr::null_mut;
use std::sync::OnceLock;

use cuda_sys::{CUcontext, CUdevice, CUdevice_attribute, CUresult, CUuuid, Driver};

use crate::status::ManagementStatus;

pub(crate) type Answer<T = ()> = Result<T, ManagementStatus>;

/// The driver, which is initialised at the first call.
pub(crate) fn driver() -> Answer<&'static Driver> {
    static DRIVER: OnceLock<Answer<Driver>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| {
        let driver = Driver::load().map_err(|_| ManagementStatus::DRIVER_NOT_LOADED)?;
        // SAFETY: it takes no pointer.
        match unsafe { (driver.cuInit)(0) } {
            CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_NO_DEVICE => Ok(driver),
            _ => Err(ManagementStatus::DRIVER_NOT_LOADED),
        }
    });
    driver.as_ref().map_err(|error| *error)
}

/// The number of devices.
pub(crate) fn count() -> Answer<c_uint> {
    let mut count = 0;
    // SAFETY: `count` is writable.
    match unsafe { (driver()?.cuDeviceGetCount)(&mut count) } {
        CUresult::CUDA_ERROR_NO_DEVICE | CUresult::CUDA_ERROR_NOT_INITIALIZED => Ok(0),
        result => result.ok().map(|()| count.cast_unsigned()).map_err(Into::into),
    }
}

/// A device of the driver.
pub(crate) struct ManagedDevice {
    driver: &'static Driver,
    device: CUdevice,
}

impl ManagedDevice {
    /// # Errors
    /// [`ManagementStatus::INVALID_ARGUMENT`] if there is none of this number.
    pub(crate) fn new(ordinal: c_uint) -> Answer<ManagedDevice> {
        let driver = driver()?;
        let mut device = 0;
        // SAFETY: `device` is writable.
        unsafe { (driver.cuDeviceGet)(&mut device, ordinal.cast_signed()) }.ok()?;
        Ok(ManagedDevice { driver, device })
    }

    pub(crate) fn name(&self) -> Answer<String> {
        let mut name = [0; 96];
        // SAFETY: the driver is told how much room there is.
        unsafe { (self.driver.cuDeviceGetName)(name.as_mut_ptr(), 96, self.device) }.ok()?;
        Ok(text(&name))
    }

    /// The bus, as `domain:bus:device.function`.
    pub(crate) fn bus(&self) -> Answer<String> {
        let mut bus = [0; 32];
        // SAFETY: the driver is told how much room there is.
        unsafe { (self.driver.cuDeviceGetPCIBusId)(bus.as_mut_ptr(), 32, self.device) }.ok()?;
        Ok(text(&bus))
    }

    /// The UUID in the form `GPU-8-4-4-4-12`.
    pub(crate) fn uuid(&self) -> Answer<String> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: `uuid` is writable.
        unsafe { (self.driver.cuDeviceGetUuid_v2)(&mut uuid, self.device) }.ok()?;
        let mut text = "GPU".to_owned();
        for (index, byte) in uuid.bytes.iter().enumerate() {
            let dash = if [0, 4, 6, 8, 10].contains(&index) { "-" } else { "" };
            let _ = write!(text, "{dash}{:02x}", byte.cast_unsigned());
        }
        Ok(text)
    }

    /// Whether kernels of this device may use memory of another.
    pub(crate) fn reaches(&self, peer: &ManagedDevice) -> Answer<bool> {
        let mut reaches = 0;
        // SAFETY: `reaches` is writable.
        unsafe { (self.driver.cuDeviceCanAccessPeer)(&mut reaches, self.device, peer.device) }
            .ok()?;
        Ok(reaches != 0)
    }

    pub(crate) fn attribute(&self, attribute: CUdevice_attribute) -> Answer<c_int> {
        let mut value = 0;
        // SAFETY: `value` is writable.
        unsafe { (self.driver.cuDeviceGetAttribute)(&mut value, attribute, self.device) }.ok()?;
        Ok(value)
    }

    /// Free and total memory in bytes. A device that this process does not use is asked for its
    /// total only: to ask for more would initialise it.
    pub(crate) fn memory(&self) -> Answer<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        let (mut flags, mut active) = (0, 0);
        let (driver, device) = (self.driver, self.device);
        let mut context: CUcontext = null_mut();
        // SAFETY: all places are writable, and the context is given back after its use.
        unsafe {
            (driver.cuDeviceTotalMem_v2)(&mut total, device).ok()?;
            (driver.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active).ok()?;
            if active == 0 {
                return Ok((total, total));
            }
            (driver.cuDevicePrimaryCtxRetain)(&mut context, device).ok()?;
            let asked = (driver.cuCtxPushCurrent_v2)(context).ok().and_then(|()| {
                let asked = (driver.cuMemGetInfo_v2)(&mut free, &mut total).ok();
                (driver.cuCtxPopCurrent_v2)(&mut context).ok().and(asked)
            });
            (driver.cuDevicePrimaryCtxRelease_v2)(device).ok()?;
            asked?;
        }
        Ok((free, total))
    }
}

/// The text up to the first NUL.
fn text(bytes: &[c_char]) -> String {
    // SAFETY: `c_char` is a byte, of whatever sign.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len()) };
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    text.to_string_lossy().into_owned()
}
