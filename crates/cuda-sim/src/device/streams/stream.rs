//! Streams as the program knows them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::{CUresult, CUstream_flags};
use parking_lot::{Mutex, MutexGuard};

use super::capture::StreamCapture;
use super::event::{Event, Last};
use super::launch_attributes::AttributeSet;
use super::operation::StreamOperation;
use crate::device::contexts::WaitsSeen;
use crate::device::contexts::context::Context;
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
    /// The capture that the stream takes part in: its operations go there instead of running.
    capture: Mutex<Option<Arc<dyn StreamCapture>>>,
    attributes: Mutex<AttributeSet>,
    /// The waits of its context that it has seen.
    heeded: WaitsSeen,
}

/// A stream that a call names: a created one or a default one.
#[derive(Debug, Clone)]
pub(crate) enum StreamRef {
    Legacy(Arc<Context>),
    Other(Arc<Stream>),
}

/// The handle of the legacy default stream (`CU_STREAM_LEGACY`).
pub(in crate::device) const LEGACY: u64 = 1;
/// The handle of a thread's own default stream (`CU_STREAM_PER_THREAD`).
pub(in crate::device) const PER_THREAD: u64 = 2;

impl Stream {
    /// A new stream. The priority is moved into the range that there is.
    pub(crate) fn new(context: Arc<Context>, flags: u32, priority: i32) -> Stream {
        static NEXT_ID: AtomicU64 = AtomicU64::new(PER_THREAD + 1);
        let priority = priority.clamp(GREATEST_PRIORITY, 0);
        let kind = match CUstream_flags(flags) {
            CUstream_flags::CU_STREAM_NON_BLOCKING => StreamKind::NonBlocking,
            _ => StreamKind::Blocking(&context.default_stream),
        };
        let (health, rank) = (&context.device.health, priority.unsigned_abs() as usize);
        let queue = queue::Stream::new(context.scheduler, health, context.id, kind, rank);
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
            heeded: WaitsSeen::default(),
        }
    }

    /// A thread's default stream.
    pub(in crate::device) fn per_thread(context: Arc<Context>) -> Stream {
        Stream::new(context, CUstream_flags::CU_STREAM_DEFAULT.0, 0)
    }

    /// Whether it orders itself against the legacy default stream.
    pub(crate) fn is_blocking(&self) -> bool {
        self.flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 == 0
    }

    /// The capture that it takes part in.
    pub(crate) fn capture(&self) -> Option<Arc<dyn StreamCapture>> {
        self.capture_slot().clone()
    }

    /// The attributes that the program has set (`cuStreamSetAttribute`).
    pub(crate) fn attributes(&self) -> MutexGuard<'_, AttributeSet> {
        self.attributes.lock()
    }

    /// The place of that, to be changed.
    pub(crate) fn capture_slot(&self) -> MutexGuard<'_, Option<Arc<dyn StreamCapture>>> {
        self.capture.lock()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // It may go with its context, or with the thread whose default stream it is.
        let own = self.capture.get_mut().take();
        if let Some(capture) = own {
            capture.stream_destroyed(self.id);
        }
    }
}

impl StreamRef {
    /// Makes later work wait for what the context was told to wait for.
    pub(in crate::device) fn heed_context(&self) {
        let heeded = match self {
            StreamRef::Legacy(context) => &context.heeded,
            StreamRef::Other(stream) => &stream.heeded,
        };
        self.context().awaited.hold_back(self.queue(), heeded);
    }

    /// The capture that the stream takes part in.
    pub(crate) fn capture(&self) -> Option<Arc<dyn StreamCapture>> {
        match self {
            StreamRef::Legacy(_) => None,
            StreamRef::Other(stream) => stream.capture(),
        }
    }

    /// Makes later work wait for an event. One that was recorded in a capture takes the stream into
    /// it.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_ISOLATION` if a captured stream would wait for work that
    /// is not captured, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if a legacy default stream would be
    /// captured, and those of
    /// [`CapturedEvent::hold_back`](super::capture::CapturedEvent::hold_back).
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
        operation: impl FnOnce() -> StreamOperation,
    ) -> Result<bool, CUresult> {
        match self {
            StreamRef::Other(stream) => match stream.capture() {
                Some(capture) => capture.add(stream, operation()).map(|()| true),
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
