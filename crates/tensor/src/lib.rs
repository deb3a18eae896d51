//! Tensors on the CPU and on CUDA devices, with automatic differentiation.
//!
//! One program serves both: choose a [`Device`] once, make tensors there, and every operation runs
//! where its operands lie. On CUDA an operation enqueues its work on the device's current stream
//! and returns; whatever needs the numbers on the host waits for them. Names and semantics are
//! PyTorch's; operations give a [`Result`], whose [`Error`] names the operation, its arguments and a
//! way out.
//!
//! ```
//! use tensor::{Device, Tensor, cuda, tensor};
//!
//! let device = if cuda::is_available() { Device::cuda() } else { Device::Cpu };
//! let x = tensor![[1.0, 2.0], [3.0, 4.0]]?.to(device)?;
//! let w = Tensor::ones([2, 1], device)?.requires_grad_(true)?;
//! let loss = (x.matmul(&w)? - 1.0)?.square()?.mean()?;
//! loss.backward()?;
//! assert_eq!(w.grad().expect("it was computed").to_vec::<f32>()?, [20.0, 28.0]);
//! # Ok::<(), tensor::Error>(())
//! ```
//!
//! # Memory
//! A [`Tensor`] is a handle on a view of a [`Storage`], which other handles and views share. What one
//! thread writes is seen by all; two uses of one storage never race. On the CPU each storage has a
//! lock that operations take, and that is never held while code of the program runs; on CUDA each
//! storage remembers its uses, and work on one stream waits for the work on others that it must come
//! after ([`cuda::with_order`] switches that off). The host reaches elements through copies
//! ([`Tensor::to_vec`], [`Tensor::item`]) and snapshots ([`Tensor::read`]), all of which wait for
//! copies in flight.
//!
//! # How it is built
//! An operation is data: the CPU's kernel by dtype, the name of the CUDA kernel, how its dtype is
//! found, its derivative (`ops`). There is one dispatch point (`dispatch`), whose calls are structs
//! that the kernels of both backends take; `host` has the CPU's kernels, the crate `kernels` the
//! others. `autograd` records operations and walks back through them; the graph itself hangs from the
//! tensors (`tensor::history`). `access` holds the memory that the host reads or writes.

// Layers, the top one first; a module imports only from lines below its own.
//
//   context, factories
//   ops, random
//   host
//   dispatch, print
//   access, autograd, cuda, options
//   tensor
//   promote, storage
//   default, dims, layout, resolved_device, reserve, thread_pool
//   error
//   shape
//   capture, checked_size, device, dtype, philox, shared
mod access;
mod autograd;
mod capture;
mod checked_size;
mod context;
pub mod cuda;
mod default;
mod device;
mod dims;
mod dispatch;
mod dtype;
mod error;
mod factories;
mod host;
mod layout;
mod ops;
mod options;
mod philox;
mod print;
mod promote;
mod random;
mod reserve;
mod resolved_device;
mod shape;
mod shared;
mod storage;
mod tensor;
mod thread_pool;

pub use access::ReadGuard;
pub use autograd::{Backward, NoGradGuard, enable_grad, grad, is_grad_enabled, no_grad};
pub use context::{ExecutionContext, ExecutionContextGuard};
pub use default::{
    DefaultGuard, default_device, default_dtype, enter_default_device, enter_default_dtype,
    set_default_device, set_default_dtype, with_default_device, with_default_dtype,
};
pub use device::Device;
pub use dtype::{DType, Element, Scalar};
pub use error::{AutogradError, Error, Result};
pub use factories::{Data, Number, Steps};

pub use dispatch::Blocking;
pub use ops::{PendingTensor, TensorOrScalar, To, ViewShape};
pub use options::TensorOptions;
pub use random::{
    Generator, GeneratorState, SeedGuard, enter_manual_seed, fold_in, generator, initial_seed,
    manual_seed, with_folded_seed, with_manual_seed,
};
pub use shape::Shape;
pub use storage::Storage;
pub use tensor::Tensor;
pub use thread_pool::set_num_threads;

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
