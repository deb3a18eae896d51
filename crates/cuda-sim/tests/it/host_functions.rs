//! Host functions in streams.

use std::ptr;
use std::sync::mpsc::channel;

use cuda_sys::CUresult;

use crate::sim::{Gate, Gpu, NON_BLOCKING, enqueue};
use crate::{cuda, fails, ok};

#[test]
fn a_host_function_runs_after_what_was_enqueued_before_it() {
    let gpu = Gpu::take();
    let stream = gpu.stream(0);
    let (tell, told) = channel();
    let gate = Gate::close(stream);
    for number in 0..10 {
        let tell = tell.clone();
        enqueue(stream, move || tell.send(number).expect("somebody listens"));
    }
    gate.wait_until_reached();
    assert!(told.try_recv().is_err());
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_blocked_host_function_stops_its_stream_only() {
    let gpu = Gpu::take();
    let streams: Vec<_> = (0..20).map(|_| gpu.stream(NON_BLOCKING)).collect();
    let gates: Vec<_> = streams.iter().map(|&stream| Gate::close(stream)).collect();
    gates.iter().for_each(Gate::wait_until_reached);
    let free = gpu.stream(NON_BLOCKING);
    let pointer = gpu.allocate(4);
    ok!(cuMemsetD32Async(pointer, 1, 1, free));
    enqueue(free, || {});
    ok!(cuStreamSynchronize(free));
    for stream in streams {
        fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    }
    gates.into_iter().for_each(Gate::open);
}

#[test]
fn a_host_function_must_not_call_the_driver() {
    let gpu = Gpu::take();
    let (tell, told) = channel();
    let context = gpu.context.addr();
    enqueue(gpu.stream(0), move || {
        let mut pointer = 0;
        let results = [
            cuda!(cuMemAlloc_v2(&mut pointer, 16)),
            cuda!(cuCtxSetCurrent(ptr::without_provenance_mut(context))),
            cuda!(cuCtxSynchronize()),
        ];
        tell.send(results).expect("somebody listens");
    });
    assert_eq!(told.recv(), Ok([CUresult::CUDA_ERROR_NOT_PERMITTED; 3]));
}

#[test]
fn a_null_function_is_an_error() {
    let gpu = Gpu::take();
    let stream = gpu.stream(0);
    fails!(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, None, ptr::null_mut()));
}
