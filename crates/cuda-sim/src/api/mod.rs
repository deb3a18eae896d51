//! The functions of the driver API: each checks handles and arguments, calls the model, and says
//! how it went.
//!
//! A chapter's functions return a `Result`, and nothing of C but the types of their arguments. One
//! macro makes the table's functions of them, in `exports`: `entry` is the way into each.
//!
//! Pointers of the program are written and read, when they are not null; beyond that they are the
//! caller's promise, as in C. Handles are looked up, never followed.

mod arguments;
mod array_copies;
mod arrays;
mod batch;
mod callbacks;
mod capture;
mod context;
mod copy;
mod device;
mod endpoints;
mod entry;
mod errors;
mod events;
pub mod exports;
mod functions;
mod graph_exec;
mod graph_memory;
mod graph_node_parameters;
mod graph_nodes;
mod graph_parameters;
mod graph_updates;
mod graphs;
mod host_functions;
mod host_memory;
mod init;
mod ipc;
mod jit_options;
mod launch;
mod launch_attributes;
mod libraries;
mod limits;
mod linker;
mod managed;
mod memory;
mod memset;
mod modules;
mod occupancy;
mod older;
mod peers;
mod pointers;
mod pools;
mod primary_context;
mod proc_address;
mod profiler;
mod refused;
mod refused_names;
mod rows;
mod stream_attributes;
mod stream_memory;
mod streams;
mod user_objects;
mod virtual_memory;

use cuda_sys::CUresult;

pub(crate) use entry::Call;

/// How a call went; the error is what the program gets to see.
type Result<T = ()> = std::result::Result<T, CUresult>;

/// The table.
pub(crate) static DRIVER: cuda_sys::Driver = cuda_sys::driver_table!(exports);

/// All functions under one roof, for the macro that wraps them.
mod chapters {
    pub(super) use super::array_copies::*;
    pub(super) use super::arrays::*;
    pub(super) use super::batch::*;
    pub(super) use super::callbacks::*;
    pub(super) use super::capture::*;
    pub(super) use super::context::*;
    pub(super) use super::copy::*;
    pub(super) use super::device::*;
    pub(super) use super::errors::*;
    pub(super) use super::events::*;
    pub(super) use super::functions::*;
    pub(super) use super::graph_exec::*;
    pub(super) use super::graph_memory::*;
    pub(super) use super::graph_node_parameters::*;
    pub(super) use super::graph_nodes::*;
    pub(super) use super::graph_updates::*;
    pub(super) use super::graphs::*;
    pub(super) use super::host_functions::*;
    pub(super) use super::host_memory::*;
    pub(super) use super::init::*;
    pub(super) use super::ipc::*;
    pub(super) use super::launch::*;
    pub(super) use super::libraries::*;
    pub(super) use super::limits::*;
    pub(super) use super::linker::*;
    pub(super) use super::managed::*;
    pub(super) use super::memory::*;
    pub(super) use super::memset::*;
    pub(super) use super::modules::*;
    pub(super) use super::occupancy::*;
    pub(super) use super::older::*;
    pub(super) use super::peers::*;
    pub(super) use super::pointers::*;
    pub(super) use super::pools::*;
    pub(super) use super::primary_context::*;
    pub(super) use super::proc_address::*;
    pub(super) use super::profiler::*;
    pub(super) use super::rows::*;
    pub(super) use super::stream_attributes::*;
    pub(super) use super::stream_memory::*;
    pub(super) use super::streams::*;
    pub(super) use super::user_objects::*;
    pub(super) use super::virtual_memory::*;
}
