//! Contexts and the stack of them.

use std::ptr;
use std::thread;

use cuda_sys::CUcontext;

use crate::sim::{self, Gpu};
use crate::{fails, ok};

fn current() -> CUcontext {
    let mut context = ptr::null_mut();
    ok!(cuCtxGetCurrent(&mut context));
    context
}

fn create(ordinal: i32) -> CUcontext {
    let mut context = ptr::null_mut();
    ok!(cuCtxCreate_v2(&mut context, 0, ordinal));
    context
}

#[test]
fn a_new_thread_has_no_context_and_calls_that_need_one_say_so() {
    let gpu = Gpu::take();
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(current().is_null());
            let (mut device, mut pointer) = (0, 0);
            fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&mut device));
            fails!(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&mut pointer, 16));
            fails!(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize(ptr::null_mut()));
            fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(&mut ptr::null_mut()));
            gpu.enter();
            ok!(cuCtxGetDevice(&mut device));
            assert_eq!(device, gpu.ordinal);
        });
    });
    assert_eq!(current(), gpu.context);
}

#[test]
fn the_stack_of_contexts_is_a_stack() {
    let [one, two] = Gpu::take_several();
    ok!(cuCtxPushCurrent_v2(two.context));
    assert_eq!(current(), two.context);
    ok!(cuCtxSetCurrent(one.context));
    let mut popped = ptr::null_mut();
    ok!(cuCtxPopCurrent_v2(&mut popped));
    assert_eq!(popped, one.context);
    assert_eq!(current(), one.context);
    ok!(cuCtxSetCurrent(ptr::null_mut()));
    assert!(current().is_null());
    ok!(cuCtxSetCurrent(ptr::null_mut()));
}

#[test]
fn a_created_context_is_current_until_it_is_destroyed() {
    let gpu = Gpu::take();
    let context = create(gpu.ordinal);
    assert_eq!(current(), context);
    ok!(cuCtxDestroy_v2(context));
    assert_eq!(current(), gpu.context);
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(context));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(context));
}

#[test]
fn a_context_destroyed_elsewhere_is_reported_where_it_is_current() {
    let gpu = Gpu::take();
    let context = create(gpu.ordinal);
    let context = context.addr();
    thread::scope(|scope| {
        let destroy = || ok!(cuCtxDestroy_v2(ptr::without_provenance_mut(context)));
        scope.spawn(destroy).join().expect("it is destroyed");
    });
    let mut pointer = 0;
    fails!(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&mut pointer, 16));
    ok!(cuCtxPopCurrent_v2(&mut ptr::null_mut()));
    assert_eq!(current(), gpu.context);
}

#[test]
fn what_belongs_to_a_context_goes_with_it() {
    let gpu = Gpu::take();
    let (mut before, mut free, mut total) = (0, 0, 0);
    ok!(cuMemGetInfo_v2(&mut before, &mut total));
    let context = create(gpu.ordinal);
    let (mut pointer, mut stream, mut event) = (0, ptr::null_mut(), ptr::null_mut());
    ok!(cuMemAlloc_v2(&mut pointer, 1 << 20));
    ok!(cuStreamCreate(&mut stream, 0));
    ok!(cuEventCreate(&mut event, 0));
    ok!(cuEventRecord(event, stream));
    ok!(cuCtxDestroy_v2(context));
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!(free, before);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
}

#[test]
fn a_primary_context_lives_as_long_as_somebody_retains_it() {
    let gpu = Gpu::take();
    let state = || {
        let (mut flags, mut active) = (9, 9);
        ok!(cuDevicePrimaryCtxGetState(gpu.ordinal, &mut flags, &mut active));
        (flags, active)
    };
    let mut again = ptr::null_mut();
    ok!(cuDevicePrimaryCtxRetain(&mut again, gpu.ordinal));
    assert_eq!(again, gpu.context);
    ok!(cuDevicePrimaryCtxRelease_v2(gpu.ordinal));
    assert_eq!(state(), (0, 1));
    ok!(cuDevicePrimaryCtxRelease_v2(gpu.ordinal));
    assert_eq!(state(), (0, 0));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(gpu.ordinal));
    let mut pointer = 0;
    fails!(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&mut pointer, 16));
    ok!(cuDevicePrimaryCtxRetain(&mut again, gpu.ordinal));
    assert_eq!(again, gpu.context);
    ok!(cuMemAlloc_v2(&mut pointer, 16));
}

#[test]
fn wrong_contexts_are_errors() {
    let gpu = Gpu::take();
    let wild: CUcontext = ptr::without_provenance_mut(0xdead_beef_0000);
    let mut context = ptr::null_mut();
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(wild));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(wild));
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent_v2(ptr::null_mut()));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(ptr::null_mut()));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(gpu.context));
    fails!(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2(&mut context, 0, sim::DEVICES as i32));
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&mut context, 1 << 20, gpu.ordinal));
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(ptr::null_mut(), 0, gpu.ordinal));
    assert_eq!(current(), gpu.context);
}
