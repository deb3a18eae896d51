//! Device memory for storages: from the caching allocator, on the device's current stream.

use gpu_alloc::DeviceMemory;
use gpu_runtime::Device;

use crate::Result;

#[track_caller]
pub(super) fn allocate(device: Device, bytes: usize) -> Result<DeviceMemory> {
    let stream = device.current_stream_ref()?;
    Ok(gpu_alloc::allocate(device, bytes, &stream)?)
}
