//! Device memory for storages, from the caching allocator.

use gpu_alloc::DeviceMemory;
use gpu_runtime::Device;

use crate::Result;

/// Allocates device memory on the device's current stream. It is reused for other tensors in that
/// stream's order, as PyTorch's caching allocator does it.
#[track_caller]
pub(super) fn allocate(device: Device, bytes: usize) -> Result<DeviceMemory> {
    let stream = device.current_stream_ref()?;
    Ok(gpu_alloc::allocate(device, bytes, &stream)?)
}
