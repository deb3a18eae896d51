//! Attributes of functions.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_sys::{
    CUfunc_cache, CUfunction, CUfunction_attribute as Attribute,
    CUfunctionLoadingState as LoadingState, CUmodule, CUresult, CUsharedconfig,
};

use super::Result;
use super::arguments::{self, Out, handle};
use crate::device::attributes::{REGISTERS, STATIC_SHARED, STATIC_SHARED_OPTIN};
use crate::device::{Function, platform, settings};
use crate::exec::Kernel;

pub(super) fn cuFuncGetAttribute(
    out: Out<c_int>,
    attribute: Attribute,
    function: CUfunction,
) -> Result {
    let facts = Facts::of_function(&*working(function)?);
    out.set(self::value(&facts, attribute).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(super) fn cuFuncSetAttribute(
    function: CUfunction,
    attribute: Attribute,
    value: c_int,
) -> Result {
    let function = working(function)?;
    match checked(&Facts::of_function(&function), attribute, value)? {
        Some(bytes) => function.set_max_dynamic_shared(bytes),
        None => Ok(()),
    }
}

/// The name lives as long as the function.
pub(super) fn cuFuncGetName(out: Out<*const c_char>, function: CUfunction) -> Result {
    out.set(arguments::function(platform()?, function)?.c_name().as_ptr());
    Ok(())
}

pub(super) fn cuFuncGetModule(out: Out<CUmodule>, function: CUfunction) -> Result {
    out.set(handle(arguments::function(platform()?, function)?.module.handle));
    Ok(())
}

pub(super) fn cuFuncGetParamInfo(
    function: CUfunction,
    index: usize,
    offset: Out<usize>,
    bytes: Option<Out<usize>>,
) -> Result {
    let function = arguments::function(platform()?, function)?;
    let parameter = function.parameters.get(index).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    offset.set(parameter.offset);
    bytes.into_iter().for_each(|out| out.set(parameter.bytes));
    Ok(())
}

pub(super) fn cuFuncIsLoaded(out: Out<LoadingState>, function: CUfunction) -> Result {
    arguments::function(platform()?, function)?;
    out.set(LoadingState::CU_FUNCTION_LOADING_STATE_LOADED);
    Ok(())
}

pub(super) fn cuFuncLoad(function: CUfunction) -> Result {
    working(function).map(drop)
}

/// A hint; there is no cache to be divided here.
pub(super) fn cuFuncSetCacheConfig(function: CUfunction, preference: CUfunc_cache) -> Result {
    working(function)?;
    settings::check_cache(preference)
}

/// A hint that no device takes any more.
pub(super) fn cuFuncSetSharedMemConfig(function: CUfunction, size: CUsharedconfig) -> Result {
    working(function)?;
    settings::check_banks(size)
}

fn working(function: CUfunction) -> Result<Arc<Function>> {
    let function = arguments::function(platform()?, function)?;
    function.module.context.check()?;
    Ok(function)
}

/// What attributes are told from.
pub(super) struct Facts {
    max_threads: u32,
    static_shared: u32,
    local_bytes: u32,
    max_dynamic_shared: u32,
}

impl Facts {
    fn of_function(function: &Function) -> Facts {
        Facts {
            max_threads: function.max_threads,
            static_shared: function.static_shared,
            local_bytes: function.local_bytes,
            max_dynamic_shared: function.max_dynamic_shared.load(Ordering::Relaxed),
        }
    }

    /// Those of a kernel that no context has yet.
    pub(super) fn of_kernel(kernel: &Kernel) -> Facts {
        let clamped = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let static_shared = clamped(kernel.static_shared_bytes());
        Facts {
            max_threads: kernel.max_threads_per_block(),
            static_shared,
            local_bytes: clamped(kernel.local_bytes()),
            max_dynamic_shared: STATIC_SHARED.saturating_sub(static_shared),
        }
    }

    /// With what was set, if anything was.
    pub(super) fn with_dynamic(self, set: Option<u32>) -> Facts {
        Facts { max_dynamic_shared: set.unwrap_or(self.max_dynamic_shared), ..self }
    }
}

/// How much dynamic shared memory an attribute asks for; `None` for what has no effect.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what cannot be set, or not to this value.
pub(super) fn checked(facts: &Facts, attribute: Attribute, value: c_int) -> Result<Option<u32>> {
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    match attribute {
        Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            let most = STATIC_SHARED_OPTIN.saturating_sub(facts.static_shared);
            u32::try_from(value).ok().filter(|&bytes| bytes <= most).map(Some).ok_or(invalid)
        }
        // A hint in percent; -1 is no preference. There is no cache to be divided here.
        Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            if (-1..=100).contains(&value) =>
        {
            Ok(None)
        }
        _ => Err(invalid),
    }
}

/// The value of an attribute; `None` for those that cuda.h does not name.
pub(super) fn value(facts: &Facts, attribute: Attribute) -> Option<c_int> {
    let signed = |value: u32| Some(c_int::try_from(value).unwrap_or(c_int::MAX));
    let version = platform().ok()?.config.capability.number() as c_int;
    match attribute {
        Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => signed(facts.max_threads),
        Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => signed(facts.static_shared),
        Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => signed(facts.local_bytes),
        Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS => Some(REGISTERS),
        Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION => Some(version),
        Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION => Some(version),
        Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            signed(facts.max_dynamic_shared)
        }
        Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => Some(-1),
        // Constant memory of its own, cache mode, clusters: none of them here.
        other if other.0 < Attribute::CU_FUNC_ATTRIBUTE_MAX.0 => Some(0),
        _ => None,
    }
}
