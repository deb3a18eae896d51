//! Contexts and the stack of them.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cuda_sys::{CUcontext, CUresult};

use crate::sim::{self, Gpu, KERNELS, NON_BLOCKING, assert_holds, function, in_child, launch};
use crate::{cuda, fails, ok};

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

/// Memory of 8 bytes, of zeros, that belongs to the current context.
type Allocate = fn() -> u64;

#[test]
fn a_context_is_destroyed_when_nobody_uses_its_memory_any_more() {
    let kinds: [Allocate; 3] = [
        || {
            let mut pointer = ptr::null_mut();
            ok!(cuMemHostAlloc(&mut pointer, 8, 0));
            pointer.expose_provenance() as u64
        },
        || {
            let mut pointer = 0;
            ok!(cuMemAllocManaged(&mut pointer, 8, 1));
            pointer
        },
        // The device that uses it is a peer.
        || {
            let mut pointer = 0;
            ok!(cuMemAlloc_v2(&mut pointer, 8));
            ok!(cuMemsetD8_v2(pointer, 0, 8));
            pointer
        },
    ];
    in_child(&[("CUDA_SIM_CHECK", "0")], || {
        let [gpu, other] = Gpu::take_several();
        let await_flag = function(gpu.load(KERNELS), c"await");
        for allocate in kinds {
            let (stream, out) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
            let owner = create(other.ordinal);
            let flag = allocate();
            gpu.enter();
            ok!(cuCtxEnablePeerAccess(owner, 0));
            launch(await_flag, [1, 1], stream, &[flag, out]).ok().expect("it is enqueued");
            let handle = owner.addr();
            let signal = thread::spawn(move || {
                let mut version = 0;
                // The handle names nothing any more once the context is being destroyed.
                while cuda!(cuCtxGetApiVersion(ptr::without_provenance_mut(handle), &mut version))
                    == CUresult::CUDA_SUCCESS
                {
                    thread::yield_now();
                }
                let flag: *const AtomicU64 = ptr::with_exposed_provenance(flag as usize);
                // SAFETY: the memory is there as long as the kernel uses it, which waits for this.
                unsafe { &*flag }.store(7, Ordering::Release);
            });
            ok!(cuCtxDestroy_v2(owner));
            ok!(cuStreamQuery(stream));
            signal.join().expect("no panic");
            gpu.enter();
            assert_holds(out, [7_u64]);
        }
    });
}
