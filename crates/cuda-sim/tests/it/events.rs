//! Events.

use std::ptr;
use std::sync::mpsc::channel;

use cuda_sys::{CU_STREAM_PER_THREAD, CUcontext, CUevent, CUresult, CUstreamCaptureMode};

use crate::sim::{DEFAULT, Gate, Gpu, NON_BLOCKING, enqueue};
use crate::{cuda, fails, ok};

const DISABLE_TIMING: u32 = 2;

#[test]
fn an_event_that_was_never_recorded_stands_for_no_work() {
    let gpu = Gpu::take();
    let event = gpu.event(DISABLE_TIMING);
    ok!(cuEventQuery(event));
    ok!(cuEventSynchronize(event));
    let stream = gpu.stream(NON_BLOCKING);
    ok!(cuStreamWaitEvent(stream, event, 0));
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn an_event_captures_the_work_before_it_and_no_other() {
    for flags in [0, DISABLE_TIMING] {
        let gpu = Gpu::take();
        let (stream, event) = (gpu.stream(NON_BLOCKING), gpu.event(flags));
        let first = Gate::close(stream);
        ok!(cuEventRecord(event, stream));
        let second = Gate::close(stream);
        fails!(CUDA_ERROR_NOT_READY, cuEventQuery(event));
        first.open();
        ok!(cuEventSynchronize(event));
        ok!(cuEventQuery(event));
        fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
        second.open();
    }
}

#[test]
fn a_wait_binds_to_the_recording_at_the_time_of_the_call() {
    let gpu = Gpu::take();
    let [one, two, waiting] = [(); 3].map(|()| gpu.stream(NON_BLOCKING));
    let event = gpu.event(DISABLE_TIMING);
    let first = Gate::close(one);
    ok!(cuEventRecord(event, one));
    ok!(cuStreamWaitEvent(waiting, event, 0));
    // Recorded anew: the wait above does not follow.
    let second = Gate::close(two);
    ok!(cuEventRecord(event, two));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(waiting));
    first.open();
    ok!(cuStreamSynchronize(waiting));
    fails!(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    second.open();
    ok!(cuEventSynchronize(event));
}

#[test]
fn a_wait_holds_back_what_comes_after_it_on_any_device() {
    let [one, two] = Gpu::take_several();
    let (stream, event) = (one.stream(NON_BLOCKING), one.event(DISABLE_TIMING));
    let other = two.stream(NON_BLOCKING);
    let gate = Gate::close(stream);
    ok!(cuEventRecord(event, stream));
    ok!(cuStreamWaitEvent(other, event, 0));
    let (tell, told) = channel();
    enqueue(other, move || tell.send(()).expect("somebody listens"));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    assert!(told.try_recv().is_err());
    gate.open();
    told.recv().expect("the event has come");
}

#[test]
fn an_event_outlives_its_stream_and_a_wait_outlives_its_event() {
    let gpu = Gpu::take();
    let (stream, event) = (gpu.stream(NON_BLOCKING), gpu.event(0));
    let other = gpu.stream(NON_BLOCKING);
    let gate = Gate::close(stream);
    ok!(cuEventRecord(event, stream));
    ok!(cuStreamDestroy_v2(stream));
    ok!(cuStreamWaitEvent(other, event, 0));
    fails!(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    ok!(cuEventDestroy_v2(event));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    gate.open();
    ok!(cuStreamSynchronize(other));
}

#[test]
fn a_recording_in_the_legacy_stream_comes_after_blocking_streams() {
    let gpu = Gpu::take();
    let (stream, event) = (gpu.stream(0), gpu.event(DISABLE_TIMING));
    let gate = Gate::close(stream);
    ok!(cuEventRecord(event, DEFAULT));
    fails!(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    gate.open();
    ok!(cuEventSynchronize(event));
}

#[test]
fn elapsed_time_is_between_two_recordings_that_take_time() {
    let gpu = Gpu::take();
    let stream = gpu.stream(0);
    let (start, end, untimed) = (gpu.event(0), gpu.event(0), gpu.event(DISABLE_TIMING));
    let mut time = -1.0;
    fails!(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&mut time, start, end));
    ok!(cuEventRecord(start, stream));
    let gate = Gate::close(stream);
    ok!(cuEventRecord(end, stream));
    ok!(cuEventRecord(untimed, stream));
    fails!(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&mut time, start, end));
    gate.open();
    ok!(cuEventSynchronize(end));
    ok!(cuEventElapsedTime(&mut time, start, end));
    assert!(time > 0.0);
    ok!(cuEventElapsedTime(&mut time, end, start));
    assert!(time < 0.0);
    fails!(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&mut time, start, untimed));
    fails!(CUDA_ERROR_INVALID_VALUE, cuEventElapsedTime(ptr::null_mut(), start, end));
}

#[test]
fn events_and_streams_of_two_devices_do_not_mix_in_a_recording() {
    let [one, two] = Gpu::take_several();
    let (event, stream) = (one.event(0), two.stream(0));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, stream));
    let (start, end) = (event, two.event(0));
    ok!(cuEventRecord(end, stream));
    one.enter();
    ok!(cuEventRecord(start, DEFAULT));
    ok!(cuEventSynchronize(start));
    ok!(cuEventSynchronize(end));
    let mut time = 0.0;
    fails!(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&mut time, start, end));
}

#[test]
fn wrong_events_are_errors() {
    let gpu = Gpu::take();
    let stream = gpu.stream(0);
    let mut event = ptr::null_mut();
    fails!(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&mut event, 1 << 10));
    // An event for several processes must not take the time, and is not supported here.
    fails!(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&mut event, 4));
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuEventCreate(&mut event, 6));
    // A stream's handle is no event's.
    for wild in [ptr::null_mut(), ptr::without_provenance_mut(0xdead_beef_0000), stream.cast()] {
        fails!(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(wild, stream));
        fails!(CUDA_ERROR_INVALID_HANDLE, cuEventSynchronize(wild));
        fails!(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy_v2(wild));
        fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(stream, wild, 0));
    }
    fails!(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(stream, gpu.event(0), 1));
}

#[test]
fn an_event_of_a_context_captures_what_is_in_all_its_streams() {
    for flags in [0, DISABLE_TIMING] {
        let [gpu, other] = Gpu::take_several();
        let (elsewhere, event) = (other.stream(NON_BLOCKING), gpu.event(flags));
        let streams = [gpu.stream(NON_BLOCKING), gpu.stream(0), CU_STREAM_PER_THREAD, DEFAULT];
        let unrelated = Gate::close(elsewhere);
        for stream in streams {
            let gate = Gate::close(stream);
            ok!(cuCtxRecordEvent(gpu.context, event));
            let later = Gate::close(streams[0]);
            fails!(CUDA_ERROR_NOT_READY, cuEventQuery(event));
            gate.open();
            ok!(cuEventSynchronize(event));
            later.open();
            ok!(cuCtxSynchronize());
        }
        unrelated.open();
        fails!(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent(other.context, event));
        fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxRecordEvent(ptr::null_mut(), event));
        fails!(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent(gpu.context, ptr::null_mut()));
    }
}

#[test]
fn all_later_work_of_a_context_waits_for_an_event_also_in_streams_made_later() {
    let [gpu, other] = Gpu::take_several();
    let (far, event) = (other.stream(NON_BLOCKING), other.event(DISABLE_TIMING));
    let own = gpu.stream(NON_BLOCKING);
    let earlier = Gate::close(own);
    let gate = Gate::close(far);
    other.enter();
    ok!(cuEventRecord(event, far));
    ok!(cuCtxWaitEvent(gpu.context, event));
    // What was there before does not wait.
    earlier.wait_until_reached();
    earlier.open();
    let streams = [own, gpu.stream(NON_BLOCKING), gpu.stream(0), CU_STREAM_PER_THREAD];
    let (done, order) = channel();
    for stream in streams {
        let done = done.clone();
        enqueue(stream, move || done.send(()).expect("the test waits"));
    }
    for stream in streams {
        fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    }
    assert!(order.try_recv().is_err());
    gate.open();
    streams.iter().for_each(|_| order.recv().expect("it runs"));
    ok!(cuCtxSynchronize());
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxWaitEvent(ptr::null_mut(), event));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuCtxWaitEvent(gpu.context, ptr::null_mut()));
}

#[test]
fn a_context_with_a_stream_that_is_captured_neither_records_nor_waits() {
    let gpu = Gpu::take();
    let (stream, event) = (gpu.stream(NON_BLOCKING), gpu.event(DISABLE_TIMING));
    let calls: [fn(CUcontext, CUevent) -> CUresult; 2] = [
        |context, event| cuda!(cuCtxRecordEvent(context, event)),
        |context, event| cuda!(cuCtxWaitEvent(context, event)),
    ];
    for call in calls {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        ok!(cuStreamBeginCapture_v2(stream, mode));
        let refused = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        assert_eq!(call(gpu.context, event), refused);
        let mut graph = ptr::null_mut();
        fails!(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &mut graph));
        assert_eq!(call(gpu.context, event), CUresult::CUDA_SUCCESS);
    }
}
