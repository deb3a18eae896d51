//! The state of the runtime in this process: the driver in use and what is known of its devices.

use std::ffi::c_int;
use std::sync::OnceLock;

use cuda_sys::{CUresult, Driver};

use crate::check;
use crate::device::Device;
use crate::device_state::DeviceState;
use crate::driver::{DriverChoice, DriverKind};
use crate::error::{Error, Result};
use crate::once::TryOnce;
use crate::race;
use crate::software;

pub(crate) struct Platform {
    choice: DriverChoice,
    pub(crate) kind: DriverKind,
    pub(crate) version: (u32, u32),
    pub(crate) devices: Box<[DeviceState]>,
    /// `CUDA_LAUNCH_BLOCKING=1`: each piece of work is waited for where it is enqueued.
    pub(crate) launch_blocking: bool,
}

static PLATFORM: TryOnce<Platform> = TryOnce::new();

/// The platform, with the driver that the environment asks for if none was chosen.
#[inline]
pub(crate) fn get() -> Result<&'static Platform> {
    PLATFORM.get_or_try_init(|| Platform::start(choice_of_environment()?))
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

pub(crate) fn choose(choice: DriverChoice) -> Result<()> {
    let platform = PLATFORM.get_or_try_init(|| Platform::start(choice))?;
    if platform.is(choice) {
        Ok(())
    } else {
        Err(Error::DriverAlreadyChosen { chosen: platform.choice, asked: choice })
    }
}

impl Platform {
    fn start(choice: DriverChoice) -> Result<Platform> {
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
        race::start_if_asked();
        if kind == DriverKind::Software {
            software::tell_what_is_kept();
        }
        let devices = (0..count).map(|index| DeviceState::new(driver, Device(index), count));
        Ok(Platform {
            choice,
            kind,
            version: version(driver)?,
            devices: devices.collect::<Result<_>>()?,
            launch_blocking: launch_blocking(),
        })
    }

    /// Whether `choice` asks for what is in use. Who names no number of devices takes any.
    fn is(&self, choice: DriverChoice) -> bool {
        match choice {
            DriverChoice::Software { devices: Some(asked) } => {
                choice == self.choice
                    || (self.kind == DriverKind::Software && self.devices.len() == asked as usize)
            }
            _ => self.kind == choice.kind(),
        }
    }
}

fn choice_of_environment() -> Result<DriverChoice> {
    match std::env::var_os("GPU_DRIVER") {
        Some(choice) if !choice.is_empty() => choice.to_string_lossy().parse(),
        _ => Ok(DriverChoice::Nvidia),
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
