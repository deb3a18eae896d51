//! The model that the driver's calls act on: devices, their memory, contexts, modules, streams, and
//! the handles that name them.
//!
//! The rooms, from the top; each knows only those below it:
//! - `process`: what the process has one of. Initialisation, each thread's current context, the end
//!   of contexts, reset, and what is done at exit.
//! - `work`: what is enqueued in streams. Copies, fills, kernel launches, memory operations.
//! - `machine`: the machine, with a table of objects for each kind of handle.
//! - `streams`: streams and events, and what they know of captures.
//! - `code`: modules, libraries, the linker, and the images that they are loaded from.
//! - `contexts`: contexts and what belongs to one, arrays among it.
//! - `pool`: stream-ordered memory pools.
//! - `virtual_memory`: what `cuMemCreate` and `cuMemMap` make.
//! - `gpu`: a device: its memory, its health, its primary context.
//! - `memory`: the memory of devices, and page-locked memory of the host.
//! - `registry`, `attributes`, `properties`, `visible`, `why_not`: handles, what a device says of
//!   itself, which devices there are, and why there are none.
//!
//! Graphs lie above: a stream knows the capture that it takes part in by the trait
//! [`StreamCapture`].

pub(crate) mod attributes;
mod code;
mod contexts;
mod gpu;
mod machine;
mod memory;
mod pool;
mod process;
mod properties;
mod registry;
mod streams;
mod virtual_memory;
mod visible;
mod why_not;
mod work;

pub(crate) use code::image;
#[cfg(any(test, fuzzing))]
pub(crate) use code::image::load_bytes;
pub(crate) use code::kernel_call::{ExecutionConfiguration, KernelCall, KernelParameters};
pub(crate) use code::library::{Library, LibraryKernel};
pub(crate) use code::linker::Linker;
pub(crate) use code::module::{ContextModule, KernelFunction};
pub(crate) use contexts::array::{Array, ArrayShape};
pub(crate) use contexts::context::Context;
pub(crate) use contexts::settings;
pub(crate) use gpu::Device;
pub(crate) use machine::SimulatedMachine;
pub(crate) use memory::allocation::{GlobalAllocation, Purpose};
pub(crate) use memory::managed;
pub(crate) use memory::page_locked::{HostSource, PageLockedAllocation};
pub(crate) use memory::protection::Protection;
pub(crate) use pool::stream_ordered::{PoolAttributes, StreamOrderedPool};
pub(crate) use process::initialise::{ContextObserver, initialise, machine};
pub(crate) use process::{current, primary, process_memory, teardown};
pub(crate) use registry::{HandleKind, Registry};
pub(crate) use streams::capture::{CapturedEvent, StreamCapture};
pub(crate) use streams::event::{Event, EventRecord};
pub(crate) use streams::launch_attributes::{
    AttributeSet, LaunchAttributeValue, OF_KERNELS, OF_STREAMS,
};
pub(crate) use streams::operation::{CopyNodeEnd, CopyParameters, FillParameters, StreamOperation};
pub(crate) use streams::stream::{GREATEST_PRIORITY, Stream, StreamRef};
pub(crate) use virtual_memory::mappings::GRANULARITY;
pub(crate) use virtual_memory::physical::MemoryLocation;
#[cfg(any(test, fuzzing))]
pub(crate) use visible::visible_devices;
pub(crate) use why_not::{note_why_not_initialised, why_not_initialised};
pub(crate) use work::location::Location;
pub(crate) use work::memory_lifetime::{allocation_work, free_work};
pub(crate) use work::{copy, launch, memory_operations, pitched};
