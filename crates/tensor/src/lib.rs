//! Tensors on the CPU and on CUDA devices, with automatic differentiation.
//!
//! One program serves both: choose a [`Device`] once, make tensors there, and every operation runs
//! where its operands lie. On CUDA an operation enqueues its work on the device's current stream
//! and returns; whatever needs the numbers on the host waits for them.

mod autograd;
mod device;
mod dtype;
mod error;
mod layout;
mod scalar;
mod shape;
mod storage;
mod tensor;

pub use device::Device;
pub use dtype::{DType, Element};
pub use error::{Error, Result};
pub use scalar::Scalar;
pub use shape::Shape;
pub use storage::ReadGuard;
pub use tensor::Tensor;
