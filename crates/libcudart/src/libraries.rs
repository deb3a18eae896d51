//! Libraries of device code that the program loads itself.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::slice;

use cuda_sys::{CUfunction_attribute, CUjit_option, CUkernel, CUlibrary, CUlibraryOption};

use crate::address::out;
use crate::api::{calls, calls_on_device};
use crate::context::handle;
use crate::driver::cu;
use crate::error::cudaError_t;
use crate::registry;

calls! {
    fn cudaLibraryLoadData(
        library: *mut CUlibrary,
        code: *const c_void,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
        count: c_uint,
        library_options: *mut CUlibraryOption,
        library_values: *mut *mut c_void,
        library_count: c_uint,
    ) {
        cu::cuLibraryLoadData(
            library, code, options, values, count, library_options, library_values, library_count,
        )
    }
    fn cudaLibraryLoadFromFile(
        library: *mut CUlibrary,
        name: *const c_char,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
        count: c_uint,
        library_options: *mut CUlibraryOption,
        library_values: *mut *mut c_void,
        library_count: c_uint,
    ) {
        cu::cuLibraryLoadFromFile(
            library, name, options, values, count, library_options, library_values, library_count,
        )
    }
    fn cudaLibraryUnload(library: CUlibrary) {
        cu::cuLibraryUnload(library)
    }
    fn cudaLibraryGetKernel(kernel: *mut CUkernel, library: CUlibrary, name: *const c_char) {
        cu::cuLibraryGetKernel(kernel, library, name)?;
        registry::add_kernel(kernel.read(), kernel.read().cast_const().cast());
        Ok(())
    }
    fn cudaLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) {
        cu::cuLibraryGetKernelCount(count, library)
    }
    fn cudaLibraryEnumerateKernels(kernels: *mut CUkernel, count: c_uint, library: CUlibrary) {
        let mut available = 0;
        cu::cuLibraryGetKernelCount(&mut available, library)?;
        if kernels.is_null() || count == 0 {
            return Err(cudaError_t::cudaErrorInvalidValue);
        }
        cu::cuLibraryEnumerateKernels(kernels, count, library)?;
        for &kernel in slice::from_raw_parts(kernels, count.min(available) as usize) {
            registry::add_kernel(kernel, kernel.cast_const().cast());
        }
        Ok(())
    }
    fn cudaKernelSetAttributeForDevice(
        kernel: CUkernel,
        attribute: CUfunction_attribute,
        value: c_int,
        device: c_int,
    ) {
        cu::cuKernelSetAttribute(attribute, value, kernel, handle(device)?)
    }
}

calls_on_device! {
    fn cudaLibraryGetGlobal(
        pointer: *mut *mut c_void,
        size: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) {
        cu::cuLibraryGetGlobal(out(pointer), size, library, name)
    }
    fn cudaLibraryGetManaged(
        pointer: *mut *mut c_void,
        size: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) {
        cu::cuLibraryGetManaged(out(pointer), size, library, name)
    }
    fn cudaLibraryGetUnifiedFunction(
        function: *mut *mut c_void,
        library: CUlibrary,
        symbol: *const c_char,
    ) {
        cu::cuLibraryGetUnifiedFunction(function, library, symbol)
    }
}
