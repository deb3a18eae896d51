//! Waits of the host for devices: whether a thread may wait, and the one way on which it does.

mod host_wait;
pub(crate) mod mode;
mod permit;

pub(crate) use host_wait::{host_wait, wait_for_event, waited};
pub use mode::{
    WaitMode, WaitModeGuard, WaitRecord, set_wait_mode, take_waits, wait_mode, with_wait_mode,
};
pub(crate) use permit::WaitPermit;
