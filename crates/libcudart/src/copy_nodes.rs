//! Nodes of graphs that copy.

use std::ffi::c_void;

use cuda_sys::{CUDA_MEMCPY3D, CUgraph, CUgraphExec, CUgraphNode};

use crate::api::calls_on_device;
use crate::block_copies::{block_copy, described};
use crate::context;
use crate::driver::cu;
use crate::error::Result;
use crate::symbols::{read, written};
use crate::types::{cudaExtent, cudaMemcpy3DParms, cudaMemcpyKind, cudaPitchedPtr, cudaPos};

calls_on_device! {
    fn cudaGraphAddMemcpyNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        parameters: *const cudaMemcpy3DParms,
    ) {
        let copy = block_copy(&*parameters)?;
        cu::cuGraphAddMemcpyNode(node, graph, after, count, &copy, context::current()?)
    }
    fn cudaGraphAddMemcpyNode1D(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        let copy = row(to, from, bytes, kind)?;
        cu::cuGraphAddMemcpyNode(node, graph, after, count, &copy, context::current()?)
    }
    fn cudaGraphAddMemcpyNodeToSymbol(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        symbol: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let copy = row(written(symbol, bytes, offset, kind)?, from, bytes, kind)?;
        cu::cuGraphAddMemcpyNode(node, graph, after, count, &copy, context::current()?)
    }
    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        to: *mut c_void,
        symbol: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let copy = row(to, read(symbol, bytes, offset, kind)?, bytes, kind)?;
        cu::cuGraphAddMemcpyNode(node, graph, after, count, &copy, context::current()?)
    }
    fn cudaGraphMemcpyNodeGetParams(node: CUgraphNode, parameters: *mut cudaMemcpy3DParms) {
        let mut copy = std::mem::zeroed::<CUDA_MEMCPY3D>();
        cu::cuGraphMemcpyNodeGetParams(node, &mut copy)?;
        parameters.write(described(&copy));
        Ok(())
    }
    fn cudaGraphMemcpyNodeSetParams(node: CUgraphNode, parameters: *const cudaMemcpy3DParms) {
        cu::cuGraphMemcpyNodeSetParams(node, &block_copy(&*parameters)?)
    }
    fn cudaGraphMemcpyNodeSetParams1D(
        node: CUgraphNode,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        cu::cuGraphMemcpyNodeSetParams(node, &row(to, from, bytes, kind)?)
    }
    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: CUgraphNode,
        symbol: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let to = written(symbol, bytes, offset, kind)?;
        cu::cuGraphMemcpyNodeSetParams(node, &row(to, from, bytes, kind)?)
    }
    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: CUgraphNode,
        to: *mut c_void,
        symbol: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let from = read(symbol, bytes, offset, kind)?;
        cu::cuGraphMemcpyNodeSetParams(node, &row(to, from, bytes, kind)?)
    }
    fn cudaGraphExecMemcpyNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        parameters: *const cudaMemcpy3DParms,
    ) {
        let copy = block_copy(&*parameters)?;
        cu::cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context::current()?)
    }
    fn cudaGraphExecMemcpyNodeSetParams1D(
        exec: CUgraphExec,
        node: CUgraphNode,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        let copy = row(to, from, bytes, kind)?;
        cu::cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context::current()?)
    }
    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        exec: CUgraphExec,
        node: CUgraphNode,
        symbol: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let copy = row(written(symbol, bytes, offset, kind)?, from, bytes, kind)?;
        cu::cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context::current()?)
    }
    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        exec: CUgraphExec,
        node: CUgraphNode,
        to: *mut c_void,
        symbol: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        let copy = row(to, read(symbol, bytes, offset, kind)?, bytes, kind)?;
        cu::cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context::current()?)
    }
}

/// The driver's description of a copy of bytes one after the other.
fn row(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: cudaMemcpyKind,
) -> Result<CUDA_MEMCPY3D> {
    let row = |ptr| cudaPitchedPtr { ptr, pitch: bytes, xsize: bytes, ysize: 1 };
    let start = cudaPos { x: 0, y: 0, z: 0 };
    block_copy(&cudaMemcpy3DParms {
        srcArray: std::ptr::null_mut(),
        srcPos: start,
        srcPtr: row(from.cast_mut()),
        dstArray: std::ptr::null_mut(),
        dstPos: start,
        dstPtr: row(to),
        extent: cudaExtent { width: bytes, height: 1, depth: 1 },
        kind,
    })
}
