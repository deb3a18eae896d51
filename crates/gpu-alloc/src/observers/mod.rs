//! Observers of allocators: who holds their memory, and what they did.
//!
//! `AllocationTracker` is the observer of each cache. It keeps the last allocation at each block
//! (`live_allocations`) and, where a program has asked for it, the events (`history`).

mod allocation_tracker;
mod heap_state;
pub(crate) mod history;
mod live_allocations;
mod tag;

pub(crate) use allocation_tracker::AllocationTracker;
pub(crate) use heap_state::HeapState;
pub(crate) use live_allocations::{AllocationRecord, CallSite};
pub use tag::{MemoryTag, Tag, memory_tag, with_memory_tag};
