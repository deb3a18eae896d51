//! The machine: choosing what it is like before `cuInit`, and setting it back to the start.

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::error::{ConfigureError, ControlError};
use super::faults::clear_faults;
use crate::config::Config;
use crate::device::{self, Device, machine, teardown};
use crate::queue::in_host_function;
use cuda_check::console;

/// The configuration that was asked for by [`configure`].
static ASKED: Mutex<Option<Config>> = Mutex::new(None);

/// Chooses the devices that `cuInit` makes, instead of what the environment says.
///
/// # Errors
/// After `cuInit`, unless it is what the devices were made from, and for more devices than there
/// can be.
pub fn configure(config: Config) -> Result<(), ConfigureError> {
    if config.devices > Config::MAX_DEVICES {
        return Err(ConfigureError::TooManyDevices { asked: config.devices });
    }
    let mut asked = ASKED.lock();
    match machine() {
        Ok(machine) if machine.config != config => {
            let current = Box::new(machine.config.clone());
            Err(ConfigureError::AlreadyInitialised { current, asked: Box::new(config) })
        }
        _ => {
            *asked = Some(config);
            Ok(())
        }
    }
}

/// Makes all devices as new: no contexts, streams, events, modules or memory, page-locked memory
/// included, no sticky errors, limits as configured. Handles and pointers from before are void.
///
/// What runs is interrupted and waited for, what is queued is dropped. Host functions that have
/// begun are waited for too. No other thread may be in a call of the driver. Before `cuInit` there
/// is nothing to do.
///
/// # Errors
/// [`ControlError::InHostFunction`], which could only wait for itself.
pub fn reset() -> Result<(), ControlError> {
    if in_host_function() {
        return Err(ControlError::InHostFunction);
    }
    clear_faults();
    if let Ok(machine) = machine() {
        teardown::reset(machine);
    }
    Ok(())
}

/// Changes how much memory a device has, until the next [`reset`]: at any time, in the midst of work
/// too, as if somebody else took some of it or gave it back. `cuMemGetInfo` has the new total.
///
/// What is allocated stays, also beyond the limit. Until less is, every request for more memory is
/// `CUDA_ERROR_OUT_OF_MEMORY`, whether by `cuMemAlloc`, from a pool or by `cuMemCreate`; addresses are
/// reserved and mapped as before, and small allocations may still fit beside others.
///
/// ```
/// use cuda_sim::control;
///
/// let driver = cuda_sim::driver();
/// # let mut context = std::ptr::null_mut();
/// # unsafe {
/// #     (driver.cuInit)(0).ok()?;
/// #     (driver.cuDevicePrimaryCtxRetain)(&mut context, 0).ok()?;
/// #     (driver.cuCtxSetCurrent)(context).ok()?;
/// # }
/// control::set_memory_limit(0, 64 << 20)?;
/// let (mut free, mut total) = (0, 0);
/// // SAFETY: both are writable.
/// unsafe { (driver.cuMemGetInfo_v2)(&mut free, &mut total).ok()? };
/// assert_eq!((free, total), (64 << 20, 64 << 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Before `cuInit`, and for a device that there is not.
pub fn set_memory_limit(device: usize, bytes: u64) -> Result<(), ControlError> {
    find_device(device)?.memory.set_limit(bytes);
    Ok(())
}

/// Why `cuInit` failed in words, where its error does not say all: what variable means nothing, or
/// what the process has too little of. `None` if it did not fail so.
#[must_use]
pub fn why_not_initialised() -> Option<String> {
    device::why_not_initialised()
}

/// The configuration that `cuInit` makes the devices from.
pub(crate) fn configuration() -> Result<Config, CUresult> {
    let asked = ASKED.lock().clone();
    match asked.map_or_else(Config::from_env, Ok) {
        Ok(config) => Ok(config),
        Err(error) => {
            // Nothing else tells who set the variable: the program gets a bare error.
            console::say(format_args!("cuInit fails: {error}"));
            device::note_why_not_initialised(error.to_string());
            Err(CUresult::CUDA_ERROR_INVALID_VALUE)
        }
    }
}

/// A device of the machine.
///
/// # Errors
/// Before `cuInit`, and for a device that there is not.
pub(super) fn find_device(index: usize) -> Result<&'static Device, ControlError> {
    let machine = machine().map_err(|_| ControlError::NotInitialised)?;
    let count = machine.devices.len();
    machine.devices.get(index).ok_or(ControlError::NoSuchDevice { device: index, count })
}
