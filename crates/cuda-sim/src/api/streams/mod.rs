//! Streams, events, host functions, and captures of streams.

pub(in crate::api) mod captures;
pub(in crate::api) mod events;
pub(in crate::api) mod host_functions;
pub(in crate::api) mod stream;

pub(in crate::api) use captures::*;
pub(in crate::api) use events::*;
pub(in crate::api) use host_functions::*;
pub(in crate::api) use stream::*;
