//! Events.

use std::ffi::c_uint;

use cuda_sys::{CUevent, CUstream};

use crate::api::calls_on_device;
use crate::driver::cu;

calls_on_device! {
    fn cudaEventCreate(event: *mut CUevent) {
        cu::cuEventCreate(event, 0)
    }
    fn cudaEventCreateWithFlags(event: *mut CUevent, flags: c_uint) {
        cu::cuEventCreate(event, flags)
    }
    fn cudaEventDestroy(event: CUevent) {
        cu::cuEventDestroy_v2(event)
    }
    fn cudaEventRecord | cudaEventRecord_ptsz [stream] (event: CUevent, stream: CUstream) {
        cu::cuEventRecord(event, stream)
    }
    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz [stream] (
        event: CUevent,
        stream: CUstream,
        flags: c_uint,
    ) {
        cu::cuEventRecordWithFlags(event, stream, flags)
    }
    fn cudaEventQuery(event: CUevent) {
        cu::cuEventQuery(event)
    }
    fn cudaEventSynchronize(event: CUevent) {
        cu::cuEventSynchronize(event)
    }
    fn cudaEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) {
        cu::cuEventElapsedTime(milliseconds, start, end)
    }
}
