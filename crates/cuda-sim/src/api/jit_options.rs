//! What a program may pass beside an image. Of the options only the buffers for messages mean
//! anything here: the others are about machine code that is not made.

use std::ffi::{c_char, c_uint, c_void};
use std::ptr;

use cuda_sys::{CUjit_option, CUresult};

use super::Result;
use super::arguments::{Out, write_text};
use crate::device::image::Refusal;

/// The buffers for messages.
#[derive(Default)]
pub(super) struct Logs {
    info: Log,
    error: Log,
}

// SAFETY: the buffers are the program's, which hands them over until the call or, for a linker, the
// linker's state ends; who has the logs is alone in writing.
unsafe impl Send for Logs {}

#[derive(Default)]
struct Log {
    buffer: Option<*mut c_char>,
    bytes: usize,
    /// Where the program wants to know how much was written: in place of the size.
    written: Option<Out<*mut c_void>>,
}

impl Logs {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for options that cuda.h does not name.
    ///
    /// # Safety
    /// There are `count` options and values, and the values that are buffers have the sizes that
    /// others among them say, for as long as the logs are used.
    pub(super) unsafe fn new(
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
                option if option.0 < CUjit_option::CU_JIT_NUM_OPTIONS.0 => {}
                _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
            }
        }
        Ok(logs)
    }

    /// Hands over what went wrong.
    pub(super) fn error(&self, message: &str) {
        self.info.write("");
        self.error.write(message);
    }

    /// Hands over that nothing did.
    pub(super) fn done(&self) {
        self.error("");
    }

    /// Hands over why an image is refused; gives the error for the program.
    pub(super) fn refused(&self, refusal: &Refusal) -> CUresult {
        tracing::warn!("{}", refusal.reason);
        self.error(&refusal.reason);
        refusal.error
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
            written.set(ptr::without_provenance_mut(message.len().min(self.bytes - 1)));
        }
    }
}
