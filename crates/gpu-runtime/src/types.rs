//! Plain values that all other rooms name: devices, streams and work by their names, accesses,
//! addresses, reasons. They know neither the driver nor each other's state; what can be done with a
//! [`Device`] stands in the room that does it.

mod access;
mod allocation;
mod device;
mod device_ptr;
mod driver;
mod graph_node;
mod kernel_name;
mod pitched;
mod properties;
mod stream_id;
mod wait_reason;
mod work;

pub use access::{Access, MemoryAccess};
pub use allocation::Allocation;
pub use device::Device;
pub use device_ptr::DevicePtr;
pub use driver::{DriverChoice, DriverKind};
pub use graph_node::GraphNode;
pub use kernel_name::KernelName;
pub use pitched::Pitched;
pub use properties::{MemoryInfo, Properties};
pub use stream_id::StreamId;
pub use wait_reason::WaitReason;
pub use work::{Direction, LaunchRecord, Work, WorkId};
