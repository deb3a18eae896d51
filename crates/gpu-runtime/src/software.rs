//! The one place that knows of the software driver: where its table comes from, and what it tells
//! beyond NVIDIA's.

use std::ops::Range;
use std::time::Duration;

use cuda_sys::Driver;

use crate::device::Device;
#[cfg(feature = "software")]
use crate::driver::DriverKind;
use crate::error::{Error, Result};
use crate::memory::DevicePtr;
#[cfg(feature = "software")]
use crate::platform;

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

/// What stopped a device of the software driver: the kernel, the thread, the address.
#[cfg(feature = "software")]
pub(crate) fn fault(device: Device) -> Option<String> {
    cuda_sim::control::last_fault(device.index()).ok()?
}

/// What the software driver calls an operation.
#[cfg(feature = "software")]
pub(crate) use cuda_sim::control::OperationId;
/// No driver says when operations were.
#[cfg(not(feature = "software"))]
pub(crate) type OperationId = std::convert::Infallible;

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
pub(crate) fn begin_of_launch(end: OperationId) -> OperationId {
    OperationId { sequence: end.sequence.saturating_sub(1), ..end }
}

/// What the calling thread enqueued last, unless it was asked since.
#[cfg(feature = "software")]
pub(crate) fn take_last_operation() -> Option<OperationId> {
    cuda_sim::control::take_last_operation()
}

/// When operations were that nobody has asked for yet.
#[cfg(feature = "software")]
pub(crate) fn take_times() -> Vec<(OperationId, Range<Duration>)> {
    cuda_sim::control::take_operation_times().unwrap_or_default()
}

/// Something that is kept for reuse.
#[cfg(feature = "software")]
#[derive(Clone)]
pub(crate) struct Kept(pub(crate) cuda_sim::control::CachedResource);
/// Nobody asks what is kept.
#[cfg(not(feature = "software"))]
#[derive(Clone)]
pub(crate) struct Kept;

#[cfg(feature = "software")]
impl Kept {
    pub(crate) fn object<T>(handle: *mut T) -> Kept {
        Kept(cuda_sim::control::CachedResource::Object(handle.addr() as u64))
    }

    pub(crate) fn memory(start: DevicePtr, bytes: usize) -> Kept {
        let end = start.address().saturating_add(bytes as u64);
        Kept(cuda_sim::control::CachedResource::Memory(start.address()..end))
    }
}

/// Tells the driver when the process ends what is kept for reuse, if it wants to know.
#[cfg(feature = "software")]
pub(crate) fn tell_what_is_kept() {
    cuda_sim::control::ask_what_is_kept(|tell| crate::cached::tell(&mut |kept| tell(kept.0)));
}

/// Tells the driver that an object is kept for reuse as long as it exists.
#[cfg(feature = "software")]
pub(crate) fn keep_object(handle: u64) {
    if platform::existing().is_some_and(|platform| platform.kind == DriverKind::Software) {
        cuda_sim::control::keep_object(handle);
    }
}

#[cfg(not(feature = "software"))]
impl Kept {
    pub(crate) fn object<T>(_handle: *mut T) -> Kept {
        Kept
    }

    pub(crate) fn memory(_start: DevicePtr, _bytes: usize) -> Kept {
        Kept
    }
}

#[cfg(not(feature = "software"))]
pub(crate) fn tell_what_is_kept() {}

#[cfg(not(feature = "software"))]
pub(crate) fn keep_object(_handle: u64) {}

#[cfg(not(feature = "software"))]
pub(crate) fn virtual_now() -> Option<Duration> {
    None
}

#[cfg(not(feature = "software"))]
pub(crate) fn tell_times(_told: bool) {}

#[cfg(not(feature = "software"))]
pub(crate) fn begin_of_launch(end: OperationId) -> OperationId {
    end
}

#[cfg(not(feature = "software"))]
pub(crate) fn take_last_operation() -> Option<OperationId> {
    None
}

#[cfg(not(feature = "software"))]
pub(crate) fn take_times() -> Vec<(OperationId, Range<Duration>)> {
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
