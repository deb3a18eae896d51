//! CUDA devices, streams, events, graphs and memory: the functions of `torch.cuda`.
//!
//! [`Stream::capture`](gpu_runtime::Stream::capture) captures operations on tensors into a [`Graph`], which
//! can then be launched many times. Tensors that are made during the capture lie in the graph's own
//! memory, and hold nothing before the first launch. Tensors from outside are read and written anew
//! by each launch. Random numbers are different in each launch: it draws them from the generators
//! that were in use at the capture.
//!
//! ```
//! # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
//! use tensor::{Device, Error, Tensor, cuda};
//!
//! let device = Device::cuda();
//! let input = Tensor::zeros([2], device)?;
//! let (graph, output) = cuda::Stream::new(device)?.capture(|_| {
//!     let doubled = (&input + &input)?;
//!     &doubled + 1.0
//! })?;
//! let (step, stream) = (graph.instantiate()?, cuda::current_stream(device)?);
//! for value in [1.0, 5.0] {
//!     input.fill_(value)?;
//!     step.launch(&stream)?;
//!     assert_eq!(output.to_vec::<f32>()?, [2.0 * value as f32 + 1.0; 2]);
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! # Memory
//! The functions of `torch.cuda.memory` have their names here. What it has as a `with` block is a
//! guard or a closure:
//!
//! ```
//! # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
//! use tensor::{Device, Tensor, cuda};
//!
//! let device = Device::cuda();
//! cuda::record_memory_history(Some(100_000));
//! let pool = cuda::MemoryPool::new();
//! let cache = {
//!     let (_inside, _tag) = (pool.enter()?, cuda::memory_tag("keys and values"));
//!     Tensor::zeros([64, 1024], device)?
//! };
//! let more = cuda::with_memory_pool(&pool, || Tensor::zeros([64, 1024], device))??;
//! assert_eq!(cuda::memory_allocated(device)?, 2 * 64 * 1024 * 4);
//! println!("{}", cuda::memory_summary(device)?);
//!
//! # let path = std::env::temp_dir().join(format!("tensor-cuda-{}.html", std::process::id()));
//! cuda::dump_snapshot(&path)?; // a page to look at; for PyTorch's tools if it is not called .html
//! # std::fs::remove_file(path).expect("it was written");
//! # drop((cache, more));
//! # Ok::<(), tensor::Error>(())
//! ```

mod memory;
mod stream;

use crate::resolved_device::ResolvedDevice;
use crate::{Device, Error, Result};

pub use gpu_alloc::{
    AllocatorPolicy, HostMemoryStats, MemoryPool, MemoryStats, MemoryTag, OutOfMemoryObservation,
    PolicyInUse, Snapshot, dump_snapshot, empty_host_cache, host_memory_stats, memory_tag,
    observe_out_of_memory, record_memory_history, reset_accumulated_host_memory_stats,
    reset_peak_host_memory_stats, set_allocator_policy, trim_cache, trim_host_cache,
    with_memory_pool, with_memory_tag,
};
pub use gpu_runtime::{
    DeviceGuard, Event, Function, Graph, GraphExec, LaunchConfig, Module, Order, Properties,
    StreamGuard, with_order,
};
pub use memory::{
    MemInfo, allocator_policy, empty_cache, get_per_process_memory_fraction, max_memory_allocated,
    max_memory_cached, max_memory_reserved, mem_get_info, memory_allocated, memory_cached,
    memory_reserved, memory_snapshot, memory_stats, memory_summary, reset_accumulated_memory_stats,
    reset_peak_memory_stats, set_per_process_memory_fraction,
};
pub use stream::{Stream, current_stream, default_stream};

/// Whether there is a driver and at least one device. It never fails and makes no context; the
/// reason for `false` is in [`gpu_runtime::availability`].
pub fn is_available() -> bool {
    gpu_runtime::is_available()
}

/// The number of devices; 0 without a driver.
pub fn device_count() -> usize {
    gpu_runtime::Device::count().unwrap_or(0)
}

/// The index of this thread's current device, which is 0 at first.
///
/// # Errors
/// There is no driver, or no device.
pub fn current_device() -> Result<usize> {
    Ok(gpu_runtime::Device::current()?.index())
}

/// Makes a device this thread's current one; [`device`] does so for a scope.
///
/// # Errors
/// There is no such device.
pub fn set_device(index: usize) -> Result<()> {
    gpu_runtime::Device::get(index)?.make_current();
    Ok(())
}

/// Makes a device this thread's current one until the guard is dropped.
///
/// # Errors
/// There is no such device.
pub fn device(index: usize) -> Result<DeviceGuard> {
    Ok(gpu_runtime::Device::get(index)?.enter()?)
}

/// Runs `f` with a device as this thread's current one.
///
/// # Errors
/// There is no such device; then `f` does not run.
pub fn with_device<R>(index: usize, f: impl FnOnce() -> R) -> Result<R> {
    Ok(gpu_runtime::with_device(gpu_runtime::Device::get(index)?, f)?)
}

/// Name, size and limits of a device.
///
/// # Errors
/// There is no such device.
pub fn get_device_properties(index: usize) -> Result<Properties> {
    Ok(gpu_runtime::Device::get(index)?.properties()?)
}

/// The name of a device.
///
/// # Errors
/// There is no such device.
pub fn get_device_name(index: usize) -> Result<String> {
    Ok(get_device_properties(index)?.name)
}

/// Blocks until all work on all streams of a device is done.
///
/// # Errors
/// `device` is not a CUDA device that there is; or its work failed.
#[track_caller]
pub fn synchronize(device: Device) -> Result<()> {
    Ok(physical("synchronize", device)?.synchronize()?)
}

/// Whether a kernel on `device` could read memory of `peer`, once that is switched on.
///
/// # Errors
/// One of them is not a CUDA device that there is.
pub fn can_device_access_peer(device: Device, peer: Device) -> Result<bool> {
    const OP: &str = "can_device_access_peer";
    Ok(physical(OP, device)?.can_access_peer(physical(OP, peer)?)?)
}

/// Lets kernels on `device` read memory of `peer`: operations then take operands there, and give
/// their result on the first operand's device. Off at first; one call is for one direction.
///
/// # Errors
/// One of them is not a CUDA device that there is, or the two cannot reach each other.
pub fn enable_peer_access(device: Device, peer: Device) -> Result<()> {
    const OP: &str = "enable_peer_access";
    Ok(physical(OP, device)?.enable_peer_access(physical(OP, peer)?)?)
}

/// Opens the direct way for copies from one device to another, if the machine has a sound one, and says
/// whether it has. Operations on tensors of both stay errors, unlike after [`enable_peer_access`].
/// The first call for two devices blocks, as there.
///
/// ```
/// use tensor::{Device, cuda};
/// # gpu_runtime::choose_driver("software:2".parse()?)?;
/// assert!(cuda::connect_peer(Device::cuda_at(0), Device::cuda_at(1))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A device does not exist or cannot be used.
#[track_caller]
pub fn connect_peer(device: Device, peer: Device) -> Result<bool> {
    const OP: &str = "connect_peer";
    Ok(physical(OP, device)?.connect_peer(physical(OP, peer)?)?)
}

/// Takes [`enable_peer_access`] back.
///
/// # Errors
/// One of them is not a CUDA device that there is.
pub fn disable_peer_access(device: Device, peer: Device) -> Result<()> {
    const OP: &str = "disable_peer_access";
    Ok(physical(OP, device)?.disable_peer_access(physical(OP, peer)?)?)
}

/// Loads kernels of the program's own onto a device: the text of PTX, or a fat binary. They are
/// launched on tensors as [`CudaView`](crate::CudaView) says. A module is worth keeping, since the
/// driver compiles it.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use tensor::{Device, cuda};
/// let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }";
/// let kernel = cuda::load_module(Device::cuda(), ptx)?.function("nothing")?;
/// # drop(kernel);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// `device` is not a CUDA device that there is; the driver refuses the module, with what its
/// compiler says.
pub fn load_module(device: Device, image: impl AsRef<[u8]>) -> Result<Module> {
    Ok(physical("load_module", device)?.load(image)?)
}

/// The CUDA device of the runtime that a device means.
///
/// # Errors
/// It does not exist, or is the CPU.
fn physical(op: &'static str, device: Device) -> Result<gpu_runtime::Device> {
    match ResolvedDevice::of(device)? {
        ResolvedDevice::Cuda(device) => Ok(device),
        ResolvedDevice::Cpu => Err(Error::InvalidArgument {
            op,
            argument: "device",
            value: device.to_string(),
            why: "it must be a CUDA device",
        }),
    }
}
