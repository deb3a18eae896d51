//! Functions that exist by name only.

use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sys::CUresult;

use cuda_check::console;

/// Answers a call of a function that is not here, and says so once for each.
pub(super) fn refuse(name: &'static str, said: &AtomicBool) -> CUresult {
    if !said.swap(true, Ordering::Relaxed) {
        console::refusal(format_args!("{name} is not supported"));
    }
    CUresult::CUDA_ERROR_NOT_SUPPORTED
}
