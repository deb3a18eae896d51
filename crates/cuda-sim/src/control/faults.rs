//! Faults on demand: those that are planned, and making them happen.

use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::driver_function::DriverFunction;
use super::error::ControlError;
use crate::config::{InjectedFault, Link};
use crate::device::{SimulatedMachine, machine};
use crate::links;
use crate::queue::Failure;

struct PlannedCallFault {
    call: &'static str,
    /// Counts down; the call that brings it to zero fails.
    left: u64,
    result: CUresult,
}

static PLANNED: Mutex<Vec<PlannedCallFault>> = Mutex::new(Vec::new());

/// Whether anything is planned: calls need not take the lock as long as nothing is.
static ANY: AtomicBool = AtomicBool::new(false);

/// Makes the `nth` call from now of a function, counted from 1, return `result` instead of doing
/// anything. Several plans may run at a time; each fails one call.
///
/// # Errors
/// [`ControlError::NoSuchCall`] for a name that the driver does not export.
pub fn fail(call: &str, nth: u64, result: CUresult) -> Result<(), ControlError> {
    let known = DriverFunction::NAMES.iter().copied().find(|name| *name == call);
    let call = known.ok_or_else(|| ControlError::NoSuchCall { name: call.to_owned() })?;
    let plan = PlannedCallFault { call, left: nth.max(1), result };
    PLANNED.lock().push(plan);
    ANY.store(true, Ordering::Release);
    Ok(())
}

/// Makes something go wrong, until [`clear_faults`] or the next [`reset`](super::reset).
///
/// ```
/// use cuda_sim::control;
/// use cuda_sys::CUresult;
///
/// let driver = cuda_sim::driver();
/// # unsafe { (driver.cuInit)(0).ok()? };
/// control::inject(&"dead:0=ECC_UNCORRECTABLE".parse()?)?;
/// let mut context = std::ptr::null_mut();
/// // SAFETY: `context` is writable.
/// let retained = unsafe { (driver.cuDevicePrimaryCtxRetain)(&mut context, 0) };
/// assert_eq!(retained, CUresult::CUDA_ERROR_ECC_UNCORRECTABLE);
/// control::reset()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ControlError::NoSuchCall`]; before `cuInit`, and for devices that there are not.
pub fn inject(fault: &InjectedFault) -> Result<(), ControlError> {
    if let InjectedFault::Call { name, nth, result } = fault {
        return fail(name, *nth, *result);
    }
    let machine = machine().map_err(|_| ControlError::NotInitialised)?;
    apply(machine, fault)
}

/// Makes something go wrong on a machine.
fn apply(machine: &SimulatedMachine, fault: &InjectedFault) -> Result<(), ControlError> {
    let count = machine.devices.len();
    let find = |device: usize| {
        machine.devices.get(device).ok_or(ControlError::NoSuchDevice { device, count })
    };
    match *fault {
        InjectedFault::Call { ref name, nth, result } => fail(name, nth, result)?,
        InjectedFault::Work { kind, device, nth, result } => {
            find(device)?.health.plan(kind, nth, result)
        }
        InjectedFault::Memory { device, bytes } => find(device)?.memory.set_limit(bytes),
        InjectedFault::Slow { link, times } => {
            match link {
                Link::Host(device) => drop(find(device)?),
                Link::Devices(one, other) => drop((find(one)?, find(other)?)),
            }
            links::slow_down(link, times);
        }
        InjectedFault::Peer { one, other, fault } => {
            find(one)?;
            find(other)?;
            links::break_up(Link::Devices(one, other), fault);
        }
        InjectedFault::Dead { device, result } => {
            let failure = Failure::on_demand(result, "the device was lost on demand");
            find(device)?.health.fail(&failure);
        }
    }
    Ok(())
}

/// Makes what was configured to be wrong with a machine go wrong.
///
/// # Errors
/// In words, if it asks for what the machine has not.
pub(crate) fn inject_configured(machine: &SimulatedMachine) -> Result<(), String> {
    let faults = &machine.config.faults;
    faults.iter().try_for_each(|fault| apply(machine, fault)).map_err(|error| error.to_string())
}

/// Forgets all that is planned, and mends slow and broken ways. Devices that are lost stay lost, and
/// memory limits stay.
pub fn clear_faults() {
    PLANNED.lock().clear();
    ANY.store(false, Ordering::Release);
    links::mend();
    if let Ok(machine) = machine() {
        machine.devices.iter().for_each(|device| device.health.forget_plans());
    }
}

/// The result that a call is to return, if it is to fail.
pub(crate) fn injected(function: DriverFunction) -> Option<CUresult> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    let mut planned = PLANNED.lock();
    planned
        .iter_mut()
        .filter(|plan| plan.call == function.name())
        .for_each(|plan| plan.left = plan.left.saturating_sub(1));
    let due = planned.iter().position(|plan| plan.left == 0)?;
    Some(planned.swap_remove(due).result)
}
