//! The table and the list of functions, as other crates use them.

#![allow(non_snake_case, reason = "functions and arguments have the names of the C API")]

use std::ffi::*;

use cuda_sys::*;

/// A driver of which every function answers the same.
mod refusing {
    use super::*;

    macro_rules! define {
        (
            required { $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
            optional { $(fn $newer:ident($($its:ident: $kind:ty),*) -> $answer:ty;)* }
        ) => {
            $(pub(super) unsafe extern "C" fn $name($(_: $type),*) -> $result {
                CUresult::CUDA_ERROR_NOT_SUPPORTED
            })*
            $(pub(super) unsafe extern "C" fn $newer($(_: $kind),*) -> $answer {
                CUresult::CUDA_ERROR_NOT_SUPPORTED
            })*
        };
    }

    for_each_driver_function!(define);
}

static REFUSING: Driver = driver_table!(refusing);

#[test]
fn a_table_is_made_from_a_module_of_functions() {
    // SAFETY: the function does nothing but answer.
    let result = unsafe { (REFUSING.cuInit)(0) };
    assert_eq!(result, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    assert!(REFUSING.cuStreamGetId.is_some());
}

#[test]
fn handles_and_enumerations_have_the_layout_of_c() {
    assert_eq!(size_of::<CUresult>(), size_of::<c_int>());
    assert_eq!(size_of::<CUdeviceptr>(), 8);
    assert_eq!(size_of::<CUstream>(), size_of::<*mut c_void>());
    assert_eq!(size_of::<CUuuid>(), 16);
    assert_eq!(size_of::<CUhostFn>(), size_of::<*mut c_void>());
    assert_eq!(CU_STREAM_PER_THREAD.addr(), 2);
}
