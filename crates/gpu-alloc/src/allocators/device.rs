//! The caching allocators of the devices: one each, made at the first use.

use std::sync::OnceLock;
use std::time::Duration;

use gpu_runtime::{Device, tell_what_is_cached};

use super::device_policy::DevicePolicy;
use super::overrides::{self, BoxedSource};
use super::policy_in_use::PolicyInUse;
use crate::cache::{AllocFailure, CachingAllocator};
use crate::error::{Error, Result};
use crate::observers::history;
use crate::observers::{AllocationTracker, HeapState};
use crate::out_of_memory::{self, Bounds, RefusedRequest};
use crate::policy::{Limit, Log};

/// The allocator of one device.
pub(crate) type DeviceAllocator =
    CachingAllocator<DevicePolicy, DeviceMemorySource, AllocationTracker>;

/// The source that the policy takes memory from: the log is for the history.
pub(crate) type DeviceMemorySource = Log<Limit<BoxedSource>>;

/// A device's allocator, and which policy it follows.
#[derive(Debug)]
struct Used {
    device: Device,
    policy: PolicyInUse,
    allocator: DeviceAllocator,
}

static ALLOCATORS: OnceLock<Vec<Used>> = OnceLock::new();

/// Gives the memory that all devices' allocators keep, and nobody holds, back to the driver.
///
/// Cached memory counts as used for the driver and for other programs; this makes it available to
/// them. It does not make more memory available to this process, which does the same by itself
/// before it runs out of memory. Memory that is held is not touched; where a segment is partly
/// held, the rest of it stays.
///
/// It blocks until the work is done that still uses memory which was freed.
///
/// # Errors
/// None at present. What fails below leaves memory where it is, and goes to the log.
pub fn empty_cache() -> Result<()> {
    used().for_each(|(_, allocator)| allocator.release_cached());
    Ok(())
}

/// Gives the memory that nobody has used for as long as `idle` back to the driver, on all devices;
/// returns the bytes.
///
/// It is for a program to call now and then, such as a server between requests. Memory counts as
/// unused from the first call that finds it so. It blocks for nothing: memory that work may still
/// use stays until a later call. Memory that is held is not touched.
///
/// ```
/// use std::time::Duration;
///
/// use gpu_runtime::{Device, DriverChoice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// let device = Device::get(0)?;
/// drop(gpu_alloc::allocate(device, 40 << 20, &device.current_stream()?)?);
/// assert_eq!(gpu_alloc::trim_cache(Duration::from_secs(600)), 0);
/// assert_eq!(gpu_alloc::trim_cache(Duration::ZERO), 40 << 20);
/// # Ok(())
/// # }
/// ```
pub fn trim_cache(idle: Duration) -> usize {
    used().map(|(_, allocator)| allocator.trim(idle)).sum::<u64>() as usize
}

/// Limits what this process may take of a device's memory, cached memory included, to a fraction of
/// the whole.
///
/// A request that would exceed it fails as one that exceeds the device does. What is held already
/// is not affected.
///
/// # Errors
/// [`Error::InvalidMemoryFraction`] unless the fraction is between 0 and 1.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// gpu_alloc::set_per_process_memory_fraction(0.5, device)?;
/// let (total, stream) = (device.memory_info()?.total, device.current_stream()?);
/// assert!(gpu_alloc::allocate(device, total / 4 * 3, &stream).is_err());
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn set_per_process_memory_fraction(fraction: f64, device: Device) -> Result<()> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(Error::InvalidMemoryFraction { fraction });
    }
    let total = device.memory_info()?.total;
    let limit = (fraction < 1.0).then_some((total as f64 * fraction) as u64);
    allocator(device)?.with_whole(|whole| {
        whole.source.source_mut().set_limit(limit);
        whole.policy.set_memory_limit(limit);
    });
    Ok(())
}

/// The part of a device's memory that this process may take: what
/// [`set_per_process_memory_fraction`] has set, or PyTorch's option in the environment, rounded down
/// to whole bytes; 1 without a limit.
///
/// # Errors
/// As [`allocator_policy`](crate::allocator_policy).
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// assert_eq!(gpu_alloc::get_per_process_memory_fraction(device)?, 1.0);
/// gpu_alloc::set_per_process_memory_fraction(0.75, device)?;
/// assert_eq!(gpu_alloc::get_per_process_memory_fraction(device)?, 0.75);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn get_per_process_memory_fraction(device: Device) -> Result<f64> {
    let mut overrides = overrides::overrides();
    let Some(allocator) = allocator_in_use(device) else {
        return Ok(overrides.choice()?.memory_fraction().unwrap_or(1.0));
    };
    drop(overrides);
    let limit = allocator.with_whole(|whole| whole.source.source().limit());
    let Some(limit) = limit else { return Ok(1.0) };
    Ok(limit as f64 / device.memory_info()?.total as f64)
}

/// The policy that a device's allocator follows, or will follow from its first use on: by what the
/// program [asked for](crate::set_allocator_policy), by the environment, or by default; and by what
/// the device can do. PyTorch's `torch.cuda.memory.get_allocator_backend` tells as much.
///
/// To ask settles nothing: until the first use the program may still choose.
///
/// # Errors
/// As the first use would: the environment asks for a policy or an option that there is not; there
/// is no driver.
///
/// ```
/// use gpu_alloc::{AllocatorPolicy, PolicyInUse};
///
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// assert_eq!(gpu_alloc::allocator_policy(device)?, PolicyInUse::Stitched);
///
/// gpu_alloc::set_allocator_policy(AllocatorPolicy::Pytorch("max_split_size_mb:32".parse()?))?;
/// let policy = gpu_alloc::allocator_policy(device)?;
/// assert_eq!(policy.to_string(), "pytorch (max_split_size_mb:32)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn allocator_policy(device: Device) -> Result<PolicyInUse> {
    let mut overrides = overrides::overrides();
    match policy_in_use(device) {
        Some(policy) => Ok(policy.clone()),
        None => overrides.policy_for(device),
    }
}

/// The allocator of a device.
pub(crate) fn allocator(device: Device) -> Result<&'static DeviceAllocator> {
    if let Some(allocator) = allocator_in_use(device) {
        return Ok(allocator);
    }
    let devices = Device::all()?;
    let mut overrides = overrides::overrides();
    if let Some(allocator) = allocator_in_use(device) {
        return Ok(allocator);
    }
    let mut start = |device| {
        let policy = overrides.policy_for(device)?;
        let suballocator = overrides.take_suballocator(device);
        let started = overrides.choice()?.start(device, &policy, suballocator)?;
        Ok((device, policy, started))
    };
    let started: Vec<_> = devices.into_iter().map(&mut start).collect::<Result<_>>()?;
    let history = history::setting();
    let new = |(device, policy, (at_work, limit))| {
        let mut tracker = AllocationTracker::default();
        tracker.record(*history, &at_work);
        let source = Log::new(Limit::new(overrides.take_source(device), limit));
        Used { device, policy, allocator: CachingAllocator::new(at_work, source, tracker) }
    };
    let caches = started.into_iter().map(new).collect();
    overrides.is_in_use = true;
    ALLOCATORS.get_or_init(|| caches);
    tell_what_is_cached(|cached| used().for_each(|(_, allocator)| allocator.tell_cached(cached)));
    drop(history);
    allocator_in_use(device).ok_or(Error::Runtime(gpu_runtime::Error::InvalidDevice {
        index: device.index(),
        count: used().count(),
    }))
}

/// The allocator of a device, if any device's was used.
pub(crate) fn allocator_in_use(device: Device) -> Option<&'static DeviceAllocator> {
    in_use(device).map(|used| &used.allocator)
}

/// The policy of a device's allocator, if any device's was used.
pub(crate) fn policy_in_use(device: Device) -> Option<&'static PolicyInUse> {
    in_use(device).map(|used| &used.policy)
}

fn in_use(device: Device) -> Option<&'static Used> {
    ALLOCATORS.get()?.get(device.index())
}

/// All allocators, by device; none if none was used.
pub(crate) fn used() -> impl Iterator<Item = (Device, &'static DeviceAllocator)> {
    ALLOCATORS.get().into_iter().flatten().map(|used| (used.device, &used.allocator))
}

/// Makes the policy's error the crate's, and tells whoever wants to know of it.
pub(crate) fn explain(
    allocator: &DeviceAllocator,
    request: RefusedRequest,
    error: AllocFailure<HeapState>,
) -> Error {
    let (report, heap) = match error {
        AllocFailure::OutOfMemory(report, heap) => (report, heap),
        AllocFailure::Source(error) => return error.into(),
        AllocFailure::Misplaced(error) => return error.into(),
    };
    let memory = match request.device.memory_info() {
        Ok(memory) => memory,
        Err(error) => return Error::Runtime(error),
    };
    let bounds = Bounds {
        total: memory.total,
        free: memory.free,
        limit: allocator.with_whole(|whole| whole.source.source().limit()),
        has_own_source: overrides::overrides().has_source(request.device),
    };
    let out_of_memory = out_of_memory::explain(request, bounds, &report, &heap);
    allocator.with_whole(|whole| {
        if let Some(recorder) = whole.observer.recorder() {
            let amounts = (out_of_memory.requested as u64, out_of_memory.free as u64);
            let owner = Some(request.owner);
            recorder.refused(amounts, owner, request.call_site, (out_of_memory.to_string(), heap));
        }
    });
    out_of_memory::tell(&out_of_memory);
    Error::OutOfMemory(Box::new(out_of_memory))
}
