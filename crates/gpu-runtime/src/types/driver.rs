//! Drivers by their names.

use std::fmt;

/// The driver that a program asks for; written `nvidia`, `software` or `software:4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DriverChoice {
    /// NVIDIA's driver, found on this machine at run time.
    Nvidia,
    /// The software driver: CUDA devices that are threads of this process.
    Software {
        /// The number of its devices; `None` leaves that to `CUDA_SIM_DEVICES`, and to 1 without it.
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

impl fmt::Display for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DriverKind::Nvidia => "nvidia",
            DriverKind::Software => "software",
        })
    }
}
