//! Who holds an allocator's memory and what it did, written down while it works.
//!
//! `MemoryLog` is the observer of each cache. It keeps the last allocation at each block
//! (`live_allocations`) and, where a program has asked for it, the events (`history`).

mod heap_state;
pub(crate) mod history;
mod live_allocations;
mod memory_log;
mod tag;

pub(crate) use heap_state::Moment;
pub(crate) use live_allocations::{Holder, Origin};
pub(crate) use memory_log::Books;
pub use tag::{MemoryTag, Tag, memory_tag, with_memory_tag};
