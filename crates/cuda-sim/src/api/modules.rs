//! Modules.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::env;
use std::ffi::c_uint;
use std::sync::Arc;

use cuda_sys::{
    CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUmoduleLoadingMode as LoadingMode, CUresult,
};

use super::Result;
use super::arguments::{self, Count, Image, List, Out, Room, handle, number};
use super::jit_options::{JitLogs, JitOptions, OptionValues};
use crate::device::image::{self, Refusal};
use crate::device::{Module, current, platform};
use crate::exec::Program;

pub(super) fn cuModuleLoad(out: Out<CUmodule>, path: &str) -> Result {
    load(&out, &JitLogs::default(), |capability| image::load_file(path, capability))
}

pub(super) fn cuModuleLoadData(out: Out<CUmodule>, image: Image) -> Result {
    load(&out, &JitLogs::default(), |capability| image.load(capability))
}

pub(super) fn cuModuleLoadDataEx(
    out: Out<CUmodule>,
    image: Image,
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
) -> Result {
    let logs = JitLogs::new(count, options, values)?;
    load(&out, &logs, |capability| image.load(capability))
}

pub(super) fn cuModuleLoadFatBinary(out: Out<CUmodule>, image: Image) -> Result {
    cuModuleLoadData(out, image)
}

/// A library's modules go with the library.
pub(super) fn cuModuleUnload(module: CUmodule) -> Result {
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
pub(super) fn cuModuleGetLoadingMode(out: Out<LoadingMode>) -> Result {
    let asked = env::var_os("CUDA_MODULE_LOADING");
    let is_eager = asked.is_some_and(|mode| mode == "EAGER");
    out.set(if is_eager {
        LoadingMode::CU_MODULE_EAGER_LOADING
    } else {
        LoadingMode::CU_MODULE_LAZY_LOADING
    });
    Ok(())
}

pub(super) fn cuModuleGetFunctionCount(out: Out<c_uint>, module: CUmodule) -> Result {
    out.set(arguments::module(platform()?, module)?.kernel_names().count() as c_uint);
    Ok(())
}

/// Gives as many as the program has room for.
pub(super) fn cuModuleEnumerateFunctions(
    functions: Room<CUfunction>,
    room: Count,
    module: CUmodule,
) -> Result {
    let platform = platform()?;
    let module = arguments::module(platform, module)?;
    let handles = module.kernel_names().map(|name| module.function(platform, name));
    functions.of(room).try_write(handles.map(|number| number.map(handle)))
}

pub(super) fn cuModuleGetFunction(out: Out<CUfunction>, module: CUmodule, name: &str) -> Result {
    let platform = platform()?;
    let module = arguments::module(platform, module)?;
    module.context.check()?;
    out.set(handle(module.function(platform, name)?));
    Ok(())
}

pub(super) fn cuModuleGetGlobal_v2(
    pointer: Option<Out<CUdeviceptr>>,
    bytes: Option<Out<usize>>,
    module: CUmodule,
    name: &str,
) -> Result {
    let module = arguments::module(platform()?, module)?;
    module.context.check()?;
    let (address, size) = module.variable(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    pointer.into_iter().for_each(|out| out.set(address));
    bytes.into_iter().for_each(|out| out.set(size));
    Ok(())
}

fn load(
    out: &Out<CUmodule>,
    logs: &JitLogs,
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
