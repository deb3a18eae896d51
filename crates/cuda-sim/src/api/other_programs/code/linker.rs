//! The linker, which takes PTX and makes an image of it for `cuModuleLoadData`.

#![allow(non_snake_case, reason = "the names of the C API")]
#![expect(clippy::too_many_arguments, reason = "as many as CUDA gives the functions")]

use std::ffi::c_void;
use std::sync::Arc;

use cuda_sys::{CUjit_option, CUjitInputType as Kind, CUlinkState, CUresult};
use parking_lot::Mutex;

use crate::api::Result;
use crate::api::arguments::{Count, List, Out, handle, number};
use crate::api::code::jit_options::{JitLogs, JitOptions, OptionValues, max_registers};
use crate::device::image::{self, ImageError};
use crate::device::{Linker, current, machine};

/// The buffers among the options are used until the state is destroyed.
pub(in crate::api) fn cuLinkCreate_v2(
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
    out: Out<CUlinkState>,
) -> Result {
    let logs = JitLogs::new(count, options, values)?;
    let max_registers = max_registers(count, options, values)?;
    current::working()?;
    let linker = Linker::new(max_registers, Box::new(move |message| logs.error(message)));
    let inserted = machine()?.linkers.insert(|_| Mutex::new(linker));
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    Ok(())
}

pub(in crate::api) fn cuLinkAddData_v2(
    state: CUlinkState,
    kind: Kind,
    data: List<u8>,
    bytes: Count,
    name: Option<&str>,
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
) -> Result {
    let linker = find(state)?;
    JitLogs::new(count, options, values)?;
    let image = data.of(bytes).slice()?.to_vec();
    // Without a name, as the driver calls them.
    add(&linker, kind, name.unwrap_or("<input>"), Ok(image))
}

pub(in crate::api) fn cuLinkAddFile_v2(
    state: CUlinkState,
    kind: Kind,
    path: Option<&str>,
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
) -> Result {
    let linker = find(state)?;
    JitLogs::new(count, options, values)?;
    let path = path.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    add(&linker, kind, path, image::read_file(path))
}

/// The image that it gives stays valid until the state is destroyed or something is added.
pub(in crate::api) fn cuLinkComplete(
    state: CUlinkState,
    image: Out<*mut c_void>,
    bytes: Option<Out<usize>>,
) -> Result {
    let linker = find(state)?;
    let mut linker = linker.lock();
    let linked = linker.complete(machine()?.config.capability.number())?.as_bytes_with_nul();
    image.set(linked.as_ptr().cast_mut().cast());
    bytes.into_iter().for_each(|out| out.set(linked.len()));
    Ok(())
}

pub(in crate::api) fn cuLinkDestroy(state: CUlinkState) -> Result {
    let removed = machine()?.linkers.remove(number(state));
    removed.map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

fn find(state: CUlinkState) -> Result<Arc<Mutex<Linker>>> {
    let linker = machine()?.linkers.get(number(state));
    linker.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

fn add(
    linker: &Mutex<Linker>,
    kind: Kind,
    name: &str,
    image: std::result::Result<Vec<u8>, ImageError>,
) -> Result {
    let mut linker = linker.lock();
    let mut image = image.map_err(|refusal| linker.refused(&refusal))?;
    match kind {
        // A text may be handed over with the NUL that ends it.
        Kind::CU_JIT_INPUT_PTX => {
            image.truncate(image.iter().position(|&byte| byte == 0).unwrap_or(image.len()));
        }
        // Each may be what this linker made, which is PTX.
        Kind::CU_JIT_INPUT_FATBINARY
        | Kind::CU_JIT_INPUT_CUBIN
        | Kind::CU_JIT_INPUT_OBJECT
        | Kind::CU_JIT_INPUT_LIBRARY => {}
        Kind::CU_JIT_INPUT_NVVM => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
    let is_library = kind == Kind::CU_JIT_INPUT_LIBRARY;
    linker.add(image, name, is_library, machine()?.config.capability.number())
}
