//! The caching allocators of the devices: one each, made at the first use.

use std::sync::OnceLock;
use std::time::Duration;

use gpu_runtime::Device;

use crate::books::{Books, Moment};
use crate::cache::{Cache, Refused};
use crate::choice::Choice;
use crate::device_policy::DevicePolicy;
use crate::error::{Error, Result};
use crate::history;
use crate::out_of_memory::{self, Request};
use crate::plug::{self, AnySource};
use crate::policy::{Limit, Log, MemorySource};

/// The allocator of one device.
pub(crate) type DeviceCache = Cache<DevicePolicy, DeviceMemorySource, Books>;

/// What the policy takes memory from: the log is for the history.
pub(crate) type DeviceMemorySource = Log<Limit<AnySource>>;

static CACHES: OnceLock<Vec<(Device, DeviceCache)>> = OnceLock::new();

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
    used().for_each(|(_, cache)| cache.release_cached());
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
    used().map(|(_, cache)| cache.trim(idle)).sum::<u64>() as usize
}

/// Limits what this process may take of a device's memory, cached memory included, to a fraction of
/// the whole.
///
/// A request that would exceed it fails as one that exceeds the device does. What is held already
/// is not affected.
///
/// # Errors
/// [`Error::InvalidMemoryFraction`] unless the fraction is between 0 and 1.
pub fn set_per_process_memory_fraction(fraction: f64, device: Device) -> Result<()> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(Error::InvalidMemoryFraction { fraction });
    }
    let total = device.memory_info()?.total;
    let limit = (fraction < 1.0).then_some((total as f64 * fraction) as u64);
    let mut state = cache(device)?.lock();
    state.source.source_mut().set_limit(limit);
    state.policy.set_memory_limit(limit);
    Ok(())
}

/// The allocator of a device.
pub(crate) fn cache(device: Device) -> Result<&'static DeviceCache> {
    if let Some(cache) = cache_in_use(device) {
        return Ok(cache);
    }
    let devices = Device::all()?;
    let mut plugged = plug::plugged();
    if let Some(cache) = cache_in_use(device) {
        return Ok(cache);
    }
    let choice = Choice::new(plugged.policy.as_ref())?;
    let mut policy_for = |device| {
        let has_virtual_memory = plugged.source(device).virtual_memory().is_some();
        let suballocator = plugged.take_suballocator(device);
        Ok((device, choice.for_device(device, has_virtual_memory, suballocator)?))
    };
    let policies: Vec<_> = devices.into_iter().map(&mut policy_for).collect::<Result<_>>()?;
    let history = history::setting();
    let new = |(device, (policy, limit))| {
        let mut books = Books::default();
        books.record(*history, &policy);
        let source = Log::new(Limit::new(plugged.take_source(device), limit));
        (device, Cache::new(policy, source, books))
    };
    let caches = policies.into_iter().map(new).collect();
    plugged.is_in_use = true;
    CACHES.get_or_init(|| caches);
    drop(history);
    cache_in_use(device).ok_or(Error::Runtime(gpu_runtime::Error::InvalidDevice {
        index: device.index(),
        count: used().count(),
    }))
}

/// The allocator of a device, if any device's was used.
pub(crate) fn cache_in_use(device: Device) -> Option<&'static DeviceCache> {
    CACHES.get()?.get(device.index()).map(|(_, cache)| cache)
}

/// All allocators, by device; none if none was used.
pub(crate) fn used() -> impl Iterator<Item = (Device, &'static DeviceCache)> {
    CACHES.get().into_iter().flatten().map(|(device, cache)| (*device, cache))
}

/// Makes the policy's error the crate's, and tells whoever wants to know of it.
pub(crate) fn explain(cache: &DeviceCache, request: Request, error: Refused<Moment>) -> Error {
    let (report, moment) = match error {
        Refused::OutOfMemory(report, moment) => (report, moment),
        Refused::Failed(error) => return error,
    };
    let memory = match request.device.memory_info() {
        Ok(memory) => memory,
        Err(error) => return Error::Runtime(error),
    };
    let out_of_memory = out_of_memory::explain(request, memory, &report, &moment);
    if let Some(recorder) = cache.lock().watch.recorder() {
        let amounts = (out_of_memory.requested as u64, out_of_memory.free as u64);
        let home = Some(request.home);
        recorder.refused(amounts, home, request.origin, (out_of_memory.to_string(), moment));
    }
    out_of_memory::tell(&out_of_memory);
    Error::OutOfMemory(Box::new(out_of_memory))
}
