//! Streams as the program knows them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_sys::{CUresult, CUstream_flags};

use super::awaited::Heeded;
use super::context::Context;
use super::current;
use super::event::{Event, Last};
use super::platform::Platform;
use crate::graph::{Attributes, Capture, Operation};
use crate::queue::{self, QueuePoint, StreamKind};

/// The greatest priority that a stream may have; smaller numbers go first, and 0 is ordinary.
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// A stream of a context.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Arc<Context>,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) id: u64,
    pub(crate) queue: queue::Stream,
    /// What the stream takes part in, where its operations go instead.
    capture: Mutex<Option<Arc<Capture>>>,
    attributes: Mutex<Attributes>,
    /// What of the context's waits it knows.
    heeded: Heeded,
}

/// A stream that a call names: a created one or a default one.
#[derive(Debug, Clone)]
pub(crate) enum StreamRef {
    Legacy(Arc<Context>),
    Other(Arc<Stream>),
}

const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

impl Stream {
    /// A new stream. The priority is moved into the range that there is.
    pub(crate) fn new(
        platform: &'static Platform,
        context: Arc<Context>,
        flags: u32,
        priority: i32,
    ) -> Stream {
        static NEXT_ID: AtomicU64 = AtomicU64::new(PER_THREAD + 1);
        let priority = priority.clamp(GREATEST_PRIORITY, 0);
        let kind = match CUstream_flags(flags) {
            CUstream_flags::CU_STREAM_NON_BLOCKING => StreamKind::NonBlocking,
            _ => StreamKind::Blocking(&context.default_stream),
        };
        let (health, rank) = (&context.device.health, priority.unsigned_abs() as usize);
        let queue = queue::Stream::new(platform.scheduler, health, context.id, kind, rank);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        queue.name(id);
        Stream {
            context,
            flags,
            priority,
            id,
            queue,
            capture: Mutex::default(),
            attributes: Mutex::default(),
            heeded: Heeded::default(),
        }
    }

    /// A thread's default stream.
    pub(super) fn per_thread(platform: &'static Platform, context: Arc<Context>) -> Stream {
        Stream::new(platform, context, CUstream_flags::CU_STREAM_DEFAULT.0, 0)
    }

    /// Whether it orders itself against the legacy default stream.
    pub(crate) fn is_blocking(&self) -> bool {
        self.flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 == 0
    }

    /// The capture that it takes part in.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        self.capture_slot().clone()
    }

    /// What the program set about it.
    pub(crate) fn attributes(&self) -> MutexGuard<'_, Attributes> {
        self.attributes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of that, to be changed.
    pub(crate) fn capture_slot(&self) -> MutexGuard<'_, Option<Arc<Capture>>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // It may go with its context, or with the thread whose default stream it is.
        let own = self.capture.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(capture) = own {
            capture.leave(self.id);
        }
    }
}

impl StreamRef {
    /// The stream that a handle names; default streams are those of the current context.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` if it names none, those of [`current::current`] for default
    /// streams, `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
    pub(crate) fn resolve(platform: &'static Platform, handle: u64) -> Result<StreamRef, CUresult> {
        match handle {
            0 if current::has_own_default_stream() => StreamRef::resolve(platform, PER_THREAD),
            0 | LEGACY => Ok(StreamRef::Legacy(current::current()?)),
            PER_THREAD => {
                let context = current::current()?;
                current::thread_stream(platform, &context).map(StreamRef::Other)
            }
            handle => {
                let stream = platform.streams.get(handle);
                stream.map(StreamRef::Other).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
            }
        }
    }

    /// As [`resolve`](StreamRef::resolve), for work that runs: on a device that works, in a stream
    /// that is not being captured.
    ///
    /// # Errors
    /// Those of [`capturable`](StreamRef::capturable) too, and
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, which makes the capture invalid.
    pub(crate) fn working(platform: &'static Platform, handle: u64) -> Result<StreamRef, CUresult> {
        let stream = StreamRef::capturable(platform, handle)?;
        if !platform.graphs.captures.is_empty()
            && let Some(capture) = stream.capture()
        {
            capture.invalidate();
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(stream)
    }

    /// As [`resolve`](StreamRef::resolve), for work that runs or goes to a graph: on a device that
    /// works, in a stream that may be used.
    ///
    /// # Errors
    /// The device's sticky error too; `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if a rule of the
    /// stream's capture was broken; `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for a legacy default stream
    /// while streams that it would wait for are being captured.
    pub(crate) fn capturable(
        platform: &'static Platform,
        handle: u64,
    ) -> Result<StreamRef, CUresult> {
        let stream = StreamRef::resolve(platform, handle)?;
        stream.context().check()?;
        stream.heed_context();
        let captures = &platform.graphs.captures;
        if captures.is_empty() {
            return Ok(stream);
        }
        match &stream {
            StreamRef::Legacy(context) => captures.permit_legacy(context.id)?,
            StreamRef::Other(stream) if stream.capture().is_some_and(|own| !own.is_valid()) => {
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
            }
            StreamRef::Other(_) => {}
        }
        Ok(stream)
    }

    /// Makes later work wait for what the context was told to wait for.
    fn heed_context(&self) {
        let heeded = match self {
            StreamRef::Legacy(context) => &context.heeded,
            StreamRef::Other(stream) => &stream.heeded,
        };
        self.context().awaited.hold_back(self.queue(), heeded);
    }

    /// The capture that the stream takes part in.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        match self {
            StreamRef::Legacy(_) => None,
            StreamRef::Other(stream) => stream.capture(),
        }
    }

    /// Makes later work wait for an event. One that was recorded in a capture takes the stream into
    /// it.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_ISOLATION` if a captured stream would wait for work that is not
    /// captured, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if a legacy default stream would be
    /// captured, and those of [`Recorded::hold_back`](crate::graph::Recorded::hold_back).
    pub(crate) fn wait_for(&self, event: &Event) -> Result<(), CUresult> {
        match (event.last(), self) {
            (Last::Capture(recorded), StreamRef::Other(stream)) => recorded.hold_back(stream),
            (Last::Capture(recorded), StreamRef::Legacy(_)) => {
                recorded.invalidate();
                Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
            }
            (last, _) => {
                if let Some(capture) = self.capture() {
                    capture.invalidate();
                    return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
                }
                if let Last::Work(recording) = last {
                    self.queue().wait_for(&recording.point);
                }
                Ok(())
            }
        }
    }

    /// Adds an operation to the capture that the stream takes part in. False if there is none: the
    /// operation is to run.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`, and those of adding a node.
    pub(crate) fn capture_operation(
        &self,
        operation: impl FnOnce() -> Operation,
    ) -> Result<bool, CUresult> {
        match self {
            StreamRef::Other(stream) => match stream.capture() {
                Some(capture) => capture.add(stream, operation()).map(|_| true),
                None => Ok(false),
            },
            StreamRef::Legacy(_) => Ok(false),
        }
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        match self {
            StreamRef::Legacy(context) => context,
            StreamRef::Other(stream) => &stream.context,
        }
    }

    pub(crate) fn queue(&self) -> &queue::Stream {
        match self {
            StreamRef::Legacy(context) => &context.default_stream,
            StreamRef::Other(stream) => &stream.queue,
        }
    }

    /// Waits for a point of the stream. What kernels of the context have printed is written.
    pub(crate) fn wait(&self, point: &QueuePoint) {
        self.queue().wait(point);
        self.context().output.write();
    }

    /// Waits for all work so far, in the same way.
    pub(crate) fn synchronize(&self) {
        self.queue().synchronize();
        self.context().output.write();
    }

    pub(crate) fn flags(&self) -> u32 {
        match self {
            StreamRef::Legacy(_) => 0,
            StreamRef::Other(stream) => stream.flags,
        }
    }

    pub(crate) fn priority(&self) -> i32 {
        match self {
            StreamRef::Legacy(_) => 0,
            StreamRef::Other(stream) => stream.priority,
        }
    }

    /// A number that no other stream of the process has.
    pub(crate) fn id(&self) -> u64 {
        match self {
            StreamRef::Legacy(_) => LEGACY,
            StreamRef::Other(stream) => stream.id,
        }
    }
}
