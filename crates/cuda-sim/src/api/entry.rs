//! The way into every call: counting, faults on demand, where calls are forbidden, panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_sys::CUresult;

use super::Result;
use super::streams::captures::permit;
use crate::control::{self, DriverFunction};
use crate::graph::graphs;
use crate::queue::in_host_function;
use crate::time;
use cuda_check::console;

/// Runs the body of a call. There are hundreds of bodies: this is compiled once for all of them.
pub(super) fn enter(function: DriverFunction, body: &dyn Fn() -> Result) -> CUresult {
    control::count(function);
    cuda_check::enter(function.name());
    if let Some(result) = control::injected(function) {
        tracing::debug!(call = function.name(), %result, "fails on demand");
        return result;
    }
    // A panic lets go of locks, and what they protect is changed in single steps, so that it leaves
    // nothing half done that matters to later calls.
    let run = AssertUnwindSafe(|| {
        check_allowed(function)?;
        time::begin_call();
        body()
    });
    match catch_unwind(run) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(result)) => {
            tracing::debug!(call = function.name(), %result, "failed");
            result
        }
        Err(panic) => {
            let (call, reason) = (function.name(), console::reason_of(panic.as_ref()));
            console::internal_error(format_args!("{call}: {reason}"));
            CUresult::CUDA_ERROR_UNKNOWN
        }
    }
}

/// Refuses a call where the driver must not be called.
///
/// # Errors
/// `CUDA_ERROR_NOT_PERMITTED` in a host function, which must not call the driver, and those of
/// [`permit`] during captures.
fn check_allowed(function: DriverFunction) -> Result {
    if matches!(
        function,
        DriverFunction::cuInit
            | DriverFunction::cuDriverGetVersion
            | DriverFunction::cuGetErrorName
            | DriverFunction::cuGetErrorString
            | DriverFunction::cuGetProcAddress
            | DriverFunction::cuGetProcAddress_v2
            | DriverFunction::cuGetExportTable
    ) {
        return Ok(());
    }
    if in_host_function() {
        return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
    }
    permit(function, &graphs()?.captures)
}
