//! Attributes of links between devices.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_int;

use cuda_sys::{CUdevice, CUdevice_P2PAttribute as Attribute, CUresult};

use crate::api::Result;
use crate::api::arguments::Out;
use crate::device::machine;

pub(in crate::api) fn cuDeviceGetP2PAttribute(
    out: Out<c_int>,
    attribute: Attribute,
    from: CUdevice,
    to: CUdevice,
) -> Result {
    let machine = machine()?;
    let cut_off = machine.device(from)?.is_cut_off_from(machine.device(to)?);
    if from == to {
        return Err(CUresult::CUDA_ERROR_INVALID_DEVICE);
    }
    out.set(match attribute {
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK => 0,
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
        | Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => c_int::from(!cut_off),
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED => 0,
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    });
    Ok(())
}
