//! Handles: they are looked up, never followed.

use std::ptr;
use std::sync::Arc;

use cuda_sys::{
    CUcontext, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUkernel, CUlibrary,
    CUmodule, CUresult, CUstream,
};

use crate::api::Result;
use crate::device::{
    Context, ContextModule, Event, KernelFunction, Library, LibraryKernel, SimulatedMachine,
    StreamRef, current,
};
use crate::graph::{Executable, GraphTemplate, NodeId, graphs};

/// The number that a handle is.
pub(in crate::api) fn number<T>(handle: *mut T) -> u64 {
    handle.addr() as u64
}

/// The handle that a number is.
pub(in crate::api) fn handle<T>(number: u64) -> *mut T {
    ptr::without_provenance_mut(number as usize)
}

/// The context that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if the handle names no context.
pub(in crate::api) fn context(
    machine: &SimulatedMachine,
    handle: CUcontext,
) -> Result<Arc<Context>> {
    machine.contexts.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
}

/// A stream on a device that works, for a call that has no part in captures.
///
/// # Errors
/// Those of [`StreamRef::working`] and of `Captures::permit_uncaptured`.
pub(in crate::api) fn stream(
    machine: &'static SimulatedMachine,
    handle: CUstream,
) -> Result<StreamRef> {
    let stream = StreamRef::working(machine, number(handle))?;
    graphs()?.captures.permit_uncaptured(&stream)?;
    Ok(stream)
}

/// A stream on a device that works, for a call that can become a node of a graph.
///
/// # Errors
/// Those of [`StreamRef::working`] and of `Captures::permit_capturable`.
pub(in crate::api) fn capturable(
    machine: &'static SimulatedMachine,
    handle: CUstream,
) -> Result<StreamRef> {
    let stream = StreamRef::working(machine, number(handle))?;
    graphs()?.captures.permit_capturable(&stream)?;
    Ok(stream)
}

/// The event that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no event.
pub(in crate::api) fn event(machine: &SimulatedMachine, handle: CUevent) -> Result<Arc<Event>> {
    machine.events.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// The module that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no module.
pub(in crate::api) fn module(
    machine: &SimulatedMachine,
    handle: CUmodule,
) -> Result<Arc<ContextModule>> {
    machine.modules.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// The function that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no function.
pub(in crate::api) fn function(
    machine: &SimulatedMachine,
    handle: CUfunction,
) -> Result<Arc<KernelFunction>> {
    machine.functions.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// The graph that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the handle names no graph.
pub(in crate::api) fn graph(handle: CUgraph) -> Result<Arc<GraphTemplate>> {
    graphs()?.table.graphs.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// A node and the graph that it is in.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the handle names none.
pub(in crate::api) fn node(handle: CUgraphNode) -> Result<(Arc<GraphTemplate>, NodeId)> {
    let named = graphs()?.table.nodes.get(number(handle));
    let found = named.and_then(|named| Some((named.graph()?, named.node)));
    found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// The executable graph that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the handle names no executable graph.
pub(in crate::api) fn executable(handle: CUgraphExec) -> Result<Arc<Executable>> {
    graphs()?.executables.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// A function, or a kernel's function in the current context: where something is launched, either
/// will do.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names neither.
pub(in crate::api) fn launchable(
    machine: &SimulatedMachine,
    handle: CUfunction,
) -> Result<Arc<KernelFunction>> {
    match machine.kernels.get(number(handle)) {
        Some(kernel) => {
            Ok(kernel.function(&machine.modules, &machine.functions, &current::current()?)?.1)
        }
        None => function(machine, handle),
    }
}

/// The library that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no library.
pub(in crate::api) fn library(
    machine: &SimulatedMachine,
    handle: CUlibrary,
) -> Result<Arc<Library>> {
    machine.libraries.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// The kernel of a library that a handle names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no kernel of a library.
pub(in crate::api) fn kernel(
    machine: &SimulatedMachine,
    handle: CUkernel,
) -> Result<Arc<LibraryKernel>> {
    machine.kernels.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}
