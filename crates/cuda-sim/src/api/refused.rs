//! Functions that exist by name only.

use std::env;
use std::io::{Write, stderr};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sys::CUresult;

/// Answers a call of a function that is not here, and says so once for each.
pub(super) fn refuse(name: &'static str, said: &AtomicBool) -> CUresult {
    static ALOUD: LazyLock<bool> =
        LazyLock::new(|| env::var_os("CUDA_SIM_LOG").is_some_and(|value| value == "1"));
    if !said.swap(true, Ordering::Relaxed) {
        tracing::warn!(call = name, "the software driver does not have this function");
        if *ALOUD {
            // A program that closed its standard error does not read this.
            let _ = writeln!(stderr(), "cuda-sim: {name} is not supported");
        }
    }
    CUresult::CUDA_ERROR_NOT_SUPPORTED
}
