//! The errors of `Replicas`.

use std::fmt;

use tensor::Device;

use crate::device_threads::{NoThread, RepeatedDevice};

/// The reason why a model could not be trained on several devices.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReplicasError {
    /// There is no device to run on.
    #[error("Replicas: no device is given; Device::Cpu is one, too")]
    NoDevice,
    /// A device was given twice.
    #[error("Replicas: {device} is given twice")]
    DuplicateDevice {
        /// The device.
        device: Device,
    },
    /// The thread of a replica could not be started.
    #[error("Replicas: no thread could be started for the replica on {device}: {source}")]
    Spawn {
        /// The device of the replica.
        device: Device,
        /// The system's error.
        source: std::io::Error,
    },
    /// A replica failed, and the step ended on all of them.
    #[error("Replicas: the replica on {device} (rank {rank}) failed: {source}")]
    Failed {
        /// The number of the replica.
        rank: usize,
        /// The device of the replica.
        device: Device,
        /// The replica's own error.
        source: tensor::Error,
    },
    /// A replica panicked, and the step ended on all of them.
    #[error("Replicas: the replica on {device} (rank {rank}) panicked: {message}")]
    Panicked {
        /// The number of the replica.
        rank: usize,
        /// The device of the replica.
        device: Device,
        /// The panic's message.
        message: String,
    },
    /// The parameters of two replicas are not the same.
    #[error(
        "Replicas: {name} on {device} (rank {rank}) is not what it is on the first device; a replica \
         was changed by other means than steps"
    )]
    Diverged {
        /// The dotted name of the parameter.
        name: String,
        /// The number of the replica.
        rank: usize,
        /// The device of the replica.
        device: Device,
    },
    /// A batch could not be split, or the runtime failed.
    #[error(transparent)]
    Tensor(#[from] tensor::Error),
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for ReplicasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<RepeatedDevice> for ReplicasError {
    fn from(RepeatedDevice(device): RepeatedDevice) -> ReplicasError {
        ReplicasError::DuplicateDevice { device }
    }
}

impl From<NoThread> for ReplicasError {
    fn from(NoThread { device, source }: NoThread) -> ReplicasError {
        ReplicasError::Spawn { device, source }
    }
}

/// The error as one of tensors, which programs have.
impl From<ReplicasError> for tensor::Error {
    fn from(error: ReplicasError) -> tensor::Error {
        match error {
            ReplicasError::Tensor(error) => error,
            error => tensor::Error::other(error),
        }
    }
}
