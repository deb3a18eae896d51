//! Memory of devices and page-locked memory of the host, straight from the driver, and typed buffers
//! over it.

mod buffer;
mod device_allocation;
mod host_allocation;
mod room;
mod tell;

pub use buffer::{DeviceBuffer, PinnedBuffer};
pub use device_allocation::DeviceAllocation;
pub use host_allocation::HostAllocation;
pub(crate) use room::{out_of_memory, with_room};
use tell::tell_of;
