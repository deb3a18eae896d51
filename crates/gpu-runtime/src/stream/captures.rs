//! The capture that a thread is in, and the one that a stream takes part in: where work goes instead
//! of to the device.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::capture_slot::OpenCapture;
use super::handle::Stream;
use crate::device::capture_mode::{self, CaptureMode, Heeding};
use crate::error::{CaptureProblem, Error, Result};
use crate::order_mode::{self, Order};
use crate::types::StreamId;

/// The capture that a thread is in, if it is still in progress.
pub(crate) type EnteredCapture = Option<Weak<dyn OpenCapture>>;

thread_local! {
    static CURRENT: RefCell<EnteredCapture> = const { RefCell::new(None) };
}

/// The capture that work which this thread enqueues on a stream goes to; nothing if it runs.
///
/// The stream may take part already, or it becomes part now: with automatic order, all that a thread
/// enqueues in a capture belongs to it.
///
/// # Errors
/// The driver's, if it does not let the stream take part.
#[inline]
pub(crate) fn joined(stream: &Stream) -> Result<Option<Arc<dyn OpenCapture>>> {
    if capture_mode::any() { join(stream) } else { Ok(None) }
}

/// The capture that a stream takes part in.
#[inline]
pub(crate) fn of(stream: &Stream) -> Option<Arc<dyn OpenCapture>> {
    if capture_mode::any() { stream.capture_slot().get() } else { None }
}

#[cold]
fn join(stream: &Stream) -> Result<Option<Arc<dyn OpenCapture>>> {
    if let Some(capture) = stream.capture_slot().get() {
        return Ok(Some(capture));
    }
    match current() {
        Some(capture) if order_mode::current() == Order::Automatic => {
            let is_in = Arc::clone(&capture).take_in(stream)?;
            Ok(is_in.then_some(capture))
        }
        _ => Ok(None),
    }
}

/// The capture that the calling thread is in.
pub(crate) fn current() -> Option<Arc<dyn OpenCapture>> {
    entered()?.upgrade()
}

/// The same, to be entered by another thread.
pub(crate) fn entered() -> EnteredCapture {
    CURRENT.try_with(|current| current.borrow().clone()).unwrap_or_default()
}

/// Enters a capture, or none. Returns the one before.
pub(crate) fn replace(capture: EnteredCapture) -> EnteredCapture {
    CURRENT.try_with(|current| current.replace(capture)).unwrap_or_default()
}

/// Runs `f` as if this thread captured nothing, and heeding no capture: what `f` enqueues on streams
/// that are not being captured runs at once, and memory that it allocates for them holds something
/// from then on. For what a captured program needs once, and its graph at every launch.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Capture, Device, Stream, outside_of_captures};
///
/// let device = Device::get(0)?;
/// let (captured, other) = (Stream::new(device)?, Stream::new(device)?);
/// captured.capture(|_| {
///     let runs = || Ok(Capture::of(&other)?.is_none());
///     assert!(outside_of_captures(runs)?);
///     Ok::<_, gpu_runtime::Error>(())
/// })?;
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn outside_of_captures<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(EnteredCapture);
    impl Drop for Restore {
        fn drop(&mut self) {
            replace(self.0.take());
        }
    }
    let _heeding = Heeding::exchange(CaptureMode::Relaxed);
    let _restore = Restore(replace(None));
    f()
}

/// Asks whether the calling thread may do what no capture sees.
///
/// # Errors
/// [`CaptureProblem::Forbidden`] if a capture forbids it. The driver was not asked, and the capture
/// goes on.
pub(crate) fn permit(operation: &'static str) -> Result<()> {
    if !capture_mode::any() {
        return Ok(());
    }
    let heeded = capture_mode::heeded();
    let own = current()
        .and_then(|capture| capture.mode_in_this_thread())
        .is_some_and(|mode| mode != CaptureMode::Relaxed);
    let others = heeded == CaptureMode::Global && capture_mode::is_any_global();
    match heeded != CaptureMode::Relaxed && (own || others) {
        true => Err(Error::Capture { operation, problem: CaptureProblem::Forbidden }),
        false => Ok(()),
    }
}

/// Says that what is enqueued on a stream runs.
///
/// # Errors
/// [`CaptureProblem::NothingRuns`] if the stream is being captured.
#[inline]
pub(crate) fn runs(stream: &Stream, operation: &'static str) -> Result<()> {
    match of(stream) {
        None => Ok(()),
        Some(_) => Err(nothing_runs(operation, stream)),
    }
}

/// The error for a stream that is being captured, so that nothing runs on it.
#[cold]
pub(crate) fn nothing_runs(operation: &'static str, stream: &Stream) -> Error {
    Error::Capture { operation, problem: CaptureProblem::NothingRuns { stream: stream.id() } }
}

/// The error for a captured stream that cannot wait for one that is not.
#[cold]
pub(crate) fn outside(operation: &'static str, stream: &Stream, awaited: StreamId) -> Error {
    let problem = CaptureProblem::Outside { stream: stream.id(), awaited };
    Error::Capture { operation, problem }
}
