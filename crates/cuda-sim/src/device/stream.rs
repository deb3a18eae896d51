//! Streams as the program knows them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::{CUresult, CUstream_flags};

use super::context::Context;
use super::current;
use super::platform::Platform;
use crate::queue::{self, StreamKind};

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
        Stream { context, flags, priority, id, queue }
    }

    /// A thread's default stream.
    pub(super) fn per_thread(platform: &'static Platform, context: Arc<Context>) -> Stream {
        Stream::new(platform, context, CUstream_flags::CU_STREAM_DEFAULT.0, 0)
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

    /// As [`resolve`](StreamRef::resolve), on a device that works.
    ///
    /// # Errors
    /// The device's sticky error too.
    pub(crate) fn working(platform: &'static Platform, handle: u64) -> Result<StreamRef, CUresult> {
        let stream = StreamRef::resolve(platform, handle)?;
        stream.context().check()?;
        Ok(stream)
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
