//! The one way on which the host waits for a device.

use cuda_sys::{CUresult, Driver};

use crate::check;
use crate::device_state::DeviceState;
use crate::error::Result;
use crate::order;
use crate::platform;
use crate::stream::StreamId;

/// Blocks the calling thread in the driver's function `call`, which `block` calls.
///
/// No use record may be locked meanwhile: another thread that needs one to enqueue its work would
/// wait for the device without having to. (Under `CUDA_LAUNCH_BLOCKING=1` that is what was asked
/// for.)
pub(crate) fn host_wait(
    state: &DeviceState,
    stream: Option<StreamId>,
    call: &'static str,
    block: impl FnOnce(&Driver) -> CUresult,
) -> Result<()> {
    debug_assert!(
        platform::in_use().launch_blocking || !order::holds_records(),
        "{call} would wait for {} while use records are locked",
        state.device
    );
    state.bind()?;
    tracing::trace!(target: "gpu_runtime::wait", device = %state.device, ?stream, call, "waiting");
    let result = block(state.driver);
    tracing::trace!(target: "gpu_runtime::wait", device = %state.device, ?stream, call, "waited");
    match stream {
        Some(stream) => check::on_stream(state, stream, call, result),
        None => check::on_device(state, call, result),
    }
}
