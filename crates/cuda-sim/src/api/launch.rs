//! Launches.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_void};
use std::{ptr, slice};

use cuda_sys::{CUfunction, CUlaunchConfig, CUresult, CUstream};
use smallvec::smallvec;

use super::Result;
use super::arguments;
use super::events;
use super::launch_attributes::Wishes;
use super::occupancy::blocks_at_once;
use crate::device::launch::{Parameters, Shape, launch};
use crate::device::{Function, platform};

pub(super) unsafe fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic_shared: c_uint,
    stream: CUstream,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result {
    let shape = Shape {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_shared,
        cooperative: false,
    };
    // SAFETY: the caller's promise.
    unsafe { launch_shape(function, shape, stream, parameters, extra) }
}

pub(super) unsafe fn cuLaunchCooperativeKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic_shared: c_uint,
    stream: CUstream,
    parameters: *mut *mut c_void,
) -> Result {
    let shape = Shape {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_shared,
        cooperative: true,
    };
    // SAFETY: the caller's promise.
    unsafe { launch_shape(function, shape, stream, parameters, ptr::null_mut()) }
}

pub(super) unsafe fn cuLaunchKernelEx(
    config: *const CUlaunchConfig,
    function: CUfunction,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result {
    // SAFETY: the caller's promise: null, or a configuration.
    let config = unsafe { config.as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    // SAFETY: as above.
    let wishes = unsafe { Wishes::read(config) }?;
    let shape = Shape {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        block: [config.blockDimX, config.blockDimY, config.blockDimZ],
        dynamic_shared: config.sharedMemBytes,
        cooperative: wishes.cooperative,
    };
    // SAFETY: as above.
    unsafe { launch_shape(function, shape, config.hStream, parameters, extra) }?;
    for event in wishes.events {
        // SAFETY: handles are looked up.
        unsafe { events::cuEventRecord(event, config.hStream) }?;
    }
    Ok(())
}

/// # Safety
/// As [`parameters`].
unsafe fn launch_shape(
    function: CUfunction,
    shape: Shape,
    stream: CUstream,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result {
    let platform = platform()?;
    let function = arguments::launchable(platform, function)?;
    let stream = arguments::capturable(platform, stream)?;
    if shape.cooperative {
        check_cooperative(&function, shape)?;
    }
    // SAFETY: the caller's promise.
    let parameters = unsafe { self::parameters(&function, parameters, extra) }?;
    launch(platform, &function, shape, parameters, &stream)
}

/// # Errors
/// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE` if the device cannot hold all blocks at once.
fn check_cooperative(function: &Function, shape: Shape) -> Result {
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

/// Copies a launch's parameters, which come in one of two ways.
///
/// # Safety
/// Either list is null, or as [`gathered`] or [`packed`] want it.
pub(super) unsafe fn parameters(
    function: &Function,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Parameters> {
    // SAFETY: the caller's promise.
    unsafe {
        match (parameters.is_null(), extra.is_null()) {
            (false, true) => gathered(function, parameters),
            (true, false) => packed(function, extra),
            (true, true) if function.parameters.is_empty() => Ok(Parameters::new()),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}

/// # Safety
/// There is a pointer for each of the function's parameters, and what it points to has the
/// parameter's size.
unsafe fn gathered(function: &Function, pointers: *mut *mut c_void) -> Result<Parameters> {
    let mut buffer: Parameters = smallvec![0; function.parameter_bytes];
    for (index, parameter) in function.parameters.iter().enumerate() {
        // SAFETY: the caller's promise.
        let pointer = unsafe { pointers.add(index).read() };
        if pointer.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { slice::from_raw_parts(pointer.cast::<u8>(), parameter.bytes) };
        buffer[parameter.offset..][..parameter.bytes].copy_from_slice(bytes);
    }
    Ok(buffer)
}

/// The other way to pass parameters: a list of keys and values which names one buffer.
///
/// # Safety
/// The list ends with its end mark, and the buffer is as large as it says.
unsafe fn packed(function: &Function, extra: *mut *mut c_void) -> Result<Parameters> {
    const END: usize = 0;
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let (mut buffer, mut size) = (None, None);
    let mut entry = extra;
    // SAFETY: the caller's promise, here and in the loop.
    while unsafe { entry.read() }.addr() != END {
        // SAFETY: a key other than the end mark has a value after it.
        let (key, value) = unsafe { (entry.read().addr(), entry.add(1).read()) };
        match key {
            BUFFER => buffer = Some(value.cast::<u8>()),
            SIZE => size = Some(value.cast::<usize>()),
            _ => return Err(invalid),
        }
        // SAFETY: as above.
        entry = unsafe { entry.add(2) };
    }
    let buffer = buffer.filter(|buffer| !buffer.is_null()).ok_or(invalid)?;
    let size = size.filter(|size| !size.is_null()).ok_or(invalid)?;
    // SAFETY: as above.
    let size = unsafe { size.read_unaligned() };
    if size < function.parameter_bytes {
        return Err(invalid);
    }
    // SAFETY: as above.
    Ok(unsafe { slice::from_raw_parts(buffer, function.parameter_bytes) }.into())
}
