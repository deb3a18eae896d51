//! What native code and the functions around it agree on: records at fixed places, the table of
//! functions that native code calls, and how it describes an access.

mod access;
mod helper;
mod records;

pub use access::{AccessInfo, AccessKind, CheckLevel};
pub(crate) use helper::{Helper, HelperAddresses, for_each_helper};
pub(crate) use records::{
    COMMIT, DIVERGED, END, EXITED, FAULTED, FINISHED, KernelContext, LANES, NOWHERE, OPERANDS,
    RESULTS, STOPPED, SUSPENDED, ThreadEntry, ThreadRecord, WAITS, WarpEntry, WarpRecord, slots,
    warp_stride,
};
