//! Streams by their handles. Those of default streams depend on the calling thread.

use cuda_sys::CUresult;

use super::current;
use crate::device::machine::SimulatedMachine;
use crate::device::streams::stream::{LEGACY, PER_THREAD, StreamRef};

impl StreamRef {
    /// The stream that a handle names; default streams are those of the current context.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` if it names none, those of [`current::current`] for default
    /// streams, `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
    pub(crate) fn resolve(
        machine: &'static SimulatedMachine,
        handle: u64,
    ) -> Result<StreamRef, CUresult> {
        match handle {
            0 if current::has_own_default_stream() => StreamRef::resolve(machine, PER_THREAD),
            0 | LEGACY => Ok(StreamRef::Legacy(current::current()?)),
            PER_THREAD => {
                let context = current::current()?;
                current::thread_stream(machine, &context).map(StreamRef::Other)
            }
            handle => {
                let stream = machine.streams.get(handle);
                stream.map(StreamRef::Other).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
            }
        }
    }

    /// Finds a stream as [`resolve`](StreamRef::resolve) does, on a device that works, and makes it
    /// wait for what its context was told to wait for.
    ///
    /// # Errors
    /// The device's sticky error too.
    pub(crate) fn working(
        machine: &'static SimulatedMachine,
        handle: u64,
    ) -> Result<StreamRef, CUresult> {
        let stream = StreamRef::resolve(machine, handle)?;
        stream.context().check()?;
        stream.heed_context();
        Ok(stream)
    }
}
