//! What is captured, and what launches of it do.

use std::ptr;
use std::sync::mpsc::channel;

use cuda_sys::{CU_STREAM_PER_THREAD, CUgraphNodeType as Type};

use super::common::*;
use crate::sim::{
    DEFAULT, Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, download, enqueue, function, launch,
};
use crate::{fails, ok};

#[test]
fn captured_work_runs_when_the_graph_is_launched_and_as_often() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let stream = gpu.stream(NON_BLOCKING);
    let pointer = gpu.allocate(8);
    ok!(cuMemsetD8_v2(pointer, 0, 8));
    let graph = capture(stream, || {
        for _ in 0..3 {
            launch(increment, [1, 1], stream, &[pointer]).ok().expect("it is captured");
        }
    });
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [0_u64]);
    assert_eq!(edges(graph), [(0, 1), (1, 2)]);
    let executable = instantiate(graph);
    done!(cuGraphDestroy(graph));
    for _ in 0..10 {
        done!(cuGraphLaunch(executable, stream));
    }
    done!(cuGraphExecDestroy(executable));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [30_u64]);
}

#[test]
fn arguments_are_taken_along_at_the_time_of_capture() {
    let gpu = Gpu::take();
    let store = function(gpu.load(KERNELS), c"store");
    let stream = gpu.stream(0);
    let pointer = gpu.allocate(8);
    let mut arguments = [pointer, 77];
    let graph = capture(stream, || {
        launch(store, [1, 1], stream, &arguments).ok().expect("it is captured");
    });
    arguments[1] = 78;
    let executable = instantiate(graph);
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [77_u64]);
    assert_eq!(arguments[1], 78);
}

#[test]
fn each_kind_of_operation_becomes_a_node_of_its_kind() {
    let gpu = Gpu::take();
    let nothing = function(gpu.load(KERNELS), c"nothing");
    let stream = gpu.stream(NON_BLOCKING);
    let (pointer, event) = (gpu.allocate(16), gpu.event(UNTIMED));
    let host = [1_u64, 2];
    let graph = capture(stream, || {
        launch(nothing, [1, 1], stream, &[]).ok().expect("it is captured");
        ok!(cuMemsetD32Async(pointer, 7, 4, stream));
        ok!(cuMemcpyHtoDAsync_v2(pointer, host.as_ptr().cast(), 16, stream));
        ok!(cuLaunchHostFunc(stream, Some(super::common::nothing), ptr::null_mut()));
        done!(cuEventRecordWithFlags(event, stream, 1));
        ok!(cuStreamWaitEvent(stream, event, 1));
        // These leave no node.
        ok!(cuEventRecord(event, stream));
        ok!(cuStreamWaitEvent(stream, event, 0));
    });
    let expected = [
        Type::CU_GRAPH_NODE_TYPE_KERNEL,
        Type::CU_GRAPH_NODE_TYPE_MEMSET,
        Type::CU_GRAPH_NODE_TYPE_MEMCPY,
        Type::CU_GRAPH_NODE_TYPE_HOST,
        Type::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        Type::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
    ];
    assert_eq!(kinds(graph), expected);
    done!(cuGraphLaunch(instantiate(graph), stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [1_u64, 2]);
}

#[test]
fn copies_read_their_source_when_they_run() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let pointer = gpu.allocate(8);
    let mut source = Box::new(1_u64);
    let place = &raw mut *source;
    let graph = capture(stream, || {
        ok!(cuMemcpyHtoDAsync_v2(pointer, place.cast_const().cast(), 8, stream));
    });
    let executable = instantiate(graph);
    for value in [5, 6] {
        // SAFETY: it is the box above, and no copy is in flight.
        unsafe { place.write(value) };
        done!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
        assert_holds(pointer, [value]);
    }
}

#[test]
fn streams_that_wait_for_a_captured_event_fork_and_join_the_graph() {
    let gpu = Gpu::take();
    let nothing = function(gpu.load(KERNELS), c"nothing");
    let [one, two, three] = [(); 3].map(|()| gpu.stream(NON_BLOCKING));
    let [fork, join, other] = [(); 3].map(|()| gpu.event(UNTIMED));
    let kernel = |stream| launch(nothing, [1, 1], stream, &[]).ok().expect("it is captured");
    let graph = capture(one, || {
        kernel(one);
        ok!(cuEventRecord(fork, one));
        ok!(cuStreamWaitEvent(two, fork, 0));
        ok!(cuStreamWaitEvent(three, fork, 0));
        assert_eq!([one, two, three].map(status), [1, 1, 1]);
        kernel(two);
        kernel(three);
        kernel(one);
        ok!(cuEventRecord(join, two));
        ok!(cuEventRecord(other, three));
        ok!(cuStreamWaitEvent(one, join, 0));
        ok!(cuStreamWaitEvent(one, other, 0));
        kernel(one);
    });
    assert_eq!([one, two, three].map(status), [0, 0, 0]);
    let mut found = edges(graph);
    found.sort_unstable();
    assert_eq!(found, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]);
}

#[test]
fn a_fork_may_go_to_another_device() {
    let [here, there] = Gpu::take_several();
    let store = function(there.load(KERNELS), c"store");
    let (far, back) = (there.stream(NON_BLOCKING), there.event(UNTIMED));
    let pointer = there.allocate(8);
    let (near, fork) = (here.stream(NON_BLOCKING), here.event(UNTIMED));
    let graph = capture(near, || {
        ok!(cuEventRecord(fork, near));
        ok!(cuStreamWaitEvent(far, fork, 0));
        launch(store, [1, 1], far, &[pointer, 5]).ok().expect("it is captured");
        ok!(cuEventRecord(back, far));
        ok!(cuStreamWaitEvent(near, back, 0));
    });
    done!(cuGraphLaunch(instantiate(graph), near));
    ok!(cuStreamSynchronize(near));
    assert_holds(pointer, [5_u64]);
}

#[test]
fn a_launch_is_one_operation_of_its_stream() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let [one, two] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    let (fork, join) = (gpu.event(UNTIMED), gpu.event(UNTIMED));
    let pointers = [gpu.allocate(8), gpu.allocate(8)];
    let graph = capture(one, || {
        ok!(cuEventRecord(fork, one));
        ok!(cuStreamWaitEvent(two, fork, 0));
        launch(increment, [1, 1], one, &[pointers[0]]).ok().expect("it is captured");
        launch(increment, [1, 1], two, &[pointers[1]]).ok().expect("it is captured");
        ok!(cuEventRecord(join, two));
        ok!(cuStreamWaitEvent(one, join, 0));
    });
    let executable = instantiate(graph);
    let gate = Gate::close(one);
    pointers.iter().for_each(|&pointer| ok!(cuMemsetD8Async(pointer, 0, 8, one)));
    done!(cuGraphLaunch(executable, one));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
    // Nothing of it goes into the streams that it was captured from.
    ok!(cuStreamQuery(two));
    for pointer in pointers {
        launch(increment, [1, 1], one, &[pointer]).ok().expect("it is enqueued");
    }
    gate.open();
    ok!(cuStreamSynchronize(one));
    pointers.iter().for_each(|&pointer| assert_holds(pointer, [2_u64]));
}

#[test]
fn launches_of_one_executable_graph_never_overlap_whatever_their_streams() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let streams = [(); 3].map(|()| gpu.stream(NON_BLOCKING));
    let pointer = gpu.allocate(8);
    ok!(cuMemsetD8_v2(pointer, 0, 8));
    ok!(cuCtxSynchronize());
    let graph = capture(streams[0], || {
        launch(increment, [1, 1], streams[0], &[pointer]).ok().expect("it is captured");
    });
    let executable = instantiate(graph);
    for _ in 0..100 {
        streams.iter().for_each(|&stream| done!(cuGraphLaunch(executable, stream)));
    }
    ok!(cuCtxSynchronize());
    assert_eq!(download::<u64, 1>(pointer), [300]);
}

#[test]
fn launches_in_the_legacy_stream_keep_its_order() {
    let gpu = Gpu::take();
    let store = function(gpu.load(KERNELS), c"store");
    let (stream, pointer) = (gpu.stream(0), gpu.allocate(8));
    let graph = capture(stream, || {
        launch(store, [1, 1], stream, &[pointer, 1]).ok().expect("it is captured");
    });
    let executable = instantiate(graph);
    let gate = Gate::close(stream);
    done!(cuGraphLaunch(executable, DEFAULT));
    let (tell, told) = channel();
    enqueue(stream, move || tell.send(()).expect("somebody listens"));
    gate.wait_until_reached();
    assert!(told.try_recv().is_err());
    gate.open();
    told.recv().expect("it comes after the launch");
    assert_holds(pointer, [1_u64]);
}

#[test]
fn events_recorded_and_awaited_by_nodes_order_the_graph_with_the_outside() {
    let gpu = Gpu::take();
    let [inside, outside] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    let (before, after) = (gpu.event(UNTIMED), gpu.event(0));
    let graph = capture(inside, || {
        ok!(cuStreamWaitEvent(inside, before, 1));
        done!(cuEventRecordWithFlags(after, inside, 1));
    });
    // That it was captured says nothing about the event.
    ok!(cuEventQuery(after));
    let executable = instantiate(graph);
    let gate = Gate::close(outside);
    ok!(cuEventRecord(before, outside));
    done!(cuGraphLaunch(executable, inside));
    fails!(CUDA_ERROR_NOT_READY, cuEventQuery(after));
    gate.open();
    ok!(cuEventSynchronize(after));
    ok!(cuStreamSynchronize(inside));
}

#[test]
fn a_thread_can_capture_its_own_default_stream() {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(8);
    let graph = capture(CU_STREAM_PER_THREAD, || {
        ok!(cuMemsetD8Async(pointer, 3, 8, CU_STREAM_PER_THREAD));
    });
    done!(cuGraphLaunch(instantiate(graph), CU_STREAM_PER_THREAD));
    ok!(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    assert_holds(pointer, [[3_u8; 8]]);
}

#[test]
fn a_capture_can_go_to_a_graph_that_there_is() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let (graph, pointer) = (new_graph(), gpu.allocate(8));
    let first = empty(graph, &[]);
    let none = ptr::null();
    done!(cuStreamBeginCaptureToGraph(stream, graph, &first, none, 1, RELAXED));
    ok!(cuMemsetD8Async(pointer, 3, 8, stream));
    let mut executable = ptr::null_mut();
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&mut executable, graph, 0));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
    let mut captured = ptr::null_mut();
    done!(cuStreamEndCapture(stream, &mut captured));
    assert_eq!((captured, edges(graph)), (graph, vec![(0, 1)]));
}

#[test]
fn a_program_can_see_and_change_what_comes_next_in_a_capture() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let pointer = gpu.allocate(8);
    let graph = capture(stream, || {
        ok!(cuMemsetD8Async(pointer, 3, 8, stream));
        let (mut status, mut id) = (cuda_sys::CUstreamCaptureStatus(9), 0);
        let (mut graph, mut list, mut count) = (ptr::null_mut(), ptr::null(), 0);
        let none = ptr::null_mut();
        done!(cuStreamGetCaptureInfo_v3(
            stream,
            &mut status,
            &mut id,
            &mut graph,
            &mut list,
            none,
            &mut count
        ));
        assert_eq!((status.0, count), (1, 1));
        // SAFETY: the driver says so many.
        assert_eq!(unsafe { list.read() }, nodes(graph)[0]);
        let mut added = empty(graph, &[]);
        done!(cuStreamUpdateCaptureDependencies_v2(stream, &mut added, ptr::null(), 1, 0));
        ok!(cuMemsetD8Async(pointer, 4, 8, stream));
        done!(cuStreamUpdateCaptureDependencies_v2(stream, &mut added, ptr::null(), 1, 1));
        ok!(cuMemsetD8Async(pointer, 5, 8, stream));
    });
    let mut found = edges(graph);
    found.sort_unstable();
    assert_eq!(found, [(0, 2), (1, 2), (1, 3)]);
    let mut node = nodes(graph)[0];
    refused!(
        CUDA_ERROR_ILLEGAL_STATE,
        cuStreamUpdateCaptureDependencies_v2(stream, &mut node, ptr::null(), 1, 0)
    );
}
