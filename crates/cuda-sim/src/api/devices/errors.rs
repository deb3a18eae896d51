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
    let description = match result {
        CUresult::CUDA_SUCCESS => "no error".to_owned(),
        CUresult::CUDA_ERROR_NO_DEVICE => "no device is visible to this process".to_owned(),
        CUresult::CUDA_ERROR_NOT_READY => "the work has not finished yet".to_owned(),
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
            "the image holds machine code, and the software driver takes PTX".to_owned()
        }
        CUresult::CUDA_ERROR_ASSERT => "a device-side assertion failed".to_owned(),
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => {
            "a kernel accessed memory that it may not access".to_owned()
        }
        CUresult::CUDA_ERROR_NOT_PERMITTED => {
            "not permitted here: host functions must not call the driver".to_owned()
        }
        // The names say it well enough.
        _ => name.trim_start_matches("CUDA_ERROR_").to_lowercase().replace('_', " "),
    };
    Some(ResultTexts {
        name: CString::new(name).ok()?,
        description: CString::new(description).ok()?,
    })
}
