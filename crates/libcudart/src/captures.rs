//! Captures of streams into graphs.

use std::ffi::{c_uint, c_ulonglong};

use cuda_sys::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUstream, CUstreamCaptureMode, CUstreamCaptureStatus,
};

use crate::api::calls_on_device;
use crate::driver::cu;

calls_on_device! {
    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz [stream] (
        stream: CUstream,
        mode: CUstreamCaptureMode,
    ) {
        cu::cuStreamBeginCapture_v2(stream, mode)
    }
    fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz [stream] (
        stream: CUstream,
        graph: CUgraph,
        after: *const CUgraphNode,
        edges: *const CUgraphEdgeData,
        count: usize,
        mode: CUstreamCaptureMode,
    ) {
        cu::cuStreamBeginCaptureToGraph(stream, graph, after, edges, count, mode)
    }
    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz [stream] (
        stream: CUstream,
        graph: *mut CUgraph,
    ) {
        cu::cuStreamEndCapture(stream, graph)
    }
    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz [stream] (
        stream: CUstream,
        status: *mut CUstreamCaptureStatus,
    ) {
        cu::cuStreamIsCapturing(stream, status)
    }
    fn cudaThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) {
        cu::cuThreadExchangeStreamCaptureMode(mode)
    }
    fn cudaStreamGetCaptureInfo_11 | cudaStreamGetCaptureInfo_11_ptsz [stream] (
        stream: CUstream,
        status: *mut CUstreamCaptureStatus,
        id: *mut c_ulonglong,
    ) {
        cu::cuStreamGetCaptureInfo(stream, status, id.cast())
    }
    fn cudaStreamGetCaptureInfo_12 | cudaStreamGetCaptureInfo_12_ptsz [stream] (
        stream: CUstream,
        status: *mut CUstreamCaptureStatus,
        id: *mut c_ulonglong,
        graph: *mut CUgraph,
        after: *mut *const CUgraphNode,
        count: *mut usize,
    ) {
        cu::cuStreamGetCaptureInfo_v2(stream, status, id.cast(), graph, after, count)
    }
    fn cudaStreamGetCaptureInfo_13 | cudaStreamGetCaptureInfo_13_ptsz [stream] (
        stream: CUstream,
        status: *mut CUstreamCaptureStatus,
        id: *mut c_ulonglong,
        graph: *mut CUgraph,
        after: *mut *const CUgraphNode,
        edges: *mut *const CUgraphEdgeData,
        count: *mut usize,
    ) {
        cu::cuStreamGetCaptureInfo_v3(stream, status, id.cast(), graph, after, edges, count)
    }
    fn cudaStreamUpdateCaptureDependencies_12 | cudaStreamUpdateCaptureDependencies_12_ptsz [stream] (
        stream: CUstream,
        nodes: *mut CUgraphNode,
        count: usize,
        flags: c_uint,
    ) {
        cu::cuStreamUpdateCaptureDependencies(stream, nodes, count, flags)
    }
    fn cudaStreamUpdateCaptureDependencies_13 | cudaStreamUpdateCaptureDependencies_13_ptsz [stream] (
        stream: CUstream,
        nodes: *mut CUgraphNode,
        edges: *const CUgraphEdgeData,
        count: usize,
        flags: c_uint,
    ) {
        cu::cuStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags)
    }
}
