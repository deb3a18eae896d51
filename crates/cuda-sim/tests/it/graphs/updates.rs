//! Other parameters for executable graphs.

use std::ptr;

use cuda_sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, CUgraph, CUgraphExec,
    CUgraphExecUpdateResult as Outcome, CUgraphExecUpdateResultInfo, CUresult, CUstream,
};

use super::common::*;
use crate::ok;
use crate::sim::{Gpu, KERNELS, NON_BLOCKING, assert_holds, function, launch};

fn update(executable: CUgraphExec, graph: CUgraph) -> (CUresult, CUgraphExecUpdateResultInfo) {
    let mut info = CUgraphExecUpdateResultInfo {
        result: Outcome(99),
        errorNode: ptr::without_provenance_mut(1),
        errorFromNode: ptr::without_provenance_mut(1),
    };
    (newer!(cuGraphExecUpdate_v2(executable, graph, &mut info)), info)
}

fn store(gpu: &Gpu, stream: CUstream, pointer: u64, value: u64) -> CUgraph {
    let store = function(gpu.load(KERNELS), c"store");
    capture(stream, || {
        launch(store, [1, 1], stream, &[pointer, value]).ok().expect("it is captured");
        ok!(cuMemsetD8Async(pointer + 8, value as u8, 8, stream));
    })
}

#[test]
fn an_executable_graph_takes_all_parameters_from_a_graph_of_the_same_shape() {
    let gpu = Gpu::take();
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(16));
    let executable = instantiate(store(&gpu, stream, pointer, 1));
    let (result, info) = update(executable, store(&gpu, stream, pointer, 2));
    assert_eq!((result, info.result), (CUresult::CUDA_SUCCESS, Outcome(0)));
    assert!(info.errorNode.is_null() && info.errorFromNode.is_null());
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [2, 0x0202_0202_0202_0202_u64]);
}

#[test]
fn an_update_that_fails_says_why_and_changes_nothing() {
    let gpu = Gpu::take();
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(16));
    let executable = instantiate(store(&gpu, stream, pointer, 1));
    let refused = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    let topology = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    let longer = store(&gpu, stream, pointer, 2);
    empty(longer, &[]);
    let (result, info) = update(executable, longer);
    assert_eq!((result, info.result, info.errorNode), (refused, topology, ptr::null_mut()));
    let looser = store(&gpu, stream, pointer, 2);
    let [first, second] = nodes(looser)[..] else { panic!("two nodes") };
    done!(cuGraphRemoveDependencies_v2(looser, &first, &second, ptr::null(), 1));
    let (result, info) = update(executable, looser);
    assert_eq!((result, info.result, info.errorNode), (refused, topology, second));
    let other = new_graph();
    let second = empty(other, &[empty(other, &[])]);
    let (result, info) = update(executable, other);
    let kind = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    assert_eq!((result, info.result), (refused, kind));
    assert_ne!(info.errorNode, second);
    let (result, info) = update(executable, ptr::null_mut());
    assert_eq!((result, info.result), (CUresult::CUDA_ERROR_INVALID_VALUE, Outcome(1)));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [1, 0x0101_0101_0101_0101_u64]);
}

#[test]
fn copies_and_fills_change_within_limits() {
    let gpu = Gpu::take();
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(64));
    let host = [0_u8; 8];
    let copied = |from_host: bool| {
        capture(stream, || match from_host {
            true => ok!(cuMemcpyHtoDAsync_v2(pointer, host.as_ptr().cast(), 8, stream)),
            false => ok!(cuMemcpyDtoDAsync_v2(pointer, pointer + 8, 8, stream)),
        })
    };
    let (result, info) = update(instantiate(copied(true)), copied(false));
    let parameters = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    let refused = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    assert_eq!((result, info.result), (refused, parameters));
    let filled = |width: usize, height: usize| {
        let (graph, mut node) = (new_graph(), ptr::null_mut());
        let given = CUDA_MEMSET_NODE_PARAMS {
            dst: pointer,
            pitch: 16,
            value: 0,
            elementSize: 1,
            width,
            height,
        };
        let context = gpu.context;
        done!(cuGraphAddMemsetNode(&mut node, graph, ptr::null(), 0, &given, context));
        graph
    };
    assert_eq!(update(instantiate(filled(8, 1)), filled(9, 1)).0, CUresult::CUDA_SUCCESS);
    assert_eq!(update(instantiate(filled(8, 2)), filled(8, 2)).0, CUresult::CUDA_SUCCESS);
    assert_eq!(update(instantiate(filled(8, 2)), filled(9, 2)).1.result, parameters);
}

#[test]
fn single_nodes_change_and_are_passed_over() {
    let gpu = Gpu::take();
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(16));
    let graph = store(&gpu, stream, pointer, 1);
    let executable = instantiate(graph);
    let [kernel, fill] = nodes(graph)[..] else { panic!("two nodes") };
    let mut given = CUDA_MEMSET_NODE_PARAMS {
        dst: pointer + 8,
        pitch: 0,
        value: 7,
        elementSize: 1,
        width: 8,
        height: 1,
    };
    done!(cuGraphExecMemsetNodeSetParams(executable, fill, &given, gpu.context));
    let mut enabled = 9;
    done!(cuGraphNodeGetEnabled(executable, kernel, &mut enabled));
    assert_eq!(enabled, 1);
    ok!(cuMemsetD8Async(pointer, 0, 16, stream));
    done!(cuGraphNodeSetEnabled(executable, kernel, 0));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [0, 0x0707_0707_0707_0707_u64]);
    done!(cuGraphNodeSetEnabled(executable, kernel, 1));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [1_u64]);
    // The graph itself has not changed.
    done!(cuGraphMemsetNodeGetParams(fill, &mut given));
    assert_eq!(given.value, 1);
    let host = CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: ptr::null_mut() };
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphExecHostNodeSetParams(executable, fill, &host));
    let foreign = empty(new_graph(), &[]);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(executable, foreign, 1));
}

#[test]
fn a_child_graph_changes_as_a_whole_or_node_by_node() {
    let gpu = Gpu::take();
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(16));
    let (outer, mut node) = (new_graph(), ptr::null_mut());
    let inner = store(&gpu, stream, pointer, 1);
    done!(cuGraphAddChildGraphNode(&mut node, outer, ptr::null(), 0, inner));
    let executable = instantiate(outer);
    let run = || {
        done!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
    };
    let other = store(&gpu, stream, pointer, 2);
    done!(cuGraphExecChildGraphNodeSetParams(executable, node, other));
    run();
    assert_holds(pointer, [2, 0x0202_0202_0202_0202_u64]);
    let mut own = ptr::null_mut();
    done!(cuGraphChildGraphNodeGetGraph(node, &mut own));
    done!(cuGraphNodeSetEnabled(executable, nodes(own)[0], 0));
    done!(cuGraphExecChildGraphNodeSetParams(executable, node, inner));
    run();
    assert_holds(pointer, [2, 0x0101_0101_0101_0101_u64]);
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphExecChildGraphNodeSetParams(executable, node, new_graph())
    );
}
