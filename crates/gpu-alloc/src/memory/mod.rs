//! Memory that somebody owns: of a device, of the host, or in a pool of its own.
//!
//! Each value goes back to its allocator when it is dropped.

mod device_memory;
mod fill;
mod memory_pool;
mod pageable_memory;
mod pinned_memory;

pub use device_memory::{DeviceMemory, allocate};
pub use fill::{NewMemoryFill, fill_new_memory};
pub use memory_pool::{InMemoryPool, MemoryPool, with_memory_pool};
pub use pageable_memory::{PageableMemory, allocate_pageable};
pub use pinned_memory::{PinnedMemory, allocate_pinned};
