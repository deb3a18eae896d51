//! Host functions in streams.

use std::ptr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use cuda_sys::CUresult;

use crate::sim::{
    Gate, Gpu, KERNELS, NON_BLOCKING, call_back, end_after, enqueue, function, in_child, launch,
};
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

#[test]
fn a_callback_of_a_lost_device_runs_where_callbacks_run_before_its_operation_is_complete() {
    in_child(&[], || {
        let [lost, other] = Gpu::take_several();
        let trapped = function(lost.load(KERNELS), c"trapped");
        let (stream, event) = (lost.stream(NON_BLOCKING), lost.event(0));
        let gate = Gate::close(stream);
        launch(trapped, [1, 1], stream, &[]).ok().expect("it is enqueued");
        let ((reach, reached), (go, may_go)) = (channel(), channel::<()>());
        call_back(stream, move |status| {
            let permitted = cuda!(cuCtxSynchronize());
            reach.send((status, permitted)).expect("somebody listens");
            let _ = may_go.recv();
        });
        ok!(cuEventRecord(event, stream));
        let waiting = other.stream(NON_BLOCKING);
        ok!(cuStreamWaitEvent(waiting, event, 0));
        gate.open();
        let expected = (CUresult::CUDA_ERROR_LAUNCH_FAILED, CUresult::CUDA_ERROR_NOT_PERMITTED);
        assert_eq!(reached.recv(), Ok(expected));
        fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(waiting));
        drop(go);
        ok!(cuStreamSynchronize(waiting));
    });
}

#[test]
fn a_host_function_for_which_there_is_no_thread_loses_its_device() {
    in_child(&[], || {
        end_after(60);
        let [lost, other] = Gpu::take_several();
        let (stream, pointer) = (lost.stream(NON_BLOCKING), other.allocate(4));
        lost.enter();
        without_new_threads(|| {
            for _ in 0..1000 {
                enqueue(stream, || panic!("there is no thread for it"));
                if cuda!(cuStreamQuery(stream)) != CUresult::CUDA_ERROR_NOT_READY {
                    break;
                }
            }
            fails!(CUDA_ERROR_OUT_OF_MEMORY, cuStreamSynchronize(stream));
        });
        let text = cuda_sim::control::last_fault(lost.ordinal as usize).expect("a device");
        assert!(text.expect("it is lost").contains("no thread"));
        other.enter();
        ok!(cuMemsetD32_v2(pointer, 1, 1));
    });
}

/// Runs something while the process cannot start threads: there is no room for their stacks.
fn without_new_threads(run: impl FnOnce()) {
    let limit = |most| {
        let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure is there to be read and written.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &mut old), 0);
            let new = libc::rlimit { rlim_cur: most, ..old };
            assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &new), 0);
        }
        old.rlim_cur
    };
    let before = limit(1 << 20);
    // Stacks of threads that have ended may be left over.
    let (mut held, barrier) = (Vec::new(), Arc::new(Mutex::new(())));
    let closed = barrier.lock().expect("no panic");
    loop {
        let barrier = Arc::clone(&barrier);
        match thread::Builder::new().spawn(move || drop(barrier.lock())) {
            Ok(thread) => held.push(thread),
            Err(_) => break,
        }
    }
    run();
    limit(before);
    drop(closed);
}
