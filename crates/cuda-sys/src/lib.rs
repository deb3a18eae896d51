//! The CUDA driver API: types, the table of functions, and the loader.
//!
//! [`Driver`] is a table of typed function pointers, one field for each function that Sluice calls
//! itself or that its software driver offers to other programs, named as the driver exports it.
//! [`Driver::load`] fills it from NVIDIA's driver at run time, so nothing links against CUDA, and a
//! machine without a driver gets an error that says what was tried. A driver written in Rust fills
//! the same table with [`driver_table!`], and a library that exports the driver's C names is one use
//! of [`for_each_driver_function!`].
//!
//! The calls are as unsafe as they are in C: this crate checks nothing. Names, types and meanings
//! are those of NVIDIA's driver API reference; enumerations are integers with named constants,
//! since a driver may be newer than the header and answer with values that no constant names.
//!
//! ```
//! use cuda_sys::Driver;
//!
//! match Driver::load() {
//!     Ok(driver) => {
//!         let mut version = 0;
//!         // SAFETY: `version` is writable, and this call needs no `cuInit` before it.
//!         unsafe { (driver.cuDriverGetVersion)(&mut version) }.ok()?;
//!         assert!(version >= 12_000);
//!     }
//!     Err(error) => println!("{error}"),
//! }
//! # Ok::<(), cuda_sys::CUresult>(())
//! ```
//!
//! What it is not: a safe interface. The crate `gpu-runtime` has devices, streams, memory and launches
//! as Rust values, and `cuda-sim` fills the table on machines without a GPU. Nor has it anything of
//! the runtime library (`cudart`) or of the libraries that NVIDIA builds on it.

// Layers, the top one first; a module imports only from lines below its own.
//
//   loader
//   driver, handles, per_thread, result
//   functions
//   bindings
#[allow(
    missing_docs,
    missing_debug_implementations,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::too_many_lines,
    reason = "generated: the names are C's, and what they mean stands in NVIDIA's reference"
)]
mod bindings;
mod driver;
mod functions;
mod handles;
mod loader;
mod per_thread;
mod result;

pub use bindings::*;
pub use driver::{Driver, MissingFunction};
pub use handles::{CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
pub use loader::{Attempt, DriverVersion, LoadError};

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
