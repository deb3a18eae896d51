//! The errors of `DataParallel`.

use std::fmt;

use tensor::Device;

use crate::device_threads::{NoThread, RepeatedDevice};

/// The reason why a module could not be run on several devices, or a replica of it failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DataParallelError {
    /// A parameter is not on the first device.
    #[error(
        "DataParallel: the parameter {name} is on {found}, but the first device is {expected}; \
         move the module there first with .to({expected})"
    )]
    ParameterElsewhere {
        /// The parameter's dotted name.
        name: String,
        /// The device that it is on.
        found: Device,
        /// The device that it should be on.
        expected: Device,
    },
    /// A device was given twice.
    #[error("DataParallel: {device} is given twice")]
    DuplicateDevice {
        /// The device.
        device: Device,
    },
    /// The thread of a replica could not be started.
    #[error("DataParallel: no thread could be started for the replica on {device}: {source}")]
    Spawn {
        /// The device of the replica.
        device: Device,
        /// The system's error.
        source: std::io::Error,
    },
    /// A replica's forward pass panicked.
    #[error("DataParallel: the replica on {device} panicked: {message}")]
    ReplicaPanicked {
        /// The device of the replica.
        device: Device,
        /// The panic's message.
        message: String,
    },
    /// A device does not exist, or there is no driver.
    #[error(transparent)]
    Tensor(#[from] tensor::Error),
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for DataParallelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<RepeatedDevice> for DataParallelError {
    fn from(RepeatedDevice(device): RepeatedDevice) -> DataParallelError {
        DataParallelError::DuplicateDevice { device }
    }
}

impl From<NoThread> for DataParallelError {
    fn from(NoThread { device, source }: NoThread) -> DataParallelError {
        DataParallelError::Spawn { device, source }
    }
}

/// The error as one of tensors, which a module's forward pass and programs have.
impl From<DataParallelError> for tensor::Error {
    fn from(error: DataParallelError) -> tensor::Error {
        match error {
            DataParallelError::Tensor(error) => error,
            error => tensor::Error::other(error),
        }
    }
}
