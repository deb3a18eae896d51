//! Memory of a device, with what was dropped given back first where there is none left.

use crate::error::{Error, Result};
use crate::queue::retired;
use crate::types::Device;

/// Memory that `take` takes from a device. If that has not enough left, it is asked again where
/// memory that was dropped has been given back since.
pub(crate) fn with_room<T>(
    device: Device,
    bytes: usize,
    take: impl Fn() -> Result<Option<T>>,
) -> Result<T> {
    let retired = retired::of_device(device);
    if !retired.is_empty() && device.is_idle() {
        retired.collect();
    }
    let gone = retired.gone();
    if let Some(taken) = take()? {
        return Ok(taken);
    }
    // Now it is worth the wait.
    retired.collect();
    // By this thread or another one.
    if retired.gone() != gone
        && let Some(taken) = take()?
    {
        return Ok(taken);
    }
    Err(out_of_memory(device, bytes)?)
}

/// The error that says so.
pub(crate) fn out_of_memory(device: Device, bytes: usize) -> Result<Error> {
    let info = device.memory_info()?;
    Ok(Error::OutOfMemory { device, bytes, free: info.free, total: info.total })
}
