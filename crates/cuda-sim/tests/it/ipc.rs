//! What processes would share is refused, after a look at what is given.

use std::ptr;

use cuda_sys::{CUdevice_attribute, CUipcEventHandle, CUipcMemHandle};

use crate::sim::Gpu;
use crate::{fails, ok};

#[test]
fn devices_say_that_nothing_can_be_shared() {
    let gpu = Gpu::take();
    let mut value = 9;
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED;
    ok!(cuDeviceGetAttribute(&mut value, attribute, gpu.ordinal));
    assert_eq!(value, 0);
}

#[test]
fn memory_is_not_shared_and_wrong_calls_are_errors_of_their_own() {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(1024);
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetMemHandle(&mut handle, pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(ptr::null_mut(), pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&mut handle, pointer + 8));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&mut handle, 0));
    let mut opened = 0;
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuIpcOpenMemHandle_v2(&mut opened, handle, 1));
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuIpcOpenMemHandle(&mut opened, handle, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle_v2(ptr::null_mut(), handle, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle_v2(&mut opened, handle, 2));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(pointer));
    ok!(cuCtxSetCurrent(ptr::null_mut()));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&mut opened, handle, 1));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuIpcCloseMemHandle(pointer));
}

#[test]
fn events_are_not_shared_and_wrong_calls_are_errors_of_their_own() {
    let gpu = Gpu::take();
    let mut event = gpu.event(2);
    let mut handle = CUipcEventHandle { reserved: [0; 64] };
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetEventHandle(&mut handle, event));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcGetEventHandle(ptr::null_mut(), event));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&mut handle, ptr::null_mut()));
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuIpcOpenEventHandle(&mut event, handle));
    fails!(CUDA_ERROR_INVALID_VALUE, cuIpcOpenEventHandle(ptr::null_mut(), handle));
}
