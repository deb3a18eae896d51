//! Modules.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::env;
use std::ffi::{c_char, c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{
    CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUmoduleLoadingMode as LoadingMode, CUresult,
};
use ptx_jit::Program;

use super::Result;
use super::arguments::{self, Out, handle, number, text, write_handles};
use super::jit_options::Logs;
use crate::device::image::{self, Refusal};
use crate::device::{Module, current, platform};

pub(super) unsafe fn cuModuleLoad(module: *mut CUmodule, path: *const c_char) -> Result {
    // SAFETY: the caller's promise.
    let (out, path) = unsafe { (Out::new(module)?, text(path)?) };
    load(&out, &Logs::default(), |capability| image::load_file(path, capability))
}

pub(super) unsafe fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> Result {
    // SAFETY: the caller's promise, here and in the closure.
    let out = unsafe { Out::new(module) }?;
    // SAFETY: as above.
    load(&out, &Logs::default(), |capability| unsafe { image::load(image, capability) })
}

pub(super) unsafe fn cuModuleLoadDataEx(
    module: *mut CUmodule,
    image: *const c_void,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result {
    // SAFETY: the caller's promise, here and in the closure.
    let (out, logs) = unsafe { (Out::new(module)?, Logs::new(count, options, values)?) };
    // SAFETY: as above.
    load(&out, &logs, |capability| unsafe { image::load(image, capability) })
}

pub(super) unsafe fn cuModuleLoadFatBinary(module: *mut CUmodule, image: *const c_void) -> Result {
    // SAFETY: the caller's promise.
    unsafe { cuModuleLoadData(module, image) }
}

/// A library's modules go with the library.
pub(super) unsafe fn cuModuleUnload(module: CUmodule) -> Result {
    let platform = platform()?;
    if arguments::module(platform, module)?.is_of_library() {
        return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
    }
    let removed = platform.modules.remove(number(module));
    let module = removed.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    module.unload(platform);
    module.context.check()
}

/// Kernels are translated when they are first launched, whatever the program asks for; it is told
/// what NVIDIA's driver would do.
pub(super) unsafe fn cuModuleGetLoadingMode(mode: *mut LoadingMode) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(mode) }?;
    let asked = env::var_os("CUDA_MODULE_LOADING");
    let is_eager = asked.is_some_and(|mode| mode == "EAGER");
    out.set(if is_eager {
        LoadingMode::CU_MODULE_EAGER_LOADING
    } else {
        LoadingMode::CU_MODULE_LAZY_LOADING
    });
    Ok(())
}

pub(super) unsafe fn cuModuleGetFunctionCount(count: *mut c_uint, module: CUmodule) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(count) }?;
    out.set(arguments::module(platform()?, module)?.kernel_names().count() as c_uint);
    Ok(())
}

/// Gives as many as the program has room for.
pub(super) unsafe fn cuModuleEnumerateFunctions(
    functions: *mut CUfunction,
    room: c_uint,
    module: CUmodule,
) -> Result {
    let platform = platform()?;
    let module = arguments::module(platform, module)?;
    let handles = module.kernel_names().map(|name| module.function(platform, name));
    // SAFETY: the caller's promise.
    unsafe { write_handles(functions, room, handles) }
}

pub(super) unsafe fn cuModuleGetFunction(
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, name) = unsafe { (Out::new(function)?, text(name)?) };
    let platform = platform()?;
    let module = arguments::module(platform, module)?;
    module.context.check()?;
    out.set(handle(module.function(platform, name)?));
    Ok(())
}

pub(super) unsafe fn cuModuleGetGlobal_v2(
    pointer: *mut CUdeviceptr,
    bytes: *mut usize,
    module: CUmodule,
    name: *const c_char,
) -> Result {
    // SAFETY: the caller's promise. Either place may be null: the program does not care for it.
    let (pointer, bytes, name) = unsafe { (Out::new(pointer), Out::new(bytes), text(name)?) };
    let module = arguments::module(platform()?, module)?;
    module.context.check()?;
    let (address, size) = module.variable(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    pointer.into_iter().for_each(|out| out.set(address));
    bytes.into_iter().for_each(|out| out.set(size));
    Ok(())
}

fn load(
    out: &Out<CUmodule>,
    logs: &Logs,
    read: impl FnOnce(u32) -> std::result::Result<Arc<Program>, Refusal>,
) -> Result {
    let platform = platform()?;
    let context = current::working()?;
    let capability = platform.config.capability.number();
    let program = read(capability).map_err(|refusal| logs.refused(&refusal))?;
    let module = Module::new(context, program)?;
    let inserted = platform.modules.insert(|handle| module.named(handle));
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    logs.done();
    Ok(())
}
