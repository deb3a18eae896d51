//! Attributes of functions.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use cuda_sys::{CUfunction, CUfunction_attribute as Attribute, CUresult};

use super::Result;
use super::arguments::{self, Out};
use crate::device::attributes::REGISTERS;
use crate::device::{Function, platform};

pub(super) unsafe fn cuFuncGetAttribute(
    value: *mut c_int,
    attribute: Attribute,
    function: CUfunction,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(value) }?;
    let function = arguments::function(platform()?, function)?;
    function.module.context.check()?;
    out.set(get(&function, attribute).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(super) unsafe fn cuFuncSetAttribute(
    function: CUfunction,
    attribute: Attribute,
    value: c_int,
) -> Result {
    let function = arguments::function(platform()?, function)?;
    function.module.context.check()?;
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    match attribute {
        Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            function.set_max_dynamic_shared(u32::try_from(value).map_err(|_| invalid)?)
        }
        // A hint in percent; -1 is no preference. There is no cache to be divided here.
        Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            if (-1..=100).contains(&value) =>
        {
            Ok(())
        }
        _ => Err(invalid),
    }
}

fn get(function: &Function, attribute: Attribute) -> Option<c_int> {
    let signed = |value: u32| Some(c_int::try_from(value).unwrap_or(c_int::MAX));
    let version = platform().ok()?.config.capability.number() as c_int;
    match attribute {
        Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => signed(function.max_threads),
        Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => signed(function.static_shared),
        Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => signed(function.local_bytes),
        Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS => Some(REGISTERS),
        Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION => Some(version),
        Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION => Some(version),
        Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            signed(function.max_dynamic_shared.load(Ordering::Relaxed))
        }
        Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => Some(-1),
        // Constant memory of its own, cache mode, clusters: none of them here.
        other if other.0 < Attribute::CU_FUNC_ATTRIBUTE_MAX.0 => Some(0),
        _ => None,
    }
}
