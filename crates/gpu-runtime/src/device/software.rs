//! The one place that knows of the software driver: where its table comes from, and what it tells
//! beyond NVIDIA's.

use std::ops::Range;
#[cfg(feature = "software")]
use std::sync::OnceLock;
use std::time::Duration;

use cuda_sys::Driver;

use crate::error::{Error, Result};
use crate::types::{Device, DevicePtr};

/// Something that is kept for reuse, as the software driver's list of leaks has it.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "software"), expect(dead_code, reason = "no other driver asks"))]
pub(crate) enum CachedItem {
    /// An object of the driver, by its handle.
    Object(u64),
    /// Memory, of a device or the host.
    Memory(Range<u64>),
}

/// Tells of each thing that is kept for reuse.
pub(crate) type TellCached = fn(&mut dyn FnMut(CachedItem));

/// The function that the software driver calls when the process ends, once the process uses that driver.
#[cfg(feature = "software")]
static TELL_CACHED: OnceLock<TellCached> = OnceLock::new();

/// The software driver's table, with `devices` devices if that is said.
#[cfg(feature = "software")]
pub(crate) fn driver(devices: Option<u32>) -> Result<&'static Driver> {
    use std::sync::Arc;

    use cuda_sim::control::{Config, configure};

    // Also read where nothing is configured here: the driver itself has only a code for a variable
    // that means nothing, and this has its name.
    let config =
        Config::from_env().map_err(|reason| Error::SoftwareDriver { reason: Arc::new(reason) })?;
    if let Some(devices) = devices {
        configure(Config { devices, ..config })
            .map_err(|reason| Error::SoftwareDriver { reason: Arc::new(reason) })?;
    }
    Ok(cuda_sim::driver())
}

/// Why the software driver could not be initialised, in its own words.
#[cfg(feature = "software")]
pub(crate) fn why_not_initialised() -> Option<Error> {
    use std::sync::Arc;

    let why = cuda_sim::control::why_not_initialised()?;
    Some(Error::SoftwareDriver {
        reason: Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(why)),
    })
}

#[cfg(not(feature = "software"))]
pub(crate) fn why_not_initialised() -> Option<Error> {
    None
}

/// The fault that stopped a device of the software driver: the kernel, the thread, the address.
#[cfg(feature = "software")]
pub(crate) fn fault(device: Device) -> Option<String> {
    cuda_sim::control::last_fault(device.index()).ok()?
}

/// The software driver's name for an operation.
#[cfg(feature = "software")]
pub(crate) use cuda_sim::control::OperationId as DriverOperation;
/// No driver says when operations were.
#[cfg(not(feature = "software"))]
pub(crate) type DriverOperation = std::convert::Infallible;

/// The calling thread's virtual clock, where time is virtual.
#[cfg(feature = "software")]
pub(crate) fn virtual_now() -> Option<Duration> {
    cuda_sim::control::virtual_now().ok()
}

/// Has the driver remember when operations are, or no longer.
#[cfg(feature = "software")]
pub(crate) fn tell_times(told: bool) {
    // Where time is not virtual any more, there is nothing to forget.
    let _ = cuda_sim::control::tell_operation_times(told);
}

/// The operation that begins the launch of a graph which `end` ends.
#[cfg(feature = "software")]
pub(crate) fn begin_of_launch(end: DriverOperation) -> DriverOperation {
    DriverOperation { sequence: end.sequence.saturating_sub(1), ..end }
}

/// The operation that the calling thread enqueued last, unless it was asked for since.
#[cfg(feature = "software")]
pub(crate) fn take_last_operation() -> Option<DriverOperation> {
    cuda_sim::control::take_last_operation()
}

/// When operations were that nobody has asked for yet.
#[cfg(feature = "software")]
pub(crate) fn take_times() -> Vec<(DriverOperation, Range<Duration>)> {
    cuda_sim::control::take_operation_times().unwrap_or_default()
}

impl CachedItem {
    pub(crate) fn object<T>(handle: *mut T) -> CachedItem {
        CachedItem::Object(handle.addr() as u64)
    }

    pub(crate) fn memory(start: DevicePtr, bytes: usize) -> CachedItem {
        CachedItem::Memory(start.address()..start.address().saturating_add(bytes as u64))
    }
}

/// The process uses the software driver from here on. When the process ends, `tell_cached` tells the
/// driver what is kept for reuse, if it wants to know.
#[cfg(feature = "software")]
pub(crate) fn begin(tell_cached: TellCached) {
    use cuda_sim::control::{CachedResource, ask_what_is_kept};

    if TELL_CACHED.set(tell_cached).is_ok() {
        ask_what_is_kept(|tell| {
            let Some(tell_cached) = TELL_CACHED.get() else { return };
            tell_cached(&mut |item| {
                tell(match item {
                    CachedItem::Object(handle) => CachedResource::Object(handle),
                    CachedItem::Memory(range) => CachedResource::Memory(range),
                });
            });
        });
    }
}

/// Tells the driver that an object is kept for reuse as long as it exists.
#[cfg(feature = "software")]
pub(crate) fn keep_object(handle: u64) {
    if TELL_CACHED.get().is_some() {
        cuda_sim::control::keep_object(handle);
    }
}

#[cfg(not(feature = "software"))]
pub(crate) fn begin(_tell_cached: TellCached) {}

#[cfg(not(feature = "software"))]
pub(crate) fn keep_object(_handle: u64) {}

#[cfg(not(feature = "software"))]
pub(crate) fn virtual_now() -> Option<Duration> {
    None
}

#[cfg(not(feature = "software"))]
pub(crate) fn tell_times(_told: bool) {}

#[cfg(not(feature = "software"))]
pub(crate) fn begin_of_launch(end: DriverOperation) -> DriverOperation {
    end
}

#[cfg(not(feature = "software"))]
pub(crate) fn take_last_operation() -> Option<DriverOperation> {
    None
}

#[cfg(not(feature = "software"))]
pub(crate) fn take_times() -> Vec<(DriverOperation, Range<Duration>)> {
    Vec::new()
}

#[cfg(not(feature = "software"))]
pub(crate) fn driver(_devices: Option<u32>) -> Result<&'static Driver> {
    Err(Error::NotCompiledIn)
}

#[cfg(not(feature = "software"))]
pub(crate) fn fault(_device: Device) -> Option<String> {
    None
}

#[cfg(all(test, not(feature = "software")))]
mod tests {
    use crate::{DriverChoice, Error, choose_driver};

    #[test]
    fn without_the_feature_asking_for_it_is_an_error_that_names_the_feature() {
        let choice = DriverChoice::Software { devices: Some(4) };
        let error = choose_driver(choice).expect_err("it is not compiled in");
        assert!(matches!(error, Error::NotCompiledIn), "{error}");
        assert!(error.to_string().contains("feature `software`"), "{error}");
    }
}
