//! Libraries, and the kernels in them.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{
    CUdevice, CUdeviceptr, CUfunc_cache, CUfunction, CUfunction_attribute as Attribute,
    CUjit_option, CUkernel, CUlibrary, CUlibraryOption, CUmodule, CUresult,
};
use ptx_jit::Program;

use super::Result;
use super::arguments::{self, Out, handle, number, text, write_handles};
use super::functions::{self, Facts};
use super::jit_options::Logs;
use crate::device::image::{self, Refusal};
use crate::device::{Library, current, platform, settings};

pub(super) unsafe fn cuLibraryLoadData(
    library: *mut CUlibrary,
    code: *const c_void,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    count: c_uint,
    library_options: *mut CUlibraryOption,
    _library_values: *mut *mut c_void,
    library_count: c_uint,
) -> Result {
    // SAFETY: the caller's promise, here and in the closure.
    let (out, logs) = unsafe {
        check_options(library_options, library_count)?;
        (Out::new(library)?, Logs::new(count, options, values)?)
    };
    // SAFETY: as above.
    load(&out, &logs, |capability| unsafe { image::load(code, capability) })
}

pub(super) unsafe fn cuLibraryLoadFromFile(
    library: *mut CUlibrary,
    path: *const c_char,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    count: c_uint,
    library_options: *mut CUlibraryOption,
    _library_values: *mut *mut c_void,
    library_count: c_uint,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, logs, path) = unsafe {
        check_options(library_options, library_count)?;
        (Out::new(library)?, Logs::new(count, options, values)?, text(path)?)
    };
    load(&out, &logs, |capability| image::load_file(path, capability))
}

pub(super) unsafe fn cuLibraryUnload(library: CUlibrary) -> Result {
    let platform = platform()?;
    let removed = platform.libraries.remove(number(library));
    removed.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?.unload(platform);
    Ok(())
}

pub(super) unsafe fn cuLibraryGetKernel(
    kernel: *mut CUkernel,
    library: CUlibrary,
    name: *const c_char,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, name) = unsafe { (Out::new(kernel)?, text(name)?) };
    let platform = platform()?;
    out.set(handle(arguments::library(platform, library)?.kernel(platform, name)?));
    Ok(())
}

pub(super) unsafe fn cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(count) }?;
    out.set(arguments::library(platform()?, library)?.kernel_names().count() as c_uint);
    Ok(())
}

/// Gives as many as the program has room for.
pub(super) unsafe fn cuLibraryEnumerateKernels(
    kernels: *mut CUkernel,
    room: c_uint,
    library: CUlibrary,
) -> Result {
    let platform = platform()?;
    let library = arguments::library(platform, library)?;
    let handles = library.kernel_names().map(|name| library.kernel(platform, name));
    // SAFETY: the caller's promise.
    unsafe { write_handles(kernels, room, handles) }
}

pub(super) unsafe fn cuLibraryGetModule(module: *mut CUmodule, library: CUlibrary) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(module) }?;
    let platform = platform()?;
    let library = arguments::library(platform, library)?;
    out.set(handle(library.module(platform, &current::working()?)?.handle));
    Ok(())
}

pub(super) unsafe fn cuLibraryGetGlobal(
    pointer: *mut CUdeviceptr,
    bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> Result {
    // SAFETY: the caller's promise. Either place may be null: the program does not care for it.
    let (pointer, bytes, name) = unsafe { (Out::new(pointer), Out::new(bytes), text(name)?) };
    let platform = platform()?;
    let module = arguments::library(platform, library)?.module(platform, &current::working()?)?;
    let (address, size) = module.variable(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    pointer.into_iter().for_each(|out| out.set(address));
    bytes.into_iter().for_each(|out| out.set(size));
    Ok(())
}

/// PTX that the driver reads has no managed variables.
pub(super) unsafe fn cuLibraryGetManaged(
    _pointer: *mut CUdeviceptr,
    _bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> Result {
    arguments::library(platform()?, library)?;
    // SAFETY: the caller's promise.
    unsafe { text(name) }?;
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

/// There are no functions that host and device share.
pub(super) unsafe fn cuLibraryGetUnifiedFunction(
    function: *mut *mut c_void,
    library: CUlibrary,
    name: *const c_char,
) -> Result {
    arguments::library(platform()?, library)?;
    // SAFETY: the caller's promise.
    unsafe { (Out::new(function)?, text(name)?) };
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

pub(super) unsafe fn cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(function) }?;
    let platform = platform()?;
    let kernel = arguments::kernel(platform, kernel)?;
    out.set(handle(kernel.function(platform, &current::working()?)?.0));
    Ok(())
}

pub(super) unsafe fn cuKernelGetLibrary(library: *mut CUlibrary, kernel: CUkernel) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(library) }?;
    out.set(handle(arguments::kernel(platform()?, kernel)?.library()?.handle));
    Ok(())
}

/// The name lives as long as the kernel.
pub(super) unsafe fn cuKernelGetName(name: *mut *const c_char, kernel: CUkernel) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(name) }?;
    out.set(arguments::kernel(platform()?, kernel)?.name.as_ptr());
    Ok(())
}

pub(super) unsafe fn cuKernelGetAttribute(
    value: *mut c_int,
    attribute: Attribute,
    kernel: CUkernel,
    device: CUdevice,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(value) }?;
    let platform = platform()?;
    let kernel = arguments::kernel(platform, kernel)?;
    let ordinal = platform.device(device)?.id.ordinal;
    let facts = kernel.look(Facts::of_kernel)?.with_dynamic(kernel.max_dynamic_shared(ordinal));
    out.set(functions::value(&facts, attribute).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(super) unsafe fn cuKernelSetAttribute(
    attribute: Attribute,
    value: c_int,
    kernel: CUkernel,
    device: CUdevice,
) -> Result {
    let platform = platform()?;
    let kernel = arguments::kernel(platform, kernel)?;
    let ordinal = platform.device(device)?.id.ordinal;
    let facts = kernel.look(Facts::of_kernel)?;
    if let Some(bytes) = functions::checked(&facts, attribute, value)? {
        kernel.set_max_dynamic_shared(ordinal, bytes);
    }
    Ok(())
}

pub(super) unsafe fn cuKernelSetCacheConfig(
    kernel: CUkernel,
    preference: CUfunc_cache,
    device: CUdevice,
) -> Result {
    let platform = platform()?;
    arguments::kernel(platform, kernel)?;
    platform.device(device)?;
    settings::check_cache(preference)
}

pub(super) unsafe fn cuKernelGetParamInfo(
    kernel: CUkernel,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> Result {
    // SAFETY: the caller's promise. A program that does not care for the size passes null.
    let (offset, bytes) = unsafe { (Out::new(offset)?, Out::new(bytes)) };
    let kernel = arguments::kernel(platform()?, kernel)?;
    let parameter = kernel.look(|kernel| kernel.parameters().get(index).copied())?;
    let parameter = parameter.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    offset.set(parameter.offset);
    bytes.into_iter().for_each(|out| out.set(parameter.bytes));
    Ok(())
}

fn load(
    out: &Out<CUlibrary>,
    logs: &Logs,
    read: impl FnOnce(u32) -> std::result::Result<Arc<Program>, Refusal>,
) -> Result {
    let platform = platform()?;
    let capability = platform.config.capability.number();
    let program = read(capability).map_err(|refusal| logs.refused(&refusal))?;
    let inserted = platform.libraries.insert(|handle| Library::new(handle, program));
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    logs.done();
    Ok(())
}

/// # Safety
/// There are `count` options.
unsafe fn check_options(options: *mut CUlibraryOption, count: c_uint) -> Result {
    if count > 0 && options.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let option = |index| unsafe { options.add(index).read() };
    let known = CUlibraryOption::CU_LIBRARY_NUM_OPTIONS.0;
    let all_known = (0..count as usize).all(|index| option(index).0 < known);
    if all_known { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}
