//! A picture of all memory that the devices' allocators have.

use gpu_runtime::{Device, StreamId};

use crate::device;
use crate::policy::{Inspect, Segment};

/// All memory that the devices' allocators have taken from the driver, at one moment for each
/// device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The segments, by device and address.
    pub segments: Vec<DeviceSegment>,
}

/// A piece of memory that was taken from the driver at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSegment {
    /// Where it is.
    pub device: Device,
    /// What is in it.
    pub segment: Segment<StreamId>,
}

/// Shows every segment of every device, with its blocks and what they are doing.
pub fn memory_snapshot() -> Snapshot {
    let segments = device::used().flat_map(|(device, cache)| {
        let segments = cache.lock().policy.snapshot();
        segments.into_iter().map(move |segment| DeviceSegment { device, segment })
    });
    Snapshot { segments: segments.collect() }
}
