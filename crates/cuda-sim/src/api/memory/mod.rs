//! Device memory and page-locked memory, addresses, copies and fills.

pub(in crate::api) mod copies;
pub(in crate::api) mod device_memory;
pub(in crate::api) mod endpoints;
pub(in crate::api) mod fills;
pub(in crate::api) mod host_memory;
pub(in crate::api) mod pointers;
pub(in crate::api) mod rows;
pub(in crate::api) mod virtual_memory;

pub(in crate::api) use copies::*;
pub(in crate::api) use device_memory::*;
pub(in crate::api) use fills::*;
pub(in crate::api) use host_memory::*;
pub(in crate::api) use pointers::*;
pub(in crate::api) use rows::*;
pub(in crate::api) use virtual_memory::*;
