//! Options that programs pass beside an image. Only the buffers for messages mean anything here, and
//! the limit to registers where something is linked: the others are about machine code that is not made.

use std::ffi::{c_char, c_void};
use std::ptr;

use cuda_sys::{CUjit_option, CUresult};

use crate::api::Result;
use crate::api::arguments::{Count, FromC, List, OutItems};
use crate::device::image::ImageError;
use cuda_check::console;

/// The lists of a call that have an element for each JIT option.
pub(in crate::api) enum JitOptions {}

/// The values of a call's JIT options, or null: there is one for each option, which can be written
/// too if it is a size, and those that are buffers have the sizes that others among them say.
///
/// That holds during the call, and for a linker until its state is destroyed.
#[derive(Clone, Copy)]
pub(in crate::api) struct OptionValues(*mut *mut c_void);

impl FromC<*mut *mut c_void> for OptionValues {
    unsafe fn decode(given: *mut *mut c_void) -> Result<Self> {
        Ok(OptionValues(given))
    }
}

/// The buffers for messages.
#[derive(Default)]
pub(in crate::api) struct JitLogs {
    info: JitLog,
    error: JitLog,
}

// SAFETY: the buffers are the program's, which hands them over until the call or, for a linker, the
// linker's state ends; who has the logs is alone in writing.
unsafe impl Send for JitLogs {}

#[derive(Default)]
struct JitLog {
    buffer: Option<*mut c_char>,
    bytes: usize,
    /// The place of the size, where the program learns how much was written.
    written: Option<*mut *mut c_void>,
}

impl JitLogs {
    /// The buffers that a call's options name.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for options that cuda.h does not name.
    pub(in crate::api) fn new(
        count: Count<JitOptions>,
        options: List<CUjit_option, JitOptions>,
        OptionValues(values): OptionValues,
    ) -> Result<JitLogs> {
        let mut logs = JitLogs::default();
        if count.get() > 0 && values.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for (index, option) in options.of(count).iter()?.enumerate() {
            // SAFETY: there is a value for each option, as `OptionValues` promises.
            let (value, place) = unsafe { (values.add(index).read(), values.add(index)) };
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
    pub(in crate::api) fn error(&self, message: &str) {
        self.info.write("");
        self.error.write(message);
    }

    /// Hands over that nothing did.
    pub(in crate::api) fn done(&self) {
        self.error("");
    }

    /// Hands over why an image is refused; gives the error for the program.
    pub(in crate::api) fn refused(&self, refusal: &ImageError) -> CUresult {
        console::refusal(&refusal.reason);
        self.error(&refusal.reason);
        refusal.error
    }
}

/// The limit to the registers of a thread that a call's options set; 0 is none.
///
/// # Errors
/// Those of [`JitLogs::new`].
pub(in crate::api) fn max_registers(
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    OptionValues(values): OptionValues,
) -> Result<Option<u32>> {
    if count.get() > 0 && values.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let is_limit = |option| option == CUjit_option::CU_JIT_MAX_REGISTERS;
    let Some(index) = options.of(count).iter()?.position(is_limit) else {
        return Ok(None);
    };
    // SAFETY: there is a value for each option, as `OptionValues` promises.
    let value = unsafe { values.add(index).read() };
    // A number of 32 bits is in the lower half, whatever the program left in the other.
    Ok(Some(value.addr() as u32).filter(|&registers| registers > 0))
}

impl JitLog {
    fn size(&mut self, value: *mut c_void, place: *mut *mut c_void) {
        self.bytes = value.addr();
        self.written = Some(place);
    }

    fn write(&self, message: &str) {
        let Some(buffer) = self.buffer else { return };
        // SAFETY: the program says in another option how large its buffer is. Null and empty ones
        // are left alone.
        let fits = unsafe { OutItems::new(buffer, self.bytes) }.write_text(message).is_ok();
        if let Some(written) = self.written.filter(|_| fits) {
            let length = message.len().min(self.bytes - 1);
            // SAFETY: it is the value of an option that is a size, which can be written.
            unsafe { written.write_unaligned(ptr::without_provenance_mut(length)) };
        }
    }
}
