//! Launches of kernels.

#![allow(non_snake_case, reason = "the names of the C API")]
#![expect(clippy::too_many_arguments, reason = "as many as CUDA gives the functions")]

use std::ffi::c_uint;

use cuda_sys::{CUfunction, CUresult, CUstream};

use crate::api::Result;
use crate::api::arguments::{self, ParameterBuffer, ParameterPointers, copied_parameters};
use crate::api::code::occupancy::blocks_at_once;
use crate::device::{ExecutionConfiguration, launch::launch};
use crate::device::{KernelFunction, machine};

pub(in crate::api) fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic_shared: c_uint,
    stream: CUstream,
    parameters: ParameterPointers,
    extra: ParameterBuffer,
) -> Result {
    let shape = ExecutionConfiguration {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_shared,
        cooperative: false,
    };
    launch_shape(function, shape, stream, parameters, extra)
}

pub(in crate::api) fn launch_shape(
    function: CUfunction,
    shape: ExecutionConfiguration,
    stream: CUstream,
    parameters: ParameterPointers,
    extra: ParameterBuffer,
) -> Result {
    let machine = machine()?;
    let function = arguments::launchable(machine, function)?;
    let stream = arguments::capturable(machine, stream)?;
    if shape.cooperative {
        check_cooperative(&function, shape)?;
    }
    let parameters = copied_parameters(&function, parameters, extra)?;
    launch(machine, &function, shape, parameters, &stream)
}

/// Refuses a cooperative launch of more blocks than run at once.
///
/// # Errors
/// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE` if the device cannot hold all blocks at once.
fn check_cooperative(function: &KernelFunction, shape: ExecutionConfiguration) -> Result {
    let product = |extents: [u32; 3]| {
        extents.iter().try_fold(1_u32, |product, &extent| product.checked_mul(extent))
    };
    let too_large = CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    let (blocks, threads) = (product(shape.grid), product(shape.block));
    let (blocks, threads) = blocks.zip(threads).ok_or(too_large)?;
    // What no device can run is refused later, and by another name.
    let most = match threads {
        0 => return Ok(()),
        threads => blocks_at_once(function, threads, shape.dynamic_shared),
    };
    if most > 0 && u64::from(blocks) > most { Err(too_large) } else { Ok(()) }
}
