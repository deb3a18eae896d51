//! The state of the runtime in this process: the driver in use and what is known of its devices.

use std::ffi::c_int;
use std::sync::OnceLock;

use cuda_sys::{CUresult, Driver};

use super::state::UnfinishedWork;
use super::{DeviceState, TryOnce, check, software};
use crate::error::{Error, Result};
use crate::types::{Device, DriverChoice, DriverKind};

pub(crate) struct Platform {
    pub(crate) choice: DriverChoice,
    pub(crate) kind: DriverKind,
    pub(crate) version: (u32, u32),
    pub(crate) devices: Box<[DeviceState]>,
    /// `CUDA_LAUNCH_BLOCKING=1`: each piece of work is waited for where it is enqueued.
    pub(crate) launch_blocking: bool,
}

static PLATFORM: TryOnce<Platform> = TryOnce::new();

/// The platform, which `start` makes if there is none.
#[inline]
pub(crate) fn get_or_start(start: impl FnOnce() -> Result<Platform>) -> Result<&'static Platform> {
    PLATFORM.get_or_try_init(start)
}

/// The platform, if there is one already.
pub(crate) fn existing() -> Option<&'static Platform> {
    PLATFORM.get()
}

/// The platform of a process in which something of it exists already.
#[inline]
pub(crate) fn in_use() -> &'static Platform {
    PLATFORM.get().expect("a device exists only once there is a driver")
}

impl Platform {
    /// Initialises a driver and finds its devices. It creates no context.
    pub(crate) fn start(choice: DriverChoice, unfinished: UnfinishedWork) -> Result<Platform> {
        let kind = choice.kind();
        let driver = match choice {
            DriverChoice::Nvidia => nvidia()?,
            DriverChoice::Software { devices } => software::driver(devices)?,
        };
        // SAFETY: `cuInit` may be called from any thread and any number of times.
        let initialised = unsafe { (driver.cuInit)(0) };
        if initialised == CUresult::CUDA_ERROR_NO_DEVICE {
            return Err(Error::NoDevice { driver: kind });
        }
        check::without_device(driver, "cuInit", initialised).map_err(|error| match kind {
            DriverKind::Software => software::why_not_initialised().unwrap_or(error),
            DriverKind::Nvidia => error,
        })?;
        let count = device_count(driver)?;
        if count == 0 {
            return Err(Error::NoDevice { driver: kind });
        }
        let device = |index| DeviceState::new(driver, kind, Device(index), unfinished);
        Ok(Platform {
            choice,
            kind,
            version: version(driver)?,
            devices: (0..count).map(device).collect::<Result<_>>()?,
            launch_blocking: launch_blocking(),
        })
    }

    /// Whether `choice` asks for what is in use. Who names no number of devices takes any.
    pub(crate) fn is(&self, choice: DriverChoice) -> bool {
        match choice {
            DriverChoice::Software { devices: Some(asked) } => {
                choice == self.choice
                    || (self.kind == DriverKind::Software && self.devices.len() == asked as usize)
            }
            _ => self.kind == choice.kind(),
        }
    }
}

fn launch_blocking() -> bool {
    std::env::var_os("CUDA_LAUNCH_BLOCKING").is_some_and(|value| !value.is_empty() && value != "0")
}

/// NVIDIA's table, loaded once: a driver without devices may be asked for again and again.
fn nvidia() -> Result<&'static Driver> {
    static NVIDIA: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = NVIDIA.get() {
        return Ok(driver);
    }
    let loaded = Driver::load().map_err(|reason| Error::DriverNotFound { reason })?;
    Ok(NVIDIA.get_or_init(|| loaded))
}

fn device_count(driver: &Driver) -> Result<u32> {
    let mut count: c_int = 0;
    // SAFETY: `count` is writable.
    let counted = unsafe { (driver.cuDeviceGetCount)(&mut count) };
    check::without_device(driver, "cuDeviceGetCount", counted)?;
    Ok(u32::try_from(count).unwrap_or(0))
}

fn version(driver: &Driver) -> Result<(u32, u32)> {
    let mut version: c_int = 0;
    // SAFETY: `version` is writable.
    let told = unsafe { (driver.cuDriverGetVersion)(&mut version) };
    check::without_device(driver, "cuDriverGetVersion", told)?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok((version / 1000, version % 1000 / 10))
}
