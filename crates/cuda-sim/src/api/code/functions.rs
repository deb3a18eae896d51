//! Attributes and parameters of functions, and the facts that attributes are told from.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_sys::{CUfunction, CUfunction_attribute as Attribute, CUresult};
use ptx_jit::Kernel;

use crate::api::Result;
use crate::api::arguments::{self, Out};
use crate::device::attributes::{STATIC_SHARED, STATIC_SHARED_OPTIN};
use crate::device::{KernelFunction, machine};

pub(in crate::api) fn cuFuncGetAttribute(
    out: Out<c_int>,
    attribute: Attribute,
    function: CUfunction,
) -> Result {
    let function = working(function)?;
    let facts = Facts::of_function(&function)?;
    out.set(self::value(&facts, attribute).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(in crate::api) fn cuFuncSetAttribute(
    function: CUfunction,
    attribute: Attribute,
    value: c_int,
) -> Result {
    let function = working(function)?;
    match checked(&Facts::of_function(&function)?, attribute, value)? {
        Some(bytes) => function.set_max_dynamic_shared(bytes),
        None => Ok(()),
    }
}

pub(in crate::api) fn cuFuncGetParamInfo(
    function: CUfunction,
    index: usize,
    offset: Out<usize>,
    bytes: Option<Out<usize>>,
) -> Result {
    let function = arguments::function(machine()?, function)?;
    let parameter = function.parameters.get(index).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    offset.set(parameter.offset);
    bytes.into_iter().for_each(|out| out.set(parameter.bytes));
    Ok(())
}

pub(in crate::api) fn working(function: CUfunction) -> Result<Arc<KernelFunction>> {
    let function = arguments::function(machine()?, function)?;
    function.module.context.check()?;
    Ok(function)
}

/// The facts of a function that its attributes tell.
pub(in crate::api) struct Facts<'k> {
    kernel: &'k Kernel,
    static_shared: u32,
    max_dynamic_shared: u32,
}

impl<'k> Facts<'k> {
    fn of_function(function: &'k KernelFunction) -> Result<Facts<'k>> {
        let kernel = function.kernel().ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let max_dynamic_shared = function.max_dynamic_shared.load(Ordering::Relaxed);
        Ok(Facts { max_dynamic_shared, ..Facts::of_kernel(kernel) })
    }

    /// The facts of a kernel that no context has yet.
    pub(in crate::api) fn of_kernel(kernel: &'k Kernel) -> Facts<'k> {
        let static_shared = u32::try_from(kernel.static_shared_bytes()).unwrap_or(u32::MAX);
        let max_dynamic_shared = STATIC_SHARED.saturating_sub(static_shared);
        Facts { kernel, static_shared, max_dynamic_shared }
    }

    /// With what was set, if anything was.
    pub(in crate::api) fn with_dynamic(self, set: Option<u32>) -> Facts<'k> {
        Facts { max_dynamic_shared: set.unwrap_or(self.max_dynamic_shared), ..self }
    }
}

/// The limit of dynamic shared memory that an attribute sets; `None` for one without effect.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what cannot be set, or not to this value.
pub(in crate::api) fn checked(
    facts: &Facts<'_>,
    attribute: Attribute,
    value: c_int,
) -> Result<Option<u32>> {
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
pub(in crate::api) fn value(facts: &Facts<'_>, attribute: Attribute) -> Option<c_int> {
    let signed = |value: u32| Some(c_int::try_from(value).unwrap_or(c_int::MAX));
    let bytes = |value: usize| Some(c_int::try_from(value).unwrap_or(c_int::MAX));
    let kernel = facts.kernel;
    let version = machine().ok()?.config.capability.number() as c_int;
    match attribute {
        Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => {
            signed(kernel.max_threads_per_block())
        }
        Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => signed(facts.static_shared),
        Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => bytes(kernel.local_bytes()),
        Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => bytes(kernel.constant_bytes()),
        Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS => signed(kernel.registers()),
        Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION => signed(kernel.target()),
        Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION => Some(version),
        Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            signed(facts.max_dynamic_shared)
        }
        Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => Some(-1),
        // Cache mode, clusters: none of them here.
        other if other.0 < Attribute::CU_FUNC_ATTRIBUTE_MAX.0 => Some(0),
        _ => None,
    }
}
