//! Streams: order within one, and the rules between them.

use std::ptr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use cuda_sys::{CU_STREAM_PER_THREAD, CUresult, CUstream};

use crate::sim::{DEFAULT, Gate, Gpu, NON_BLOCKING, assert_holds, enqueue};
use crate::{cuda, fails, ok};

/// Enqueues a host function that tells when its turn has come.
fn tell(stream: CUstream) -> Receiver<()> {
    let (tell, told) = channel();
    enqueue(stream, move || {
        let _ = tell.send(());
    });
    told
}

pub(crate) fn is_busy(stream: CUstream) -> bool {
    match cuda!(cuStreamQuery(stream)) {
        CUresult::CUDA_SUCCESS => false,
        CUresult::CUDA_ERROR_NOT_READY => true,
        other => panic!("{other}"),
    }
}

#[test]
fn work_in_a_stream_keeps_its_order() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let (one, two) = (gpu.allocate(4 << 20), gpu.allocate(4 << 20));
    for value in 0..50 {
        ok!(cuMemsetD8Async(one, value, 4 << 20, stream));
        ok!(cuMemcpyDtoDAsync_v2(two, one, 4 << 20, stream));
    }
    ok!(cuStreamSynchronize(stream));
    assert_holds(two + (4 << 20) - 1, [49_u8]);
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
    let gpu = Gpu::take();
    let (before, after) = (gpu.stream(0), gpu.stream(0));
    let gate = Gate::close(before);
    gate.wait_until_reached();
    let in_default = tell(DEFAULT);
    let in_after = tell(after);
    assert!(is_busy(DEFAULT) && is_busy(after));
    assert!(in_default.try_recv().is_err() && in_after.try_recv().is_err());
    gate.open();
    in_after.recv().expect("the gate is open");
    in_default.try_recv().expect("the default stream came first");
}

#[test]
fn a_non_blocking_stream_and_the_legacy_one_ignore_each_other() {
    let gpu = Gpu::take();
    let free = gpu.stream(NON_BLOCKING);
    let gate = Gate::close(DEFAULT);
    gate.wait_until_reached();
    tell(free).recv().expect("nothing holds it back");
    gate.open();
    let gate = Gate::close(free);
    gate.wait_until_reached();
    tell(DEFAULT).recv().expect("nothing holds it back");
    gate.open();
}

#[test]
fn blocking_streams_do_not_wait_for_each_other() {
    let gpu = Gpu::take();
    let (one, two) = (gpu.stream(0), gpu.stream(0));
    let gate = Gate::close(one);
    gate.wait_until_reached();
    tell(two).recv().expect("nothing holds it back");
    ok!(cuStreamSynchronize(two));
    gate.open();
}

#[test]
fn null_is_the_legacy_stream() {
    let gpu = Gpu::take();
    let gate = Gate::close(ptr::null_mut());
    assert!(is_busy(DEFAULT));
    assert!(is_busy(gpu.stream(0)));
    gate.open();
    ok!(cuStreamSynchronize(ptr::null_mut()));
    assert!(!is_busy(DEFAULT));
}

#[test]
fn each_thread_has_a_default_stream_of_its_own() {
    let gpu = Gpu::take();
    let gate = Gate::close(CU_STREAM_PER_THREAD);
    gate.wait_until_reached();
    assert!(is_busy(CU_STREAM_PER_THREAD));
    thread::scope(|scope| {
        scope.spawn(|| {
            gpu.enter();
            assert!(!is_busy(CU_STREAM_PER_THREAD));
            tell(CU_STREAM_PER_THREAD).recv().expect("nothing holds it back");
        });
    });
    // It is a blocking stream, and belongs to its context's work.
    assert!(is_busy(DEFAULT));
    gate.open();
    ok!(cuCtxSynchronize());
    assert!(!is_busy(CU_STREAM_PER_THREAD));
}

#[test]
fn default_streams_of_two_contexts_are_two_streams() {
    let [one, two] = Gpu::take_several();
    let gate = Gate::close(DEFAULT);
    gate.wait_until_reached();
    two.enter();
    assert!(!is_busy(DEFAULT));
    tell(DEFAULT).recv().expect("nothing holds it back");
    ok!(cuCtxSynchronize());
    one.enter();
    assert!(is_busy(DEFAULT));
    gate.open();
}

#[test]
fn destroying_a_stream_lets_its_work_run_to_the_end() {
    let gpu = Gpu::take();
    let stream = gpu.stream(0);
    let gate = Gate::close(stream);
    let told = tell(stream);
    ok!(cuStreamDestroy_v2(stream));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(stream));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    assert!(is_busy(DEFAULT));
    gate.open();
    told.recv().expect("it runs");
    ok!(cuCtxSynchronize());
}

#[test]
fn a_stream_describes_itself() {
    let gpu = Gpu::take();
    let (mut least, mut greatest) = (9, 9);
    ok!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
    assert_eq!((least, greatest), (0, -5));
    let mut stream = ptr::null_mut();
    ok!(cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, -100));
    let (mut priority, mut flags, mut context, mut id) = (9, 9, ptr::null_mut(), 0);
    ok!(cuStreamGetPriority(stream, &mut priority));
    ok!(cuStreamGetFlags(stream, &mut flags));
    ok!(cuStreamGetCtx(stream, &mut context));
    assert_eq!((priority, flags, context), (greatest, NON_BLOCKING, gpu.context));
    let get_id = cuda_sim::driver().cuStreamGetId.expect("the software driver has it");
    // SAFETY: `id` is writable.
    assert_eq!(unsafe { get_id(stream, &mut id) }, CUresult::CUDA_SUCCESS);
    assert!(id > 2);
}

#[test]
fn wrong_streams_are_errors() {
    let _gpu = Gpu::take();
    let mut stream = ptr::null_mut();
    fails!(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&mut stream, 2));
    fails!(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(ptr::null_mut(), 0));
    for handle in [3, 16, 0xdead_beef_0000, usize::MAX] {
        let wild: CUstream = ptr::without_provenance_mut(handle);
        fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(wild));
        fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(wild));
        fails!(CUDA_ERROR_INVALID_HANDLE, cuMemsetD8Async(0, 0, 0, wild));
    }
    for default in [0, 1, 2] {
        let default: CUstream = ptr::without_provenance_mut(default);
        fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(default));
    }
}
