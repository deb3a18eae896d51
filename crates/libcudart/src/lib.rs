//! The CUDA runtime API over the driver's documented API.
//!
//! The crates `libcudart-12` and `libcudart-13` export what is here as `libcudart.so.12` and
//! `libcudart.so.13`. A C++ program that nvcc compiled with `-cudart shared` finds one of them in the
//! place of NVIDIA's, and runs over whatever driver there is under the name `libcuda.so.1`: our own
//! in software, or NVIDIA's.
//!
//! ```sh
//! nvcc -cudart shared -gencode arch=compute_75,code=compute_75 -o program program.cu
//! LD_LIBRARY_PATH=$(cargo xtask libcuda) ./program
//! ```
//!
//! Most functions are a line that calls the driver ([`mod@devices`]); what translates has a module of
//! its own. Code and variables that nvcc registers are in [`mod@registry`], the current device is the
//! driver's current context, and errors get their numbers in one place.
//!
//! What it is not: a runtime of its own. It has no memory, no streams and no order of work beside the
//! driver's. Textures, arrays, graphics, memory of other processes and of other interfaces are
//! exported and answer `cudaErrorNotSupported`. There is no Rust interface.

// Layers, the top one first; a module imports only from lines below its own.
//
//   exports
//   any_nodes
//   captures, copy_nodes, functions, graph_nodes, graphs, kernel_nodes, launch, libraries
//   block_copies, symbols
//   copies, devices, events, fills, host_memory, memory, pools, streams
//   channels, errors, properties, registry, versions
//   api
//   context
//   driver, last_error
//   address, error, types
#![allow(non_snake_case, reason = "functions have the names of the C API")]

pub mod any_nodes;
pub mod block_copies;
pub mod captures;
pub mod channels;
pub mod copies;
pub mod copy_nodes;
pub mod devices;
pub mod errors;
pub mod events;
pub mod fills;
pub mod functions;
pub mod graph_nodes;
pub mod graphs;
pub mod host_memory;
pub mod kernel_nodes;
pub mod launch;
pub mod libraries;
pub mod memory;
pub mod pools;
pub mod properties;
pub mod registry;
pub mod streams;
pub mod symbols;
pub mod versions;

mod address;
mod api;
mod context;
mod driver;
mod error;
mod exports;
mod last_error;
mod types;

pub use self::error::cudaError_t;
