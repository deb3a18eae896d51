//! What a capture forbids, and what becomes of it then.

use std::ptr;
use std::thread;

use cuda_sys::{CUresult, CUstream};

use super::common::*;
use crate::sim::{DEFAULT, Gpu, NON_BLOCKING, in_child};
use crate::virtual_memory::on_device;
use crate::{cuda, fails, ok};

fn begin(gpu: &Gpu) -> cuda_sys::CUstream {
    let stream = gpu.stream(NON_BLOCKING);
    done!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    stream
}

/// The capture in the stream is broken, until it is ended.
#[track_caller]
fn assert_broken(stream: cuda_sys::CUstream) {
    assert_eq!(status(stream), 2);
    fails!(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD8Async(0, 0, 0, stream));
    assert_eq!(end_in_vain(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_eq!(status(stream), 0);
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn what_is_captured_cannot_be_waited_for_or_asked_about() {
    let gpu = Gpu::take();
    let stream = begin(&gpu);
    fails!(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    assert_broken(stream);
    let stream = begin(&gpu);
    fails!(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    assert_broken(stream);
    let stream = begin(&gpu);
    fails!(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
    assert_broken(stream);
}

#[test]
fn captured_events_cannot_be_waited_for_or_asked_about() {
    let gpu = Gpu::take();
    let (stream, event) = (gpu.stream(NON_BLOCKING), gpu.event(UNTIMED));
    // The mode lets the thread ask about other events.
    for ask in [|event| cuda!(cuEventQuery(event)), |event| cuda!(cuEventSynchronize(event))] {
        done!(cuStreamBeginCapture_v2(stream, RELAXED));
        ok!(cuEventRecord(event, stream));
        assert_eq!(ask(event), CUresult::CUDA_ERROR_CAPTURED_EVENT);
        assert_broken(stream);
        // It is what it was until it is recorded anew.
        assert_eq!(ask(event), CUresult::CUDA_ERROR_CAPTURED_EVENT);
        fails!(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(stream, event, 0));
        ok!(cuEventRecord(event, stream));
        ok!(cuEventSynchronize(event));
    }
}

#[test]
fn a_captured_stream_cannot_wait_for_what_is_not_captured() {
    let gpu = Gpu::take();
    let (outside, event) = (gpu.stream(NON_BLOCKING), gpu.event(UNTIMED));
    ok!(cuEventRecord(event, outside));
    let stream = begin(&gpu);
    fails!(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream, event, 0));
    assert_broken(stream);
}

#[test]
fn two_captures_cannot_become_one() {
    let gpu = Gpu::take();
    let event = gpu.event(UNTIMED);
    let (one, two) = (begin(&gpu), begin(&gpu));
    ok!(cuEventRecord(event, one));
    fails!(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(two, event, 0));
    assert_broken(one);
    assert_broken(two);
}

#[test]
fn a_fork_must_be_joined() {
    let gpu = Gpu::take();
    let (event, other, pointer) = (gpu.event(UNTIMED), gpu.stream(NON_BLOCKING), gpu.allocate(8));
    let fork = || {
        let stream = begin(&gpu);
        ok!(cuEventRecord(event, stream));
        ok!(cuStreamWaitEvent(other, event, 0));
        stream
    };
    let stream = fork();
    ok!(cuMemsetD8Async(pointer, 0, 8, other));
    assert_eq!(end_in_vain(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_eq!((status(stream), status(other)), (0, 0));
    // Without work there is nothing to join.
    let stream = fork();
    let mut graph = ptr::null_mut();
    done!(cuStreamEndCapture(stream, &mut graph));
    let stream = fork();
    assert_eq!(end_in_vain(other), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assert_broken(stream);
}

#[test]
fn a_capture_ends_on_the_thread_where_it_began_unless_it_is_relaxed() {
    let gpu = Gpu::take();
    let end_elsewhere = |stream: cuda_sys::CUstream| {
        let handle = stream.addr();
        let end = move || {
            let mut graph = ptr::null_mut();
            newer!(cuStreamEndCapture(ptr::without_provenance_mut(handle), &mut graph))
        };
        thread::spawn(end).join().expect("no panic")
    };
    let stream = begin(&gpu);
    assert_eq!(end_elsewhere(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    let mut graph = ptr::null_mut();
    done!(cuStreamEndCapture(stream, &mut graph));
    done!(cuStreamBeginCapture_v2(stream, RELAXED));
    assert_eq!(end_elsewhere(stream), CUresult::CUDA_SUCCESS);
}

#[test]
fn the_legacy_stream_is_unusable_while_a_blocking_stream_is_captured() {
    let gpu = Gpu::take();
    let (stream, pointer) = (gpu.stream(0), gpu.allocate(8));
    let uses: [fn(u64) -> CUresult; 5] = [
        |pointer| cuda!(cuMemsetD8Async(pointer, 0, 8, DEFAULT)),
        |_| cuda!(cuStreamSynchronize(DEFAULT)),
        |_| cuda!(cuStreamQuery(DEFAULT)),
        |pointer| cuda!(cuMemcpyDtoDAsync_v2(pointer, pointer, 8, DEFAULT)),
        |_| cuda!(cuLaunchHostFunc(DEFAULT, Some(nothing), ptr::null_mut())),
    ];
    for attempt in uses {
        done!(cuStreamBeginCapture_v2(stream, RELAXED));
        let mut answer = cuda_sys::CUstreamCaptureStatus(9);
        refused!(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(DEFAULT, &mut answer));
        assert_eq!(status(stream), 1);
        assert_eq!(attempt(pointer), CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        assert_broken(stream);
        assert_eq!(attempt(pointer), CUresult::CUDA_SUCCESS);
        ok!(cuCtxSynchronize());
    }
    // A non-blocking stream is none of its business.
    let free = gpu.stream(NON_BLOCKING);
    capture(free, || ok!(cuMemsetD8Async(pointer, 0, 8, DEFAULT)));
    refused!(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(DEFAULT, GLOBAL));
}

#[test]
fn unsafe_calls_are_forbidden_as_the_modes_say() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let allocate = || cuda!(cuMemAlloc_v2(&mut 0, 16));
    let elsewhere = || {
        thread::scope(|scope| {
            let allocate = || {
                gpu.enter();
                cuda!(cuMemAlloc_v2(&mut 0, 16))
            };
            scope.spawn(allocate).join().expect("no panic")
        })
    };
    let refused = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for (mode, here, there) in [(THREAD_LOCAL, false, true), (RELAXED, true, true)] {
        done!(cuStreamBeginCapture_v2(stream, mode));
        assert_eq!(elsewhere() == CUresult::CUDA_SUCCESS, there);
        assert_eq!(status(stream), 1);
        let result = allocate();
        assert_eq!(result, if here { CUresult::CUDA_SUCCESS } else { refused });
        let mut graph = ptr::null_mut();
        let ended = newer!(cuStreamEndCapture(stream, &mut graph));
        assert_eq!(ended == CUresult::CUDA_SUCCESS, here);
    }
    // A thread can heed less than it must by default.
    let mut mode = RELAXED;
    done!(cuThreadExchangeStreamCaptureMode(&mut mode));
    assert_eq!(mode, GLOBAL);
    done!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    assert_eq!(allocate(), CUresult::CUDA_SUCCESS);
    done!(cuThreadExchangeStreamCaptureMode(&mut mode));
    assert_eq!((mode, allocate()), (RELAXED, refused));
    assert_broken(stream);
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuThreadExchangeStreamCaptureMode(&mut cuda_sys::CUstreamCaptureMode(7))
    );
}

#[test]
fn a_stream_can_be_captured_once_at_a_time() {
    let gpu = Gpu::take();
    let stream = begin(&gpu);
    refused!(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2(stream, RELAXED));
    let mut graph = ptr::null_mut();
    done!(cuStreamEndCapture(stream, &mut graph));
    refused!(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &mut graph));
    let mode = cuda_sys::CUstreamCaptureMode(3);
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2(stream, mode));
}

#[test]
fn destroying_a_captured_stream_ends_its_capture() {
    let gpu = Gpu::take();
    let (event, other) = (gpu.event(UNTIMED), gpu.stream(NON_BLOCKING));
    let memory = gpu.allocate(8);
    let stream = begin(&gpu);
    ok!(cuEventRecord(event, stream));
    ok!(cuStreamWaitEvent(other, event, 0));
    ok!(cuStreamDestroy_v2(stream));
    assert_eq!(status(other), 0);
    let stream = begin(&gpu);
    ok!(cuEventRecord(event, stream));
    ok!(cuStreamWaitEvent(other, event, 0));
    ok!(cuMemsetD8Async(memory, 1, 8, other));
    ok!(cuStreamDestroy_v2(other));
    assert_broken(stream);
    // What was left in the middle goes with its context.
    begin(&gpu);
}

#[test]
fn a_captured_stream_may_be_destroyed_once_others_wait_for_its_work() {
    let gpu = Gpu::take();
    let memory = gpu.allocate(8);
    for destroys_events in [false, true] {
        let (stream, other) = (gpu.stream(NON_BLOCKING), gpu.stream(NON_BLOCKING));
        let [fork, join] = [(); 2].map(|()| gpu.event(UNTIMED));
        let graph = capture(stream, || {
            ok!(cuMemsetD8Async(memory, 1, 8, stream));
            ok!(cuEventRecord(fork, stream));
            ok!(cuStreamWaitEvent(other, fork, 0));
            ok!(cuMemsetD8Async(memory, 2, 8, other));
            ok!(cuEventRecord(join, other));
            ok!(cuStreamWaitEvent(stream, join, 0));
            if destroys_events {
                ok!(cuEventDestroy_v2(fork));
                ok!(cuEventDestroy_v2(join));
            }
            ok!(cuStreamDestroy_v2(other));
            ok!(cuMemsetD8Async(memory, 3, 8, stream));
        });
        assert_eq!(edges(graph), [(0, 1), (0, 2), (1, 2)]);
    }
}

#[test]
fn a_global_capture_forbids_unsafe_calls_to_all_threads_that_heed_it() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let stream = gpu.stream(NON_BLOCKING);
        done!(cuStreamBeginCapture_v2(stream, GLOBAL));
        let allocate = |mut mode| {
            thread::scope(|scope| {
                let gpu = &gpu;
                let allocate = move || {
                    gpu.enter();
                    done!(cuThreadExchangeStreamCaptureMode(&mut mode));
                    cuda!(cuMemAlloc_v2(&mut 0, 16))
                };
                scope.spawn(allocate).join().expect("no panic")
            })
        };
        assert_eq!(allocate(RELAXED), CUresult::CUDA_SUCCESS);
        assert_eq!(allocate(THREAD_LOCAL), CUresult::CUDA_SUCCESS);
        assert_eq!(status(stream), 1);
        assert_eq!(allocate(GLOBAL), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        assert_broken(stream);
    });
}

#[test]
fn what_no_node_stands_for_is_not_captured() {
    let gpu = Gpu::take();
    let mut managed = 0;
    ok!(cuMemAllocManaged(&mut managed, 4096, 1));
    let stream = begin(&gpu);
    fails!(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAttachMemAsync(stream, managed, 0, 1));
    assert_broken(stream);
    let stream = begin(&gpu);
    let here = on_device(gpu.ordinal);
    let refused = cuda!(cuMemPrefetchAsync_v2(managed, 4096, here, 0, stream));
    assert_eq!(refused, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_broken(stream);
}

#[test]
fn a_capture_ends_with_the_context_or_the_thread_of_the_stream_where_it_began() {
    const PER_THREAD: CUstream = ptr::without_provenance_mut(2);
    let gpu = Gpu::take();
    let (event, side) = (gpu.event(UNTIMED), gpu.stream(NON_BLOCKING));
    let mut context = ptr::null_mut();
    ok!(cuCtxCreate_v2(&mut context, 0, gpu.ordinal));
    let (mut stream, mut own_event) = (ptr::null_mut(), ptr::null_mut());
    ok!(cuStreamCreate(&mut stream, NON_BLOCKING));
    ok!(cuEventCreate(&mut own_event, UNTIMED));
    done!(cuStreamBeginCapture_v2(stream, RELAXED));
    ok!(cuEventRecord(own_event, stream));
    ok!(cuStreamWaitEvent(side, own_event, 0));
    assert_eq!(status(side), 1);
    ok!(cuCtxDestroy_v2(context));
    assert_eq!(status(side), 0);
    ok!(cuStreamSynchronize(side));
    let (event, side, gpu_context) = (event.addr(), side.addr(), gpu.context.addr());
    thread::spawn(move || {
        ok!(cuCtxSetCurrent(ptr::without_provenance_mut(gpu_context)));
        let [event, side] = [event, side].map(ptr::without_provenance_mut::<u8>);
        done!(cuStreamBeginCapture_v2(PER_THREAD, RELAXED));
        ok!(cuEventRecord(event.cast(), PER_THREAD));
        ok!(cuStreamWaitEvent(side.cast(), event.cast(), 0));
        assert_eq!(status(side.cast()), 1);
    })
    .join()
    .expect("no panic");
    let side = ptr::without_provenance_mut(side);
    assert_eq!(status(side), 0);
    ok!(cuStreamSynchronize(side));
}
