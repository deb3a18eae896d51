//! Memory: that of devices, page-locked memory of the host, managed memory, and the virtual memory
//! management of `cuMemCreate` and `cuMemMap`.
//!
//! A device has one [`Window`](window::Window) of addresses. Its first part is where
//! [`DeviceMemory`](device_memory::DeviceMemory) allocates; the rest is for programs to reserve.

pub(in crate::device) mod allocation;
pub(in crate::device) mod device_memory;
pub(in crate::device) mod free_addresses;
pub(in crate::device) mod host_memory;
pub(crate) mod managed;
pub(in crate::device) mod protection;
mod quarantine;
pub(in crate::device) mod ranges;
mod reserved;
pub(in crate::device) mod window;
