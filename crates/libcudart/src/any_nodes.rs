//! Nodes of graphs described by the structure that has room for every kind.

use cuda_sys::{
    CUDA_KERNEL_NODE_PARAMS_v3, CUDA_MEMCPY_NODE_PARAMS, CUgraph, CUgraphEdgeData, CUgraphExec,
    CUgraphNode, CUgraphNodeParams, CUgraphNodeType,
};

use crate::api::calls_on_device;
use crate::block_copies::block_copy;
use crate::context;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};
use crate::kernel_nodes;
use crate::types::{cudaKernelNodeParams, cudaMemcpy3DParms};

calls_on_device! {
    fn cudaGraphAddNode_12(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        parameters: *mut CUgraphNodeParams,
    ) {
        translated(parameters, |driver| cu::cuGraphAddNode(node, graph, after, count, driver))
    }
    fn cudaGraphAddNode_13(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        edges: *const CUgraphEdgeData,
        count: usize,
        parameters: *mut CUgraphNodeParams,
    ) {
        translated(parameters, |driver| {
            cu::cuGraphAddNode_v2(node, graph, after, edges, count, driver)
        })
    }
    fn cudaGraphNodeSetParams(node: CUgraphNode, parameters: *mut CUgraphNodeParams) {
        translated(parameters, |driver| cu::cuGraphNodeSetParams(node, driver))
    }
    fn cudaGraphExecNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        parameters: *mut CUgraphNodeParams,
    ) {
        translated(parameters, |driver| cu::cuGraphExecNodeSetParams(exec, node, driver))
    }
}

/// The runtime API's description of a copy in such a structure.
#[repr(C)]
struct CopyNode {
    flags: i32,
    reserved: [i32; 3],
    copy: cudaMemcpy3DParms,
}

/// Calls `use_it` with the driver's form of a node. The two forms have one size, and differ for
/// kernels, copies and fills. What the driver answers in it, such as an address, is copied back.
///
/// # Safety
/// `parameters` must be null or such a structure of the runtime API.
unsafe fn translated(
    parameters: *mut CUgraphNodeParams,
    use_it: impl FnOnce(*mut CUgraphNodeParams) -> Result,
) -> Result {
    if parameters.is_null() {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    // SAFETY: the caller says what it is; both forms are plain data of one size.
    let mut driver = unsafe { parameters.read() };
    // SAFETY: which member is there the type says, and it lies at the start of the union.
    let answered = unsafe {
        let node = (&raw const (*parameters).__bindgen_anon_1).cast::<u8>();
        match driver.type_ {
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL => {
                let kernel = kernel_nodes::of_driver(node.cast::<cudaKernelNodeParams>().as_ref())?;
                driver.__bindgen_anon_1.kernel = CUDA_KERNEL_NODE_PARAMS_v3 {
                    func: kernel.func,
                    gridDimX: kernel.gridDimX,
                    gridDimY: kernel.gridDimY,
                    gridDimZ: kernel.gridDimZ,
                    blockDimX: kernel.blockDimX,
                    blockDimY: kernel.blockDimY,
                    blockDimZ: kernel.blockDimZ,
                    sharedMemBytes: kernel.sharedMemBytes,
                    kernelParams: kernel.kernelParams,
                    extra: kernel.extra,
                    kern: kernel.kern,
                    ctx: kernel.ctx,
                };
                false
            }
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY => {
                let CopyNode { flags, copy, .. } = node.cast::<CopyNode>().read();
                driver.__bindgen_anon_1.memcpy = CUDA_MEMCPY_NODE_PARAMS {
                    flags,
                    reserved: 0,
                    copyCtx: context::current()?,
                    copyParams: block_copy(&copy)?,
                };
                false
            }
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET => {
                driver.__bindgen_anon_1.memset.ctx = context::current()?;
                false
            }
            _ => true,
        }
    };
    use_it(&mut driver)?;
    if answered {
        // SAFETY: the caller's structure is writable, and of this form for these kinds.
        unsafe { parameters.write(driver) };
    }
    Ok(())
}
