//! The way into every call: counting, faults on demand, where calls are forbidden, panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_sys::CUresult;

use super::Result;
use crate::check;
use crate::control;
use crate::device::platform;
use crate::queue::in_host_function;
use crate::time;

/// Runs the body of a call.
pub(super) fn enter(call: Call, body: impl FnOnce() -> Result) -> CUresult {
    control::count(call);
    check::enter(call.name());
    if let Some(result) = control::injected(call) {
        tracing::debug!(call = call.name(), %result, "fails on demand");
        return result;
    }
    // Locks recover from poison and what they protect is changed in single steps, so that a panic
    // leaves nothing half done that matters to later calls.
    let run = AssertUnwindSafe(|| {
        call.check_allowed()?;
        time::begin_call();
        body()
    });
    match catch_unwind(run) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(result)) => {
            tracing::debug!(call = call.name(), %result, "failed");
            result
        }
        Err(_) => {
            tracing::error!(call = call.name(), "the software driver panicked: this is its bug");
            CUresult::CUDA_ERROR_UNKNOWN
        }
    }
}

impl Call {
    /// The name that the function is exported by.
    pub(crate) fn name(self) -> &'static str {
        Call::NAMES[self as usize]
    }

    fn check_allowed(self) -> Result {
        if matches!(
            self,
            Call::cuInit
                | Call::cuDriverGetVersion
                | Call::cuGetErrorName
                | Call::cuGetErrorString
                | Call::cuGetProcAddress
                | Call::cuGetProcAddress_v2
                | Call::cuGetExportTable
        ) {
            return Ok(());
        }
        if in_host_function() {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        super::streams::captures::permit(self, platform()?)
    }
}

macro_rules! define_calls {
    (
        required { $(fn $name:ident $arguments:tt -> $result:ty;)* }
        optional { $(fn $newer:ident $its_arguments:tt -> $answer:ty;)* }
    ) => {
        /// A function of the table.
        #[allow(non_camel_case_types, reason = "the names of the C API")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Call {
            $($name,)*
            $($newer,)*
        }

        impl Call {
            /// The exported names, in the order of the variants.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name),)* $(stringify!($newer),)*];
        }
    };
}

cuda_sys::for_each_driver_function!(define_calls);
