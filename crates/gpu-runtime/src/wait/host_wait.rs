//! The one way on which the host waits for a device.

use cuda_sys::{CUevent, CUresult, Driver};

use super::permit::WaitPermit;
use crate::device::Handle;
use crate::device::{DeviceState, check, platform};
use crate::error::Result;
use crate::observe::{self, HostWait};
use crate::order_mode;
use crate::types::WorkId;

/// Blocks the calling thread in the driver's function `call`, which `block` calls, until what is
/// awaited is done.
///
/// No use record may be locked meanwhile: another thread that needs one to enqueue its work would
/// wait for the device without having to. (Under `CUDA_LAUNCH_BLOCKING=1` that is what was asked
/// for.)
pub(crate) fn host_wait(
    state: &DeviceState,
    permit: WaitPermit,
    awaits: &[WorkId],
    call: &'static str,
    block: impl FnOnce(&Driver) -> CUresult,
) -> Result<()> {
    debug_assert!(
        platform::in_use().launch_blocking || !order_mode::holds_records(),
        "{call} would wait for {} while use records are locked",
        state.device
    );
    state.bind()?;
    let result = waited(state, permit, awaits, call, || block(state.driver));
    match awaits {
        [one] => check::on_stream(state, one.stream, call, result),
        _ => check::on_device(state, call, result),
    }
}

/// Has observers, the ledger of waits and `tracing` hear of a wait, which `wait` is.
pub(crate) fn waited<R>(
    state: &DeviceState,
    permit: WaitPermit,
    awaits: &[WorkId],
    call: &'static str,
    wait: impl FnOnce() -> R,
) -> R {
    let WaitPermit { reason, place, .. } = permit;
    let device = state.device;
    let told = HostWait { device, reason, place, awaits };
    let observers = observe::is_observed().then(observe::observers).flatten();
    if let Some(observers) = &observers {
        observe::tell(observers, |observer| observer.waiting(&told));
    }
    let span =
        tracing::trace_span!(target: "gpu_runtime::wait", "wait", %device, %reason, %place, call);
    let result = span.in_scope(|| permit.spend(wait));
    if let Some(observers) = &observers {
        observe::tell(observers, |observer| observer.waited(&told));
    }
    result
}

/// Blocks until the newest recording of an event, which came after `awaited`, is complete.
pub(crate) fn wait_for_event(
    state: &DeviceState,
    event: Handle<CUevent>,
    permit: WaitPermit,
    awaited: WorkId,
) -> Result<()> {
    host_wait(state, permit, &[awaited], "cuEventSynchronize", |driver| {
        // SAFETY: the caller owns the event, so it is not destroyed meanwhile.
        unsafe { (driver.cuEventSynchronize)(event.0) }
    })
}
