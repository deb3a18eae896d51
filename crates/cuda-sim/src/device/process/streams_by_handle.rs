//! Streams by their handles. Those of default streams depend on the calling thread.

use cuda_sys::CUresult;

use super::current;
use crate::device::platform::Platform;
use crate::device::streams::stream::{LEGACY, PER_THREAD, StreamRef};

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

    /// As [`resolve`](StreamRef::resolve), on a device that works. What the context was told to wait
    /// for, the stream waits for from now on.
    ///
    /// # Errors
    /// The device's sticky error too.
    pub(crate) fn working(platform: &'static Platform, handle: u64) -> Result<StreamRef, CUresult> {
        let stream = StreamRef::resolve(platform, handle)?;
        stream.context().check()?;
        stream.heed_context();
        Ok(stream)
    }
}
