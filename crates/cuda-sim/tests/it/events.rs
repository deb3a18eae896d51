//! Events.

use std::ptr;
use std::sync::mpsc::channel;

use crate::sim::{DEFAULT, Gate, Gpu, NON_BLOCKING, enqueue};
use crate::{fails, ok};

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
