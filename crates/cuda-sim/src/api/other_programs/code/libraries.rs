//! Libraries, and the kernels in them.

#![allow(non_snake_case, reason = "the names of the C API")]
#![expect(clippy::too_many_arguments, reason = "as many as CUDA gives the functions")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{
    CUdevice, CUdeviceptr, CUfunc_cache, CUfunction, CUfunction_attribute as Attribute,
    CUjit_option, CUkernel, CUlibrary, CUlibraryOption, CUmodule, CUresult,
};
use ptx_jit::Program;

use crate::api::Result;
use crate::api::arguments::{self, CodeImage, Count, Items, List, Out, Room, handle, number};
use crate::api::code::functions::{self, Facts};
use crate::api::code::jit_options::{JitLogs, JitOptions, OptionValues};
use crate::device::image::{self, ImageError};
use crate::device::{Library, current, machine, settings};

/// The lists of a call that have an element for each option of the library.
pub(in crate::api) enum LibraryOptions {}

pub(in crate::api) fn cuLibraryLoadData(
    out: Out<CUlibrary>,
    code: CodeImage,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
    count: Count<JitOptions>,
    library_options: List<CUlibraryOption, LibraryOptions>,
    _library_values: *mut *mut c_void,
    library_count: Count<LibraryOptions>,
) -> Result {
    check_options(library_options.of(library_count))?;
    let logs = JitLogs::new(count, options, values)?;
    load(&out, &logs, |capability| code.load(capability))
}

pub(in crate::api) fn cuLibraryLoadFromFile(
    out: Out<CUlibrary>,
    path: &str,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
    count: Count<JitOptions>,
    library_options: List<CUlibraryOption, LibraryOptions>,
    _library_values: *mut *mut c_void,
    library_count: Count<LibraryOptions>,
) -> Result {
    check_options(library_options.of(library_count))?;
    let logs = JitLogs::new(count, options, values)?;
    load(&out, &logs, |capability| image::load_file(path, capability))
}

pub(in crate::api) fn cuLibraryUnload(library: CUlibrary) -> Result {
    let machine = machine()?;
    let removed = machine.libraries.remove(number(library));
    removed.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?.unload(
        &machine.kernels,
        &machine.modules,
        &machine.functions,
    );
    Ok(())
}

pub(in crate::api) fn cuLibraryGetKernel(
    out: Out<CUkernel>,
    library: CUlibrary,
    name: &str,
) -> Result {
    let machine = machine()?;
    out.set(handle(arguments::library(machine, library)?.kernel(&machine.kernels, name)?));
    Ok(())
}

pub(in crate::api) fn cuLibraryGetKernelCount(out: Out<c_uint>, library: CUlibrary) -> Result {
    out.set(arguments::library(machine()?, library)?.kernel_names().count() as c_uint);
    Ok(())
}

/// Gives as many kernels as the program has room for.
pub(in crate::api) fn cuLibraryEnumerateKernels(
    kernels: Room<CUkernel>,
    room: Count,
    library: CUlibrary,
) -> Result {
    let machine = machine()?;
    let library = arguments::library(machine, library)?;
    let handles = library.kernel_names().map(|name| library.kernel(&machine.kernels, name));
    kernels.of(room).try_write(handles.map(|number| number.map(handle)))
}

pub(in crate::api) fn cuLibraryGetModule(out: Out<CUmodule>, library: CUlibrary) -> Result {
    let machine = machine()?;
    let library = arguments::library(machine, library)?;
    out.set(handle(library.module(&machine.modules, &current::working()?)?.handle));
    Ok(())
}

pub(in crate::api) fn cuLibraryGetGlobal(
    pointer: Option<Out<CUdeviceptr>>,
    bytes: Option<Out<usize>>,
    library: CUlibrary,
    name: &str,
) -> Result {
    let machine = machine()?;
    let module =
        arguments::library(machine, library)?.module(&machine.modules, &current::working()?)?;
    let (address, size) = module.variable(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    pointer.into_iter().for_each(|out| out.set(address));
    bytes.into_iter().for_each(|out| out.set(size));
    Ok(())
}

pub(in crate::api) fn cuLibraryGetManaged(
    pointer: Option<Out<CUdeviceptr>>,
    bytes: Option<Out<usize>>,
    library: CUlibrary,
    name: Option<&str>,
) -> Result {
    let machine = machine()?;
    let library = arguments::library(machine, library)?;
    let name = name.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let module = library.module(&machine.modules, &current::working()?)?;
    let found = module.managed_variable(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    pointer.into_iter().for_each(|out| out.set(found.0));
    bytes.into_iter().for_each(|out| out.set(found.1));
    Ok(())
}

/// There are no functions that host and device share.
pub(in crate::api) fn cuLibraryGetUnifiedFunction(
    function: Option<Out<*mut c_void>>,
    library: CUlibrary,
    name: Option<&str>,
) -> Result {
    arguments::library(machine()?, library)?;
    function.zip(name).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    Err(CUresult::CUDA_ERROR_NOT_FOUND)
}

pub(in crate::api) fn cuKernelGetFunction(out: Out<CUfunction>, kernel: CUkernel) -> Result {
    let machine = machine()?;
    let kernel = arguments::kernel(machine, kernel)?;
    out.set(handle(kernel.function(&machine.modules, &machine.functions, &current::working()?)?.0));
    Ok(())
}

pub(in crate::api) fn cuKernelGetLibrary(out: Out<CUlibrary>, kernel: CUkernel) -> Result {
    out.set(handle(arguments::kernel(machine()?, kernel)?.library()?.handle));
    Ok(())
}

/// The name lives as long as the kernel.
pub(in crate::api) fn cuKernelGetName(out: Out<*const c_char>, kernel: CUkernel) -> Result {
    out.set(arguments::kernel(machine()?, kernel)?.name.as_ptr());
    Ok(())
}

pub(in crate::api) fn cuKernelGetAttribute(
    out: Out<c_int>,
    attribute: Attribute,
    kernel: CUkernel,
    device: CUdevice,
) -> Result {
    let machine = machine()?;
    let kernel = arguments::kernel(machine, kernel)?;
    let ordinal = machine.device(device)?.id.ordinal;
    let dynamic = kernel.max_dynamic_shared(ordinal);
    let look = |own: &_| functions::value(&Facts::of_kernel(own).with_dynamic(dynamic), attribute);
    out.set(kernel.look(look)?.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(in crate::api) fn cuKernelSetAttribute(
    attribute: Attribute,
    value: c_int,
    kernel: CUkernel,
    device: CUdevice,
) -> Result {
    let machine = machine()?;
    let kernel = arguments::kernel(machine, kernel)?;
    let ordinal = machine.device(device)?.id.ordinal;
    let check = |own: &_| functions::checked(&Facts::of_kernel(own), attribute, value);
    if let Some(bytes) = kernel.look(check)?? {
        kernel.set_max_dynamic_shared(ordinal, bytes);
    }
    Ok(())
}

pub(in crate::api) fn cuKernelSetCacheConfig(
    kernel: CUkernel,
    preference: CUfunc_cache,
    device: CUdevice,
) -> Result {
    let machine = machine()?;
    arguments::kernel(machine, kernel)?;
    machine.device(device)?;
    settings::check_cache(preference)
}

pub(in crate::api) fn cuKernelGetParamInfo(
    kernel: CUkernel,
    index: usize,
    offset: Out<usize>,
    bytes: Option<Out<usize>>,
) -> Result {
    let kernel = arguments::kernel(machine()?, kernel)?;
    let parameter = kernel.look(|kernel| kernel.parameters().get(index).copied())?;
    let parameter = parameter.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    offset.set(parameter.offset);
    bytes.into_iter().for_each(|out| out.set(parameter.bytes));
    Ok(())
}

fn load(
    out: &Out<CUlibrary>,
    logs: &JitLogs,
    read: impl FnOnce(u32) -> std::result::Result<Arc<Program>, ImageError>,
) -> Result {
    let machine = machine()?;
    let capability = machine.config.capability.number();
    let program = read(capability).map_err(|refusal| logs.refused(&refusal))?;
    let inserted = machine.libraries.insert(|handle| Library::new(handle, program));
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    logs.done();
    Ok(())
}

fn check_options(options: Items<CUlibraryOption>) -> Result {
    let known = CUlibraryOption::CU_LIBRARY_NUM_OPTIONS.0;
    let all_known = options.iter()?.all(|option| option.0 < known);
    if all_known { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}
