//! Functions by name and version.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use cuda_sys::{
    CUdriverProcAddress_flags as Flags, CUdriverProcAddressQueryResult as Status, CUresult,
    cuuint64_t,
};

use super::Result;
use super::arguments::{Out, text};
use super::entry::exported;

pub(super) unsafe fn cuGetProcAddress_v2(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    status: *mut Status,
) -> Result {
    // SAFETY: the caller's promise. The program may not care for the status.
    let (symbol, out, status) = unsafe { (text(symbol)?, Out::new(function)?, Out::new(status)) };
    let legacy = Flags::CU_GET_PROC_ADDRESS_DEFAULT.0 | Flags::CU_GET_PROC_ADDRESS_LEGACY_STREAM.0;
    if flags & !cuuint64_t::from(legacy) != 0 {
        // Functions for which stream 0 is the thread's own are not here.
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let (address, answer) = look_up(symbol, version);
    out.set(address);
    status.into_iter().for_each(|status| status.set(answer));
    if address.is_null() { Err(CUresult::CUDA_ERROR_NOT_FOUND) } else { Ok(()) }
}

/// Finds the function that a name without its version suffix means to a program of that version.
fn look_up(symbol: &str, version: c_int) -> (*mut c_void, Status) {
    let named = TABLE.iter().find(|(exported, _)| base(exported) == symbol);
    match named {
        None => (ptr::null_mut(), Status::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
        Some((exported, _)) if version < since(exported) => {
            (ptr::null_mut(), Status::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT)
        }
        Some((_, address)) => (address.0.cast_mut(), Status::CU_GET_PROC_ADDRESS_SUCCESS),
    }
}

fn base(exported: &str) -> &str {
    exported.strip_suffix("_v2").unwrap_or(exported)
}

/// The CUDA version from which on a name without suffix means this function. Before, it meant one
/// with other arguments, which is not here.
fn since(exported: &str) -> c_int {
    match exported {
        "cuGetProcAddress_v2" | "cuStreamGetId" => 12_000,
        "cuDeviceGetUuid_v2" => 11_040,
        "cuDevicePrimaryCtxRelease_v2" => 11_000,
        "cuMemHostRegister_v2" => 6_050,
        "cuStreamDestroy_v2"
        | "cuEventDestroy_v2"
        | "cuCtxDestroy_v2"
        | "cuCtxPushCurrent_v2"
        | "cuCtxPopCurrent_v2" => 4_000,
        _ if exported.ends_with("_v2") => 3_020,
        _ => 2_000,
    }
}

struct Address(*const c_void);

// SAFETY: the address of a function, which is never written to.
unsafe impl Sync for Address {}

macro_rules! addresses {
    (
        required { $(fn $name:ident $arguments:tt -> $result:ty;)* }
        optional { $(fn $newer:ident $its_arguments:tt -> $answer:ty;)* }
    ) => {
        static TABLE: &[(&str, Address)] = &[
            $((stringify!($name), Address(exported::$name as *const c_void)),)*
            $((stringify!($newer), Address(exported::$newer as *const c_void)),)*
        ];
    };
}

cuda_sys::for_each_driver_function!(addresses);
