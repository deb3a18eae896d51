//! The driver below: found at the first call, and its functions with results of the runtime API.

use std::ffi::c_int;
use std::sync::OnceLock;

use cuda_sys::Driver;

use crate::error::{Result, cudaError_t};

/// The driver, loaded but perhaps not initialised.
///
/// # Errors
/// `cudaErrorInsufficientDriver` where there is none that can be used.
fn loaded() -> Result<&'static Driver> {
    static LOADED: OnceLock<Option<Driver>> = OnceLock::new();
    let driver = LOADED.get_or_init(|| Driver::load().ok());
    driver.as_ref().ok_or(cudaError_t::cudaErrorInsufficientDriver)
}

/// The driver, initialised.
///
/// # Errors
/// As [`loaded`], or what `cuInit` answered at the first call, such as `cudaErrorNoDevice`.
fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Result<&'static Driver>> = OnceLock::new();
    *DRIVER.get_or_init(|| {
        let driver = loaded()?;
        // SAFETY: `cuInit` takes no pointer, and may be called from any thread.
        unsafe { (driver.cuInit)(0) }.ok()?;
        Ok(driver)
    })
}

/// The version that the driver supports, 0 where there is no driver. It needs no device.
pub(crate) fn version() -> Result<c_int> {
    let Ok(driver) = loaded() else {
        return Ok(0);
    };
    let mut version = 0;
    // SAFETY: `version` is writable, and this call needs no `cuInit` before it.
    unsafe { (driver.cuDriverGetVersion)(&mut version) }.ok()?;
    Ok(version)
}

/// The driver's functions by their exported names. Each initialises the driver first.
pub(crate) mod cu {
    #![allow(non_snake_case, dead_code, reason = "all of the table, under the names of the C API")]
    #![allow(clippy::too_many_arguments, reason = "as many as the C API has")]

    use core::ffi::*;

    use cuda_sys::*;

    use crate::error::{Result, cudaError_t};

    macro_rules! wrappers {
        (
            required { $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
            optional { $(fn $newer:ident($($its:ident: $kind:ty),*) -> $answer:ty;)* }
        ) => {
            $(
                #[inline]
                pub(crate) unsafe fn $name($($argument: $type),*) -> Result {
                    let driver = super::driver()?;
                    // SAFETY: the caller keeps to what the C API asks of the arguments.
                    Ok(unsafe { (driver.$name)($($argument),*) }.ok()?)
                }
            )*
            $(
                #[inline]
                pub(crate) unsafe fn $newer($($its: $kind),*) -> Result {
                    let function = super::driver()?.$newer;
                    let function = function.ok_or(cudaError_t::cudaErrorCallRequiresNewerDriver)?;
                    // SAFETY: the caller keeps to what the C API asks of these arguments.
                    Ok(unsafe { function($($its),*) }.ok()?)
                }
            )*
        };
    }

    cuda_sys::for_each_driver_function!(wrappers);
}
