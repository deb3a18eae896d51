//! Graphs: their structure, and what is made of them to be launched.

use std::ffi::{c_char, c_uint, c_ulonglong, c_void};

use cuda_sys::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph, CUgraphConditionalHandle, CUgraphEdgeData, CUgraphExec,
    CUgraphExecUpdateResultInfo, CUgraphNode, CUgraphNodeType, CUhostFn, CUstream, CUuserObject,
};

use crate::api::{calls, calls_on_device};
use crate::context;
use crate::driver::cu;

calls! {
    fn cudaGraphCreate(graph: *mut CUgraph, flags: c_uint) {
        cu::cuGraphCreate(graph, flags)
    }
    fn cudaGraphDestroy(graph: CUgraph) {
        cu::cuGraphDestroy(graph)
    }
    fn cudaGraphClone(clone: *mut CUgraph, original: CUgraph) {
        cu::cuGraphClone(clone, original)
    }
    fn cudaGraphDestroyNode(node: CUgraphNode) {
        cu::cuGraphDestroyNode(node)
    }
    fn cudaGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) {
        cu::cuGraphGetNodes(graph, nodes, count)
    }
    fn cudaGraphGetRootNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) {
        cu::cuGraphGetRootNodes(graph, nodes, count)
    }
    fn cudaGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType) {
        cu::cuGraphNodeGetType(node, kind)
    }
    fn cudaGraphNodeFindInClone(found: *mut CUgraphNode, original: CUgraphNode, clone: CUgraph) {
        cu::cuGraphNodeFindInClone(found, original, clone)
    }
    fn cudaGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint) {
        cu::cuGraphDebugDotPrint(graph, path, flags)
    }
    fn cudaGraphGetEdges_12(
        graph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        count: *mut usize,
    ) {
        cu::cuGraphGetEdges(graph, from, to, count)
    }
    fn cudaGraphGetEdges_13(
        graph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        edges: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        cu::cuGraphGetEdges_v2(graph, from, to, edges, count)
    }
    fn cudaGraphNodeGetDependencies_12(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        count: *mut usize,
    ) {
        cu::cuGraphNodeGetDependencies(node, nodes, count)
    }
    fn cudaGraphNodeGetDependencies_13(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        edges: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        cu::cuGraphNodeGetDependencies_v2(node, nodes, edges, count)
    }
    fn cudaGraphNodeGetDependentNodes_12(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        count: *mut usize,
    ) {
        cu::cuGraphNodeGetDependentNodes(node, nodes, count)
    }
    fn cudaGraphNodeGetDependentNodes_13(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        edges: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        cu::cuGraphNodeGetDependentNodes_v2(node, nodes, edges, count)
    }
    fn cudaGraphAddDependencies_12(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        count: usize,
    ) {
        cu::cuGraphAddDependencies(graph, from, to, count)
    }
    fn cudaGraphAddDependencies_13(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        edges: *const CUgraphEdgeData,
        count: usize,
    ) {
        cu::cuGraphAddDependencies_v2(graph, from, to, edges, count)
    }
    fn cudaGraphRemoveDependencies_12(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        count: usize,
    ) {
        cu::cuGraphRemoveDependencies(graph, from, to, count)
    }
    fn cudaGraphRemoveDependencies_13(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        edges: *const CUgraphEdgeData,
        count: usize,
    ) {
        cu::cuGraphRemoveDependencies_v2(graph, from, to, edges, count)
    }
    fn cudaUserObjectCreate(
        object: *mut CUuserObject,
        pointer: *mut c_void,
        destroy: CUhostFn,
        count: c_uint,
        flags: c_uint,
    ) {
        cu::cuUserObjectCreate(object, pointer, destroy, count, flags)
    }
    fn cudaUserObjectRetain(object: CUuserObject, count: c_uint) {
        cu::cuUserObjectRetain(object, count)
    }
    fn cudaUserObjectRelease(object: CUuserObject, count: c_uint) {
        cu::cuUserObjectRelease(object, count)
    }
    fn cudaGraphRetainUserObject(
        graph: CUgraph,
        object: CUuserObject,
        count: c_uint,
        flags: c_uint,
    ) {
        cu::cuGraphRetainUserObject(graph, object, count, flags)
    }
    fn cudaGraphReleaseUserObject(graph: CUgraph, object: CUuserObject, count: c_uint) {
        cu::cuGraphReleaseUserObject(graph, object, count)
    }
}

calls_on_device! {
    fn cudaGraphConditionalHandleCreate(
        handle: *mut CUgraphConditionalHandle,
        graph: CUgraph,
        default: c_uint,
        flags: c_uint,
    ) {
        let context = context::current()?;
        cu::cuGraphConditionalHandleCreate(handle, graph, context, default, flags)
    }
    fn cudaGraphInstantiate(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) {
        cu::cuGraphInstantiateWithFlags(exec, graph, flags)
    }
    fn cudaGraphInstantiateWithParams(
        exec: *mut CUgraphExec,
        graph: CUgraph,
        parameters: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
    ) {
        cu::cuGraphInstantiateWithParams(exec, graph, parameters)
    }
    fn cudaGraphInstantiateWithParams_ptsz(
        exec: *mut CUgraphExec,
        graph: CUgraph,
        parameters: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
    ) {
        let stream = (*parameters).hUploadStream;
        (*parameters).hUploadStream = crate::api::per_thread(stream);
        let result = cu::cuGraphInstantiateWithParams(exec, graph, parameters);
        (*parameters).hUploadStream = stream;
        result
    }
    fn cudaGraphLaunch | cudaGraphLaunch_ptsz [stream] (exec: CUgraphExec, stream: CUstream) {
        cu::cuGraphLaunch(exec, stream)
    }
    fn cudaGraphUpload | cudaGraphUpload_ptsz [stream] (exec: CUgraphExec, stream: CUstream) {
        cu::cuGraphUpload(exec, stream)
    }
    fn cudaGraphExecUpdate(
        exec: CUgraphExec,
        graph: CUgraph,
        result: *mut CUgraphExecUpdateResultInfo,
    ) {
        cu::cuGraphExecUpdate_v2(exec, graph, result)
    }
    fn cudaGraphExecGetFlags(exec: CUgraphExec, flags: *mut c_ulonglong) {
        cu::cuGraphExecGetFlags(exec, flags.cast())
    }
    fn cudaGraphExecDestroy(exec: CUgraphExec) {
        cu::cuGraphExecDestroy(exec)
    }
    fn cudaGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: c_uint) {
        cu::cuGraphNodeSetEnabled(exec, node, enabled)
    }
    fn cudaGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: *mut c_uint) {
        cu::cuGraphNodeGetEnabled(exec, node, enabled)
    }
}
