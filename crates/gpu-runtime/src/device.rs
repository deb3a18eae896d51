//! The driver of the process, and the lasting state of its devices.

pub(crate) mod capture_mode;
pub(crate) mod check;
pub(crate) mod event_pool;
mod handle;
mod info;
mod lost;
mod once;
mod per_device;
pub(crate) mod platform;
pub(crate) mod properties;
pub(crate) mod software;
mod state;
pub(crate) mod teardown;

pub use capture_mode::{CaptureMode, with_capture_mode};
pub(crate) use event_pool::PooledEvent;
pub(crate) use handle::Handle;
pub(crate) use once::TryOnce;
pub(crate) use per_device::PerDevice;
pub(crate) use software::CachedItem;
pub(crate) use state::DeviceState;
pub use teardown::take_drop_errors;
