//! What the calls need around them: checked results and a context.

use std::ptr;
use std::sync::Once;

use cuda_driver_sys::*;

/// Panics, naming the error, unless a call succeeded.
#[track_caller]
pub(crate) fn check(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

/// Initialises the driver, once for all tests.
pub(crate) fn init() {
    static INIT: Once = Once::new();
    // SAFETY: `cuInit` has no requirements.
    INIT.call_once(|| check(unsafe { cuInit(0) }));
}

/// A context of a device, current in the thread that made it until it is dropped there.
pub(crate) struct Context(CUcontext);

impl Context {
    pub(crate) fn new(device: CUdevice) -> Context {
        init();
        let mut context = ptr::null_mut();
        // SAFETY: `context` is writable.
        check(unsafe { cuCtxCreate_v2(&mut context, 0, device) });
        Context(context)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was created here and is destroyed once. A failure would be one of the
        // test's assertions before it.
        let _ = unsafe { cuCtxDestroy_v2(self.0) };
    }
}
