//! Loading of code at the moment of its first use.

use cuda_sys::CUstreamCaptureMode;

use crate::driver::cu;
use crate::error::Result;

/// Does what may load code at this moment. It is no work of a stream, so a capture of this thread
/// must not mind it.
pub(super) fn loading<T>(load: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: `mode` is writable.
    unsafe { cu::cuThreadExchangeStreamCaptureMode(&mut mode) }?;
    let loaded = load();
    // SAFETY: as above; `mode` now holds the thread's own.
    unsafe { cu::cuThreadExchangeStreamCaptureMode(&mut mode) }?;
    loaded
}
