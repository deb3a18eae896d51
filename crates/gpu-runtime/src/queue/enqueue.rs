//! The one way on which work gets onto a stream.

use std::sync::Arc;

use cuda_sys::{CUresult, CUstream, Driver};
use parking_lot::RwLockReadGuard;

use crate::device::{check, platform};
use crate::error::{CaptureProblem, Error, Result};
use crate::observe::{self, EnqueuedWork};
use crate::stream::captures::{self, nothing_runs};
use crate::stream::{Legacy, OpenCapture, Request, Stream};
use crate::types::{WaitReason, Work};
use crate::wait::WaitPermit;

/// The result of handing work to the driver.
#[must_use]
#[derive(Debug)]
pub(crate) enum EnqueueOutcome {
    /// Nobody does the work: the driver was not asked, or has refused it.
    Refused(Error),
    /// The driver has the work. What it uses is in use until the stream has passed it, also where
    /// something went wrong since.
    Taken(Result<()>),
}

impl EnqueueOutcome {
    /// Whether the driver has the work.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, EnqueueOutcome::Taken(_))
    }

    /// The same for those whose memory is marked as in use in either case.
    #[inline]
    pub(crate) fn into_result(self) -> Result<()> {
        match self {
            EnqueueOutcome::Refused(error) => Err(error),
            EnqueueOutcome::Taken(since) => since,
        }
    }
}

/// Enqueues work by calling the driver's function in `issue`.
///
/// Everything that concerns all enqueued work happens here: the context is made current where the
/// driver asks for that, the stream's sequence advances, the ledger notes the work, observers and
/// `tracing` hear of it, and under `CUDA_LAUNCH_BLOCKING=1` what runs on the device is waited for.
/// Whoever may refuse the work, or the wait for it, is asked before the driver gets it.
///
/// Work that uses what is [lent](Work::uses_what_is_lent) to it runs, or is refused: no capture gets
/// it that begins meanwhile. If it fails once it was taken, it is over when this returns.
#[inline]
pub(crate) fn enqueue(
    stream: &Stream,
    request: &Request<'_>,
    issue: impl FnMut(&Driver, CUstream) -> CUresult,
) -> EnqueueOutcome {
    match hand_over(stream, request, issue) {
        Ok(Ok(())) => EnqueueOutcome::Taken(Ok(())),
        Ok(Err(error)) => EnqueueOutcome::Taken(Err(failed(stream, request, error))),
        Err(error) => EnqueueOutcome::Refused(error),
    }
}

/// Hands work to the driver. The outer error says that it was refused, the inner one what went wrong
/// once it was taken.
#[inline]
fn hand_over(
    stream: &Stream,
    request: &Request<'_>,
    mut issue: impl FnMut(&Driver, CUstream) -> CUresult,
) -> Result<Result<()>> {
    let apart = match way(stream, request)? {
        Way::Captured(capture) => return capture.enqueue(stream, request, &mut issue).map(Ok),
        Way::Runs(apart) => apart,
    };
    let (state, captures) = (stream.state(), stream.capture_slot().count());
    let is_observed = observe::is_observed();
    // Observers may call the driver for the stream themselves.
    let is_bound = request.work.needs_context() || stream.legacy() == Legacy::Itself || is_observed;
    match is_bound {
        true => state.bind()?,
        false => state.works()?,
    }
    let blocking = match request.work.runs_on_device() && platform::in_use().launch_blocking {
        true => Some(WaitPermit::ask(state.device, WaitReason::LaunchBlocking)?),
        false => None,
    };
    let is_waited_for = blocking.is_some();
    let mut call = || {
        let mut result = issue(state.driver, stream.raw());
        // A thread that has no context at all may be refused.
        if result == CUresult::CUDA_ERROR_INVALID_CONTEXT && !is_bound && state.bind().is_ok() {
            result = issue(state.driver, stream.raw());
        }
        // NVIDIA's driver, too, knows that variable: it waits in the call, and fails there because
        // of the very work that it took.
        let is_taken = result == CUresult::CUDA_SUCCESS || is_waited_for;
        (result, is_taken.then(|| stream.enqueued(request.work)))
    };
    let result = match is_observed {
        true => told(stream, request, call)?,
        false => call().0,
    };
    match check::on_stream(state, stream.id(), request.call, result) {
        Err(error) if is_waited_for => return Ok(Err(error)),
        checked => checked?,
    }
    if stream.capture_slot().count() != captures && !request.work.uses_what_is_lent() {
        return Ok(Err(captured_meanwhile(stream, request.call)));
    }
    let Request { work, call, .. } = *request;
    tracing::trace!(target: "gpu_runtime::enqueue", stream = %stream.id(), %work, call);
    Ok(match (blocking, apart) {
        (None, _) => Ok(()),
        (Some(permit), None) => stream.synchronize_with(permit),
        // A capture that begins meanwhile would forbid it.
        (Some(permit), Some(_apart)) => stream.settle_with(permit),
    })
}

/// The way of work that is about to be enqueued: into a graph, or to the device.
enum Way<'a> {
    /// It becomes part of a graph.
    Captured(Arc<dyn OpenCapture>),
    /// It runs; where it must, no capture of the stream begins before the guard is dropped.
    Runs(Option<RwLockReadGuard<'a, ()>>),
}

#[inline]
fn way<'a>(stream: &'a Stream, request: &Request<'_>) -> Result<Way<'a>> {
    loop {
        if let Some(capture) = capture_of(stream, request)? {
            return Ok(Way::Captured(capture));
        }
        if !request.work.uses_what_is_lent() {
            return Ok(Way::Runs(None));
        }
        // Otherwise a capture has begun just now.
        if let Some(apart) = stream.capture_slot().keep_out() {
            return Ok(Way::Runs(Some(apart)));
        }
    }
}

/// Has work end that has failed since it was taken, if it uses what is only lent to it.
#[cold]
fn failed(stream: &Stream, request: &Request<'_>, error: Error) -> Error {
    if request.work.uses_what_is_lent()
        && let Err(unfinished) = stream.settle_at_once()
        && !matches!(unfinished, Error::DeviceLost { .. })
    {
        tracing::error!(error = %unfinished, stream = %stream.id(), "what failed goes on");
    }
    error
}

/// The capture that the work goes to, if it is not to run.
///
/// Waits and records of captured streams are the capture's own affair, and come here by mistake only.
#[inline]
fn capture_of(stream: &Stream, request: &Request<'_>) -> Result<Option<Arc<dyn OpenCapture>>> {
    if request.work.advances() && *request.work != Work::Wait {
        return captures::joined(stream);
    }
    match captures::of(stream) {
        None => Ok(None),
        Some(_) => Err(nothing_runs(request.call, stream)),
    }
}

/// A capture began meanwhile, in another thread, and the driver may have put the work into it. It is
/// given up if it still goes on; at its end it finds out by itself.
#[cold]
fn captured_meanwhile(stream: &Stream, operation: &'static str) -> Error {
    if let Some(capture) = captures::of(stream) {
        capture.give_up();
    }
    Error::Capture { operation, problem: CaptureProblem::Broken }
}

/// Tells observers of the work, before and after it is handed to the driver, if they admit it.
#[cold]
fn told(
    stream: &Stream,
    request: &Request<'_>,
    call: impl FnOnce() -> (CUresult, Option<u64>),
) -> Result<CUresult> {
    let Some(observers) = observe::observers() else { return Ok(call().0) };
    let enqueued = EnqueuedWork {
        stream,
        work: request.work,
        place: observe::place(request.place),
        accesses: &observe::accesses(request),
        awaits: request.awaits,
    };
    let _in_order = stream.lock_for_observers();
    observe::ask(&observers, |observer| observer.admit(&enqueued))?;
    observe::tell(&observers, |observer| observer.enqueuing(&enqueued));
    let (result, sequence) = call();
    observe::tell(&observers, |observer| observer.enqueued(&enqueued, sequence));
    Ok(result)
}
