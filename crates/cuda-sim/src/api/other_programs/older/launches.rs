//! Launches before CUDA 4.0, when a function kept what its next launch was to be like.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_float, c_int, c_uint};
use std::ptr;
use std::sync::Arc;

use cuda_sys::{CUdeviceptr, CUfunction, CUipcMemHandle, CUresult, CUstream};

use crate::api::Result;
use crate::api::arguments::{self, Count, List, Out};
use crate::api::other_programs::memory::ipc::cuIpcOpenMemHandle_v2;
use crate::device::launch::launch;
use crate::device::{KernelFunction, machine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuFuncSetBlockShape(
    function: CUfunction,
    x: c_int,
    y: c_int,
    z: c_int,
) -> Result {
    working(function)?.prepared().set_block([extent(x)?, extent(y)?, extent(z)?])
}

pub(in crate::api) fn cuFuncSetSharedSize(function: CUfunction, bytes: c_uint) -> Result {
    working(function)?.prepared().dynamic_shared = bytes;
    Ok(())
}

/// Sets how many of the parameters' bytes count.
pub(in crate::api) fn cuParamSetSize(function: CUfunction, bytes: c_uint) -> Result {
    working(function)?.prepared().set_size(bytes as usize)
}

pub(in crate::api) fn cuParamSeti(function: CUfunction, offset: c_int, value: c_uint) -> Result {
    set(function, offset, &value.to_ne_bytes())
}

pub(in crate::api) fn cuParamSetf(function: CUfunction, offset: c_int, value: c_float) -> Result {
    set(function, offset, &value.to_ne_bytes())
}

pub(in crate::api) fn cuParamSetv(
    function: CUfunction,
    offset: c_int,
    source: List<u8>,
    bytes: Count,
) -> Result {
    let source = source.of(bytes);
    if source.is_null() {
        return Err(INVALID);
    }
    set(function, offset, &source.iter()?.collect::<Vec<_>>())
}

/// One block.
pub(in crate::api) fn cuLaunch(function: CUfunction) -> Result {
    cuLaunchGrid(function, 1, 1)
}

pub(in crate::api) fn cuLaunchGrid(function: CUfunction, width: c_int, height: c_int) -> Result {
    cuLaunchGridAsync(function, width, height, ptr::null_mut())
}

pub(in crate::api) fn cuLaunchGridAsync(
    function: CUfunction,
    width: c_int,
    height: c_int,
    stream: CUstream,
) -> Result {
    let machine = machine()?;
    let function = arguments::function(machine, function)?;
    let stream = arguments::capturable(machine, stream)?;
    let grid = [extent(width)?, extent(height)?, 1];
    let (shape, parameters) = function.prepared().launch(&function, grid)?;
    launch(machine, &function, shape, parameters, &stream)
}

/// The function of that name before CUDA 11.0.
pub(in crate::api) fn cuIpcOpenMemHandle(
    out: Out<CUdeviceptr>,
    shared: CUipcMemHandle,
    flags: c_uint,
) -> Result {
    cuIpcOpenMemHandle_v2(out, shared, flags)
}

fn set(function: CUfunction, offset: c_int, bytes: &[u8]) -> Result {
    let offset = usize::try_from(offset).map_err(|_| INVALID)?;
    let function = working(function)?;
    let mut prepared = function.prepared();
    prepared.set_parameters(&function, offset, bytes)
}

fn extent(given: c_int) -> Result<u32> {
    u32::try_from(given).map_err(|_| INVALID)
}

fn working(function: CUfunction) -> Result<Arc<KernelFunction>> {
    let function = arguments::function(machine()?, function)?;
    function.module.context.check()?;
    Ok(function)
}
