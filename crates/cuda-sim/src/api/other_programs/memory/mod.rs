//! More of memory: pools, managed memory, arrays, and copies and fills in all their variants.

pub(in crate::api) mod array_copies;
pub(in crate::api) mod arrays;
pub(in crate::api) mod batch;
pub(in crate::api) mod copies;
pub(in crate::api) mod device_memory;
pub(in crate::api) mod fills;
pub(in crate::api) mod host_memory;
pub(in crate::api) mod ipc;
pub(in crate::api) mod managed;
pub(in crate::api) mod pointers;
pub(in crate::api) mod pools;
pub(in crate::api) mod rows;
pub(in crate::api) mod virtual_memory;

pub(in crate::api) use array_copies::*;
pub(in crate::api) use arrays::*;
pub(in crate::api) use batch::*;
pub(in crate::api) use copies::*;
pub(in crate::api) use device_memory::*;
pub(in crate::api) use fills::*;
pub(in crate::api) use host_memory::*;
pub(in crate::api) use ipc::*;
pub(in crate::api) use managed::*;
pub(in crate::api) use pointers::*;
pub(in crate::api) use pools::*;
pub(in crate::api) use rows::*;
pub(in crate::api) use virtual_memory::*;
