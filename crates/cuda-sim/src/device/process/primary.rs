//! Primary contexts: one of each device, active while somebody retains it.

use std::sync::Arc;

use cuda_sys::CUresult;

use super::teardown::destroy_context;
use crate::device::contexts::context::Context;
use crate::device::gpu::Device;
use crate::device::machine::SimulatedMachine;

/// Retains the primary context of a device, and makes it if it is not active.
///
/// # Errors
/// The device's sticky error.
pub(crate) fn retain(
    machine: &'static SimulatedMachine,
    device: &'static Device,
) -> Result<Arc<Context>, CUresult> {
    let mut retains = device.primary_retains();
    let active = machine.contexts.get(device.primary_handle);
    let context = match active {
        Some(context) => context,
        None => {
            device.health.check()?;
            let (handle, flags) = (device.primary_handle, device.primary_flags());
            let context = Context::new(machine.scheduler, device, handle, true, flags);
            let context = Arc::new(context);
            machine.contexts.fill(handle, Arc::clone(&context));
            context
        }
    };
    *retains += 1;
    Ok(context)
}

/// Releases the primary context, and destroys it if nobody else retains it.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if it is not retained.
pub(crate) fn release(machine: &'static SimulatedMachine, device: &Device) -> Result<(), CUresult> {
    let mut retains = device.primary_retains();
    *retains = retains.checked_sub(1).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    let last = *retains == 0;
    let context = last.then(|| machine.contexts.vacate(device.primary_handle)).flatten();
    drop(retains);
    if let Some(context) = context {
        destroy_context(machine, &context);
    }
    Ok(())
}

/// Whether the primary context is active.
pub(crate) fn is_active(machine: &SimulatedMachine, device: &Device) -> bool {
    machine.contexts.get(device.primary_handle).is_some()
}

/// Sets the primary context's flags, now and for each time that it becomes active.
pub(crate) fn set_flags(machine: &SimulatedMachine, device: &Device, flags: u32) {
    device.store_primary_flags(flags);
    if let Some(context) = machine.contexts.get(device.primary_handle) {
        context.settings.set_flags(flags);
    }
}

/// Destroys the primary context. Who retains it still does: the next one to do so makes it active
/// again.
pub(crate) fn reset(machine: &'static SimulatedMachine, device: &Device) {
    let retains = device.primary_retains();
    let context = machine.contexts.vacate(device.primary_handle);
    drop(retains);
    if let Some(context) = context {
        destroy_context(machine, &context);
    }
}

/// Destroys the primary context, and forgets who retains it.
pub(super) fn deactivate(machine: &'static SimulatedMachine, device: &Device) {
    *device.primary_retains() = 0;
    if let Some(context) = machine.contexts.vacate(device.primary_handle) {
        destroy_context(machine, &context);
    }
}
