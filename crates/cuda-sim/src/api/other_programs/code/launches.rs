//! Cooperative launches, and launches with attributes.

#![allow(non_snake_case, reason = "the names of the C API")]
#![expect(clippy::too_many_arguments, reason = "as many as CUDA gives the functions")]

use std::ffi::c_uint;

use cuda_sys::{CUfunction, CUlaunchConfig, CUstream};

use crate::api::Result;
use crate::api::arguments::{In, ParameterBuffer, ParameterPointers};
use crate::api::code::launches::launch_shape;
use crate::api::other_programs::code::launch_attributes::LaunchAttributes;
use crate::api::streams::events::cuEventRecord;
use crate::device::ExecutionConfiguration;

pub(in crate::api) fn cuLaunchCooperativeKernel(
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
) -> Result {
    let shape = ExecutionConfiguration {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_shared,
        cooperative: true,
    };
    launch_shape(function, shape, stream, parameters, ParameterBuffer::null())
}

pub(in crate::api) fn cuLaunchKernelEx(
    config: In<CUlaunchConfig>,
    function: CUfunction,
    parameters: ParameterPointers,
    extra: ParameterBuffer,
) -> Result {
    let attributes = LaunchAttributes::read(config)?;
    let config = config.read();
    let shape = ExecutionConfiguration {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        block: [config.blockDimX, config.blockDimY, config.blockDimZ],
        dynamic_shared: config.sharedMemBytes,
        cooperative: attributes.cooperative,
    };
    launch_shape(function, shape, config.hStream, parameters, extra)?;
    for event in attributes.events {
        cuEventRecord(event, config.hStream)?;
    }
    Ok(())
}
