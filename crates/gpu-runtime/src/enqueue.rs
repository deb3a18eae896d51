//! The one way on which work gets onto a stream.

use cuda_sys::{CUresult, CUstream, Driver};

use crate::check;
use crate::error::Result;
use crate::ledger::Work;
use crate::platform;
use crate::stream::Stream;

/// Enqueues `work` by calling the driver's function `call` in `issue`.
///
/// Everything that concerns all enqueued work happens here: the context is made current, the
/// stream's sequence advances, the ledger notes the work, `tracing` hears of it, and under
/// `CUDA_LAUNCH_BLOCKING=1` what runs on the device is waited for.
#[inline]
pub(crate) fn enqueue(
    stream: &Stream,
    work: &Work,
    call: &'static str,
    issue: impl FnOnce(&Driver, CUstream) -> CUresult,
) -> Result<()> {
    let state = stream.state();
    state.bind()?;
    check::on_stream(state, stream.id(), call, issue(state.driver, stream.raw()))?;
    stream.enqueued(work);
    tracing::trace!(target: "gpu_runtime::enqueue", stream = %stream.id(), %work, call);
    if platform::in_use().launch_blocking && work.runs_on_device() {
        stream.synchronize()?;
    }
    Ok(())
}
