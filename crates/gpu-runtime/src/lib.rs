//! Devices, streams, events, copies and launches on a CUDA driver.

mod arguments;
mod buffer;
mod callback;
mod check;
mod context;
mod copy;
mod current;
mod device;
mod device_state;
mod driver;
mod enqueue;
mod error;
mod event;
mod event_pool;
mod handle;
mod image;
mod launch;
mod ledger;
mod lost;
mod memory;
mod module;
mod once;
mod order;
mod peer;
mod pending;
mod platform;
mod point;
mod properties;
mod retired;
mod software;
mod stream;
mod teardown;
mod transfer;
mod uses;
mod wait;

pub use arguments::{ByValue, KernelArgument, KernelArguments};
pub use buffer::{DeviceBuffer, PinnedBuffer};
pub use context::{ExecutionContext, ExecutionContextGuard};
pub use current::{DeviceGuard, StreamGuard, with_device, with_stream};
pub use device::Device;
pub use driver::{
    Availability, DriverChoice, DriverKind, availability, choose_driver, driver_kind,
    driver_version, is_available,
};
pub use error::{Error, EventProblem, Result};
pub use event::Event;
pub use launch::{Function, LaunchConfig, LaunchProblem};
pub use ledger::{Direction, LaunchRecord, Work};
pub use lost::LostDevice;
pub use memory::{DeviceAllocation, DevicePtr, HostAllocation};
pub use module::Module;
pub use order::{Access, Order, ordered, with_order};
pub use pending::Pending;
pub use point::StreamPoint;
pub use properties::{MemoryInfo, Properties};
pub use stream::{Stream, StreamId};
pub use teardown::take_drop_errors;
pub use uses::UseRecord;
