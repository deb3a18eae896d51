//! Modules: loaded, unloaded, and asked for their functions.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::sync::Arc;

use cuda_sys::{CUfunction, CUjit_option, CUmodule, CUresult};
use ptx_jit::Program;

use crate::api::Result;
use crate::api::arguments::{self, CodeImage, Count, List, Out, handle, number};
use crate::api::code::jit_options::{JitLogs, JitOptions, OptionValues};
use crate::device::image::ImageError;
use crate::device::{ContextModule, current, machine};

pub(in crate::api) fn cuModuleLoadDataEx(
    out: Out<CUmodule>,
    image: CodeImage,
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
) -> Result {
    let logs = JitLogs::new(count, options, values)?;
    load(&out, &logs, |capability| image.load(capability))
}

/// A library's modules go with the library.
pub(in crate::api) fn cuModuleUnload(module: CUmodule) -> Result {
    let machine = machine()?;
    if arguments::module(machine, module)?.is_of_library() {
        return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
    }
    let removed = machine.modules.remove(number(module));
    let module = removed.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    module.unload(&machine.functions);
    module.context.check()
}

pub(in crate::api) fn cuModuleGetFunction(
    out: Out<CUfunction>,
    module: CUmodule,
    name: &str,
) -> Result {
    let machine = machine()?;
    let module = arguments::module(machine, module)?;
    module.context.check()?;
    out.set(handle(module.function(&machine.functions, name)?));
    Ok(())
}

pub(in crate::api) fn load(
    out: &Out<CUmodule>,
    logs: &JitLogs,
    read: impl FnOnce(u32) -> std::result::Result<Arc<Program>, ImageError>,
) -> Result {
    let machine = machine()?;
    let context = current::working()?;
    let capability = machine.config.capability.number();
    let program = read(capability).map_err(|refusal| logs.refused(&refusal))?;
    let module = ContextModule::new(context, program, None)?;
    let inserted = machine.modules.insert(|handle| module.named(handle));
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    logs.done();
    Ok(())
}
