//! What calls are given: places for results, names, handles.

use std::ffi::{CStr, c_char, c_uint};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cuda_sys::{
    CUcontext, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUkernel, CUlibrary,
    CUmodule, CUresult, CUstream,
};

use super::Result;
use crate::device::{
    Context, Event, Function, Library, LibraryKernel, Module, Platform, StreamRef, current,
};
use crate::graph::{Executable, Graph, NodeId};

/// A place of the program's for a result.
pub(super) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// Checks the place before anything is done, so that nothing is done in vain.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null.
    ///
    /// # Safety
    /// Otherwise, a `T` can be written there during the call.
    pub(super) unsafe fn new(place: *mut T) -> Result<Out<T>> {
        NonNull::new(place).map(Out).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// Writes the result.
    pub(super) fn set(&self, value: T) {
        // SAFETY: the constructor's caller vouches for the place; it need not be aligned.
        unsafe { self.0.as_ptr().write_unaligned(value) }
    }
}

/// A text of the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null, and for what is not UTF-8.
///
/// # Safety
/// Otherwise, it ends with a NUL and stays as it is during the call.
pub(super) unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// Copies a text to a buffer of the program's, cut to its length, and ends it with a NUL.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null, and for a buffer without room for the NUL.
///
/// # Safety
/// Otherwise, `length` bytes can be written there.
pub(super) unsafe fn write_text(buffer: *mut c_char, length: usize, text: &str) -> Result {
    if buffer.is_null() || length == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let copied = text.len().min(length - 1);
    // SAFETY: the caller's promise; `copied` is less than `length`.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast::<u8>(), copied);
        buffer.add(copied).write(0);
    }
    Ok(())
}

/// Writes as many handles as the program has room for.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null and for no room, and what making a handle fails with.
///
/// # Safety
/// Otherwise, there is that much room.
pub(super) unsafe fn write_handles<T>(
    place: *mut *mut T,
    room: c_uint,
    handles: impl Iterator<Item = Result<u64>>,
) -> Result {
    if place.is_null() || room == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    for (index, number) in handles.take(room as usize).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { place.add(index).write(handle(number?)) };
    }
    Ok(())
}

/// The number that a handle is.
pub(super) fn number<T>(handle: *mut T) -> u64 {
    handle.addr() as u64
}

/// The handle that a number is.
pub(super) fn handle<T>(number: u64) -> *mut T {
    ptr::without_provenance_mut(number as usize)
}

/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if the handle names no context.
pub(super) fn context(platform: &Platform, handle: CUcontext) -> Result<Arc<Context>> {
    platform.contexts.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
}

/// A stream on a device that works, for a call that has no part in captures.
///
/// # Errors
/// Those of [`StreamRef::working`].
pub(super) fn stream(platform: &'static Platform, handle: CUstream) -> Result<StreamRef> {
    StreamRef::working(platform, number(handle))
}

/// A stream on a device that works, for a call that can become a node of a graph.
///
/// # Errors
/// Those of [`StreamRef::capturable`].
pub(super) fn capturable(platform: &'static Platform, handle: CUstream) -> Result<StreamRef> {
    StreamRef::capturable(platform, number(handle))
}

/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no event.
pub(super) fn event(platform: &Platform, handle: CUevent) -> Result<Arc<Event>> {
    platform.events.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no module.
pub(super) fn module(platform: &Platform, handle: CUmodule) -> Result<Arc<Module>> {
    platform.modules.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no function.
pub(super) fn function(platform: &Platform, handle: CUfunction) -> Result<Arc<Function>> {
    platform.functions.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the handle names no graph.
pub(super) fn graph(platform: &Platform, handle: CUgraph) -> Result<Arc<Graph>> {
    platform.graphs.graphs.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// A node and the graph that it is in.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the handle names none.
pub(super) fn node(platform: &Platform, handle: CUgraphNode) -> Result<(Arc<Graph>, NodeId)> {
    let named = platform.graphs.nodes.get(number(handle));
    let found = named.and_then(|named| Some((named.graph()?, named.node)));
    found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the handle names no executable graph.
pub(super) fn executable(platform: &Platform, handle: CUgraphExec) -> Result<Arc<Executable>> {
    platform.graphs.executables.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// A function, or a kernel's function in the current context: where something is launched, either
/// will do.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names neither.
pub(super) fn launchable(platform: &Platform, handle: CUfunction) -> Result<Arc<Function>> {
    match platform.kernels.get(number(handle)) {
        Some(kernel) => Ok(kernel.function(platform, &current::current()?)?.1),
        None => function(platform, handle),
    }
}

/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no library.
pub(super) fn library(platform: &Platform, handle: CUlibrary) -> Result<Arc<Library>> {
    platform.libraries.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` if the handle names no kernel of a library.
pub(super) fn kernel(platform: &Platform, handle: CUkernel) -> Result<Arc<LibraryKernel>> {
    platform.kernels.get(number(handle)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}
