//! The one way on which the host waits for a device.

use std::panic::Location;

use cuda_sys::{CUresult, Driver};

use crate::check;
use crate::device_state::DeviceState;
use crate::error::Result;
use crate::observe::{self, HostWait, WaitReason, WorkId};
use crate::order;
use crate::platform;

/// Blocks the calling thread in the driver's function `call`, which `block` calls, until what is
/// awaited is done.
///
/// No use record may be locked meanwhile: another thread that needs one to enqueue its work would
/// wait for the device without having to. (Under `CUDA_LAUNCH_BLOCKING=1` that is what was asked
/// for.)
#[track_caller]
pub(crate) fn host_wait(
    state: &DeviceState,
    reason: WaitReason,
    awaits: &[WorkId],
    call: &'static str,
    block: impl FnOnce(&Driver) -> CUresult,
) -> Result<()> {
    let device = state.device;
    debug_assert!(
        platform::in_use().launch_blocking || !order::holds_records(),
        "{call} would wait for {device} while use records are locked",
    );
    state.bind()?;
    let wait = HostWait { device, reason, place: observe::place(Location::caller()), awaits };
    let observers = observe::is_on().then(observe::observers).flatten();
    if let Some(observers) = &observers {
        observe::tell(observers, |observer| observer.waiting(&wait));
    }
    tracing::trace!(target: "gpu_runtime::wait", %device, %reason, place = %wait.place, call, "waiting");
    let result = block(state.driver);
    tracing::trace!(target: "gpu_runtime::wait", %device, %reason, place = %wait.place, call, "waited");
    if let Some(observers) = &observers {
        observe::tell(observers, |observer| observer.waited(&wait));
    }
    match awaits {
        [one] => check::on_stream(state, one.stream, call, result),
        _ => check::on_device(state, call, result),
    }
}
