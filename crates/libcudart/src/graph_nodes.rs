//! Nodes of graphs whose description is the driver's.

use std::ffi::c_void;

use cuda_sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, CUevent, CUgraph,
    CUgraphExec, CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue,
};

use crate::address::{address, out};
use crate::api::calls_on_device;
use crate::context;
use crate::driver::cu;

calls_on_device! {
    fn cudaGraphAddEmptyNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
    ) {
        cu::cuGraphAddEmptyNode(node, graph, after, count)
    }
    fn cudaGraphAddHostNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        parameters: *const CUDA_HOST_NODE_PARAMS,
    ) {
        cu::cuGraphAddHostNode(node, graph, after, count, parameters)
    }
    fn cudaGraphHostNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_HOST_NODE_PARAMS) {
        cu::cuGraphHostNodeGetParams(node, parameters)
    }
    fn cudaGraphHostNodeSetParams(node: CUgraphNode, parameters: *const CUDA_HOST_NODE_PARAMS) {
        cu::cuGraphHostNodeSetParams(node, parameters)
    }
    fn cudaGraphExecHostNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        parameters: *const CUDA_HOST_NODE_PARAMS,
    ) {
        cu::cuGraphExecHostNodeSetParams(exec, node, parameters)
    }
    fn cudaGraphAddMemsetNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        parameters: *const CUDA_MEMSET_NODE_PARAMS,
    ) {
        cu::cuGraphAddMemsetNode(node, graph, after, count, parameters, context::current()?)
    }
    fn cudaGraphMemsetNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEMSET_NODE_PARAMS) {
        cu::cuGraphMemsetNodeGetParams(node, parameters)
    }
    fn cudaGraphMemsetNodeSetParams(node: CUgraphNode, parameters: *const CUDA_MEMSET_NODE_PARAMS) {
        cu::cuGraphMemsetNodeSetParams(node, parameters)
    }
    fn cudaGraphExecMemsetNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        parameters: *const CUDA_MEMSET_NODE_PARAMS,
    ) {
        cu::cuGraphExecMemsetNodeSetParams(exec, node, parameters, context::current()?)
    }
    fn cudaGraphAddChildGraphNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        child: CUgraph,
    ) {
        cu::cuGraphAddChildGraphNode(node, graph, after, count, child)
    }
    fn cudaGraphChildGraphNodeGetGraph(node: CUgraphNode, child: *mut CUgraph) {
        cu::cuGraphChildGraphNodeGetGraph(node, child)
    }
    fn cudaGraphExecChildGraphNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        child: CUgraph,
    ) {
        cu::cuGraphExecChildGraphNodeSetParams(exec, node, child)
    }
    fn cudaGraphAddEventRecordNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        event: CUevent,
    ) {
        cu::cuGraphAddEventRecordNode(node, graph, after, count, event)
    }
    fn cudaGraphEventRecordNodeGetEvent(node: CUgraphNode, event: *mut CUevent) {
        cu::cuGraphEventRecordNodeGetEvent(node, event)
    }
    fn cudaGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) {
        cu::cuGraphEventRecordNodeSetEvent(node, event)
    }
    fn cudaGraphExecEventRecordNodeSetEvent(
        exec: CUgraphExec,
        node: CUgraphNode,
        event: CUevent,
    ) {
        cu::cuGraphExecEventRecordNodeSetEvent(exec, node, event)
    }
    fn cudaGraphAddEventWaitNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        event: CUevent,
    ) {
        cu::cuGraphAddEventWaitNode(node, graph, after, count, event)
    }
    fn cudaGraphEventWaitNodeGetEvent(node: CUgraphNode, event: *mut CUevent) {
        cu::cuGraphEventWaitNodeGetEvent(node, event)
    }
    fn cudaGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) {
        cu::cuGraphEventWaitNodeSetEvent(node, event)
    }
    fn cudaGraphExecEventWaitNodeSetEvent(
        exec: CUgraphExec,
        node: CUgraphNode,
        event: CUevent,
    ) {
        cu::cuGraphExecEventWaitNodeSetEvent(exec, node, event)
    }
    fn cudaGraphAddMemAllocNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
    ) {
        cu::cuGraphAddMemAllocNode(node, graph, after, count, parameters)
    }
    fn cudaGraphMemAllocNodeGetParams(
        node: CUgraphNode,
        parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
    ) {
        cu::cuGraphMemAllocNodeGetParams(node, parameters)
    }
    fn cudaGraphAddMemFreeNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        pointer: *mut c_void,
    ) {
        cu::cuGraphAddMemFreeNode(node, graph, after, count, address(pointer))
    }
    fn cudaGraphMemFreeNodeGetParams(node: CUgraphNode, pointer: *mut c_void) {
        cu::cuGraphMemFreeNodeGetParams(node, out(pointer.cast()))
    }
    fn cudaGraphKernelNodeCopyAttributes(to: CUgraphNode, from: CUgraphNode) {
        cu::cuGraphKernelNodeCopyAttributes(to, from)
    }
    fn cudaGraphKernelNodeGetAttribute(
        node: CUgraphNode,
        attribute: CUkernelNodeAttrID,
        value: *mut CUkernelNodeAttrValue,
    ) {
        cu::cuGraphKernelNodeGetAttribute(node, attribute, value)
    }
    fn cudaGraphKernelNodeSetAttribute(
        node: CUgraphNode,
        attribute: CUkernelNodeAttrID,
        value: *const CUkernelNodeAttrValue,
    ) {
        cu::cuGraphKernelNodeSetAttribute(node, attribute, value)
    }
}
