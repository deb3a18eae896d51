//! The driver of this process: which one, whether there is one, and asking for one.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::platform;

/// What a program asks for; written `nvidia`, `software` or `software:4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DriverChoice {
    /// NVIDIA's driver, found on this machine at run time.
    Nvidia,
    /// The software driver: CUDA devices that are threads of this process.
    Software {
        /// How many devices it has; `None` leaves that to `CUDA_SIM_DEVICES`, and to 1 without it.
        devices: Option<u32>,
    },
}

/// The kind of driver that a process uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DriverKind {
    /// NVIDIA's driver.
    Nvidia,
    /// The software driver.
    Software,
}

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
        /// What was tried, and how to ask for the software driver.
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
    platform::choose(choice)
}

/// The kind of the driver in use. It settles the choice if nothing has yet.
///
/// # Errors
/// As [`choose_driver`], for the driver that the environment asks for.
pub fn driver_kind() -> Result<DriverKind> {
    Ok(platform::get()?.kind)
}

/// The CUDA version that the driver supports, as (major, minor).
///
/// # Errors
/// As [`driver_kind`].
pub fn driver_version() -> Result<(u32, u32)> {
    Ok(platform::get()?.version)
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
    match platform::get() {
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

impl DriverChoice {
    /// The kind of driver that this asks for.
    pub fn kind(self) -> DriverKind {
        match self {
            DriverChoice::Nvidia => DriverKind::Nvidia,
            DriverChoice::Software { .. } => DriverKind::Software,
        }
    }
}

impl fmt::Display for DriverChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverChoice::Software { devices: Some(devices) } => write!(f, "software:{devices}"),
            _ => self.kind().fmt(f),
        }
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

impl fmt::Display for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DriverKind::Nvidia => "nvidia",
            DriverKind::Software => "software",
        })
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
