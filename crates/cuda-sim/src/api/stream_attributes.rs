//! Attributes of streams, and what they belong to.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ptr;

use cuda_sys::{
    CUcontext, CUdevice, CUgreenCtx, CUresult, CUstream, CUstreamAttrID, CUstreamAttrValue,
};

use super::Result;
use super::arguments::{Out, handle, number};
use super::graph_parameters::read;
use crate::device::{StreamRef, platform};
use crate::graph::{Attributes, OF_STREAMS, Value};

pub(super) unsafe fn cuStreamGetDevice(stream: CUstream, device: *mut CUdevice) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(device) }?;
    out.set(find(stream)?.context().device.id.ordinal as CUdevice);
    Ok(())
}

/// There are no green contexts here, so no stream is of one.
pub(super) unsafe fn cuStreamGetCtx_v2(
    stream: CUstream,
    context: *mut CUcontext,
    green: *mut CUgreenCtx,
) -> Result {
    // SAFETY: the caller's promise. The second place may be null.
    let (out, green) = unsafe { (Out::new(context)?, Out::new(green)) };
    out.set(handle(find(stream)?.context().handle));
    green.into_iter().for_each(|out| out.set(ptr::null_mut()));
    Ok(())
}

pub(super) unsafe fn cuStreamCopyAttributes(to: CUstream, from: CUstream) -> Result {
    let attributes = with(from, |attributes| attributes.clone())?;
    with(to, |present| *present = attributes)
}

pub(super) unsafe fn cuStreamGetAttribute(
    stream: CUstream,
    attribute: CUstreamAttrID,
    value: *mut CUstreamAttrValue,
) -> Result {
    // SAFETY: the caller's promise; a value is a union of 64 bytes.
    let out = unsafe { Out::new(value.cast::<Value>()) }?;
    out.set(with(stream, |attributes| attributes.get(attribute, OF_STREAMS))??);
    Ok(())
}

pub(super) unsafe fn cuStreamSetAttribute(
    stream: CUstream,
    attribute: CUstreamAttrID,
    value: *const CUstreamAttrValue,
) -> Result {
    // SAFETY: the caller's promise; a value is a union of 64 bytes.
    let value = unsafe { read(value.cast::<Value>()) }?;
    with(stream, |attributes| attributes.set(attribute, value, OF_STREAMS))?
}

/// The attributes of a stream. A legacy default stream has none.
fn with<R>(stream: CUstream, change: impl FnOnce(&mut Attributes) -> R) -> Result<R> {
    match find(stream)? {
        StreamRef::Other(stream) => Ok(change(&mut stream.attributes())),
        StreamRef::Legacy(_) => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
    }
}

fn find(stream: CUstream) -> Result<StreamRef> {
    StreamRef::resolve(platform()?, number(stream))
}
