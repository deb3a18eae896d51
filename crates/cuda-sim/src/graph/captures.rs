//! The captures in progress, and what they forbid to whom.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};

use cuda_sys::{CUresult, CUstreamCaptureMode};
use parking_lot::Mutex;

use super::capture::CaptureSequence;
use crate::device::{StreamCapture, StreamRef};

/// The mode of a capture or of a thread (`CUstreamCaptureMode`). It decides over calls that are not
/// safe while something is captured: those that a capture does not see, and on which the work that
/// it sees may depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StreamCaptureMode {
    /// A capture forbids them to all threads; a thread heeds what others capture.
    #[default]
    Global,
    /// A capture forbids them to its own thread; a thread heeds only what it captures itself.
    ThreadLocal,
    /// A capture forbids nothing; a thread heeds nothing.
    Relaxed,
}

/// The captures in progress.
#[derive(Debug)]
pub(crate) struct Captures {
    /// The number of captures, so that calls take no lock while there are none.
    active: AtomicUsize,
    list: Mutex<Vec<Weak<CaptureSequence>>>,
}

thread_local! {
    static MODE: Cell<StreamCaptureMode> = const { Cell::new(StreamCaptureMode::Global) };
}

impl StreamCaptureMode {
    /// The mode of that number.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if there is none.
    pub(crate) fn new(mode: CUstreamCaptureMode) -> Result<StreamCaptureMode, CUresult> {
        match mode {
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL => Ok(StreamCaptureMode::Global),
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => {
                Ok(StreamCaptureMode::ThreadLocal)
            }
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED => Ok(StreamCaptureMode::Relaxed),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// Its number.
    pub(crate) fn number(self) -> CUstreamCaptureMode {
        match self {
            StreamCaptureMode::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            StreamCaptureMode::ThreadLocal => {
                CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
            }
            StreamCaptureMode::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }

    /// Makes it the calling thread's mode, and returns what that was.
    pub(crate) fn exchange(self) -> StreamCaptureMode {
        MODE.try_with(|mode| mode.replace(self)).unwrap_or_default()
    }

    fn of_thread() -> StreamCaptureMode {
        MODE.try_with(Cell::get).unwrap_or_default()
    }
}

impl Captures {
    /// None.
    pub(super) const fn new() -> Captures {
        Captures { active: AtomicUsize::new(0), list: Mutex::new(Vec::new()) }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.load(Ordering::Acquire) == 0
    }

    /// Asks whether the calling thread may make a call that is not safe during a capture
    /// (`cuThreadExchangeStreamCaptureMode`).
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: it may not, and the captures that forbid it are
    /// thereby invalid.
    pub(crate) fn permit(&self) -> Result<(), CUresult> {
        let (mode, here) = (StreamCaptureMode::of_thread(), thread::current().id());
        self.refuse(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, |capture| {
            forbids(capture, mode, here)
        })
    }

    /// Asks whether a stream may be used for work that runs or goes to a graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if a rule of the stream's capture was broken;
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for a legacy default stream while streams that it would
    /// wait for are being captured.
    pub(crate) fn permit_capturable(&self, stream: &StreamRef) -> Result<(), CUresult> {
        if self.is_empty() {
            return Ok(());
        }
        match stream {
            StreamRef::Legacy(context) => self.permit_legacy(context.id),
            StreamRef::Other(stream) if stream.capture().is_some_and(|own| !own.is_valid()) => {
                Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
            }
            StreamRef::Other(_) => Ok(()),
        }
    }

    /// Asks whether a stream may be used for work that has no part in captures.
    ///
    /// # Errors
    /// Those of [`permit_capturable`](Captures::permit_capturable), and
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if the stream is being captured; the capture is
    /// thereby invalid.
    pub(crate) fn permit_uncaptured(&self, stream: &StreamRef) -> Result<(), CUresult> {
        self.permit_capturable(stream)?;
        if !self.is_empty()
            && let Some(capture) = stream.capture()
        {
            capture.invalidate();
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(())
    }

    /// Asks whether the legacy default stream of a context may be used: not while a stream that it
    /// would wait for is being captured.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`, and the captures are invalid.
    fn permit_legacy(&self, context: u64) -> Result<(), CUresult> {
        self.refuse(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, |capture| {
            capture.has_blocking_stream(context)
        })
    }

    /// Asks whether all of a context's work may be waited for: not while some is being captured.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, and the captures are invalid.
    pub(crate) fn permit_context(&self, context: u64) -> Result<(), CUresult> {
        self.refuse(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, |capture| {
            capture.has_stream(context)
        })
    }

    /// Whether the legacy default stream of a context is unusable.
    pub(crate) fn blocks_legacy(&self, context: u64) -> bool {
        !self.is_empty() && self.list().iter().any(|capture| capture.has_blocking_stream(context))
    }

    pub(super) fn add(&self, capture: &Arc<CaptureSequence>) {
        let mut list = self.list.lock();
        list.retain(|known| known.strong_count() > 0);
        list.push(Arc::downgrade(capture));
        self.active.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn count_out(&self) {
        self.active.fetch_sub(1, Ordering::AcqRel);
    }

    fn refuse(
        &self,
        error: CUresult,
        is_offended: impl Fn(&CaptureSequence) -> bool,
    ) -> Result<(), CUresult> {
        if self.is_empty() {
            return Ok(());
        }
        let offended = self.list().into_iter().filter(|capture| is_offended(capture));
        // All of them are to learn of it.
        match offended.map(|capture| capture.invalidate()).count() {
            0 => Ok(()),
            _ => Err(error),
        }
    }

    /// The captures that are valid.
    fn list(&self) -> Vec<Arc<CaptureSequence>> {
        let list = self.list.lock();
        list.iter().filter_map(Weak::upgrade).filter(|capture| capture.is_valid()).collect()
    }
}

fn forbids(capture: &CaptureSequence, thread: StreamCaptureMode, here: ThreadId) -> bool {
    match thread {
        StreamCaptureMode::Relaxed => false,
        _ if capture.thread == here => capture.mode != StreamCaptureMode::Relaxed,
        StreamCaptureMode::ThreadLocal => false,
        StreamCaptureMode::Global => capture.mode == StreamCaptureMode::Global,
    }
}
