//! Modules.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUresult};

use super::Result;
use super::arguments::{self, Out, handle, number, text, write_text};
use crate::device::{Module, current, image, platform};

pub(super) unsafe fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> Result {
    // SAFETY: the caller's promise.
    unsafe { load(module, image, Logs::default()) }
}

pub(super) unsafe fn cuModuleLoadDataEx(
    module: *mut CUmodule,
    image: *const c_void,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { load(module, image, Logs::new(count, options, values)?) }
}

pub(super) unsafe fn cuModuleUnload(module: CUmodule) -> Result {
    let platform = platform()?;
    let removed = platform.modules.remove(number(module));
    let module = removed.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    // What is queued keeps the module alive, but may use its variables through pointers too.
    platform.scheduler.wait_for_owner(module.context.id);
    drop(platform.functions.remove_all(|function| Arc::ptr_eq(&function.module, &module)));
    module.context.check()
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

unsafe fn load(module: *mut CUmodule, image: *const c_void, logs: Logs) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(module) }?;
    let context = current::working()?;
    let capability = platform()?.config.capability;
    // SAFETY: as above.
    let program = unsafe { image::load(image, capability.number()) }.map_err(|refusal| {
        tracing::warn!("{}", refusal.reason);
        logs.error(&refusal.reason);
        refusal.error
    })?;
    let loaded = Module::new(context, program)?;
    let inserted = platform()?.modules.insert(|_| loaded);
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    logs.done();
    Ok(())
}

/// The buffers for messages that a program may pass when it loads a module.
#[derive(Default)]
struct Logs {
    info: Log,
    error: Log,
}

#[derive(Default)]
struct Log {
    buffer: Option<*mut c_char>,
    bytes: usize,
    /// Where the program wants to know how much was written: in place of the size.
    written: Option<Out<*mut c_void>>,
}

impl Logs {
    /// # Safety
    /// There are `count` options and values, and the values that are buffers have the sizes that
    /// others among them say.
    unsafe fn new(
        count: c_uint,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
    ) -> Result<Logs> {
        let mut logs = Logs::default();
        if count > 0 && (options.is_null() || values.is_null()) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for index in 0..count as usize {
            // SAFETY: the caller's promise.
            let (option, place) = unsafe { (options.add(index).read(), values.add(index)) };
            // SAFETY: as above.
            let (value, place) = unsafe { (place.read(), Out::new(place)?) };
            match option {
                CUjit_option::CU_JIT_INFO_LOG_BUFFER => logs.info.buffer = Some(value.cast()),
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER => logs.error.buffer = Some(value.cast()),
                CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => logs.info.size(value, place),
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => logs.error.size(value, place),
                // The others are about machine code that is not made here.
                option if option.0 < CUjit_option::CU_JIT_NUM_OPTIONS.0 => {}
                _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
            }
        }
        Ok(logs)
    }

    fn error(&self, message: &str) {
        self.info.write("");
        self.error.write(message);
    }

    fn done(&self) {
        self.error("");
    }
}

impl Log {
    fn size(&mut self, value: *mut c_void, place: Out<*mut c_void>) {
        self.bytes = value.addr();
        self.written = Some(place);
    }

    fn write(&self, message: &str) {
        let Some(buffer) = self.buffer else { return };
        // SAFETY: the program says how large its buffer is. Null and empty ones are left alone.
        let fits = unsafe { write_text(buffer, self.bytes, message) }.is_ok();
        if let Some(written) = self.written.as_ref().filter(|_| fits) {
            written.set(std::ptr::without_provenance_mut(message.len().min(self.bytes - 1)));
        }
    }
}
