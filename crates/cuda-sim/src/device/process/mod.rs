//! What the process has one of: the machine, each thread's current context and default streams, the
//! end of contexts and devices, and what is done when the process ends.

mod at_exit;
pub(crate) mod current;
pub(in crate::device) mod initialise;
pub(crate) mod primary;
pub(crate) mod process_memory;
mod streams_by_handle;
pub(crate) mod teardown;
