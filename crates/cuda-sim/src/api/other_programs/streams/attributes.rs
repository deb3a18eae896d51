//! Attributes of streams, and what they belong to.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ptr;

use cuda_sys::{
    CUcontext, CUdevice, CUgreenCtx, CUresult, CUstream, CUstreamAttrID, CUstreamAttrValue,
};

use crate::api::Result;
use crate::api::arguments::{In, Out, handle, number};
use crate::device::{AttributeSet, LaunchAttributeValue, OF_STREAMS};
use crate::device::{StreamRef, machine};

pub(in crate::api) fn cuStreamGetDevice(stream: CUstream, out: Out<CUdevice>) -> Result {
    out.set(find(stream)?.context().device.id.ordinal as CUdevice);
    Ok(())
}

/// There are no green contexts here, so no stream is of one.
pub(in crate::api) fn cuStreamGetCtx_v2(
    stream: CUstream,
    out: Out<CUcontext>,
    green: Option<Out<CUgreenCtx>>,
) -> Result {
    out.set(handle(find(stream)?.context().handle));
    green.into_iter().for_each(|out| out.set(ptr::null_mut()));
    Ok(())
}

pub(in crate::api) fn cuStreamCopyAttributes(to: CUstream, from: CUstream) -> Result {
    let attributes = with(from, |attributes| attributes.clone())?;
    with(to, |present| *present = attributes)
}

pub(in crate::api) fn cuStreamGetAttribute(
    stream: CUstream,
    attribute: CUstreamAttrID,
    value: Out<CUstreamAttrValue>,
) -> Result {
    let out = value.cast::<LaunchAttributeValue>();
    out.set(with(stream, |attributes| attributes.get(attribute, OF_STREAMS))??);
    Ok(())
}

pub(in crate::api) fn cuStreamSetAttribute(
    stream: CUstream,
    attribute: CUstreamAttrID,
    value: In<CUstreamAttrValue>,
) -> Result {
    let value: LaunchAttributeValue = value.bytes();
    with(stream, |attributes| attributes.set(attribute, value, OF_STREAMS))?
}

/// The attributes of a stream. A legacy default stream has none.
fn with<R>(stream: CUstream, change: impl FnOnce(&mut AttributeSet) -> R) -> Result<R> {
    match find(stream)? {
        StreamRef::Other(stream) => Ok(change(&mut stream.attributes())),
        StreamRef::Legacy(_) => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
    }
}

fn find(stream: CUstream) -> Result<StreamRef> {
    StreamRef::resolve(machine()?, number(stream))
}
