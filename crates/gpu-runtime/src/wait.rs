//! Waits of the host for devices: whether a thread may wait, and the one way on which it does.

mod host_wait;
mod permit;
pub(crate) mod wait_mode;

pub(crate) use host_wait::{host_wait, wait_for_event, waited};
pub(crate) use permit::WaitPermit;
pub use wait_mode::{
    WaitMode, WaitModeGuard, WaitRecord, set_wait_mode, take_waits, wait_mode, with_wait_mode,
};
