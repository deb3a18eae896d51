//! What NVIDIA's driver does not have: how many devices there are and how large, faults on demand,
//! counters, and a way back to the start.
//!
//! ```
//! use cuda_sim::control;
//!
//! control::configure(control::Config { devices: 4, ..control::Config::default() })?;
//! let driver = cuda_sim::driver();
//! let mut count = 0;
//! // SAFETY: `count` is writable.
//! unsafe {
//!     (driver.cuInit)(0).ok()?;
//!     (driver.cuDeviceGetCount)(&mut count).ok()?;
//! }
//! assert_eq!(count, 4);
//! assert_eq!(control::counters().calls["cuDeviceGetCount"], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What can be controlled, from a program or by environment variables of any client:
//!
//! | what | call | variable |
//! |---|---|---|
//! | the machine | [`configure`], [`Config`] | `CUDA_SIM_DEVICES`, `CUDA_SIM_MEMORY`, and others |
//! | the order of operations | [`set_schedule`], [`schedule`] | `CUDA_SIM_SCHEDULE` |
//! | many orders | [`try_schedules`], [`explore`] | |
//! | the clock | [`Config::time`], [`virtual_now`], [`spend`], [`wait_until`] | `CUDA_SIM_TIME` |
//! | what kernels take by it | [`declare_kernel`] | |
//! | when operations ran by it | [`tell_operation_times`], [`take_operation_times`] | |
//! | faults | [`inject`], [`fail`], [`clear_faults`], [`last_fault`] | `CUDA_SIM_FAULTS` |
//! | how much memory there is, at run time | [`set_memory_limit`] | |
//! | a way back to the start | [`reset`] | |
//! | what there is | [`counters()`] | |
//!
//! A missing wait is found so: run the test under `CUDA_SIM_SCHEDULE=adversarial:0`, `:1`, and so
//! on, or in a loop of [`try_schedules`]; [`schedule`] gives a short text of the order in which it
//! failed, and `CUDA_SIM_SCHEDULE=replay:...` brings just that order back.
//!
//! Under schedules that run one operation at a time, a host function or a kernel that shows no sign
//! of life for half a second is taken to wait for the program, and others run beside it; and if no
//! call comes for as long, operations go on by themselves. Nothing hangs for want of a call, but
//! what such a program does when may differ from run to run.
//!
//! Under virtual time, a thread that sleeps outside the driver holds nothing up for longer than a
//! moment; its clock then goes on from what is decided. Programs with several host threads get the
//! same times in each run if they say how many there are ([`expect_host_threads`]) and make their
//! streams in one of them. What a stream had left when it was destroyed is not waited for.

mod capability;
mod config;
mod counters;
mod driver_function;
mod fault;
mod faults;
mod kept;
mod links;
mod schedules;
mod virtual_time;

use std::sync::{Mutex, PoisonError};

use cuda_sys::CUresult;
pub use ptx_jit::ExecutionMode;

pub use capability::Capability;
pub use config::{Config, ConfigError};
pub(crate) use counters::count;
pub use counters::{Counters, counters};
pub(crate) use driver_function::DriverFunction;
pub use fault::{Fault, FaultError, Link, PeerFault, WorkKind};
pub(crate) use faults::apply;
pub(crate) use faults::injected;
pub use faults::{clear_faults, fail, inject};
pub use kept::{Kept, TellsKept, ask_what_is_kept, keep_object};
pub(crate) use links::{broken, delay, slowness};
pub use schedules::{
    Bound, Exploration, explore, schedule, schedule_diverged, set_schedule, try_schedules,
};

pub use virtual_time::{
    declare_kernel, expect_host_threads, spend, take_last_operation, take_operation_times,
    tell_operation_times, virtual_now, wait_until,
};

use crate::check;
pub use crate::check::{Actor, AllocationInfo, CheckKinds, Report, ReportKind, Site, UnknownCheck};
use crate::device::{Device, platform, teardown};
use crate::queue::in_host_function;
pub use crate::queue::{Choice, Schedule, ScheduleError, Trace};
pub use crate::time::{KernelWork, OperationId, Time, TimeModel};

/// What was asked for by [`configure`].
static ASKED: Mutex<Option<Config>> = Mutex::new(None);

/// Why the last `cuInit` failed.
static WHY_NOT: Mutex<Option<String>> = Mutex::new(None);

/// Chooses the devices that `cuInit` makes, instead of what the environment says.
///
/// # Errors
/// After `cuInit`, unless it is what the devices were made from, and for more devices than there
/// can be.
pub fn configure(config: Config) -> Result<(), ConfigureError> {
    if config.devices > Config::MAX_DEVICES {
        return Err(ConfigureError::TooManyDevices { asked: config.devices });
    }
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    match platform() {
        Ok(platform) if platform.config != config => {
            let current = Box::new(platform.config.clone());
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
    if let Ok(platform) = platform() {
        teardown::reset(platform);
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
    find(device)?.memory.set_limit(bytes);
    Ok(())
}

/// What lost a device: kernel, block, thread and address, as far as they are known. `None` for a
/// device that works.
///
/// # Errors
/// Before `cuInit`, and for a device that there is not.
pub fn last_fault(device: usize) -> Result<Option<String>, ControlError> {
    Ok(find(device)?.health.text())
}

/// What checks have found ([`Config::check`]) since the process began or the reports were last
/// cleared, in the order in which it was found: each as a value, and as text by `Display`.
///
/// What ends a launch is the device's [`last_fault`] too. A few thousand reports are kept.
#[must_use]
pub fn reports() -> Vec<Report> {
    check::reports()
}

/// Forgets all reports. A [`reset`] does not.
pub fn clear_reports() {
    check::clear();
}

/// Why `cuInit` failed in words, where its error does not say all: what variable means nothing, or
/// what the process has too little of. `None` if it did not fail so.
#[must_use]
pub fn why_not_initialised() -> Option<String> {
    WHY_NOT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Why a configuration was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigureError {
    /// The devices were made from another configuration.
    #[error(
        "the software driver is initialised already, as {current:?}, and cannot become {asked:?}"
    )]
    AlreadyInitialised {
        /// What the devices were made from.
        current: Box<Config>,
        /// What was asked for.
        asked: Box<Config>,
    },
    /// There cannot be so many devices.
    #[error(
        "the software driver has at most {} devices, and {asked} were asked for",
        Config::MAX_DEVICES
    )]
    TooManyDevices {
        /// What was asked for.
        asked: u32,
    },
}

/// Why the software driver cannot be controlled so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There are no devices before `cuInit`.
    #[error("the software driver is not initialised: call cuInit first")]
    NotInitialised,
    /// There are fewer devices.
    #[error("there is no device {device}: the software driver has {count}")]
    NoSuchDevice {
        /// What was asked for.
        device: usize,
        /// How many there are.
        count: usize,
    },
    /// The driver has no such call.
    #[error("the software driver has no function `{name}`; names are as exported: cuMemAlloc_v2")]
    NoSuchCall {
        /// What was asked for.
        name: String,
    },
    /// A host function runs as part of a stream's work.
    #[error("a host function cannot control the driver that runs it")]
    InHostFunction,
    /// Time is this machine's.
    #[error("time is not virtual: configure a model of it, or set CUDA_SIM_TIME=h200")]
    RealTime,
}

/// What `cuInit` makes the devices from.
pub(crate) fn configuration() -> Result<Config, CUresult> {
    let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match asked.map_or_else(Config::from_env, Ok) {
        Ok(config) => Ok(config),
        Err(error) => {
            say_why_not(error.to_string());
            Err(CUresult::CUDA_ERROR_INVALID_VALUE)
        }
    }
}

/// Notes why `cuInit` fails.
pub(crate) fn say_why_not(why: String) {
    tracing::error!("{why}");
    *WHY_NOT.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
}

fn find(index: usize) -> Result<&'static Device, ControlError> {
    let platform = platform().map_err(|_| ControlError::NotInitialised)?;
    let count = platform.devices.len();
    platform.devices.get(index).ok_or(ControlError::NoSuchDevice { device: index, count })
}
