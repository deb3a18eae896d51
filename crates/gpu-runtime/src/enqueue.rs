//! The one way on which work gets onto a stream.

use cuda_sys::{CUresult, CUstream, Driver};

use crate::check;
use crate::error::Result;
use crate::ledger::Work;
use crate::observe::{self, Ambient, Operation, Request, WaitReason};
use crate::platform;
use crate::stream::Stream;
use crate::waits::Leave;

/// Enqueues work by calling the driver's function in `issue`.
///
/// Everything that concerns all enqueued work happens here: the context is made current, the
/// stream's sequence advances, the ledger notes the work, observers and `tracing` hear of it, and
/// under `CUDA_LAUNCH_BLOCKING=1` what runs on the device is waited for.
#[inline]
pub(crate) fn enqueue(
    stream: &Stream,
    request: &Request<'_>,
    issue: impl FnOnce(&Driver, CUstream) -> CUresult,
) -> Result<()> {
    let state = stream.state();
    state.bind()?;
    let blocking = platform::in_use().launch_blocking && request.work.runs_on_device();
    let hand_over = || {
        let result = issue(state.driver, stream.raw());
        // NVIDIA's driver, too, knows that variable: it waits in the call, and fails there because
        // of the very work that it took.
        let is_taken = result == CUresult::CUDA_SUCCESS || blocking;
        (result, is_taken.then(|| stream.enqueued(request.work)))
    };
    let result = match observe::is_observed() {
        true => told(stream, request, hand_over)?,
        false => hand_over().0,
    };
    check::on_stream(state, stream.id(), request.call, result)?;
    let Request { work, call, .. } = *request;
    tracing::trace!(target: "gpu_runtime::enqueue", stream = %stream.id(), %work, call);
    if blocking {
        stream.synchronize_with(Leave::ask(state.device, WaitReason::LaunchBlocking)?)?;
    }
    Ok(())
}

/// Tells observers of the work, before and after it is handed to the driver, if they admit it.
#[cold]
fn told(
    stream: &Stream,
    request: &Request<'_>,
    hand_over: impl FnOnce() -> (CUresult, Option<u64>),
) -> Result<CUresult> {
    let Some(observers) = observe::observers() else { return Ok(hand_over().0) };
    let said = match request.work {
        Work::Kernel { .. } | Work::Callback => Ambient::accesses(),
        _ => Default::default(),
    };
    let operation = Operation {
        stream,
        work: request.work,
        place: observe::place(request.place),
        accesses: if said.is_empty() { request.accesses } else { &said },
        awaits: request.awaits,
    };
    let _in_order = stream.lock_for_observers();
    observe::ask(&observers, |observer| observer.admit(&operation))?;
    observe::tell(&observers, |observer| observer.enqueuing(&operation));
    let (result, sequence) = hand_over();
    observe::tell(&observers, |observer| observer.enqueued(&operation, sequence));
    Ok(result)
}
