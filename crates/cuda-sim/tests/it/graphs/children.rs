//! Child graphs, clones, and objects that graphs keep.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_sys::{
    CUgraph, CUgraphNode, CUgraphNodeType as Type, CUresult, CUstream, CUstreamCaptureStatus,
};

use super::common::*;
use crate::sim::{Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, function, in_child, launch};
use crate::{fails, ok};

fn child(graph: CUgraph, of: CUgraph, after: &[CUgraphNode]) -> CUgraphNode {
    let mut node = ptr::null_mut();
    done!(cuGraphAddChildGraphNode(&mut node, graph, after.as_ptr(), after.len(), of));
    node
}

#[test]
fn a_child_graph_runs_whole_in_its_place_and_is_a_copy() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
    let inner = capture(stream, || {
        for _ in 0..2 {
            launch(increment, [1, 1], stream, &[pointer]).ok().expect("it is captured");
        }
    });
    let middle = new_graph();
    child(middle, inner, &[child(middle, inner, &[])]);
    let outer = new_graph();
    let first = child(outer, middle, &[]);
    let empty_one = child(outer, new_graph(), &[first]);
    child(outer, inner, &[empty_one]);
    done!(cuGraphDestroy(middle));
    done!(cuGraphDestroyNode(nodes(inner)[0]));
    ok!(cuMemsetD8Async(pointer, 0, 8, stream));
    done!(cuGraphLaunch(instantiate(outer), stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [6_u64]);
    let mut own = ptr::null_mut();
    done!(cuGraphChildGraphNodeGetGraph(first, &mut own));
    assert_eq!(kinds(own), [Type::CU_GRAPH_NODE_TYPE_GRAPH; 2]);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(own));
    let mut node = ptr::null_mut();
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphAddChildGraphNode(&mut node, outer, ptr::null(), 0, outer)
    );
    done!(cuGraphDestroy(outer));
    let mut count = 0;
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(own, ptr::null_mut(), &mut count));
}

#[test]
fn a_graph_is_destroyed_with_its_children_while_another_thread_ends_contexts() {
    let _gpu = Gpu::take();
    while_contexts_end(|| {
        let outer = new_graph();
        let node = child(outer, new_graph(), &[]);
        let (mut own, mut count) = (ptr::null_mut(), 0);
        done!(cuGraphChildGraphNodeGetGraph(node, &mut own));
        done!(cuGraphDestroy(outer));
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(own, ptr::null_mut(), &mut count));
    });
}

#[test]
fn a_launch_in_a_captured_stream_is_refused_and_a_child_graph_can_be_added_in_its_place() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
    let inner = capture(stream, || {
        launch(increment, [1, 1], stream, &[pointer]).ok().expect("it is captured");
    });
    let executable = instantiate(inner);
    done!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    refused!(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGraphLaunch(executable, stream));
    let mut broken = ptr::null_mut();
    refused!(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &mut broken));

    let outer = capture(stream, || {
        for _ in 0..2 {
            let mut node = ptr::null_mut();
            let (graph, before) = captured_so_far(stream);
            let count = before.len();
            done!(cuGraphAddChildGraphNode(&mut node, graph, before.as_ptr(), count, inner));
            done!(cuStreamUpdateCaptureDependencies(stream, &mut node, 1, 1));
        }
    });
    assert_eq!(kinds(outer), [Type::CU_GRAPH_NODE_TYPE_GRAPH; 2]);
    assert_eq!(edges(outer).len(), 1);
    ok!(cuMemsetD8Async(pointer, 0, 8, stream));
    done!(cuGraphLaunch(instantiate(outer), stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [2_u64]);
}

/// The graph that a stream is captured into, and the nodes that the next one comes after.
fn captured_so_far(stream: CUstream) -> (CUgraph, Vec<CUgraphNode>) {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut graph, mut nodes, mut count) = (ptr::null_mut(), ptr::null(), 0);
    let none = ptr::null_mut();
    done!(cuStreamGetCaptureInfo_v2(stream, &mut status, none, &mut graph, &mut nodes, &mut count));
    if count == 0 {
        return (graph, Vec::new());
    }
    // SAFETY: the driver gave an array of `count` nodes, valid until the next call for the stream.
    (graph, unsafe { std::slice::from_raw_parts(nodes, count) }.to_vec())
}

#[test]
fn a_clone_has_nodes_of_its_own_which_can_be_found() {
    let _gpu = Gpu::take();
    let graph = new_graph();
    let one = empty(graph, &[]);
    let two = empty(graph, &[one]);
    child(graph, new_graph(), &[two]);
    let (mut clone, mut found) = (ptr::null_mut(), ptr::null_mut());
    done!(cuGraphClone(&mut clone, graph));
    assert_eq!((kinds(clone), edges(clone)), (kinds(graph), edges(graph)));
    done!(cuGraphNodeFindInClone(&mut found, two, clone));
    assert_eq!(found, nodes(clone)[1]);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&mut found, two, graph));
    done!(cuGraphDestroyNode(one));
    assert_eq!(nodes(clone).len(), 3);
}

static DESTROYED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn destroy(_: *mut c_void) {
    DESTROYED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn user_objects_live_as_long_as_somebody_refers_to_them() {
    let gpu = Gpu::take();
    let gone = || DESTROYED.load(Ordering::Relaxed);
    let stream = gpu.stream(NON_BLOCKING);
    let (mut object, graph) = (ptr::null_mut(), new_graph());
    empty(graph, &[]);
    done!(cuUserObjectCreate(&mut object, ptr::null_mut(), Some(destroy), 2, 1));
    // One of the two goes to the graph, and the graph takes another.
    done!(cuGraphRetainUserObject(graph, object, 1, 1));
    done!(cuGraphRetainUserObject(graph, object, 1, 0));
    done!(cuUserObjectRelease(object, 1));
    refused!(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(object, 9));
    let mut clone = ptr::null_mut();
    done!(cuGraphClone(&mut clone, graph));
    done!(cuGraphReleaseUserObject(graph, object, 1));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 2));
    done!(cuGraphDestroy(graph));
    let executable = instantiate(clone);
    done!(cuGraphDestroy(clone));
    let gate = Gate::close(stream);
    done!(cuGraphLaunch(executable, stream));
    done!(cuGraphExecDestroy(executable));
    assert_eq!(gone(), 0);
    gate.open();
    ok!(cuCtxSynchronize());
    // Whoever did the launch lets go of the graph, which may be a little later.
    while gone() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(gone(), 1);
    refused!(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain(object, 1));
    let destroy = Some(destroy as unsafe extern "C" fn(*mut c_void));
    for (count, flags) in [(0, 1), (u32::MAX, 1), (1, 0), (1, 2)] {
        refused!(
            CUDA_ERROR_INVALID_VALUE,
            cuUserObjectCreate(&mut object, ptr::null_mut(), destroy, count, flags)
        );
    }
    fails!(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, None, ptr::null_mut()));
}

#[test]
fn a_graph_can_be_drawn() {
    let gpu = Gpu::take();
    let nothing = function(gpu.load(KERNELS), c"nothing");
    let stream = gpu.stream(NON_BLOCKING);
    let graph = capture(stream, || {
        for _ in 0..2 {
            launch(nothing, [3, 1], stream, &[]).ok().expect("it is captured");
        }
    });
    let folder = std::env::temp_dir().join(format!("cuda-sim-dot-{}", std::process::id()));
    let path = CString::new(folder.to_str().expect("a plain name")).expect("no NUL");
    done!(cuGraphDebugDotPrint(graph, path.as_ptr(), 1));
    let text = std::fs::read_to_string(&folder).expect("it was written");
    std::fs::remove_file(&folder).expect("it is there");
    assert!(text.starts_with("digraph") && text.contains("nothing"), "{text}");
    assert!(text.contains("\"graph_node_0\" -> \"graph_node_1\""), "{text}");
    let nowhere = c"/nowhere/at/all";
    refused!(CUDA_ERROR_OPERATING_SYSTEM, cuGraphDebugDotPrint(graph, nowhere.as_ptr(), 0));
}

#[test]
fn a_destructor_behind_a_launch_of_a_lost_device_must_not_call_the_driver_either() {
    static TOLD: Mutex<Option<CUresult>> = Mutex::new(None);
    unsafe extern "C" fn destroy(_: *mut c_void) {
        *TOLD.lock().expect("no panic") = Some(crate::cuda!(cuCtxSynchronize()));
    }
    in_child(&[], || {
        let gpu = Gpu::take();
        let trapped = function(gpu.load(KERNELS), c"trapped");
        let stream = gpu.stream(NON_BLOCKING);
        let graph = capture(stream, || {
            launch(trapped, [1, 1], stream, &[]).ok().expect("it is captured");
        });
        let mut object = ptr::null_mut();
        done!(cuUserObjectCreate(&mut object, ptr::null_mut(), Some(destroy), 1, 1));
        done!(cuGraphRetainUserObject(graph, object, 1, 1));
        let executable = instantiate(graph);
        done!(cuGraphDestroy(graph));
        let gate = Gate::close(stream);
        done!(cuGraphLaunch(executable, stream));
        done!(cuGraphExecDestroy(executable));
        gate.open();
        fails!(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(stream));
        // The context's end waits for all its work.
        drop(gpu);
        let told = TOLD.lock().expect("no panic").take();
        assert_eq!(told, Some(CUresult::CUDA_ERROR_NOT_PERMITTED));
    });
}
