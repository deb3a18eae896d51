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
    let blocking = platform::in_use().launch_blocking && work.runs_on_device();
    let result = issue(state.driver, stream.raw());
    if result == CUresult::CUDA_SUCCESS || blocking {
        // NVIDIA's driver, too, knows that variable: it waits in the call, and fails there because
        // of the very work that it took.
        stream.enqueued(work);
    }
    check::on_stream(state, stream.id(), call, result)?;
    tracing::trace!(target: "gpu_runtime::enqueue", stream = %stream.id(), %work, call);
    if blocking {
        stream.synchronize()?;
    }
    Ok(())
}
