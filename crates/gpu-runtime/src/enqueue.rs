//! The one way on which work gets onto a stream.

use std::sync::Arc;

use cuda_sys::{CUresult, CUstream, Driver};

use crate::check;
use crate::error::{Error, Result};
use crate::graph::{self, Books, CaptureProblem, nothing_runs};
use crate::ledger::Work;
use crate::observe::{self, Operation, Request, WaitReason};
use crate::platform;
use crate::stream::{Legacy, Stream};
use crate::waits::Leave;

/// Enqueues work by calling the driver's function in `issue`.
///
/// Everything that concerns all enqueued work happens here: the context is made current where the
/// driver asks for that, the stream's sequence advances, the ledger notes the work, observers and `tracing` hear of it, and
/// under `CUDA_LAUNCH_BLOCKING=1` what runs on the device is waited for.
#[inline]
pub(crate) fn enqueue(
    stream: &Stream,
    request: &Request<'_>,
    mut issue: impl FnMut(&Driver, CUstream) -> CUresult,
) -> Result<()> {
    if let Some(capture) = capture_of(stream, request)? {
        return capture.enqueue(stream, request, issue);
    }
    let (state, captures) = (stream.state(), stream.captures());
    let is_observed = observe::is_observed();
    // Observers may call the driver for the stream themselves.
    let is_bound = request.work.needs_context() || stream.legacy() == Legacy::Itself || is_observed;
    match is_bound {
        true => state.bind()?,
        false => state.works()?,
    }
    let blocking = request.work.runs_on_device() && platform::in_use().launch_blocking;
    let mut hand_over = || {
        let mut result = issue(state.driver, stream.raw());
        // A thread that has no context at all may be refused.
        if result == CUresult::CUDA_ERROR_INVALID_CONTEXT && !is_bound && state.bind().is_ok() {
            result = issue(state.driver, stream.raw());
        }
        // NVIDIA's driver, too, knows that variable: it waits in the call, and fails there because
        // of the very work that it took.
        let is_taken = result == CUresult::CUDA_SUCCESS || blocking;
        (result, is_taken.then(|| stream.enqueued(request.work)))
    };
    let result = match is_observed {
        true => told(stream, request, hand_over)?,
        false => hand_over().0,
    };
    check::on_stream(state, stream.id(), request.call, result)?;
    if stream.captures() != captures {
        return Err(captured_meanwhile(stream, request.call));
    }
    let Request { work, call, .. } = *request;
    tracing::trace!(target: "gpu_runtime::enqueue", stream = %stream.id(), %work, call);
    if blocking {
        stream.synchronize_with(Leave::ask(state.device, WaitReason::LaunchBlocking)?)?;
    }
    Ok(())
}

/// The capture that the work goes to, if it is not to run.
///
/// Waits and records of captured streams are the capture's own affair, and come here by mistake only.
#[inline]
fn capture_of(stream: &Stream, request: &Request<'_>) -> Result<Option<Arc<Books>>> {
    if request.work.advances() && *request.work != Work::Wait {
        return graph::joined(stream);
    }
    match graph::of(stream) {
        None => Ok(None),
        Some(_) => Err(nothing_runs(request.call, stream)),
    }
}

/// A capture began meanwhile, in another thread, and the driver may have put the work into it. It is
/// given up if it still goes on; at its end it finds out by itself.
#[cold]
fn captured_meanwhile(stream: &Stream, operation: &'static str) -> Error {
    if let Some(capture) = graph::of(stream) {
        capture.give_up();
    }
    Error::Capture { operation, problem: CaptureProblem::Broken }
}

/// Tells observers of the work, before and after it is handed to the driver, if they admit it.
#[cold]
fn told(
    stream: &Stream,
    request: &Request<'_>,
    hand_over: impl FnOnce() -> (CUresult, Option<u64>),
) -> Result<CUresult> {
    let Some(observers) = observe::observers() else { return Ok(hand_over().0) };
    let operation = Operation {
        stream,
        work: request.work,
        place: observe::place(request.place),
        accesses: &observe::accesses(request),
        awaits: request.awaits,
    };
    let _in_order = stream.lock_for_observers();
    observe::ask(&observers, |observer| observer.admit(&operation))?;
    observe::tell(&observers, |observer| observer.enqueuing(&operation));
    let (result, sequence) = hand_over();
    observe::tell(&observers, |observer| observer.enqueued(&operation, sequence));
    Ok(result)
}
