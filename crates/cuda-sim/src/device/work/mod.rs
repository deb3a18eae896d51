//! Work that is enqueued in streams: copies, fills, kernel launches, operations on single values.
//!
//! Each looks up the memory that it touches when it is enqueued, and holds it until it has run. In
//! a stream that is being captured it becomes a [`StreamOperation`](super::StreamOperation)
//! instead, from which a graph makes the same work at each launch.

pub(crate) mod copy;
mod copy_node;
mod faults;
mod fill;
mod fill_node;
pub(crate) mod launch;
pub(in crate::device) mod location;
pub(in crate::device) mod memory_lifetime;
pub(crate) mod memory_operations;
pub(crate) mod pitched;
mod view;
mod workspace;
