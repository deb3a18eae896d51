//! Nodes and edges.

use std::ptr;

use cuda_sys::{CUgraphEdgeData, CUgraphNode};

use super::common::*;
use crate::sim::{Gpu, KERNELS, NON_BLOCKING, function, launch};

fn neighbours(node: CUgraphNode) -> [Vec<CUgraphNode>; 2] {
    let (mut before, mut after) = (vec![ptr::null_mut(); 9], vec![ptr::null_mut(); 9]);
    let [mut earlier, mut later] = [9, 9];
    let none = ptr::null_mut();
    done!(cuGraphNodeGetDependencies_v2(node, before.as_mut_ptr(), none, &mut earlier));
    done!(cuGraphNodeGetDependentNodes_v2(node, after.as_mut_ptr(), none, &mut later));
    // What is left of the lists is null.
    assert!(before.drain(earlier..).all(|node| node.is_null()));
    assert!(after.drain(later..).all(|node| node.is_null()));
    [before, after]
}

#[test]
fn a_graph_knows_its_nodes_and_edges() {
    let _gpu = Gpu::take();
    let graph = new_graph();
    let one = empty(graph, &[]);
    let two = empty(graph, &[one]);
    let three = empty(graph, &[one, two]);
    assert_eq!(nodes(graph), [one, two, three]);
    assert_eq!(edges(graph), [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(neighbours(two), [vec![one], vec![three]]);
    let (mut roots, mut count) = ([ptr::null_mut(); 2], 2);
    done!(cuGraphGetRootNodes(graph, roots.as_mut_ptr(), &mut count));
    assert_eq!((roots, count), ([one, ptr::null_mut()], 1));
    done!(cuGraphRemoveDependencies_v2(graph, &one, &two, ptr::null(), 1));
    assert_eq!(edges(graph), [(0, 2), (1, 2)]);
    done!(cuGraphAddDependencies_v2(graph, &two, &one, ptr::null(), 1));
    assert_eq!(neighbours(two), [vec![], vec![one, three]]);
    done!(cuGraphDestroyNode(one));
    assert_eq!((nodes(graph), edges(graph)), (vec![two, three], vec![(0, 1)]));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(one));
    done!(cuGraphDestroy(graph));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(two));
}

#[test]
fn edges_that_cannot_be_are_errors_and_change_nothing() {
    let _gpu = Gpu::take();
    let (graph, other) = (new_graph(), new_graph());
    let (one, foreign) = (empty(graph, &[]), empty(other, &[]));
    let two = empty(graph, &[one]);
    let none = ptr::null();
    let add = |from: &[CUgraphNode], to: &[CUgraphNode]| {
        newer!(cuGraphAddDependencies_v2(graph, from.as_ptr(), to.as_ptr(), none, from.len()))
    };
    let invalid = cuda_sys::CUresult::CUDA_ERROR_INVALID_VALUE;
    let three = empty(graph, &[]);
    for (from, to) in [
        // There already, to itself, from another graph, from nowhere, twice.
        ([three, one], [one, two]),
        ([three, three], [one, three]),
        ([three, foreign], [one, two]),
        ([three, ptr::null_mut()], [one, two]),
        ([three, three], [one, one]),
    ] {
        assert_eq!(add(&from, &to), invalid);
    }
    assert_eq!(edges(graph), [(0, 1)]);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies_v2(graph, &two, &one, none, 1));
    let mut node = ptr::null_mut();
    let twice = [one, one];
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&mut node, graph, twice.as_ptr(), 2));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&mut node, graph, &foreign, 1));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&mut node, graph, ptr::null(), 1));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphCreate(&mut ptr::null_mut(), 1));
}

#[test]
fn data_of_edges_fits_kernels_only_and_is_not_lost_in_silence() {
    let gpu = Gpu::take();
    let nothing = function(gpu.load(KERNELS), c"nothing");
    let stream = gpu.stream(NON_BLOCKING);
    let graph = capture(stream, || {
        for _ in 0..2 {
            launch(nothing, [1, 1], stream, &[]).ok().expect("it is captured");
        }
    });
    let kernels = nodes(graph);
    let other = empty(graph, &[]);
    let data = CUgraphEdgeData { from_port: 1, to_port: 0, type_: 1, reserved: [0; 5] };
    done!(cuGraphRemoveDependencies_v2(graph, &kernels[0], &kernels[1], ptr::null(), 1));
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphAddDependencies_v2(graph, &kernels[0], &other, &data, 1)
    );
    done!(cuGraphAddDependencies_v2(graph, &kernels[0], &kernels[1], &data, 1));
    let (mut before, mut count) = (ptr::null_mut(), 1);
    let none = ptr::null_mut();
    refused!(
        CUDA_ERROR_LOSSY_QUERY,
        cuGraphNodeGetDependencies_v2(kernels[1], &mut before, none, &mut count)
    );
    let mut found = CUgraphEdgeData { from_port: 9, to_port: 9, type_: 9, reserved: [9; 5] };
    done!(cuGraphNodeGetDependencies_v2(kernels[1], &mut before, &mut found, &mut count));
    assert_eq!((before, found.from_port, found.type_, count), (kernels[0], 1, 1, 1));
}
