//! Memory and events that processes share. Devices are each process's own here, so there are none:
//! `CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED` says so, and right calls are not supported.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{
    CUdeviceptr, CUevent, CUipcEventHandle, CUipcMem_flags as Flags, CUipcMemHandle, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{self, Out};
use crate::device::{current, machine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuIpcGetEventHandle(_place: Out<CUipcEventHandle>, event: CUevent) -> Result {
    arguments::event(machine()?, event)?.context.check()?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

pub(in crate::api) fn cuIpcOpenEventHandle(_place: Out<CUevent>, _: CUipcEventHandle) -> Result {
    current::working()?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// Memory can be shared that `cuMemAlloc` gave, by its first address.
pub(in crate::api) fn cuIpcGetMemHandle(
    _place: Out<CUipcMemHandle>,
    pointer: CUdeviceptr,
) -> Result {
    current::working()?;
    let device = machine()?.device_at(pointer).ok_or(INVALID)?;
    device.memory.starting_at(pointer).ok_or(INVALID)?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

pub(in crate::api) fn cuIpcOpenMemHandle_v2(
    _place: Out<CUdeviceptr>,
    _: CUipcMemHandle,
    flags: c_uint,
) -> Result {
    current::working()?;
    if flags & !Flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0 != 0 {
        return Err(INVALID);
    }
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// No memory was opened that could be closed.
pub(in crate::api) fn cuIpcCloseMemHandle(_: CUdeviceptr) -> Result {
    current::working()?;
    Err(INVALID)
}
