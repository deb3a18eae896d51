//! A software CUDA driver: the driver API, for machines without a GPU.
//!
//! [`driver`] is a table of the driver's functions, the same that `cuda_sys::Driver::load` fills
//! from NVIDIA's driver. Kernels are PTX text, which is translated to the host's machine code.
//! Devices have memories of their own, streams are asynchronous, errors of kernels come late and
//! stay: what is wrong with a program on a GPU is wrong here.
//!
//! ```
//! let driver = cuda_sim::driver();
//! let mut count = 0;
//! // SAFETY: `count` is writable.
//! unsafe {
//!     (driver.cuInit)(0).ok()?;
//!     (driver.cuDeviceGetCount)(&mut count).ok()?;
//! }
//! assert!(count > 0);
//! # Ok::<(), cuda_sys::CUresult>(())
//! ```
//!
//! `cuInit` makes the devices, as the environment says ([`control::Config::from_env`]) or
//! [`control::configure`]; the rest of [`control`] is what NVIDIA's driver does not have.
//!
//! What it is not: it does not imitate the speed of a GPU, has no textures or surfaces,
//! and is not what NVIDIA's own libraries (`cudart`, cuBLAS) can stand on. Programs in Rust reach it
//! more easily through the crate `gpu-runtime`, others through `libcuda`, which exports its functions.
//!
//! The parts, from the outside in:
//! - `api`: the functions of the table, a room per subject. They check, and call the model.
//! - `control`: what a program calls for configuration, faults on demand, counters, reset.
//! - `graph`: graphs of operations, made by hand or captured from streams.
//! - `device`: the model. Devices, memory, contexts, modules, and the handles that name them.
//! - `queue`: streams, events and the workers that run what is enqueued.
//! - `time`: virtual time, which says what all that would take on other hardware.
//! - `links`: the links that copies go over, which may be slow or broken on demand.
//! - `config`: what can be asked for, as values and as texts.
//! - `fatbin`: PTX in fat binaries.
//!
//! The crate `ptx-jit` translates kernels and runs their blocks, over the memory that `device` has;
//! `cuda-check` is checked mode, and what a person is told on standard error.

// Layers, the top one first; a module imports only from lines below its own.
//
//   fuzzing
//   ptx_check
//   api
//   control
//   graph
//   device
//   queue
//   time
//   links
//   config
//   fatbin
mod api;
mod config;
pub mod control;
mod device;
mod fatbin;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod graph;
mod links;
pub mod ptx_check;
mod queue;
mod time;

pub use api::exports;

/// The software driver's functions.
///
/// There are no devices before `cuInit`. The functions may be called from any thread.
pub fn driver() -> &'static cuda_sys::Driver {
    &api::DRIVER
}

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
