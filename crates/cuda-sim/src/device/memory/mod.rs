//! Memory: that of devices, page-locked memory of the host, managed memory, and the virtual memory
//! management of `cuMemCreate` and `cuMemMap`.
//!
//! A device has one [`Window`](window::Window) of addresses. Its first part is where
//! [`GlobalMemory`](global_memory::GlobalMemory) allocates; the rest is for programs to reserve.

pub(in crate::device) mod allocation;
pub(in crate::device) mod free_addresses;
pub(in crate::device) mod global_memory;
pub(crate) mod managed;
pub(in crate::device) mod page_locked;
pub(in crate::device) mod protection;
mod quarantine;
pub(in crate::device) mod ranges;
mod reserved;
pub(in crate::device) mod window;
