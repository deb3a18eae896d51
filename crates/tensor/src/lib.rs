//! Tensors on the CPU and on CUDA devices, with automatic differentiation.
//!
//! One program serves both: choose a [`Device`] once, make tensors there, and every operation runs
//! where its operands lie. On CUDA an operation enqueues its work on the device's current stream
//! and returns; whatever needs the numbers on the host waits for them.

mod autograd;
mod context;
pub mod cuda;
mod default;
mod device;
mod dispatch;
mod dtype;
mod error;
mod factories;
mod host;
mod layout;
mod ops;
mod options;
mod print;
mod promote;
mod random;
mod scalar;
mod shape;
mod storage;
mod tensor;

pub use autograd::{
    AutogradError, Backward, NoGradGuard, enable_grad, grad, is_grad_enabled, no_grad,
};
pub use context::{ExecutionContext, ExecutionContextGuard};
pub use default::{
    DefaultGuard, default_device, default_dtype, enter_default_device, enter_default_dtype,
    set_default_device, set_default_dtype, with_default_device, with_default_dtype,
};
pub use device::Device;
pub use dtype::{DType, Element};
pub use error::{Error, Result};
pub use factories::{Data, Number, Steps};
pub use host::pool::set_num_threads;
pub use ops::{Blocking, Operand, Pending, To, ViewShape};
pub use options::TensorOptions;
pub use random::{
    Generator, GeneratorState, SeedGuard, enter_manual_seed, generator, manual_seed,
    with_manual_seed,
};
pub use scalar::Scalar;
pub use shape::Shape;
pub use storage::ReadGuard;
pub use tensor::Tensor;
