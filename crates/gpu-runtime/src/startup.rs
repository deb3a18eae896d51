//! The driver of this process: which one, whether there is one, and asking for one.

use std::str::FromStr;

use crate::cached;
use crate::current;
use crate::device::platform::{self, Platform};
use crate::device::software;
use crate::error::{Error, Result};
use crate::race;
use crate::stream::registry;
use crate::types::{Device, DriverChoice, DriverKind};

/// Whether devices can be used, and if not, why.
#[derive(Debug, Clone)]
pub enum Availability {
    /// There is a driver, and it has devices.
    Available {
        /// The driver.
        kind: DriverKind,
        /// The number of its devices, at least 1.
        devices: usize,
    },
    /// Nothing can run on a device.
    Unavailable {
        /// The error, which says what was tried, and how to ask for the software driver.
        reason: Error,
    },
}

/// Makes this process use a driver.
///
/// A process uses one driver, for as long as it lives. It is settled at the first use of a device,
/// or of [`availability`]: by this call if it came before, else by the environment variable
/// `GPU_DRIVER`, else it is NVIDIA's. The software driver is never taken unasked.
///
/// Choosing the driver that is in use already is fine, and a program that asks for the software
/// driver without saying how many devices it wants takes any number.
///
/// # Errors
/// - [`Error::DriverAlreadyChosen`] when another driver is in use.
/// - [`Error::DriverNotFound`], [`Error::NoDevice`] when the driver cannot be used; another one can
///   be chosen afterwards.
/// - [`Error::NotCompiledIn`] for the software driver in a build without the feature `software`.
///
/// ```
/// use gpu_runtime::{DriverChoice, DriverKind, choose_driver, driver_kind};
///
/// choose_driver(DriverChoice::Software { devices: Some(4) })?;
/// assert_eq!(driver_kind()?, DriverKind::Software);
/// assert!(choose_driver(DriverChoice::Nvidia).is_err());
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn choose_driver(choice: DriverChoice) -> Result<()> {
    let platform = platform::get_or_start(|| start(choice))?;
    if platform.is(choice) {
        Ok(())
    } else {
        Err(Error::DriverAlreadyChosen { chosen: platform.choice, asked: choice })
    }
}

/// The kind of the driver in use. It settles the choice if nothing has yet.
///
/// # Errors
/// As [`choose_driver`], for the driver that the environment asks for.
pub fn driver_kind() -> Result<DriverKind> {
    Ok(platform()?.kind)
}

/// The CUDA version that the driver supports, as (major, minor).
///
/// # Errors
/// As [`driver_kind`].
pub fn driver_version() -> Result<(u32, u32)> {
    Ok(platform()?.version)
}

/// Whether devices can be used; if not, the reason says what was tried.
///
/// It creates no context, so it takes no memory on any device. When there are devices, their driver
/// is the one that this process uses from here on; when there are none, nothing is settled, and
/// the program may still choose the software driver.
///
/// ```
/// use gpu_runtime::{Availability, DriverChoice, availability, choose_driver};
///
/// if let Availability::Unavailable { reason } = availability() {
///     println!("{reason}; taking the software driver");
///     choose_driver(DriverChoice::Software { devices: None })?;
/// }
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn availability() -> Availability {
    match platform() {
        Ok(platform) => {
            Availability::Available { kind: platform.kind, devices: platform.devices.len() }
        }
        Err(reason) => Availability::Unavailable { reason },
    }
}

/// Whether devices can be used. It never fails; [`availability`] says why not.
pub fn is_available() -> bool {
    matches!(availability(), Availability::Available { .. })
}

impl Device {
    /// The number of devices; 0 with a driver that has none. It creates no context.
    ///
    /// # Errors
    /// Without a usable driver; see [`choose_driver`](crate::choose_driver).
    pub fn count() -> Result<usize> {
        match platform() {
            Ok(platform) => Ok(platform.devices.len()),
            Err(Error::NoDevice { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The device with an index.
    ///
    /// # Errors
    /// [`Error::InvalidDevice`] if there is none; else as [`Device::count`].
    pub fn get(index: usize) -> Result<Device> {
        let count = platform()?.devices.len();
        if index < count {
            Ok(Device(index as u32))
        } else {
            Err(Error::InvalidDevice { index, count })
        }
    }

    /// All devices, by index.
    ///
    /// # Errors
    /// As [`Device::count`].
    pub fn all() -> Result<Vec<Device>> {
        Ok((0..Device::count()? as u32).map(Device).collect())
    }

    /// The current device of this thread.
    ///
    /// # Errors
    /// Without a usable driver; see [`choose_driver`](crate::choose_driver).
    pub fn current() -> Result<Device> {
        platform()?;
        Ok(Device(current::device_index()))
    }
}

/// The platform, with the driver that the environment asks for if none was chosen.
#[inline]
fn platform() -> Result<&'static Platform> {
    platform::get_or_start(|| start(choice_of_environment()?))
}

/// Starts a driver, and connects what is above it: errors name the streams' unfinished work, a race
/// checker listens if the environment asks for one, and the software driver is told of what is cached.
fn start(choice: DriverChoice) -> Result<Platform> {
    let platform = Platform::start(choice, registry::unfinished_work)?;
    race::start_if_asked();
    if platform.kind == DriverKind::Software {
        software::begin(cached::tell);
    }
    Ok(platform)
}

fn choice_of_environment() -> Result<DriverChoice> {
    match std::env::var_os("GPU_DRIVER") {
        Some(choice) if !choice.is_empty() => choice.to_string_lossy().parse(),
        _ => Ok(DriverChoice::Nvidia),
    }
}

impl FromStr for DriverChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<DriverChoice> {
        let unknown = || Error::UnknownDriver { asked: text.to_owned() };
        match text.split_once(':') {
            None if text == "nvidia" => Ok(DriverChoice::Nvidia),
            None if text == "software" => Ok(DriverChoice::Software { devices: None }),
            Some(("software", devices)) => match devices.parse() {
                Ok(devices) if devices > 0 => Ok(DriverChoice::Software { devices: Some(devices) }),
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_prints_as_it_is_written() {
        for text in ["nvidia", "software", "software:4"] {
            let choice: DriverChoice = text.parse().expect("it is a driver");
            assert_eq!(choice.to_string(), text);
        }
    }

    #[test]
    fn an_unknown_driver_is_an_error_that_repeats_it() {
        for text in ["", "amd", "software:", "software:0", "software:-1", "nvidia:2"] {
            let error = text.parse::<DriverChoice>().expect_err("it is none");
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }
}
