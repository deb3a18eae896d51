//! Why the software driver cannot be controlled so.

use crate::config::Config;

/// Why a configuration was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigureError {
    /// The devices were made from another configuration.
    #[error(
        "the software driver is initialised already, as {current:?}, and cannot become {asked:?}"
    )]
    AlreadyInitialised {
        /// The configuration that the devices were made from.
        current: Box<Config>,
        /// The configuration that was asked for.
        asked: Box<Config>,
    },
    /// The software driver cannot have so many devices.
    #[error(
        "the software driver has at most {} devices, and {asked} were asked for",
        Config::MAX_DEVICES
    )]
    TooManyDevices {
        /// The number of devices that was asked for.
        asked: u32,
    },
}

/// Why the software driver cannot be controlled so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There are no devices before `cuInit`.
    #[error("the software driver is not initialised: call cuInit first")]
    NotInitialised,
    /// There are fewer devices.
    #[error("there is no device {device}: the software driver has {count}")]
    NoSuchDevice {
        /// The device that was asked for.
        device: usize,
        /// The number of devices.
        count: usize,
    },
    /// The driver has no such call.
    #[error("the software driver has no function `{name}`; names are as exported: cuMemAlloc_v2")]
    NoSuchCall {
        /// The name that was asked for.
        name: String,
    },
    /// A host function runs as part of a stream's work.
    #[error("a host function cannot control the driver that runs it")]
    InHostFunction,
    /// Time is this machine's.
    #[error("time is not virtual: configure a model of it, or set CUDA_SIM_TIME=h200")]
    RealTime,
}
