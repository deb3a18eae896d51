//! Descriptions of results, and the table of names and descriptions.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::LazyLock;

use cuda_sys::CUresult;

use crate::api::Result;
use crate::api::arguments::Out;

/// The results that cuda.h names, all of which are below this.
const END: u32 = 1000;

pub(in crate::api) struct ResultTexts {
    pub(in crate::api) name: CString,
    description: CString,
}

static TEXTS: LazyLock<BTreeMap<u32, ResultTexts>> = LazyLock::new(|| {
    let named = (0..END).filter_map(|code| Some((code, CUresult(code).name()?)));
    named.filter_map(|(code, name)| Some((code, texts(CUresult(code), name)?))).collect()
});

pub(in crate::api) fn cuGetErrorString(error: CUresult, text: Out<*const c_char>) -> Result {
    answer(error, text, |texts| &texts.description)
}

pub(in crate::api) fn answer(
    error: CUresult,
    text: Out<*const c_char>,
    choose: impl FnOnce(&ResultTexts) -> &CString,
) -> Result {
    let known = TEXTS.get(&error.0).map(choose);
    text.set(known.map_or(ptr::null(), |text| text.as_ptr()));
    if known.is_some() { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}

fn texts(result: CUresult, name: &str) -> Option<ResultTexts> {
    let description = match known_text(result) {
        Some(text) => text.to_owned(),
        // The names say it well enough.
        None => name.trim_start_matches("CUDA_ERROR_").to_lowercase().replace('_', " "),
    };
    Some(ResultTexts {
        name: CString::new(name).ok()?,
        description: CString::new(description).ok()?,
    })
}

/// The text of a result in the driver's words: programs compare them, and people look them up.
#[expect(clippy::too_many_lines, reason = "a table")]
fn known_text(result: CUresult) -> Option<&'static str> {
    Some(match result {
        CUresult::CUDA_SUCCESS => "no error",
        CUresult::CUDA_ERROR_INVALID_VALUE => "invalid argument",
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => "out of memory",
        CUresult::CUDA_ERROR_NOT_INITIALIZED => "initialization error",
        CUresult::CUDA_ERROR_DEINITIALIZED => "driver shutting down",
        CUresult::CUDA_ERROR_NO_DEVICE => "no CUDA-capable device is detected",
        CUresult::CUDA_ERROR_INVALID_DEVICE => "invalid device ordinal",
        CUresult::CUDA_ERROR_INVALID_IMAGE => "device kernel image is invalid",
        CUresult::CUDA_ERROR_INVALID_CONTEXT => "invalid device context",
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
            "no kernel image is available for execution on the device"
        }
        CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT => "limit is not supported on this architecture",
        CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => {
            "peer access is not supported between these two devices"
        }
        CUresult::CUDA_ERROR_INVALID_PTX => "a PTX JIT compilation failed",
        CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE => {
            "uncorrectable NVLink error detected during the execution"
        }
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
            "the provided PTX was compiled with an unsupported toolchain."
        }
        CUresult::CUDA_ERROR_INVALID_SOURCE => "device kernel image is invalid",
        CUresult::CUDA_ERROR_FILE_NOT_FOUND => "file not found",
        CUresult::CUDA_ERROR_OPERATING_SYSTEM => {
            "OS call failed or operation not supported on this OS"
        }
        CUresult::CUDA_ERROR_INVALID_HANDLE => "invalid resource handle",
        CUresult::CUDA_ERROR_ILLEGAL_STATE => {
            "the operation cannot be performed in the present state"
        }
        CUresult::CUDA_ERROR_NOT_FOUND => "named symbol not found",
        CUresult::CUDA_ERROR_NOT_READY => "device not ready",
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => "an illegal memory access was encountered",
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => "too many resources requested for launch",
        CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => "the launch timed out and was terminated",
        CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => "peer access is already enabled",
        CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => "peer access has not been enabled",
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED => "context is destroyed",
        CUresult::CUDA_ERROR_ASSERT => "device-side assert triggered",
        CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED => {
            "part or all of the requested memory range is already mapped"
        }
        CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED => {
            "pointer does not correspond to a registered memory region"
        }
        CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR => "hardware stack error",
        CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION => "an illegal instruction was encountered",
        CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => "misaligned address",
        CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE => {
            "operation not supported on global/shared address space"
        }
        CUresult::CUDA_ERROR_INVALID_PC => "invalid program counter",
        CUresult::CUDA_ERROR_LAUNCH_FAILED => "unspecified launch failure",
        CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => {
            "too many blocks in cooperative launch"
        }
        CUresult::CUDA_ERROR_NOT_PERMITTED => "operation not permitted",
        CUresult::CUDA_ERROR_NOT_SUPPORTED => "operation not supported",
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED => {
            "operation not permitted when stream is capturing"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED => {
            "operation failed due to a previous error during capture"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE => {
            "operation would result in a merge of separate capture sequences"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED => {
            "capture was not ended in the same stream as it began"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED => "capturing stream has unjoined work",
        CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION => {
            "dependency created on uncaptured work in another stream"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT => {
            "operation would make the legacy stream depend on a capturing blocking stream"
        }
        CUresult::CUDA_ERROR_CAPTURED_EVENT => {
            "operation not permitted on an event last recorded in a capturing stream"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD => {
            "attempt to terminate a thread-local capture sequence from another thread"
        }
        CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => {
            "the graph update was not performed because it included changes which violated \
             constraints specific to instantiated graph update"
        }
        CUresult::CUDA_ERROR_UNKNOWN => "unknown error",
        _ => return None,
    })
}
