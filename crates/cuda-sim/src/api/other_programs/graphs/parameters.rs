//! Parameters of nodes: read from what programs give, and written as programs get them back.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraphNodeParams, CUgraphNodeType as Type,
    CUmemorytype, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{
    self, In, Items, ParameterBuffer, ParameterPointers, copied_parameters, handle,
};
use crate::api::memory::endpoints::Endpoint;
use crate::api::other_programs::streams::memory_operations::operations;
use crate::device::{
    Context, CopyNodeEnd, CopyParameters, Event, FillParameters, SimulatedMachine, current,
};
use crate::device::{ExecutionConfiguration, KernelCall};
use crate::graph::{HostFunction, NodeOperation, Shown};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// A node that calls a host function.
pub(in crate::api) fn host(given: Option<In<CUDA_HOST_NODE_PARAMS>>) -> Result<NodeOperation> {
    let given = read(given)?;
    let function = given.fn_.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    Ok(NodeOperation::Host(HostFunction::new(function, given.userData)))
}

/// A node that launches a kernel.
pub(in crate::api) fn kernel(
    machine: &'static SimulatedMachine,
    given: Option<In<CUDA_KERNEL_NODE_PARAMS>>,
) -> Result<NodeOperation> {
    let given = read(given)?;
    // Either is a kernel of a library or a function; only one that is not null counts.
    let function = match given.func.is_null() && !given.kern.is_null() {
        true => {
            let kernel = arguments::kernel(machine, given.kern)?;
            let context = context_or_current(machine, given.ctx)?;
            kernel.function(&machine.modules, &machine.functions, &context)?.1
        }
        false => arguments::launchable(machine, given.func)?,
    };
    let shape = ExecutionConfiguration {
        grid: [given.gridDimX, given.gridDimY, given.gridDimZ],
        block: [given.blockDimX, given.blockDimY, given.blockDimZ],
        dynamic_shared: given.sharedMemBytes,
        cooperative: false,
    };
    // SAFETY: the program says of these members what it says of the arguments of a launch.
    let (pointers, buffer) =
        unsafe { (ParameterPointers::new(given.kernelParams), ParameterBuffer::new(given.extra)) };
    let parameters = copied_parameters(&function, pointers, buffer)?;
    let call = KernelCall { function, shape, parameters };
    call.check()?;
    Ok(NodeOperation::Kernel(call))
}

/// A node that copies.
pub(in crate::api) fn copy(
    machine: &'static SimulatedMachine,
    given: Option<In<CUDA_MEMCPY3D>>,
    context: CUcontext,
) -> Result<NodeOperation> {
    let described = given.ok_or(INVALID)?;
    let given = described.read();
    let (to, from) =
        (Endpoint::destination(described).of_node(), Endpoint::source(described).of_node());
    let extents = [given.WidthInBytes, given.Height, given.Depth];
    let [width, height, depth] = extents.map(|extent| extent as u64);
    let mut parameters = CopyParameters { from, to, width, height, depth };
    parameters.check(machine)?;
    Ok(NodeOperation::Copy(parameters, context_or_current(machine, context)?))
}

/// A node that fills.
pub(in crate::api) fn fill(
    machine: &'static SimulatedMachine,
    given: Option<In<CUDA_MEMSET_NODE_PARAMS>>,
    context: CUcontext,
) -> Result<NodeOperation> {
    let given = read(given)?;
    let parameters = FillParameters {
        address: given.dst,
        pitch: given.pitch as u64,
        value: given.value,
        size: u64::from(given.elementSize),
        width: given.width as u64,
        height: given.height as u64,
    };
    parameters.check(machine)?;
    Ok(NodeOperation::Fill(parameters, context_or_current(machine, context)?))
}

/// The parameters of a node of any kind but those that give something back.
pub(in crate::api) fn any(
    machine: &'static SimulatedMachine,
    given: In<CUgraphNodeParams>,
) -> Result<NodeOperation> {
    let given = given.read();
    if given.reserved0 != [0; 3] || given.reserved2 != 0 {
        return Err(INVALID);
    }
    let of = &given.__bindgen_anon_1;
    // SAFETY: the type says which member of the union it is, and the program gives what it says;
    // the first members of the newer structures are those of the older ones.
    unsafe {
        match given.type_ {
            Type::CU_GRAPH_NODE_TYPE_EMPTY => Ok(NodeOperation::Empty),
            Type::CU_GRAPH_NODE_TYPE_KERNEL => {
                kernel(machine, Some(In::new((&raw const of.kernel).cast())))
            }
            Type::CU_GRAPH_NODE_TYPE_MEMCPY => {
                let context = of.memcpy.copyCtx;
                copy(machine, Some(In::new(&raw const of.memcpy.copyParams)), context)
            }
            Type::CU_GRAPH_NODE_TYPE_MEMSET => {
                fill(machine, Some(In::new((&raw const of.memset).cast())), of.memset.ctx)
            }
            Type::CU_GRAPH_NODE_TYPE_HOST => host(Some(In::new((&raw const of.host).cast()))),
            Type::CU_GRAPH_NODE_TYPE_EVENT_RECORD => record(machine, of.eventRecord.event),
            Type::CU_GRAPH_NODE_TYPE_WAIT_EVENT => wait(machine, of.eventWait.event),
            Type::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => {
                batch(machine, Some(In::new((&raw const of.memOp).cast())))
            }
            Type::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL | Type::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
                Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
            }
            _ => Err(INVALID),
        }
    }
}

/// A node that records an event.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no event.
pub(in crate::api) fn record(
    machine: &'static SimulatedMachine,
    event: CUevent,
) -> Result<NodeOperation> {
    arguments::event(machine, event).map(NodeOperation::Record)
}

/// A node that waits for an event.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no event.
pub(in crate::api) fn wait(
    machine: &'static SimulatedMachine,
    event: CUevent,
) -> Result<NodeOperation> {
    arguments::event(machine, event).map(NodeOperation::Wait)
}

/// A node that works on single values in memory.
pub(in crate::api) fn batch(
    machine: &'static SimulatedMachine,
    given: Option<In<CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
) -> Result<NodeOperation> {
    let given = read(given)?;
    // SAFETY: the program says how many elements its list has.
    let list = unsafe { Items::new(given.paramArray.cast_const(), given.count as usize) };
    let operations = operations(list, given.flags)?;
    let context = context_or_current(machine, given.ctx)?;
    operations.iter().try_for_each(|operation| operation.check(machine, &context))?;
    Ok(NodeOperation::Batch(operations.into(), context))
}

/// The parameters that a kernel node was given. The lists are the node's.
pub(in crate::api) fn kernel_back(
    machine: &'static SimulatedMachine,
    call: &KernelCall,
    shown: &Shown,
) -> Result<CUDA_KERNEL_NODE_PARAMS> {
    let [grid, block] = [call.shape.grid, call.shape.block];
    Ok(CUDA_KERNEL_NODE_PARAMS {
        func: handle(call.function.module.function(&machine.functions, &call.function.name)?),
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: call.shape.dynamic_shared,
        kernelParams: shown.pointers::<c_void>(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: handle(call.function.module.context.handle),
    })
}

/// The parameters that a copy node was given.
pub(in crate::api) fn copy_back(given: &CopyParameters) -> CUDA_MEMCPY3D {
    let CopyParameters { from, to, width, height, depth } = *given;
    let host = |side: CopyNodeEnd| match side.kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => ptr::with_exposed_provenance_mut(side.address as usize),
        _ => ptr::null_mut(),
    };
    let device = |side: CopyNodeEnd| match side.kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => 0,
        _ => side.address,
    };
    CUDA_MEMCPY3D {
        srcXInBytes: from.x as usize,
        srcY: from.y as usize,
        srcZ: from.z as usize,
        srcLOD: 0,
        srcMemoryType: from.kind,
        srcHost: host(from),
        srcDevice: device(from),
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: from.pitch as usize,
        srcHeight: from.height as usize,
        dstXInBytes: to.x as usize,
        dstY: to.y as usize,
        dstZ: to.z as usize,
        dstLOD: 0,
        dstMemoryType: to.kind,
        dstHost: host(to),
        dstDevice: device(to),
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: to.pitch as usize,
        dstHeight: to.height as usize,
        WidthInBytes: width as usize,
        Height: height as usize,
        Depth: depth as usize,
    }
}

/// The parameters that a fill node was given.
pub(in crate::api) fn fill_back(given: &FillParameters) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS {
        dst: given.address,
        pitch: given.pitch as usize,
        value: given.value,
        elementSize: given.size as u32,
        width: given.width as usize,
        height: given.height as usize,
    }
}

/// The handle of an event that a node uses, null if it was destroyed.
pub(in crate::api) fn event_back(machine: &SimulatedMachine, event: &Arc<Event>) -> CUevent {
    handle(machine.events.handle_of(event).unwrap_or(0))
}

/// The context of that handle; null stands for the current one.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`, and those of [`current::current`] for null.
pub(in crate::api) fn context_or_current(
    machine: &SimulatedMachine,
    context: CUcontext,
) -> Result<Arc<Context>> {
    match context.is_null() {
        true => current::current(),
        false => arguments::context(machine, context),
    }
}

/// The structure, unless it is null.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null.
fn read<T: Copy>(given: Option<In<T>>) -> Result<T> {
    given.map(|given| given.read()).ok_or(INVALID)
}
