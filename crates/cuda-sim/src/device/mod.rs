//! What the driver's calls act on: devices, their memory, contexts, modules, and the handles that
//! name them.

mod allocation;
mod array;
mod at_exit;
pub(crate) mod attributes;
mod awaited;
mod context;
pub(crate) mod copy;
pub(crate) mod current;
mod event;
mod faults;
mod fill;
mod heap;
mod host_memory;
pub(crate) mod image;
pub(crate) mod launch;
mod library;
mod linker;
mod location;
pub(crate) mod managed;
mod memory;
mod module;
mod output;
mod physical;
mod platform;
pub(crate) mod pool;
mod prepared;
pub(crate) mod process_memory;
mod programs;
mod properties;
mod quarantine;
mod ranges;
mod registry;
mod reserved;
pub(crate) mod rows;
pub(crate) mod settings;
mod stream;
pub(crate) mod stream_memory;
mod stream_ordered;
mod view;
pub(crate) mod virtual_memory;
mod visible;
mod why_not;
mod window;
mod workspace;

pub(crate) use allocation::{Allocation, Purpose};
pub(crate) use array::{Array, ArrayShape};
pub(crate) use context::Context;
pub(crate) use event::{Event, Recording};
pub(crate) use fill::fill_job;
pub(crate) use host_memory::{HostAllocation, HostSource};
#[cfg(any(test, fuzzing))]
pub(crate) use image::load_bytes;
pub(crate) use library::{Library, LibraryKernel};
pub(crate) use linker::Linker;
pub(crate) use location::Location;
pub(crate) use module::{Function, Module};
pub(crate) use physical::Place;
pub(crate) use platform::{Device, Platform, initialise, platform};
pub(crate) use registry::{HandleKind, Registry};
pub(crate) use stream::{GREATEST_PRIORITY, Stream, StreamRef};
pub(crate) use stream_ordered::{allocation_work, free_work};
#[cfg(any(test, fuzzing))]
pub(crate) use visible::visible_devices;
pub(crate) use why_not::{note_why_not_initialised, why_not_initialised};
