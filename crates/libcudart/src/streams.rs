//! Streams, and what the host does in them.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

use cuda_sys::{
    CUevent, CUhostFn, CUresult, CUstream, CUstreamAttrID, CUstreamAttrValue, CUstreamCallback,
};

use crate::api::calls_on_device;
use crate::context;
use crate::driver::cu;
use crate::error::cudaError_t;

/// A function that is called with the stream's status.
type Callback =
    Option<unsafe extern "C" fn(stream: CUstream, status: cudaError_t, data: *mut c_void)>;

calls_on_device! {
    fn cudaStreamCreate(stream: *mut CUstream) {
        cu::cuStreamCreate(stream, 0)
    }
    fn cudaStreamCreateWithFlags(stream: *mut CUstream, flags: c_uint) {
        cu::cuStreamCreate(stream, flags)
    }
    fn cudaStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) {
        cu::cuStreamCreateWithPriority(stream, flags, priority)
    }
    fn cudaStreamDestroy(stream: CUstream) {
        if stream.is_null() {
            return Err(cudaError_t::cudaErrorInvalidResourceHandle);
        }
        cu::cuStreamDestroy_v2(stream)
    }
    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz [stream] (stream: CUstream) {
        cu::cuStreamSynchronize(stream)
    }
    fn cudaStreamQuery | cudaStreamQuery_ptsz [stream] (stream: CUstream) {
        cu::cuStreamQuery(stream)
    }
    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz [stream] (
        stream: CUstream,
        event: CUevent,
        flags: c_uint,
    ) {
        cu::cuStreamWaitEvent(stream, event, flags)
    }
    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz [stream] (
        stream: CUstream,
        priority: *mut c_int,
    ) {
        cu::cuStreamGetPriority(stream, priority)
    }
    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz [stream] (
        stream: CUstream,
        flags: *mut c_uint,
    ) {
        cu::cuStreamGetFlags(stream, flags)
    }
    fn cudaStreamGetId | cudaStreamGetId_ptsz [stream] (stream: CUstream, id: *mut c_ulonglong) {
        cu::cuStreamGetId(stream, id)
    }
    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz [stream] (
        stream: CUstream,
        device: *mut c_int,
    ) {
        // By way of the context, since drivers before 12.8 have no `cuStreamGetDevice`.
        let mut context = null_mut();
        cu::cuStreamGetCtx(stream, &mut context)?;
        cu::cuCtxPushCurrent_v2(context)?;
        let found = context::device();
        cu::cuCtxPopCurrent_v2(&mut context)?;
        device.write(found?);
        Ok(())
    }
    fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz [to] (
        to: CUstream,
        from: CUstream,
    ) {
        cu::cuStreamCopyAttributes(to, from)
    }
    fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz [stream] (
        stream: CUstream,
        attribute: CUstreamAttrID,
        value: *mut CUstreamAttrValue,
    ) {
        cu::cuStreamGetAttribute(stream, attribute, value)
    }
    fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz [stream] (
        stream: CUstream,
        attribute: CUstreamAttrID,
        value: *const CUstreamAttrValue,
    ) {
        cu::cuStreamSetAttribute(stream, attribute, value)
    }
    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz [stream] (
        stream: CUstream,
        function: CUhostFn,
        data: *mut c_void,
    ) {
        cu::cuLaunchHostFunc(stream, function, data)
    }
    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz [stream] (
        stream: CUstream,
        callback: Callback,
        data: *mut c_void,
        flags: c_uint,
    ) {
        // The two differ in the name of the status' type, and its numbers are the same.
        const { assert!(size_of::<cudaError_t>() == size_of::<CUresult>()) };
        let callback = transmute::<Callback, CUstreamCallback>(callback);
        cu::cuStreamAddCallback(stream, callback, data, flags)
    }
}
