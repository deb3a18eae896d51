//! Other ways to load modules, and what else they are asked for.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::env;
use std::ffi::c_uint;

use cuda_sys::{CUdeviceptr, CUfunction, CUmodule, CUmoduleLoadingMode as LoadingMode, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, CodeImage, Count, Out, Room, handle};
use crate::api::code::jit_options::JitLogs;
use crate::api::code::modules::load;
use crate::device::{image, machine};

pub(in crate::api) fn cuModuleLoad(out: Out<CUmodule>, path: &str) -> Result {
    load(&out, &JitLogs::default(), |capability| image::load_file(path, capability))
}

pub(in crate::api) fn cuModuleLoadData(out: Out<CUmodule>, image: CodeImage) -> Result {
    load(&out, &JitLogs::default(), |capability| image.load(capability))
}

pub(in crate::api) fn cuModuleLoadFatBinary(out: Out<CUmodule>, image: CodeImage) -> Result {
    cuModuleLoadData(out, image)
}

/// Kernels are translated when they are first launched, whatever the program asks for; it is told
/// what NVIDIA's driver would do.
pub(in crate::api) fn cuModuleGetLoadingMode(out: Out<LoadingMode>) -> Result {
    let asked = env::var_os("CUDA_MODULE_LOADING");
    let is_eager = asked.is_some_and(|mode| mode == "EAGER");
    out.set(if is_eager {
        LoadingMode::CU_MODULE_EAGER_LOADING
    } else {
        LoadingMode::CU_MODULE_LAZY_LOADING
    });
    Ok(())
}

pub(in crate::api) fn cuModuleGetFunctionCount(out: Out<c_uint>, module: CUmodule) -> Result {
    out.set(arguments::module(machine()?, module)?.kernel_names().count() as c_uint);
    Ok(())
}

/// Gives as many functions as the program has room for.
pub(in crate::api) fn cuModuleEnumerateFunctions(
    functions: Room<CUfunction>,
    room: Count,
    module: CUmodule,
) -> Result {
    let machine = machine()?;
    let module = arguments::module(machine, module)?;
    let handles = module.kernel_names().map(|name| module.function(&machine.functions, name));
    functions.of(room).try_write(handles.map(|number| number.map(handle)))
}

pub(in crate::api) fn cuModuleGetGlobal_v2(
    pointer: Option<Out<CUdeviceptr>>,
    bytes: Option<Out<usize>>,
    module: CUmodule,
    name: &str,
) -> Result {
    let module = arguments::module(machine()?, module)?;
    module.context.check()?;
    let (address, size) = module.variable(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    pointer.into_iter().for_each(|out| out.set(address));
    bytes.into_iter().for_each(|out| out.set(size));
    Ok(())
}
