//! Launches by the functions of before CUDA 4.0, which prepare a function step by step.

use std::ptr;

use cuda_sys::CUfunction;

use crate::sim::{DEFAULT, Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, download, function};
use crate::{fails, ok};

/// Gives a function a pointer as its only parameter.
fn pass(function: CUfunction, mut pointer: u64) {
    ok!(cuParamSetv(function, 0, (&raw mut pointer).cast(), 8));
    ok!(cuParamSetSize(function, 8));
}

#[test]
fn a_function_is_launched_as_it_was_prepared() {
    let gpu = Gpu::take();
    let parameters = function(gpu.load(KERNELS), c"parameters");
    let mut out = gpu.allocate(4);
    ok!(cuMemsetD8_v2(out, 0, 4));
    ok!(cuFuncSetBlockShape(parameters, 1, 1, 1));
    ok!(cuFuncSetSharedSize(parameters, 1024));
    let (mut a, mut b) = (7_u8, 300_u16);
    ok!(cuParamSetv(parameters, 0, (&raw mut a).cast(), 1));
    ok!(cuParamSetv(parameters, 8, (&raw mut out).cast(), 8));
    ok!(cuParamSetv(parameters, 16, (&raw mut b).cast(), 2));
    ok!(cuParamSeti(parameters, 20, 70_000));
    ok!(cuParamSetSize(parameters, 24));
    ok!(cuLaunch(parameters));
    assert_holds(out, [7_u32 + 300 + 70_000]);
    // What was prepared stays.
    ok!(cuParamSetf(parameters, 20, 1.0));
    ok!(cuLaunch(parameters));
    assert_holds(out, [7_u32 + 300 + 1.0_f32.to_bits()]);
}

#[test]
fn a_grid_is_launched_in_a_stream() {
    let gpu = Gpu::take();
    let blocks = function(gpu.load(KERNELS), c"blocks");
    let (out, stream) = (gpu.allocate(4 * 3 * 32), gpu.stream(NON_BLOCKING));
    ok!(cuMemsetD8_v2(out, 0xff, 4 * 3 * 32));
    // Nothing else orders the fill before a launch in a stream that does not wait for others.
    ok!(cuCtxSynchronize());
    ok!(cuFuncSetBlockShape(blocks, 32, 1, 1));
    pass(blocks, out);
    let gate = Gate::close(stream);
    ok!(cuLaunchGridAsync(blocks, 3, 1, stream));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate.open();
    ok!(cuStreamSynchronize(stream));
    let numbers = download::<u32, 96>(out);
    assert!(numbers.iter().enumerate().all(|(thread, &block)| block as usize == thread / 32));
    ok!(cuLaunchGrid(blocks, 3, 1));
    ok!(cuStreamSynchronize(DEFAULT));
}

#[test]
fn what_is_prepared_wrongly_or_not_at_all_is_refused() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let increment = function(module, c"increment");
    fails!(CUDA_ERROR_INVALID_VALUE, cuLaunch(increment));
    fails!(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(increment, 0, 1, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(increment, -1, 1, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(increment, 1024, 2, 1));
    ok!(cuFuncSetBlockShape(increment, 1, 1, 1));
    // Its parameters are missing.
    fails!(CUDA_ERROR_INVALID_VALUE, cuLaunch(increment));
    fails!(CUDA_ERROR_INVALID_VALUE, cuParamSeti(increment, -4, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuParamSeti(increment, 8, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuParamSeti(increment, i32::MAX, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuParamSetv(increment, 0, ptr::null_mut(), 8));
    fails!(CUDA_ERROR_INVALID_VALUE, cuParamSetSize(increment, u32::MAX));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuParamSetSize(ptr::null_mut(), 8));
    pass(increment, gpu.allocate(8));
    fails!(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(increment, -1, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(increment, 0, 1));
    ok!(cuFuncSetSharedSize(increment, 1 << 20));
    fails!(CUDA_ERROR_INVALID_VALUE, cuLaunch(increment));
}
