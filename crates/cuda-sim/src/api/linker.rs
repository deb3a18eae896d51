//! The linker, which takes PTX and makes an image of it for `cuModuleLoadData`.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_uint, c_void};
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_sys::{CUjit_option, CUjitInputType as Kind, CUlinkState, CUresult};

use super::Result;
use super::arguments::{Out, handle, number, text};
use super::jit_options::Logs;
use crate::device::image::{self, Refusal};
use crate::device::{Linker, current, platform};

/// The buffers among the options are used until the state is destroyed.
pub(super) unsafe fn cuLinkCreate_v2(
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    state: *mut CUlinkState,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, logs) = unsafe { (Out::new(state)?, Logs::new(count, options, values)?) };
    current::working()?;
    let linker = Linker::new(Box::new(move |message| logs.error(message)));
    let inserted = platform()?.linkers.insert(|_| Mutex::new(linker));
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    Ok(())
}

pub(super) unsafe fn cuLinkAddData_v2(
    state: CUlinkState,
    kind: Kind,
    data: *mut c_void,
    bytes: usize,
    _name: *const c_char,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result {
    let linker = find(state)?;
    // SAFETY: the caller's promise.
    unsafe { Logs::new(count, options, values) }?;
    if data.is_null() || bytes == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: as above.
    let image = unsafe { slice::from_raw_parts(data.cast::<u8>(), bytes) };
    add(&linker, kind, Ok(image.to_vec()))
}

pub(super) unsafe fn cuLinkAddFile_v2(
    state: CUlinkState,
    kind: Kind,
    path: *const c_char,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result {
    let linker = find(state)?;
    // SAFETY: the caller's promise.
    let path = unsafe {
        Logs::new(count, options, values)?;
        text(path)?
    };
    add(&linker, kind, image::read_file(path))
}

/// What it gives stays valid until the state is destroyed or something is added.
pub(super) unsafe fn cuLinkComplete(
    state: CUlinkState,
    image: *mut *mut c_void,
    bytes: *mut usize,
) -> Result {
    // SAFETY: the caller's promise. A program that does not care for the size passes null.
    let (image, bytes) = unsafe { (Out::new(image)?, Out::new(bytes)) };
    let linker = find(state)?;
    let mut linker = linker.lock().unwrap_or_else(PoisonError::into_inner);
    let linked = linker.complete(platform()?.config.capability.number())?.as_bytes_with_nul();
    image.set(linked.as_ptr().cast_mut().cast());
    bytes.into_iter().for_each(|out| out.set(linked.len()));
    Ok(())
}

pub(super) unsafe fn cuLinkDestroy(state: CUlinkState) -> Result {
    let removed = platform()?.linkers.remove(number(state));
    removed.map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

fn find(state: CUlinkState) -> Result<Arc<Mutex<Linker>>> {
    let linker = platform()?.linkers.get(number(state));
    linker.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

fn add(linker: &Mutex<Linker>, kind: Kind, image: std::result::Result<Vec<u8>, Refusal>) -> Result {
    let mut linker = linker.lock().unwrap_or_else(PoisonError::into_inner);
    let image = image.map_err(|refusal| linker.refused(&refusal))?;
    // A text may be handed over with the NUL that ends it.
    let end = match kind {
        Kind::CU_JIT_INPUT_PTX => image.iter().position(|&byte| byte == 0).unwrap_or(image.len()),
        Kind::CU_JIT_INPUT_FATBINARY => image.len(),
        Kind::CU_JIT_INPUT_CUBIN | Kind::CU_JIT_INPUT_OBJECT | Kind::CU_JIT_INPUT_LIBRARY => {
            let error = CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU;
            let reason = "the software driver links PTX, and no machine code";
            return Err(linker.refused(&Refusal::new(error, reason)));
        }
        Kind::CU_JIT_INPUT_NVVM => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    linker.add(image[..end].to_vec(), platform()?.config.capability.number())
}
