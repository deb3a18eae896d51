//! What functions were before they got other arguments or another meaning. cuda.h keeps these for
//! programs that were made with older headers.

pub(in crate::api) mod contexts;
pub(in crate::api) mod devices;
pub(in crate::api) mod graphs;
pub(in crate::api) mod launches;
pub(in crate::api) mod linker;

pub(in crate::api) use contexts::*;
pub(in crate::api) use devices::*;
pub(in crate::api) use graphs::*;
pub(in crate::api) use launches::*;
pub(in crate::api) use linker::*;
