//! Nodes of graphs that launch kernels, whose functions programs know by their own addresses.

use std::ptr::null_mut;

use cuda_sys::{CUDA_KERNEL_NODE_PARAMS, CUgraph, CUgraphExec, CUgraphNode};

use crate::api::calls_on_device;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};
use crate::registry;
use crate::types::{cudaKernelNodeParams, dim3};

calls_on_device! {
    fn cudaGraphAddKernelNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        parameters: *const cudaKernelNodeParams,
    ) {
        let parameters = of_driver(parameters.as_ref())?;
        cu::cuGraphAddKernelNode_v2(node, graph, after, count, &parameters)
    }
    fn cudaGraphKernelNodeGetParams(node: CUgraphNode, parameters: *mut cudaKernelNodeParams) {
        let mut found = CUDA_KERNEL_NODE_PARAMS {
            func: null_mut(),
            gridDimX: 0,
            gridDimY: 0,
            gridDimZ: 0,
            blockDimX: 0,
            blockDimY: 0,
            blockDimZ: 0,
            sharedMemBytes: 0,
            kernelParams: null_mut(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        cu::cuGraphKernelNodeGetParams_v2(node, &mut found)?;
        parameters.write(of_runtime(&found));
        Ok(())
    }
    fn cudaGraphKernelNodeSetParams(node: CUgraphNode, parameters: *const cudaKernelNodeParams) {
        cu::cuGraphKernelNodeSetParams_v2(node, &of_driver(parameters.as_ref())?)
    }
    fn cudaGraphExecKernelNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        parameters: *const cudaKernelNodeParams,
    ) {
        cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &of_driver(parameters.as_ref())?)
    }
}

/// The driver's description of a launch in the current context.
pub(crate) fn of_driver(
    parameters: Option<&cudaKernelNodeParams>,
) -> Result<CUDA_KERNEL_NODE_PARAMS> {
    let parameters = parameters.ok_or(cudaError_t::cudaErrorInvalidValue)?;
    let cudaKernelNodeParams { func, gridDim: grid, blockDim: block, .. } = *parameters;
    Ok(CUDA_KERNEL_NODE_PARAMS {
        func: registry::function(func)?,
        gridDimX: grid.x,
        gridDimY: grid.y,
        gridDimZ: grid.z,
        blockDimX: block.x,
        blockDimY: block.y,
        blockDimZ: block.z,
        sharedMemBytes: parameters.sharedMemBytes,
        kernelParams: parameters.kernelParams,
        extra: parameters.extra,
        kern: null_mut(),
        ctx: null_mut(),
    })
}

/// The program's description of a launch. A function that was never looked up for the program
/// stands for itself.
fn of_runtime(found: &CUDA_KERNEL_NODE_PARAMS) -> cudaKernelNodeParams {
    let handle = if found.func.is_null() { found.kern.cast() } else { found.func };
    cudaKernelNodeParams {
        func: registry::symbol_of(handle).unwrap_or(handle.cast()),
        gridDim: dim3 { x: found.gridDimX, y: found.gridDimY, z: found.gridDimZ },
        blockDim: dim3 { x: found.blockDimX, y: found.blockDimY, z: found.blockDimZ },
        sharedMemBytes: found.sharedMemBytes,
        kernelParams: found.kernelParams,
        extra: found.extra,
    }
}
