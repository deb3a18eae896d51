//! Copies and fills: raw ones between addresses, safe ones between buffers, strided ones, and those
//! between devices, with the access of devices to each other's memory.

mod copy_2d;
mod host_staging;
mod peer;
pub(crate) mod peer_link;
mod raw;
mod transfer;
