//! Memory that graphs allocate and free.

use std::mem::zeroed;
use std::ptr;

use cuda_sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUgraph, CUgraphMem_attribute as Attribute, CUgraphNode,
    CUgraphNodeType as Type, CUmemAllocationType, CUmemLocationType, CUresult,
};

use super::common::*;
use crate::sim::{Gpu, NON_BLOCKING, assert_holds};
use crate::{fails, ok};

fn allocation(gpu: &Gpu, graph: CUgraph, bytes: usize) -> (CUgraphNode, u64) {
    // SAFETY: the structure may be all zeros.
    let mut given: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { zeroed() };
    given.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    given.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    given.poolProps.location.id = gpu.ordinal;
    given.bytesize = bytes;
    let mut node = ptr::null_mut();
    done!(cuGraphAddMemAllocNode(&mut node, graph, ptr::null(), 0, &mut given));
    let mut told = given;
    done!(cuGraphMemAllocNodeGetParams(node, &mut told));
    assert_eq!((told.dptr, told.bytesize), (given.dptr, bytes));
    (node, given.dptr)
}

/// A graph that allocates memory of that kind, and the address.
fn allocate_kind(gpu: &Gpu, kind: CUmemAllocationType, bytes: usize) -> (CUgraph, u64) {
    // SAFETY: the structure may be all zeros.
    let mut given: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { zeroed() };
    given.poolProps.allocType = kind;
    given.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    given.poolProps.location.id = gpu.ordinal;
    given.bytesize = bytes;
    let (graph, mut node) = (new_graph(), ptr::null_mut());
    done!(cuGraphAddMemAllocNode(&mut node, graph, ptr::null(), 0, &mut given));
    let mut told = given;
    done!(cuGraphMemAllocNodeGetParams(node, &mut told));
    assert_eq!(told.poolProps.allocType, kind);
    (graph, given.dptr)
}

#[test]
fn a_graph_with_memory_can_be_instantiated_again_while_another_thread_ends_contexts() {
    let gpu = Gpu::take();
    let graph = new_graph();
    allocation(&gpu, graph, 8);
    while_contexts_end(|| done!(cuGraphExecDestroy(instantiate(graph))));
    done!(cuGraphDestroy(graph));
}

#[test]
fn a_graph_may_allocate_memory_that_the_host_can_touch() {
    let gpu = Gpu::take();
    let kind = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;
    let (graph, pointer) = allocate_kind(&gpu, kind, 8);
    let (executable, stream) = (instantiate(graph), gpu.stream(NON_BLOCKING));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuMemsetD8Async(pointer, 5, 8, stream));
    ok!(cuStreamSynchronize(stream));
    // SAFETY: it is managed memory of eight bytes, and no work touches it now.
    let seen = unsafe { ptr::with_exposed_provenance::<[u8; 8]>(pointer as usize).read() };
    assert_eq!(seen, [5; 8]);
    ok!(cuMemFree_v2(pointer));
}

#[test]
fn a_graph_may_allocate_nothing() {
    let gpu = Gpu::take();
    let kind = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    let (graph, pointer) = allocate_kind(&gpu, kind, 0);
    assert_ne!(pointer, 0);
    let (executable, stream) = (instantiate(graph), gpu.stream(NON_BLOCKING));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuMemFreeAsync(pointer, stream));
    ok!(cuStreamSynchronize(stream));
}

fn amount(gpu: &Gpu, attribute: Attribute) -> u64 {
    let mut value = 99_u64;
    done!(cuDeviceGetGraphMemAttribute(gpu.ordinal, attribute, (&raw mut value).cast()));
    value
}

#[test]
fn memory_of_a_graph_keeps_its_address_and_is_freed_in_one_place() {
    let gpu = Gpu::take();
    let (stream, graph) = (gpu.stream(NON_BLOCKING), new_graph());
    let (node, pointer) = allocation(&gpu, graph, 1000);
    let (mut free, mut again) = (ptr::null_mut(), ptr::null_mut());
    done!(cuGraphAddMemFreeNode(&mut free, graph, &node, 1, pointer));
    let invalid = ptr::null();
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphAddMemFreeNode(&mut again, graph, invalid, 0, pointer)
    );
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphAddMemFreeNode(&mut again, graph, invalid, 0, gpu.allocate(8))
    );
    let executable = instantiate(graph);
    for _ in 0..3 {
        done!(cuGraphLaunch(executable, stream));
    }
    ok!(cuStreamSynchronize(stream));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    let mut told = 0;
    done!(cuGraphMemFreeNodeGetParams(free, &mut told));
    assert_eq!(told, pointer);
    // What the rules for graphs with memory say.
    let mut other = ptr::null_mut();
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&mut other, graph, 0));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(free));
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphRemoveDependencies_v2(graph, &node, &free, ptr::null(), 1)
    );
    refused!(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&mut ptr::null_mut(), graph));
    done!(cuGraphExecDestroy(executable));
    done!(cuGraphExecDestroy(instantiate(graph)));
}

#[test]
fn memory_that_a_graph_does_not_free_is_the_programs_to_free_before_the_next_launch() {
    let gpu = Gpu::take();
    let (stream, graph) = (gpu.stream(NON_BLOCKING), new_graph());
    let (_, pointer) = allocation(&gpu, graph, 8);
    let executable = instantiate(graph);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    done!(cuGraphLaunch(executable, stream));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(executable, stream));
    ok!(cuMemsetD8Async(pointer, 5, 8, stream));
    ok!(cuStreamSynchronize(stream));
    done!(cuGraphExecDestroy(executable));
    // It outlives its graph while it is in use.
    assert_eq!(amount(&gpu, Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 8);
    assert_holds(pointer, [[5_u8; 8]]);
    done!(cuMemFreeAsync(pointer, stream));
    let executable = instantiate(graph);
    done!(cuGraphLaunch(executable, stream));
    ok!(cuMemFree_v2(pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    done!(cuGraphExecDestroy(executable));
    let mut frees = ptr::null_mut();
    done!(cuGraphInstantiateWithFlags(&mut frees, graph, 1));
    done!(cuGraphLaunch(frees, stream));
    done!(cuGraphLaunch(frees, stream));
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn allocations_of_a_captured_stream_become_nodes() {
    let gpu = Gpu::take();
    let (stream, result) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
    let graph = capture(stream, || {
        let mut pointer = 0;
        done!(cuMemAllocAsync(&mut pointer, 8, stream));
        ok!(cuMemsetD8Async(pointer, 3, 8, stream));
        ok!(cuMemcpyDtoDAsync_v2(result, pointer, 8, stream));
        done!(cuMemFreeAsync(pointer, stream));
    });
    let expected = [
        Type::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        Type::CU_GRAPH_NODE_TYPE_MEMSET,
        Type::CU_GRAPH_NODE_TYPE_MEMCPY,
        Type::CU_GRAPH_NODE_TYPE_MEM_FREE,
    ];
    assert_eq!(kinds(graph), expected);
    let executable = instantiate(graph);
    for _ in 0..3 {
        done!(cuGraphLaunch(executable, stream));
    }
    ok!(cuStreamSynchronize(stream));
    assert_holds(result, [[3_u8; 8]]);
}

#[test]
fn a_device_counts_the_memory_of_its_graphs() {
    let gpu = Gpu::take();
    let (stream, graph) = (gpu.stream(NON_BLOCKING), new_graph());
    let used = || amount(&gpu, Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
    let reserved = || amount(&gpu, Attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
    assert_eq!((used(), reserved()), (0, 0));
    let (_, pointer) = allocation(&gpu, graph, 4096);
    assert_eq!((used(), reserved()), (0, 4096));
    done!(cuGraphLaunch(instantiate(graph), stream));
    assert_eq!(used(), 4096);
    ok!(cuMemFree_v2(pointer));
    assert_eq!(used(), 0);
    let high = Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
    assert_eq!(amount(&gpu, high), 4096);
    let mut value = 0_u64;
    done!(cuDeviceSetGraphMemAttribute(gpu.ordinal, high, (&raw mut value).cast()));
    assert_eq!(amount(&gpu, high), 0);
    value = 5;
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuDeviceSetGraphMemAttribute(gpu.ordinal, high, (&raw mut value).cast())
    );
    done!(cuDeviceGraphMemTrim(gpu.ordinal));
    refused!(CUDA_ERROR_INVALID_DEVICE, cuDeviceGraphMemTrim(-1));
}

#[test]
fn a_launch_that_is_refused_leaves_no_memory_in_use() {
    let gpu = Gpu::take();
    let (stream, graph) = (gpu.stream(NON_BLOCKING), new_graph());
    let (_, first) = allocation(&gpu, graph, 8);
    let (_, second) = allocation(&gpu, graph, 8);
    let executable = instantiate(graph);
    done!(cuGraphLaunch(executable, stream));
    ok!(cuMemFree_v2(first));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(executable, stream));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(first));
    ok!(cuMemFree_v2(second));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuMemFree_v2(first));
    ok!(cuMemFree_v2(second));
}

#[test]
fn a_free_node_that_goes_gives_the_right_to_free_back() {
    let gpu = Gpu::take();
    let (stream, graph) = (gpu.stream(NON_BLOCKING), new_graph());
    let (_, pointer) = allocation(&gpu, graph, 8);
    let executable = instantiate(graph);
    let launch = || done!(cuGraphLaunch(executable, stream));
    // A capture that is broken takes its nodes with it.
    launch();
    done!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    done!(cuMemFreeAsync(pointer, stream));
    fails!(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    assert_eq!(end_in_vain(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ok!(cuMemFree_v2(pointer));
    // So does a graph.
    launch();
    let frees = capture(stream, || done!(cuMemFreeAsync(pointer, stream)));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    done!(cuGraphDestroy(frees));
    ok!(cuMemFree_v2(pointer));
    // A node that could not be made never had the right.
    launch();
    let (mut node, wild) = (ptr::null_mut(), ptr::without_provenance_mut(0xdead_beef_0000));
    let made = newer!(cuGraphAddMemFreeNode(&mut node, graph, &wild, 1, pointer));
    assert_ne!(made, CUresult::CUDA_SUCCESS);
    ok!(cuMemFree_v2(pointer));
    done!(cuGraphExecDestroy(executable));
}
