//! The way into every call: counting, faults on demand, where calls are forbidden, panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_sys::CUresult;

use super::Result;
use crate::control;
use crate::device::platform;
use crate::queue::in_host_function;

/// Runs the body of a call.
fn enter(call: Call, body: impl FnOnce() -> Result) -> CUresult {
    control::count(call);
    if let Some(result) = control::injected(call) {
        tracing::debug!(call = call.name(), %result, "fails on demand");
        return result;
    }
    // Locks recover from poison and what they protect is changed in single steps, so that a panic
    // leaves nothing half done that matters to later calls.
    let run = AssertUnwindSafe(|| call.check_allowed().and_then(|()| body()));
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
                | Call::cuGetProcAddress_v2
        ) {
            return Ok(());
        }
        if in_host_function() {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        platform().map(drop)
    }
}

macro_rules! define_entries {
    (
        required { $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
        optional { $(fn $newer:ident($($its:ident: $kind:ty),*) -> $answer:ty;)* }
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

        /// The functions as C sees them.
        pub(super) mod exported {
            #![allow(non_snake_case, reason = "the names of the C API")]

            use core::ffi::*;

            use cuda_sys::*;

            use super::super::chapters;
            use super::{Call, enter};

            $(pub(in super::super) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                // SAFETY: what the function asks of its arguments is what this one asks.
                enter(Call::$name, || unsafe { chapters::$name($($argument),*) })
            })*
            $(pub(in super::super) unsafe extern "C" fn $newer($($its: $kind),*) -> $answer {
                // SAFETY: as above.
                enter(Call::$newer, || unsafe { chapters::$newer($($its),*) })
            })*
        }
    };
}

cuda_sys::for_each_driver_function!(define_entries);
