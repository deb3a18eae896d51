//! What functions were before they got other arguments or another meaning. cuda.h keeps these for
//! programs that were made with older headers.

mod contexts;
mod devices;
mod graphs;
mod launches;
mod linker;

pub(super) use contexts::*;
pub(super) use devices::*;
pub(super) use graphs::*;
pub(super) use launches::*;
pub(super) use linker::*;
