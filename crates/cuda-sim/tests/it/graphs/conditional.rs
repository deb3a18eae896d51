//! Nodes that run graphs if, while or where a value says so.

use std::mem::zeroed;
use std::ptr;

use cuda_sim::control::{self, ReportKind};
use cuda_sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUfunction, CUgraph, CUgraphConditionalHandle,
    CUgraphConditionalNodeType as Kind, CUgraphNode, CUgraphNodeParams, CUgraphNodeType,
};

use super::common::*;
use crate::ok;
use crate::sim::{Gpu, NON_BLOCKING, assert_holds, function, in_child, upload};

/// `set` gives a conditional node's value a number, `count_down` what is left of a counter after one
/// was taken from it; `add` adds to a number.
const KERNELS: &str = ".version 8.0
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle, .param .u64 value) {
    .reg .b64 %handle;
    .reg .b32 %value;
    .param .b64 first;
    .param .b32 second;
    ld.param.u64 %handle, [handle];
    ld.param.u32 %value, [value];
    st.param.b64 [first], %handle;
    st.param.b32 [second], %value;
    call.uni cudaGraphSetConditional, (first, second);
    ret;
}
.visible .entry count_down(.param .u64 handle, .param .u64 counter) {
    .reg .b64 %handle, %counter;
    .reg .b32 %value;
    .param .b64 first;
    .param .b32 second;
    ld.param.u64 %handle, [handle];
    ld.param.u64 %counter, [counter];
    ld.global.u32 %value, [%counter];
    sub.u32 %value, %value, 1;
    st.global.u32 [%counter], %value;
    st.param.b64 [first], %handle;
    st.param.b32 [second], %value;
    call.uni cudaGraphSetConditional, (first, second);
    ret;
}
.visible .entry add(.param .u64 sum, .param .u64 value) {
    .reg .b64 %sum;
    .reg .b32 %value, %old;
    ld.param.u64 %sum, [sum];
    ld.param.u32 %value, [value];
    ld.global.u32 %old, [%sum];
    add.u32 %value, %value, %old;
    st.global.u32 [%sum], %value;
    ret;
}
\0";

/// The value of a graph's conditional node, which each launch sets if it has a default.
fn handle(graph: CUgraph, default: Option<u32>) -> CUgraphConditionalHandle {
    let (mut handle, flags) = (0, u32::from(default.is_some()));
    let default = default.unwrap_or(7);
    done!(cuGraphConditionalHandleCreate(&mut handle, graph, ptr::null_mut(), default, flags));
    handle
}

fn parameters(handle: CUgraphConditionalHandle, kind: Kind, size: u32) -> CUgraphNodeParams {
    // SAFETY: the structure may be all zeros.
    let mut given: CUgraphNodeParams = unsafe { zeroed() };
    given.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
    given.__bindgen_anon_1.conditional.handle = handle;
    given.__bindgen_anon_1.conditional.type_ = kind;
    given.__bindgen_anon_1.conditional.size = size;
    given
}

/// A conditional node, and its bodies.
fn conditional(
    graph: CUgraph,
    after: &[CUgraphNode],
    handle: CUgraphConditionalHandle,
    kind: Kind,
    size: u32,
) -> (CUgraphNode, Vec<CUgraph>) {
    let (mut node, mut given) = (ptr::null_mut(), parameters(handle, kind, size));
    let (first, count) = (after.as_ptr(), after.len());
    done!(cuGraphAddNode_v2(&mut node, graph, first, ptr::null(), count, &mut given));
    // SAFETY: the driver says that there are as many bodies as were asked for.
    let bodies = unsafe {
        let bodies = given.__bindgen_anon_1.conditional.phGraph_out;
        std::slice::from_raw_parts(bodies, size as usize)
    };
    (node, bodies.to_vec())
}

fn kernel(
    graph: CUgraph,
    after: &[CUgraphNode],
    function: CUfunction,
    mut arguments: [u64; 2],
) -> CUgraphNode {
    let mut pointers = arguments.each_mut().map(|at| ptr::from_mut(at).cast());
    // SAFETY: the structure may be all zeros.
    let mut given: CUDA_KERNEL_NODE_PARAMS = unsafe { zeroed() };
    given.func = function;
    for extent in [&mut given.gridDimX, &mut given.gridDimY, &mut given.gridDimZ] {
        *extent = 1;
    }
    for extent in [&mut given.blockDimX, &mut given.blockDimY, &mut given.blockDimZ] {
        *extent = 1;
    }
    given.kernelParams = pointers.as_mut_ptr();
    let mut node = ptr::null_mut();
    done!(cuGraphAddKernelNode_v2(&mut node, graph, after.as_ptr(), after.len(), &given));
    node
}

/// Launches a graph twice, and waits.
fn launch_twice(gpu: &Gpu, graph: CUgraph, before: impl Fn()) {
    let (executable, stream) = (instantiate(graph), gpu.stream(NON_BLOCKING));
    for _ in 0..2 {
        before();
        done!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
    }
    done!(cuGraphExecDestroy(executable));
}

/// A loop that counts down, with a sum of what each round adds, and a kernel behind it.
fn count_in_a_loop() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let [count_down, add] = [c"count_down", c"add"].map(|name| function(module, name));
    let [counter, sum] = [(); 2].map(|()| gpu.allocate(4));
    upload(sum, &[0_u32]);
    let graph = new_graph();
    let handle = handle(graph, Some(1));
    let (node, bodies) = conditional(graph, &[], handle, Kind::CU_GRAPH_COND_TYPE_WHILE, 1);
    let added = kernel(bodies[0], &[], add, [sum, 10]);
    kernel(bodies[0], &[added], count_down, [handle, counter]);
    kernel(graph, &[node], add, [sum, 1]);
    launch_twice(&gpu, graph, || upload(counter, &[5_u32]));
    assert_holds(counter, [0_u32]);
    assert_holds(sum, [2 * (5 * 10 + 1_u32)]);
    done!(cuGraphDestroy(graph));
}

#[test]
fn a_body_runs_while_a_kernel_says_so() {
    count_in_a_loop();
}

#[test]
fn a_loop_is_no_race() {
    in_child(&[("CUDA_SIM_CHECK", "1")], || {
        count_in_a_loop();
        let reports = control::reports();
        let found: Vec<_> =
            reports.iter().filter(|report| report.kind != ReportKind::Leak).collect();
        assert!(found.is_empty(), "{found:#?}");
    });
}

#[test]
fn a_body_runs_if_a_kernel_said_so_before_and_another_if_not() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let [set, add] = [c"set", c"add"].map(|name| function(module, name));
    for (value, expected) in [(3, 20), (0, 200_u32)] {
        let sum = gpu.allocate(4);
        upload(sum, &[0_u32]);
        let graph = new_graph();
        let handle = handle(graph, None);
        let first = kernel(graph, &[], set, [handle, value]);
        let kind = Kind::CU_GRAPH_COND_TYPE_IF;
        let (_, bodies) = conditional(graph, &[first], handle, kind, 2);
        kernel(bodies[0], &[], add, [sum, 10]);
        kernel(bodies[1], &[], add, [sum, 100]);
        launch_twice(&gpu, graph, || ());
        assert_holds(sum, [expected]);
    }
}

#[test]
fn the_body_of_that_number_runs_and_none_where_there_is_none() {
    let gpu = Gpu::take();
    let add = function(gpu.load(KERNELS), c"add");
    for (value, expected) in [(0, 2), (1, 20), (2, 0_u32)] {
        let sum = gpu.allocate(4);
        upload(sum, &[0_u32]);
        let graph = new_graph();
        let handle = handle(graph, Some(value));
        let kind = Kind::CU_GRAPH_COND_TYPE_SWITCH;
        let (_, bodies) = conditional(graph, &[], handle, kind, 2);
        kernel(bodies[0], &[], add, [sum, 1]);
        kernel(bodies[1], &[], add, [sum, 10]);
        launch_twice(&gpu, graph, || ());
        assert_holds(sum, [expected]);
    }
}

#[test]
fn a_conditional_node_may_be_in_the_body_of_another() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let [count_down, add] = [c"count_down", c"add"].map(|name| function(module, name));
    let [counter, sum] = [(); 2].map(|()| gpu.allocate(4));
    upload(sum, &[0_u32]);
    let graph = new_graph();
    let outer = handle(graph, Some(1));
    let (_, bodies) = conditional(graph, &[], outer, Kind::CU_GRAPH_COND_TYPE_WHILE, 1);
    let inner = handle(bodies[0], Some(1));
    let (node, inner) = conditional(bodies[0], &[], inner, Kind::CU_GRAPH_COND_TYPE_IF, 1);
    kernel(inner[0], &[], add, [sum, 1]);
    kernel(bodies[0], &[node], count_down, [outer, counter]);
    launch_twice(&gpu, graph, || upload(counter, &[3_u32]));
    assert_holds(sum, [6_u32]);
}

#[test]
fn a_value_belongs_to_one_node_of_its_graph() {
    let gpu = Gpu::take();
    let (graph, other) = (new_graph(), new_graph());
    let value = handle(graph, None);
    let add = |graph, value, kind, size| {
        let (mut node, mut given) = (ptr::null_mut(), parameters(value, kind, size));
        newer!(cuGraphAddNode_v2(&mut node, graph, ptr::null(), ptr::null(), 0, &mut given))
    };
    let invalid = cuda_sys::CUresult::CUDA_ERROR_INVALID_VALUE;
    let [a_loop, an_if] = [Kind::CU_GRAPH_COND_TYPE_WHILE, Kind::CU_GRAPH_COND_TYPE_IF];
    assert_eq!(add(other, value, a_loop, 1), invalid, "it is of another graph");
    assert_eq!(add(graph, value + 8, a_loop, 1), invalid, "there is none");
    assert_eq!(add(graph, value, a_loop, 2), invalid, "a loop has one body");
    assert_eq!(add(graph, value, an_if, 0), invalid, "no body");
    assert_eq!(add(graph, value, Kind(9), 1), invalid, "no kind");
    assert_eq!(add(graph, value, an_if, 1), cuda_sys::CUresult::CUDA_SUCCESS);
    assert_eq!(add(graph, value, an_if, 1), invalid, "it is taken");
    assert_eq!(kinds(graph), [CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL]);
    refused!(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&mut ptr::null_mut(), graph));
    let (mut handle, context) = (0, ptr::null_mut());
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphConditionalHandleCreate(&mut handle, graph, context, 0, 2)
    );
    drop(gpu);
}

#[test]
fn a_body_has_no_functions_of_the_host() {
    let _gpu = Gpu::take();
    let graph = new_graph();
    let value = handle(graph, None);
    let (_, bodies) = conditional(graph, &[], value, Kind::CU_GRAPH_COND_TYPE_IF, 1);
    let given = CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: ptr::null_mut() };
    let mut node = ptr::null_mut();
    done!(cuGraphAddHostNode(&mut node, bodies[0], ptr::null(), 0, &given));
    let mut executable = ptr::null_mut();
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&mut executable, graph, 0));
}
