//! What a program puts in the place of the devices' own: a source of memory, a policy.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpu_runtime::Device;

use crate::device_source::DeviceSource;
use crate::error::{Error, Result};
use crate::policy::{MemorySource, PytorchOptions};

/// A source for a device's allocator.
pub(crate) type AnySource = Box<dyn PluggedSource>;

/// What such a source can do.
pub(crate) trait PluggedSource:
    MemorySource<Error = gpu_runtime::Error> + fmt::Debug + Send
{
}

impl<S: MemorySource<Error = gpu_runtime::Error> + fmt::Debug + Send> PluggedSource for S {}

/// A policy for the devices' allocators.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AllocatorPolicy {
    /// Sluice's own: [`Stitched`](crate::policy::Stitched).
    Stitched,
    /// PyTorch's: [`Pytorch`](crate::policy::Pytorch), with these options.
    Pytorch(PytorchOptions),
}

/// What was put in place, until the allocators are made.
pub(crate) struct Plugged {
    pub(crate) policy: Option<AllocatorPolicy>,
    sources: BTreeMap<usize, AnySource>,
    /// Whether the allocators were made.
    pub(crate) is_in_use: bool,
}

impl Plugged {
    /// The source for a device.
    pub(crate) fn source(&mut self, device: Device) -> &mut AnySource {
        self.sources.entry(device.index()).or_insert_with(|| Box::new(DeviceSource::new(device)))
    }

    /// The same, to keep.
    pub(crate) fn take_source(&mut self, device: Device) -> AnySource {
        let plugged = self.sources.remove(&device.index());
        plugged.unwrap_or_else(|| Box::new(DeviceSource::new(device)))
    }
}

/// Makes a device's allocator take its memory from `source` and not from the driver, as PyTorch's
/// `change_current_allocator` does: from another library's allocator, or from a
/// [`DeviceSource`] in wrappers, such as [`Limit`](crate::policy::Limit) or one of the program's own.
///
/// The policy still keeps what is freed, and shares out what the source provides: memory of that
/// device, in whole segments, or as virtual memory where the source has some. All work on memory is
/// known to be done when it goes back to the source. The limits and tools of this crate go on working.
///
/// # Errors
/// [`Error::AllocatorInUse`] once memory of any device was allocated, or asked after.
///
/// ```
/// use gpu_alloc::DeviceSource;
/// use gpu_alloc::policy::Limit;
/// use gpu_runtime::{Device, DriverChoice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// let device = Device::get(0)?;
/// let source = Limit::new(DeviceSource::new(device), Some(64 << 20));
/// gpu_alloc::set_memory_source(device, source)?;
///
/// let stream = device.current_stream()?;
/// let held = gpu_alloc::allocate(device, 60 << 20, &stream)?;
/// assert!(gpu_alloc::allocate(device, 60 << 20, &stream).is_err());
/// # drop(held);
/// # Ok(())
/// # }
/// ```
pub fn set_memory_source(
    device: Device,
    source: impl MemorySource<Error = gpu_runtime::Error> + fmt::Debug + Send + 'static,
) -> Result<()> {
    before_use()?.sources.insert(device.index(), Box::new(source));
    Ok(())
}

/// Makes the devices' allocators follow `policy`, whatever the environment says. Where a device or
/// its [source](set_memory_source) has no virtual memory, they use plain segments all the same.
///
/// # Errors
/// [`Error::AllocatorInUse`] once memory of any device was allocated, or asked after.
///
/// ```
/// use gpu_alloc::AllocatorPolicy;
///
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// gpu_alloc::set_allocator_policy(AllocatorPolicy::Pytorch("max_split_size_mb:32".parse()?))?;
/// let device = gpu_runtime::Device::get(0)?;
/// let memory = gpu_alloc::allocate(device, 1000, &device.current_stream()?)?;
/// assert_eq!(gpu_alloc::memory_stats(device).max_split_size, Some(32 << 20));
/// assert!(gpu_alloc::set_allocator_policy(AllocatorPolicy::Stitched).is_err());
/// # drop(memory);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_allocator_policy(policy: AllocatorPolicy) -> Result<()> {
    before_use()?.policy = Some(policy);
    Ok(())
}

/// What was put in place so far. Held while the allocators are made, so that none is missed.
pub(crate) fn plugged() -> MutexGuard<'static, Plugged> {
    static PLUGGED: Mutex<Plugged> =
        Mutex::new(Plugged { policy: None, sources: BTreeMap::new(), is_in_use: false });
    PLUGGED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn before_use() -> Result<MutexGuard<'static, Plugged>> {
    let plugged = plugged();
    if plugged.is_in_use { Err(Error::AllocatorInUse) } else { Ok(plugged) }
}
