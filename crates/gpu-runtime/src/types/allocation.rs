//! Memory that was allocated, as observers and reports name it.

use std::panic::Location;

use super::{Device, DevicePtr, StreamId};

/// Memory that somebody got: from the driver, or from an allocator that shares out the driver's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// The address, on a device or in page-locked memory of the host. Physical memory, which has
    /// no address of its own, is told of under a number from 2^63 on, which no address is.
    pub start: DevicePtr,
    /// The size, in bytes.
    pub bytes: usize,
    /// The device, or nothing for memory of the host.
    pub device: Option<Device>,
    /// The stream that it is meant for, if the allocator knows one.
    pub stream: Option<StreamId>,
    /// Whether it is a part of memory from the driver, which an allocator shares out.
    pub is_part: bool,
    /// The place in the source that asked for it.
    pub place: &'static Location<'static>,
}
