//! Kernels' attributes, and how many blocks of them a device runs at once.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cuda_sys::{CUfunc_cache, CUfunction, CUfunction_attribute, CUsharedconfig};

use crate::api::calls_on_device;
use crate::driver::cu;
use crate::error::Result;
use crate::registry;
use crate::types::cudaFuncAttributes;

calls_on_device! {
    fn cudaFuncGetAttributes(attributes: *mut cudaFuncAttributes, symbol: *const c_void) {
        attributes.write(attributes_of(registry::function(symbol)?)?);
        Ok(())
    }
    fn cudaFuncSetAttribute(symbol: *const c_void, attribute: CUfunction_attribute, value: c_int) {
        cu::cuFuncSetAttribute(registry::function(symbol)?, attribute, value)
    }
    fn cudaFuncSetCacheConfig(symbol: *const c_void, config: CUfunc_cache) {
        cu::cuFuncSetCacheConfig(registry::function(symbol)?, config)
    }
    fn cudaFuncSetSharedMemConfig(symbol: *const c_void, config: CUsharedconfig) {
        cu::cuFuncSetSharedMemConfig(registry::function(symbol)?, config)
    }
    fn cudaFuncGetName(name: *mut *const c_char, symbol: *const c_void) {
        cu::cuKernelGetName(name, registry::kernel(symbol)?)
    }
    fn cudaFuncGetParamInfo(
        symbol: *const c_void,
        index: usize,
        offset: *mut usize,
        size: *mut usize,
    ) {
        cu::cuKernelGetParamInfo(registry::kernel(symbol)?, index, offset, size)
    }
    fn cudaGetFuncBySymbol(function: *mut CUfunction, symbol: *const c_void) {
        function.write(registry::function(symbol)?);
        Ok(())
    }
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        symbol: *const c_void,
        threads: c_int,
        shared: usize,
    ) {
        let function = registry::function(symbol)?;
        cu::cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared)
    }
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int,
        symbol: *const c_void,
        threads: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        let function = registry::function(symbol)?;
        cu::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            blocks, function, threads, shared, flags,
        )
    }
    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        shared: *mut usize,
        symbol: *const c_void,
        blocks: c_int,
        threads: c_int,
    ) {
        let function = registry::function(symbol)?;
        cu::cuOccupancyAvailableDynamicSMemPerBlock(shared, function, blocks, threads)
    }
}

/// All attributes of a function in the current context.
fn attributes_of(function: CUfunction) -> Result<cudaFuncAttributes> {
    type Attribute = CUfunction_attribute;
    let ask = |attribute| -> Result<c_int> {
        let mut value = 0;
        // SAFETY: `value` is writable, and the driver knows the function.
        unsafe { cu::cuFuncGetAttribute(&mut value, attribute, function) }?;
        Ok(value)
    };
    // Drivers before 11.8 have no clusters.
    let newer = |attribute| ask(attribute).unwrap_or(0);
    let bytes = |attribute| ask(attribute).map(|bytes| bytes.cast_unsigned() as usize);
    Ok(cudaFuncAttributes {
        sharedSizeBytes: bytes(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        constSizeBytes: bytes(Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
        localSizeBytes: bytes(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        maxThreadsPerBlock: ask(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        numRegs: ask(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        ptxVersion: ask(Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
        binaryVersion: ask(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
        cacheModeCA: ask(Attribute::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA)?,
        maxDynamicSharedSizeBytes: ask(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
        preferredShmemCarveout: ask(Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)?,
        clusterDimMustBeSet: newer(Attribute::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET),
        requiredClusterWidth: newer(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
        requiredClusterHeight: newer(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
        requiredClusterDepth: newer(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
        clusterSchedulingPolicyPreference: newer(
            Attribute::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
        ),
        nonPortableClusterSizeAllowed: newer(
            Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
        ),
        reserved: [0; 16],
    })
}
