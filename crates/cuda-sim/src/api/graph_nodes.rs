//! Nodes of graphs, by kind.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::sync::Arc;

use cuda_sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
    CUcontext, CUgraph, CUgraphNode, CUmemorytype, CUresult,
};

use super::Result;
use super::arguments::{self, Out, number};
use super::graphs::{edges, set_node};
use super::launch::parameters;
use crate::device::launch::{KernelCall, Shape};
use crate::device::{Context, Platform, current, platform};
use crate::graph::{CopyParameters, FillParameters, HostCall, Operation, Side};

pub(super) unsafe fn cuGraphAddEmptyNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, dependencies, count, |_| Ok(Operation::Empty)) }
}

pub(super) unsafe fn cuGraphAddHostNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    given: *const CUDA_HOST_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let operation = |_| Ok(Operation::Host(unsafe { host(given) }?));
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, dependencies, count, operation) }
}

pub(super) unsafe fn cuGraphAddKernelNode_v2(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    given: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let operation = |platform| Ok(Operation::Kernel(unsafe { kernel(platform, given) }?));
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, dependencies, count, operation) }
}

pub(super) unsafe fn cuGraphAddMemcpyNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    given: *const CUDA_MEMCPY3D,
    context: CUcontext,
) -> Result {
    let operation = |platform| {
        // SAFETY: the caller's promise.
        let parameters = unsafe { copy(platform, given) }?;
        Ok(Operation::Copy(parameters, context_or_current(platform, context)?))
    };
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, dependencies, count, operation) }
}

pub(super) unsafe fn cuGraphAddMemsetNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    given: *const CUDA_MEMSET_NODE_PARAMS,
    context: CUcontext,
) -> Result {
    let operation = |platform| {
        // SAFETY: the caller's promise.
        let parameters = unsafe { fill(platform, given) }?;
        Ok(Operation::Fill(parameters, context_or_current(platform, context)?))
    };
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, dependencies, count, operation) }
}

/// Adds a node that does what `operation` says.
///
/// # Safety
/// `node` is null or writable; `dependencies` has `count` elements.
unsafe fn add(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    operation: impl FnOnce(&'static Platform) -> Result<Operation>,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(node) }?;
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    // SAFETY: as above.
    let edges = unsafe { edges(platform, &graph, dependencies, std::ptr::null(), count) }?;
    let added = graph.add(operation(platform)?, edges)?;
    set_node(&out, &graph, added);
    Ok(())
}

/// # Safety
/// `given` is null or readable.
unsafe fn host(given: *const CUDA_HOST_NODE_PARAMS) -> Result<HostCall> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(given) }?;
    let function = given.fn_.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    Ok(HostCall::new(function, given.userData))
}

/// # Safety
/// `given` is null or readable, and the kernel's parameters are as it says.
unsafe fn kernel(
    platform: &'static Platform,
    given: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result<KernelCall> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(given) }?;
    let function = arguments::function(platform, given.func)?;
    let shape = Shape {
        grid: [given.gridDimX, given.gridDimY, given.gridDimZ],
        block: [given.blockDimX, given.blockDimY, given.blockDimZ],
        dynamic_shared: given.sharedMemBytes,
        cooperative: false,
    };
    // SAFETY: as above.
    let parameters = unsafe { parameters(&function, given.kernelParams, given.extra) }?;
    let call = KernelCall { function, shape, parameters };
    call.check()?;
    Ok(call)
}

/// # Safety
/// `given` is null or readable.
unsafe fn copy(platform: &Platform, given: *const CUDA_MEMCPY3D) -> Result<CopyParameters> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(given) }?;
    given.srcHost.expose_provenance();
    given.dstHost.expose_provenance();
    let from = Side {
        kind: given.srcMemoryType,
        address: match given.srcMemoryType {
            CUmemorytype::CU_MEMORYTYPE_HOST => number(given.srcHost.cast_mut()),
            _ => given.srcDevice,
        },
        x: given.srcXInBytes as u64,
        y: given.srcY as u64,
        z: given.srcZ as u64,
        pitch: given.srcPitch as u64,
        height: given.srcHeight as u64,
    };
    let to = Side {
        kind: given.dstMemoryType,
        address: match given.dstMemoryType {
            CUmemorytype::CU_MEMORYTYPE_HOST => number(given.dstHost),
            _ => given.dstDevice,
        },
        x: given.dstXInBytes as u64,
        y: given.dstY as u64,
        z: given.dstZ as u64,
        pitch: given.dstPitch as u64,
        height: given.dstHeight as u64,
    };
    let [width, height, depth] =
        [given.WidthInBytes, given.Height, given.Depth].map(|extent| extent as u64);
    let parameters = CopyParameters { from, to, width, height, depth };
    parameters.check(platform)?;
    Ok(parameters)
}

/// # Safety
/// `given` is null or readable.
unsafe fn fill(
    platform: &Platform,
    given: *const CUDA_MEMSET_NODE_PARAMS,
) -> Result<FillParameters> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(given) }?;
    let parameters = FillParameters {
        address: given.dst,
        pitch: given.pitch as u64,
        value: given.value,
        size: u64::from(given.elementSize),
        width: given.width as u64,
        height: given.height as u64,
    };
    parameters.check(platform)?;
    Ok(parameters)
}

fn context_or_current(platform: &Platform, context: CUcontext) -> Result<Arc<Context>> {
    match context.is_null() {
        true => current::current(),
        false => arguments::context(platform, context),
    }
}

/// # Safety
/// `given` is null or readable.
unsafe fn read<T>(given: *const T) -> Result<T> {
    if given.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's promise; it need not be aligned.
    Ok(unsafe { given.read_unaligned() })
}
