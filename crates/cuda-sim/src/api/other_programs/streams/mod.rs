//! More of streams and events: attributes, callbacks, operations on single values in memory.

pub(in crate::api) mod attributes;
pub(in crate::api) mod callbacks;
pub(in crate::api) mod captures;
pub(in crate::api) mod events;
pub(in crate::api) mod memory_operations;
pub(in crate::api) mod stream;

pub(in crate::api) use attributes::*;
pub(in crate::api) use callbacks::*;
pub(in crate::api) use captures::*;
pub(in crate::api) use events::*;
pub(in crate::api) use memory_operations::*;
pub(in crate::api) use stream::*;
